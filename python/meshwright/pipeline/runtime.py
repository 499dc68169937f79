"""Drives the modules of a pipeline's stages through one training step.

Every phase of a stage is one executable. Phases are dispatched in the planned order and run as soon
as their inputs are there: JAX's calls return at once, so stages overlap. What crosses stages leaves
right after the phase that gives it; sums over micro-batches are added up within the phases.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from meshwright import errors
from meshwright.pipeline.arrays import StagedArray, part_of
from meshwright.pipeline.moves import absent, everywhere, is_here, move, put
from meshwright.pipeline.order import WEIGHTS, Task
from meshwright.pipeline.routes import Port, Result, Routes, Source
from meshwright.verify.stage_files import StageFiles, Value
from meshwright.verify.stage_program import StageProgram

_COMBINE = {
    "sum": jnp.add,
    "product": jnp.multiply,
    "max": jnp.maximum,
    "min": jnp.minimum,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
}

Module = tuple[int, str]  # stage, phase as the index has it
Input = tuple[Module, int]  # of a module


class Observer:
    """What a runtime tells of a step while it dispatches it."""

    def ran(
        self, task: Task, module: Module, inputs: Sequence[Any], done: Any, dispatched: float
    ) -> None:
        """A phase, which waits for its inputs and has ended when `done` is there.

        `dispatched`: when its dispatch began, by time.perf_counter.
        """

    def sent(self, port: Port, taker: Module, task: Task, name: str, array: Any) -> None:
        """An output of a phase on its way to another stage's devices; `array`: before it leaves."""


class Runtime:
    """The compiled stages; `run` is one step, from the program's parameters to its outputs.

    Errors: InvalidArgumentError where modules do not fit together, InfeasibleError, which names the
    stage, where a device has not the memory.
    """

    def __init__(
        self,
        files: StageFiles,
        places: Sequence[Sequence[Any]],
        order: Sequence[Task],
        parameters: Sequence[Mapping[str, Any]],
        outputs: Sequence[Mapping[str, Any]],
        donated: Sequence[int] = (),
    ) -> None:
        """
        Args:
          places: the devices of each stage.
          order: the phases in the order of their dispatch, updates as one.
          parameters, outputs: the program's rows, with name and shape.
          donated: parameters whose arrays a step may overwrite.
        """
        self.files = files
        self.places = places
        self.planned = order
        # With what updates do once they have each other's shared values.
        self.order = [*order, *_after_shared(files)]
        self._parameters = parameters
        self._routes = Routes(files, outputs)
        self.programs = {
            (stage, phase): StageProgram(module, files.stages[stage].axes, places[stage])
            for stage, phase, module in files.modules()
        }
        self._takers = self._find_takers()
        self._check_types()
        self._summed = self._find_summed()
        self._kept = {
            module: [
                port.index
                for port in self._ports(module)
                if port in self._takers or port in self._wanted_results()
            ]
            for module in self.programs
        }
        self._donated = self._find_donated(donated)
        # Backward phases whose weights' gradients are a phase of their own.
        apart = {task.stage for task in order if task.phase == WEIGHTS}
        self._apart = {
            module
            for module in self.programs
            if module[1] == "backward" and module[0] in apart and self._summed[module]
        }
        # Those of which this process has devices.
        self.here = {
            module
            for module in self.programs
            if any(device.process_index == jax.process_index() for device in places[module[0]])
        }
        self._compiled: dict[Module, Any] = {}
        self._needed: dict[Module, Sequence[int]] = {}  # of a backward phase by the one apart
        for module in self.programs:
            if module in self.here:
                self._compile(module)
        self._numbers = self._micro_batch_numbers()

    # What is known before anything runs.

    def _ports(self, module: Module) -> Iterator[Port]:
        for index in range(len(self.programs[module].outputs)):
            yield Port(*module, index)

    def _sources(self) -> Iterator[tuple[Input, Source]]:
        for module, sources in self._routes.sources.items():
            for number, source in enumerate(sources):
                yield (module, number), source

    def _find_takers(self) -> dict[Port, list[Input]]:
        """By output the inputs that take it as it is, not its sum."""
        takers: dict[Port, list[Input]] = defaultdict(list)
        for taker, source in self._sources():
            if not source.summed:
                for port in source.ports:
                    takers[port].append(taker)
        return dict(takers)

    def _find_summed(self) -> dict[Module, list[int]]:
        """By module the outputs that are summed over the micro-batches."""
        ports = {port for _, source in self._sources() if source.summed for port in source.ports}
        ports |= {port for result in self._routes.results if result.summed for port in result.ports}
        summed: dict[Module, list[int]] = {module: [] for module in self.programs}
        for port in sorted(ports, key=lambda port: (port.stage, port.phase, port.index)):
            summed[port.module].append(port.index)
        return summed

    @functools.cache  # noqa: B019  it lives as long as what it belongs to
    def _wanted_results(self) -> frozenset[Port]:
        results = (result for result in self._routes.results if not result.summed)
        return frozenset(port for result in results for port in result.ports)

    def _check_types(self) -> None:
        for (module, number), source in self._sources():
            program = self.programs[module]
            value, expected = program.module.inputs[number], program.inputs[number]
            for port in source.ports:
                found = self.programs[port.module].outputs[port.index]
                if found.shape != expected.shape or found.dtype != expected.dtype:
                    raise errors.InvalidArgumentError(
                        f'{program.module.path}: input "{value.name}" is {_type(expected)}, what it '
                        f"is given is {_type(found)}: the module is of another program or plan"
                    )

    def _find_donated(self, parameters: Sequence[int]) -> dict[Module, list[int]]:
        """By module the inputs that it may overwrite: a stage's state, by the last that takes it."""
        last: dict[tuple[Any, ...], Input] = {}
        stages: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        for (module, number), source in self._sources():
            if source.parameter in parameters:
                program = self.programs[module]
                layers = program.module.inputs[number].layers
                last[module[0], source.parameter, layers] = (module, number)
                stages[source.parameter, layers].add(module[0])
        donated: dict[Module, list[int]] = {module: [] for module in self.programs}
        for (stage, *part), (module, number) in last.items():
            # Stages on the same devices have one array, which others may still need.
            devices = {device.id for device in self.places[stage]}
            if any(
                devices & {device.id for device in self.places[other]}
                for other in stages[tuple(part)] - {stage}
            ):
                continue
            program = self.programs[module]
            value = program.module.inputs[number]
            # An executable that runs several times needs its inputs each time; and only what makes
            # way for the parameter's new value has a use for its memory.
            replaces = any(
                value.parameter == output.parameter and value.layers == output.layers
                for index, output in enumerate(program.module.outputs)
                if index in self._kept[module]  # not where another stage's is the program's
            )
            if module[1].startswith("update") and replaces:
                donated[module].append(number)
        return donated

    def _compile(self, module: Module) -> None:
        program, kept, summed = self.programs[module], self._kept[module], self._summed[module]
        with _naming(f"stage {module[0]} {module[1]}"):
            if module in self._apart:
                later = (module[0], WEIGHTS)
                self._compiled[module], self._compiled[later], self._needed[module] = (
                    program.compile_split(kept, summed)
                )
            else:
                self._compiled[module] = program.compile(kept, summed, self._donated[module])

    def _micro_batch_numbers(self) -> dict[Input, list[Any]]:
        count = range(self.files.micro_batches)
        return {
            taker: [
                put(np.asarray(number, np.int32), self.programs[taker[0]].in_shardings[taker[1]])
                for number in count
            ]
            for taker, source in self._sources()
            if source.parameter is None and not source.ports
        }

    def homes(self) -> list[NamedSharding | tuple[int, list[tuple[tuple[int, int], Any]]]]:
        """By parameter where it lies between steps: a sharding, or a dimension with one for each
        range of it."""
        homes: list[Any] = [None] * len(self._parameters)
        for result in self._routes.results:
            parameter = self._routes.value(result.ports[0]).parameter
            if parameter is not None:
                homes[parameter] = self._placement(result)
        for (module, number), source in self._sources():
            if source.parameter is not None and homes[source.parameter] is None:
                program = self.programs[module]
                value = program.module.inputs[number]
                if value.layers is None:
                    homes[source.parameter] = program.in_shardings[number]
        return homes

    def result_placements(self) -> list[Any]:
        """By output where it lies, as `homes` says it."""
        return [self._placement(result) for result in self._routes.results]

    def _placement(self, result: Result) -> Any:
        shardings = [self.programs[port.module].out_shardings[port.index] for port in result.ports]
        if result.bounds:
            return result.dimension, list(zip(result.bounds, shardings))
        return shardings[0]

    def compiled_texts(self, stage: int) -> Iterator[tuple[str, int]]:
        """The HLO text of every executable of a stage, and how often a step runs it."""
        for (number, phase), executable in self._compiled.items():
            if number == stage and executable is not None:
                times = 1 if phase.startswith("update") else self.files.micro_batches
                yield executable.as_text() or "", times

    # One step.

    def phases_of(self, task: Task) -> list[str]:
        """The modules that a task runs: an update that waits for others comes in two parts, a
        backward phase that nothing waits for in none where the weights' gradients come later."""
        backward = (task.stage, "backward")
        if task.phase == WEIGHTS:
            return [WEIGHTS] if backward in self._apart else []
        names = (task.phase, "update-before-shared") if task.phase == "update" else (task.phase,)
        return [
            name
            for name in names
            if (task.stage, name) in self.programs
            and not (name == "backward" and backward in self._apart and not self._kept[backward])
        ]

    def run(self, inputs: Sequence[Any], observe: Observer | None = None) -> list[Any]:
        """Dispatches a step.

        Args:
          inputs: the program's parameters: jax.Arrays, StagedArrays, arrays of the host.
          observe: is told of every phase and of what is sent.

        Returns:
          The outputs, which are still being computed.
        """
        return _Step(self, inputs, observe).run()


class _Step:
    def __init__(self, runtime: Runtime, inputs: Sequence[Any], observe: Observer | None) -> None:
        self._runtime = runtime
        self._programs = runtime.programs
        self._micro_batches = runtime.files.micro_batches
        self._observe = observe
        self._placed: dict[tuple[Any, ...], Any] = {}
        self._parameters = {
            taker: self._parameter(taker, inputs[source.parameter])
            for taker, source in runtime._sources()
            if source.parameter is not None
        }
        self._placed.clear()
        self._values: dict[tuple[Input, int | None], dict[Port, Any]] = defaultdict(dict)
        self._totals = {module: self._zeros(module) for module in self._programs}
        self._results: dict[Port, list[Any]] = defaultdict(list)
        # What weights' gradients that come later are made from.
        self._later: dict[tuple[Module, int | None], list[Any]] = {}

    def run(self) -> list[Any]:
        for task in self._runtime.order:
            for phase in self._runtime.phases_of(task):
                if phase == WEIGHTS:
                    self._dispatch_weights(task)
                else:
                    self._dispatch(task, (task.stage, phase))
        return [self._readable(result) for result in self._runtime._routes.results]

    def _readable(self, result: Result) -> Any:
        """What the program gives; scalars that are no state in all processes, as they are printed."""
        array = self._result(result)
        state = self._runtime._routes.value(result.ports[0]).parameter is not None
        return array if state or array.ndim or jax.process_count() == 1 else everywhere(array)

    def _dispatch(self, task: Task, module: Module) -> None:
        runtime = self._runtime
        arrays = self._inputs(module, task.micro_batch)
        if module in runtime.here:
            apart = module in runtime._apart
            totals = [] if apart else self._totals[module]
            outputs = self._call(task, module, totals, arrays)
            if apart:
                given = [arrays[number] for number in runtime._needed[module]]
                given += outputs[len(runtime._kept[module]) :]
                self._later[module, task.micro_batch] = given
        else:
            outputs = self._absent(module, runtime._kept[module])
        for index, array in zip(runtime._kept[module], outputs):
            port = Port(*module, index)
            self._hand_on(port, array, task)
            if port in runtime._wanted_results():
                self._results[port].append(array)

    def _dispatch_weights(self, task: Task) -> None:
        """The weights' gradients of a backward phase that has left them for later."""
        runtime, backward = self._runtime, (task.stage, "backward")
        if runtime._kept[backward]:
            given = self._later.pop((backward, task.micro_batch), [])
        else:  # nothing else is computed, so nothing ran
            given = self._inputs(backward, task.micro_batch)
            if backward in runtime.here:
                given = [given[number] for number in runtime._needed[backward]]
        if backward in runtime.here:
            self._call(task, (task.stage, WEIGHTS), self._totals[backward], given)

    def _call(
        self, task: Task, module: Module, totals: Sequence[Any], inputs: Sequence[Any]
    ) -> Sequence[Any]:
        dispatched = time.perf_counter()
        with _naming(task.name):
            outputs, totals, done = self._runtime._compiled[module](totals, *inputs)
        if totals:
            self._totals[(task.stage, "backward") if module[1] == WEIGHTS else module] = totals
        if self._observe is not None:
            self._observe.ran(task, module, inputs, done, dispatched)
        return outputs

    def _inputs(self, module: Module, micro_batch: int | None) -> list[Any]:
        return [
            self._input((module, number), source, micro_batch)
            for number, source in enumerate(self._runtime._routes.sources[module])
        ]

    def _hand_on(self, port: Port, array: Any, task: Task) -> None:
        micro_batch = task.micro_batch
        moved: dict[Any, Any] = {}  # several phases of a stage may take it
        for taker in self._runtime._takers.get(port, ()):
            module, number = taker
            update = module[1].startswith("update")
            if update and micro_batch not in (None, self._micro_batches - 1):
                continue
            sharding = self._programs[module].in_shardings[number]
            if sharding not in moved:
                moved[sharding] = move(array, sharding)
                if self._observe is not None and module[0] != port.stage:
                    name = self._runtime._routes.value(port).name
                    self._observe.sent(port, module, task, name, array)
            self._values[taker, None if update else micro_batch][port] = moved[sharding]

    def _input(self, taker: Input, source: Source, micro_batch: int | None) -> Any:
        if source.parameter is not None:
            placed = self._parameters[taker]
            return placed[micro_batch] if isinstance(placed, list) else placed
        if not source.ports:
            assert micro_batch is not None
            return self._runtime._numbers[taker][micro_batch]
        sharding = self._programs[taker[0]].in_shardings[taker[1]]
        if source.summed:
            arrays = [move(self._total(port), sharding) for port in source.ports]
        else:
            given = self._values.pop((taker, micro_batch))
            arrays = [given[port] for port in source.ports]
        if len(arrays) == 1 or not is_here(sharding):
            return arrays[0]
        return _combined(source.combine, sharding)(arrays)

    def _total(self, port: Port) -> Any:
        return self._totals[port.module][self._runtime._summed[port.module].index(port.index)]

    def _absent(self, module: Module, indices: Sequence[int]) -> list[Any]:
        """Outputs of a module that other processes run."""
        program = self._programs[module]
        return [absent(program.outputs[index], program.out_shardings[index]) for index in indices]

    def _zeros(self, module: Module) -> Sequence[Any]:
        program = self._programs[module]
        summed = self._runtime._summed[module]
        if module not in self._runtime.here:
            return self._absent(module, summed)
        shapes = [program.outputs[index] for index in summed]
        shardings = [program.out_shardings[index] for index in summed]
        key = tuple((like.shape, np.dtype(like.dtype)) for like in shapes)
        return _zeros(key, tuple(shardings))() if summed else []

    def _parameter(self, taker: Input, leaf: Any) -> Any:
        """A parameter as a module takes it; of a batch a list, an array for each micro-batch."""
        module, number = taker
        program = self._programs[module]
        value, like = program.module.inputs[number], program.inputs[number]
        sharding = program.in_shardings[number]
        cut = value.batch_dimension is not None and not module[1].startswith("update")
        key = (value.parameter, value.layers, sharding, cut)
        if key not in self._placed:
            if value.layer_dimension is not None and value.layers is not None:
                leaf = part_of(leaf, value.layer_dimension, *value.layers)
            elif isinstance(leaf, StagedArray):
                leaf = np.asarray(leaf)
            array = put(leaf, sharding)
            self._placed[key] = array
            if cut:
                assert value.batch_dimension is not None
                cutter = _cutter(value.batch_dimension, self._micro_batches, sharding)
                here = is_here(sharding)
                self._placed[key] = (
                    list(cutter(array)) if here else [absent(like, sharding)] * self._micro_batches
                )
            self._check(program, value, like, self._placed[key])
        return self._placed[key]

    def _check(self, program: StageProgram, value: Value, like: Any, placed: Any) -> None:
        found = placed[0] if isinstance(placed, list) else placed
        if found.shape != like.shape or found.dtype != like.dtype:
            raise errors.InvalidArgumentError(
                f'{program.module.path}: input "{value.name}" is {_type(like)}, what it is given is '
                f"{_type(found)}: the module is of another program or plan"
            )

    def _result(self, result: Result) -> Any:
        if result.summed:
            return self._total(result.ports[0])
        arrays = [self._results[port] for port in result.ports]
        if result.bounds:
            assert result.dimension is not None
            return StagedArray(result.dimension, result.bounds, [given[0] for given in arrays])
        if result.dimension is not None:
            port = result.ports[0]
            sharding = self._programs[port.module].out_shardings[port.index]
            if not is_here(sharding):
                whole = list(arrays[0][0].shape)
                whole[result.dimension] *= self._micro_batches
                like = jax.ShapeDtypeStruct(whole, arrays[0][0].dtype)
                return absent(like, sharding)
            return _joiner(result.dimension, sharding)(arrays[0])
        return arrays[0][0]


def _after_shared(files: StageFiles) -> list[Task]:
    return [
        Task(number, "update-after-shared", None, float("inf"), float("inf"))
        for number, stage in enumerate(files.stages)
        if "update-after-shared" in stage.modules
    ]


@functools.lru_cache(4096)
def _zeros(shapes: tuple[Any, ...], shardings: tuple[NamedSharding, ...]) -> Any:
    def make() -> list[Any]:
        return [jnp.zeros(shape, dtype) for shape, dtype in shapes]

    return jax.jit(make, out_shardings=list(shardings))


@functools.lru_cache(4096)
def _combined(how: str, sharding: NamedSharding) -> Any:
    return jax.jit(lambda arrays: functools.reduce(_COMBINE[how], arrays), out_shardings=sharding)


@functools.lru_cache(4096)
def _cutter(dimension: int, count: int, sharding: NamedSharding) -> Any:
    return jax.jit(
        lambda array: jnp.split(array, count, dimension), out_shardings=[sharding] * count
    )


@functools.lru_cache(4096)
def _joiner(dimension: int, sharding: NamedSharding) -> Any:
    return jax.jit(lambda arrays: jnp.concatenate(arrays, dimension), out_shardings=sharding)


@contextlib.contextmanager
def _naming(where: str) -> Iterator[None]:
    """Names what is out of memory within it."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise errors.InfeasibleError(
            f"{where}: a device has not the memory: {errors.one_line(error)}"
        ) from error


def _type(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}"
