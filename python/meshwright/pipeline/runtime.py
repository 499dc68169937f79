"""Drives the modules of a pipeline's stages through one training step.

Every phase of a stage is one executable. Phases are dispatched in the planned order and run as soon
as their inputs are there: JAX's calls return at once, so stages overlap. What crosses stages leaves
right after the phase that gives it; sums over micro-batches are added up within the phases.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding

from meshwright.pipeline.operations import Operation, Operations, named, naming
from meshwright.pipeline.order import WEIGHTS, Task
from meshwright.pipeline.routes import Port, Result
from meshwright.pipeline.wiring import Module, Wiring
from meshwright.verify.stage_files import StageFiles


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
        self._parameters = parameters
        self._wiring = wiring = Wiring(files, places, order, parameters, outputs, donated)
        self.order = wiring.order
        self._compiled: dict[Module, Any] = {}
        # Of backward phases by the ones apart: inputs that these need, and how many values between.
        self._needed: dict[Module, Sequence[int]] = {}
        self._between: dict[Module, int] = {}
        for module in wiring.programs:
            if module in wiring.here:
                self._compile(module)
        self._operations = Operations(wiring, self._needed, self._between)

    def _compile(self, module: Module) -> None:
        wiring = self._wiring
        program, kept, summed = wiring.programs[module], wiring.kept[module], wiring.summed[module]
        with naming(f"stage {module[0]} {module[1]}"):
            if module in wiring.apart:
                first, second, self._needed[module] = program.compile_split(kept, summed)
                self._compiled[module], self._compiled[module[0], WEIGHTS] = first, second
                if first is not None:
                    self._between[module] = len(first.output_shardings[0]) - len(kept)
            else:
                self._compiled[module] = program.compile(kept, summed, wiring.donated[module])

    def homes(self) -> list[NamedSharding | tuple[int, list[tuple[tuple[int, int], Any]]]]:
        """By parameter where it lies between steps: a sharding, or a dimension with one for each
        range of it."""
        homes: list[Any] = [None] * len(self._parameters)
        for result in self._wiring.routes.results:
            parameter = self._wiring.routes.value(result.ports[0]).parameter
            if parameter is not None:
                homes[parameter] = self._placement(result)
        for (module, number), source in self._wiring.sources():
            if source.parameter is not None and homes[source.parameter] is None:
                program = self._wiring.programs[module]
                value = program.module.inputs[number]
                if value.layers is None:
                    homes[source.parameter] = program.in_shardings[number]
        return homes

    def result_placements(self) -> list[Any]:
        """By output where it lies, as `homes` says it."""
        return [self._placement(result) for result in self._wiring.routes.results]

    def _placement(self, result: Result) -> Any:
        shardings = [
            self._wiring.programs[port.module].out_shardings[port.index] for port in result.ports
        ]
        if result.bounds:
            return result.dimension, list(zip(result.bounds, shardings))
        return shardings[0]

    def compiled_texts(self, stage: int) -> Iterator[tuple[str, int]]:
        """The HLO text of every executable of a stage, and how often a step runs it."""
        for (number, phase), executable in self._compiled.items():
            if number == stage and executable is not None:
                times = 1 if phase.startswith("update") else self.files.micro_batches
                yield executable.as_text() or "", times

    def phases_of(self, task: Task) -> list[str]:
        """The modules that a task runs, see Wiring."""
        return self._wiring.phases_of(task)

    def run(self, inputs: Sequence[Any], observe: Observer | None = None) -> list[Any]:
        """Dispatches a step.

        Args:
          inputs: the program's parameters: jax.Arrays, StagedArrays, arrays of the host.
          observe: is told of every phase and of what is sent.

        Returns:
          The outputs, which are still being computed.
        """
        values, where = self._operations.begin(inputs), ""
        try:
            for operation in self._operations.operations:
                where = operation.where
                given = [values[slot] for slot in operation.inputs]
                if operation.function is not None:
                    values[operation.outputs[0]] = operation.function(*given)
                else:
                    self._run_phase(operation, values, given, observe)
                for slot in operation.empties:
                    values[slot] = None
        except jax.errors.JaxRuntimeError as error:
            raise named(where, error) from error
        return self._operations.results(values)

    def _run_phase(
        self,
        operation: Operation,
        values: list[Any],
        given: Sequence[Any],
        observe: Observer | None,
    ) -> None:
        task, module, totals = operation.task, operation.module, operation.totals
        assert task is not None and module is not None
        dispatched = 0.0 if observe is None else time.perf_counter()
        outputs, sums, done = self._compiled[module](
            [] if totals is None else values[totals], *given
        )
        if totals is not None:
            values[totals] = sums
        for slot, array in zip(operation.outputs, outputs):
            values[slot] = array
        if observe is not None:
            observe.ran(task, module, given, done, dispatched)
            for slot, port, taker, name in operation.sent:
                observe.sent(port, taker, task, name, values[slot])
