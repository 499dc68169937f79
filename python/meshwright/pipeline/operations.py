"""A step of a pipeline as a list of operations, worked out before the first one runs.

Every array of a step has a slot, its place in a list of values. An operation takes what is in some
slots, fills others, and empties those that no later one takes. Nothing is looked up while a step
runs, so that a phase costs little more than JAX's call of its executable.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from meshwright import errors
from meshwright.pipeline.arrays import StagedArray, part_of
from meshwright.pipeline.moves import absent, everywhere, is_here, mover, put
from meshwright.pipeline.order import WEIGHTS, Task
from meshwright.pipeline.routes import Port, Result, Source
from meshwright.pipeline.wiring import Input, Module, Wiring, check_type

_COMBINE = {
    "sum": jnp.add,
    "product": jnp.multiply,
    "max": jnp.maximum,
    "min": jnp.minimum,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
}


@dataclasses.dataclass
class Operation:
    """A phase's executable, which `module` names, or `function`, which gives one array.

    An executable takes totals beside its inputs, and gives new ones: `totals` is the slot of a list.
    """

    where: str  # for what is said if there is no memory
    inputs: Sequence[int]
    outputs: Sequence[int]
    function: Callable[..., Any] | None = None
    task: Task | None = None
    module: Module | None = None
    totals: int | None = None
    # What leaves for other stages: slot, and what an observer is told of it.
    sent: list[tuple[int, Port, Module, str]] = dataclasses.field(default_factory=list)
    empties: Sequence[int] = ()


@dataclasses.dataclass
class _Placement:
    """A parameter, or the layers of it that a module takes; of a batch a slot for each micro-batch."""

    parameter: int
    taker: Input
    slots: Sequence[int]
    cut: Callable[[Any], Sequence[Any]] | None


class Operations:
    """`operations` in the order of their dispatch; `values` begins a step, `results` are slots of it.

    Every process has the same moves between stages in the same order, phases are only its own's.
    """

    def __init__(
        self,
        wiring: Wiring,
        needed: Mapping[Module, Sequence[int]],
        between: Mapping[Module, int],
    ) -> None:
        """
        Args:
          needed, between: by backward phase whose weights' gradients come later, which of its inputs
            these need, and how many values of it.
        """
        self._wiring = wiring
        self._programs = wiring.programs
        self._needed, self._between = needed, between
        self._first: list[Any] = []
        self.operations: list[Operation] = []
        self._placed: dict[tuple[Any, ...], _Placement] = {}
        self._parameters = {
            taker: self._placement(taker)
            for taker, source in wiring.sources()
            if source.parameter is not None
        }
        self._numbers = {
            taker: self._micro_batch_numbers(taker)
            for taker, source in wiring.sources()
            if source.parameter is None and not source.ports and taker[0] in wiring.here
        }
        self._taken: set[int] = set()  # totals that nothing may be added to any more
        self._made: dict[tuple[Port, int | None], int] = {}
        self._moved: dict[tuple[int, NamedSharding], int] = {}
        self._later: dict[tuple[Module, int | None], Sequence[int]] = {}
        for task in wiring.order:
            for phase in wiring.phases_of(task):
                if phase == WEIGHTS:
                    self._run_weights(task)
                else:
                    self._run(task, (task.stage, phase))
        self._results = [
            self._result(number, result) for number, result in enumerate(wiring.routes.results)
        ]
        self._find_empties()

    # A step.

    def begin(self, inputs: Sequence[Any]) -> list[Any]:
        """The values of a step, with the program's parameters where they are taken."""
        values = list(self._first)
        for placement in self._placed.values():
            (module, number), slots = placement.taker, placement.slots
            program = self._programs[module]
            value, sharding = program.module.inputs[number], program.in_shardings[number]
            leaf = inputs[placement.parameter]
            with naming(f"stage {module[0]}: {value.name}"):
                if value.layer_dimension is not None and value.layers is not None:
                    leaf = part_of(leaf, value.layer_dimension, *value.layers)
                elif isinstance(leaf, StagedArray):
                    leaf = np.asarray(leaf)
                placed = [put(leaf, sharding)]
                if placement.cut is not None:
                    placed = placement.cut(placed[0])
            check_type(program, number, placed[0])
            for slot, array in zip(slots, placed):
                values[slot] = array
        return values

    def results(self, values: Sequence[Any]) -> list[Any]:
        return [values[slot] for slot in self._results]

    # How it is worked out.

    def _slot(self, value: Any = None) -> int:
        self._first.append(value)
        return len(self._first) - 1

    def _apply(self, where: str, function: Callable[..., Any], inputs: Sequence[int]) -> int:
        slot = self._slot()
        self.operations.append(Operation(where, inputs, [slot], function))
        return slot

    def _call(
        self,
        task: Task,
        module: Module,
        totals: int | None,
        inputs: Sequence[int],
        outputs: Sequence[int],
    ) -> Operation:
        if totals in self._taken:
            raise errors.InternalError(f"{task.name} comes after what takes its sums")
        self.operations.append(
            Operation(task.name, inputs, outputs, task=task, module=module, totals=totals)
        )
        return self.operations[-1]

    def _placement(self, taker: Input) -> _Placement:
        module, number = taker
        program = self._programs[module]
        value, like = program.module.inputs[number], program.inputs[number]
        sharding = program.in_shardings[number]
        batched = value.batch_dimension is not None and not module[1].startswith("update")
        key = (value.parameter, value.layers, sharding, batched)
        if key not in self._placed:
            assert value.parameter is not None
            count = self._wiring.micro_batches if batched else 1
            cut = None
            if batched:
                cut = _cutter(value.batch_dimension, count, sharding)
                if not is_here(sharding):
                    nothing = [absent(like, sharding)] * count
                    cut = lambda _: nothing
            slots = [self._slot() for _ in range(count)]
            self._placed[key] = _Placement(value.parameter, taker, slots, cut)
        return self._placed[key]

    def _micro_batch_numbers(self, taker: Input) -> list[int]:
        sharding = self._programs[taker[0]].in_shardings[taker[1]]
        numbers = range(self._wiring.micro_batches)
        return [self._slot(put(np.asarray(number, np.int32), sharding)) for number in numbers]

    @functools.cache  # noqa: B019  it lives as long as what it belongs to
    def _zeros(self, module: Module) -> int | None:
        """The totals that a module's first phase adds to."""
        program, summed = self._programs[module], self._wiring.summed[module]
        if not summed:
            return None
        shapes = [(program.outputs[index].shape, program.outputs[index].dtype) for index in summed]
        shardings = tuple(program.out_shardings[index] for index in summed)
        where = f"stage {module[0]} {module[1]}: sums over micro-batches"
        return self._apply(where, _zeros(tuple(shapes), shardings), [])

    def _run(self, task: Task, module: Module) -> None:
        kept, micro_batch = self._wiring.kept[module], task.micro_batch
        inputs = self._inputs(module, task)
        operation = None
        if module in self._wiring.here:
            outputs = [self._slot() for _ in range(len(kept) + self._between.get(module, 0))]
            apart = module in self._wiring.apart
            totals = None if apart else self._zeros(module)
            operation = self._call(task, module, totals, inputs, outputs)
            if apart:
                given = [inputs[number] for number in self._needed[module]]
                self._later[module, micro_batch] = given + outputs[len(kept) :]
        else:
            outputs = [self._absent(Port(*module, index)) for index in kept]
        for index, slot in zip(kept, outputs):
            port = Port(*module, index)
            self._made[port, micro_batch] = slot
            self._hand_on(port, slot, task, operation)

    def _run_weights(self, task: Task) -> None:
        """The weights' gradients of a backward phase that has left them for later."""
        backward = (task.stage, "backward")
        if backward not in self._wiring.here:
            return
        given = self._later.pop((backward, task.micro_batch), None)
        if given is None:  # nothing else is computed, so nothing ran
            inputs = self._inputs(backward, task)
            given = [inputs[number] for number in self._needed[backward]]
        self._call(task, (task.stage, WEIGHTS), self._zeros(backward), given, [])

    def _hand_on(self, port: Port, slot: int, task: Task, operation: Operation | None) -> None:
        """Sends an output, right after the phase that gives it, to all that take it."""
        last = task.micro_batch in (None, self._wiring.micro_batches - 1)
        for module, number in self._wiring.takers.get(port, ()):
            target = self._programs[module].in_shardings[number]
            if (slot, target) in self._moved or (module[1].startswith("update") and not last):
                continue
            self._move(port, slot, target, task)
            if operation is not None and module[0] != port.stage:
                name = self._wiring.routes.value(port).name
                operation.sent.append((slot, port, module, name))

    def _move(self, port: Port, slot: int, target: NamedSharding, task: Task) -> int:
        """The slot of what an output, or its sum, is in another sharding; several may take it."""
        if (slot, target) not in self._moved:
            program = self._programs[port.module]
            like, source = program.outputs[port.index], program.out_shardings[port.index]
            if source.is_equivalent_to(target, len(like.shape)):
                moved = slot
            elif is_here(source) or is_here(target):
                moved = self._apply(task.name, mover(like.shape, source, target), [slot])
            else:
                moved = self._slot(absent(like, target))
            self._moved[slot, target] = moved
        return self._moved[slot, target]

    def _inputs(self, module: Module, task: Task) -> list[int]:
        return [
            self._input((module, number), source, task)
            for number, source in enumerate(self._wiring.routes.sources[module])
        ]

    def _input(self, taker: Input, source: Source, task: Task) -> int:
        module, number = taker
        micro_batch = task.micro_batch
        if source.parameter is not None:
            slots = self._parameters[taker].slots
            return slots[micro_batch or 0] if len(slots) > 1 else slots[0]
        if not source.ports:
            assert micro_batch is not None
            return self._numbers[taker][micro_batch] if module in self._wiring.here else -1
        target = self._programs[module].in_shardings[number]
        slots = []
        for port in source.ports:
            if source.summed:
                given = self._total(port)
            elif port.phase.startswith("update"):
                given = self._made[port, None]
            else:
                last = self._wiring.micro_batches - 1
                given = self._made[port, last if micro_batch is None else micro_batch]
            slots.append(self._move(port, given, target, task))
        if len(slots) == 1 or not is_here(target):
            return slots[0]
        return self._apply(task.name, _combined(source.combine, target), slots)

    @functools.cache  # noqa: B019  it lives as long as what it belongs to
    def _total(self, port: Port) -> int:
        """The sum of an output over all micro-batches."""
        if port.module not in self._wiring.here:
            return self._absent(port)
        index = self._wiring.summed[port.module].index(port.index)
        totals = self._zeros(port.module)
        assert totals is not None
        self._taken.add(totals)
        return self._apply("", lambda totals: totals[index], [totals])

    def _absent(self, port: Port) -> int:
        """An output of a module that other processes run."""
        program = self._programs[port.module]
        like, sharding = program.outputs[port.index], program.out_shardings[port.index]
        return self._slot(absent(like, sharding))

    def _result(self, number: int, result: Result) -> int:
        """What the program gives; scalars that are no state in all processes, as they are printed."""
        slots = [self._result_of(result, port) for port in result.ports]
        if result.bounds:
            dimension, bounds = result.dimension, result.bounds
            assert dimension is not None
            return self._apply("", lambda *parts: StagedArray(dimension, bounds, parts), slots)
        state = self._wiring.routes.value(result.ports[0]).parameter is not None
        port = result.ports[0]
        scalar = not self._programs[port.module].outputs[port.index].shape
        if state or not scalar or jax.process_count() == 1:
            return slots[0]
        return self._apply(f"output {number}", everywhere, slots)

    def _result_of(self, result: Result, port: Port) -> int:
        program = self._programs[port.module]
        like, sharding = program.outputs[port.index], program.out_shardings[port.index]
        shape, count = list(like.shape), self._wiring.micro_batches
        dimension = result.batch_dimension
        if dimension is not None:
            shape[dimension] *= count
        if port.module not in self._wiring.here:
            # Made anew in every step: it is the caller's, who may delete it.
            whole = jax.ShapeDtypeStruct(shape, like.dtype)
            return self._apply("", functools.partial(absent, whole, sharding), [])
        if result.summed:
            return self._total(port)
        if dimension is not None:
            slots = [self._made[port, number] for number in range(count)]
            return self._apply(f"stage {port.stage}", _joiner(dimension, sharding), slots)
        return self._made[port, None if port.phase.startswith("update") else 0]

    def _find_empties(self) -> None:
        later = {slot for slot, value in enumerate(self._first) if value is not None}
        later.update(self._results)
        for operation in reversed(self.operations):
            touched = dict.fromkeys([*operation.inputs, *operation.outputs])
            if operation.totals is not None:
                touched[operation.totals] = None
            operation.empties = [slot for slot in touched if slot not in later]
            later.update(touched)


@contextlib.contextmanager
def naming(where: str) -> Iterator[None]:
    """Names what is out of memory within it."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        raise named(where, error) from error


def named(where: str, error: jax.errors.JaxRuntimeError) -> Exception:
    """What to raise in place of an error: one that names what is out of memory."""
    if "RESOURCE_EXHAUSTED" not in str(error):
        return error
    return errors.InfeasibleError(f"{where}: a device has not the memory: {errors.one_line(error)}")


@functools.lru_cache(4096)
def _zeros(shapes: tuple[Any, ...], shardings: tuple[NamedSharding, ...]) -> Any:
    def make() -> list[Any]:
        return [jnp.zeros(shape, dtype) for shape, dtype in shapes]

    return jax.jit(make, out_shardings=list(shardings))


@functools.lru_cache(4096)
def _combined(how: str, sharding: NamedSharding) -> Any:
    return jax.jit(lambda *arrays: functools.reduce(_COMBINE[how], arrays), out_shardings=sharding)


@functools.lru_cache(4096)
def _cutter(dimension: int, count: int, sharding: NamedSharding) -> Any:
    return jax.jit(
        lambda array: jnp.split(array, count, dimension), out_shardings=[sharding] * count
    )


@functools.lru_cache(4096)
def _joiner(dimension: int, sharding: NamedSharding) -> Any:
    return jax.jit(lambda *arrays: jnp.concatenate(arrays, dimension), out_shardings=sharding)
