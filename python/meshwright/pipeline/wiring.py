"""How the modules of a pipeline's stages go together: what each keeps, sums up, hands on and may overwrite."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax

from meshwright import errors
from meshwright.pipeline.order import WEIGHTS, Task
from meshwright.pipeline.routes import Port, Routes, Source
from meshwright.verify.stage_files import StageFiles
from meshwright.verify.stage_program import StageProgram

Module = tuple[int, str]  # stage, phase as the index has it
Input = tuple[Module, int]  # of a module


class Wiring:
    """Nothing here runs; a module is `here` if this process has some of its devices.

    Errors: InvalidArgumentError where modules do not fit together.
    """

    def __init__(
        self,
        files: StageFiles,
        places: Sequence[Sequence[Any]],
        order: Sequence[Task],
        parameters: Sequence[Mapping[str, Any]],
        outputs: Sequence[Mapping[str, Any]],
        donated: Sequence[int],
    ) -> None:
        """The same as Runtime's."""
        self.places = places
        self.micro_batches = files.micro_batches
        # With what updates do once they have each other's shared values.
        self.order = [*order, *_after_shared(files)]
        self.routes = Routes(files, outputs)
        self.programs = {
            (stage, phase): StageProgram(module, files.stages[stage].axes, places[stage])
            for stage, phase, module in files.modules()
        }
        self.here = {
            module
            for module in self.programs
            if any(device.process_index == jax.process_index() for device in places[module[0]])
        }
        self.takers = self._find_takers()
        self._check_types(parameters)
        self.summed = self._find_summed()
        # By module the outputs that are taken as they are.
        self.kept = {
            module: [
                port.index
                for port in self._ports(module)
                if port in self.takers or port in self._wanted_results()
            ]
            for module in self.programs
        }
        self.donated = self._find_donated(donated)
        # Backward phases whose weights' gradients are a phase of their own.
        apart = {task.stage for task in order if task.phase == WEIGHTS}
        self.apart = {
            module
            for module in self.programs
            if module[1] == "backward" and module[0] in apart and self.summed[module]
        }

    def sources(self) -> Iterator[tuple[Input, Source]]:
        for module, sources in self.routes.sources.items():
            for number, source in enumerate(sources):
                yield (module, number), source

    def phases_of(self, task: Task) -> list[str]:
        """The modules that a task runs: an update that waits for others comes in two parts, a
        backward phase that nothing waits for in none where the weights' gradients come later."""
        backward = (task.stage, "backward")
        if task.phase == WEIGHTS:
            return [WEIGHTS] if backward in self.apart else []
        names = (task.phase, "update-before-shared") if task.phase == "update" else (task.phase,)
        return [
            name
            for name in names
            if (task.stage, name) in self.programs
            and not (name == "backward" and backward in self.apart and not self.kept[backward])
        ]

    def _ports(self, module: Module) -> Iterator[Port]:
        for index in range(len(self.programs[module].outputs)):
            yield Port(*module, index)

    def _find_takers(self) -> dict[Port, list[Input]]:
        """By output the inputs that take it as it is, not its sum."""
        takers: dict[Port, list[Input]] = defaultdict(list)
        for taker, source in self.sources():
            if not source.summed:
                for port in source.ports:
                    takers[port].append(taker)
        return dict(takers)

    def _find_summed(self) -> dict[Module, list[int]]:
        """By module the outputs that are summed over the micro-batches."""
        ports = {port for _, source in self.sources() if source.summed for port in source.ports}
        ports |= {port for result in self.routes.results if result.summed for port in result.ports}
        summed: dict[Module, list[int]] = {module: [] for module in self.programs}
        for port in sorted(ports, key=lambda port: (port.stage, port.phase, port.index)):
            summed[port.module].append(port.index)
        return summed

    @functools.cache  # noqa: B019  it lives as long as what it belongs to
    def _wanted_results(self) -> frozenset[Port]:
        results = (result for result in self.routes.results if not result.summed)
        return frozenset(port for result in results for port in result.ports)

    def _check_types(self, parameters: Sequence[Mapping[str, Any]]) -> None:
        for (module, number), source in self.sources():
            program = self.programs[module]
            if source.parameter is not None:
                value, like = program.module.inputs[number], program.inputs[number]
                shape = list(parameters[source.parameter]["shape"])
                if value.layer_dimension is not None and value.layers is not None:
                    shape[value.layer_dimension] = value.layers[1] - value.layers[0]
                if value.batch_dimension is not None and not module[1].startswith("update"):
                    shape[value.batch_dimension] //= self.micro_batches
                check_type(program, number, jax.ShapeDtypeStruct(shape, like.dtype))
            for port in source.ports:
                check_type(program, number, self.programs[port.module].outputs[port.index])

    def _find_donated(self, parameters: Sequence[int]) -> dict[Module, list[int]]:
        """By module the inputs that it may overwrite: a stage's state, by the last that takes it."""
        last: dict[tuple[Any, ...], Input] = {}
        stages: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        for (module, number), source in self.sources():
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
                if index in self.kept[module]  # not where another stage's is the program's
            )
            if module[1].startswith("update") and replaces:
                donated[module].append(number)
        return donated


def check_type(program: StageProgram, number: int, found: Any) -> None:
    """Raises an error where an input is given what is of another type."""
    value, expected = program.module.inputs[number], program.inputs[number]
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise errors.InvalidArgumentError(
            f'{program.module.path}: input "{value.name}" is {_type(expected)}, what it is given is '
            f"{_type(found)}: the module is of another program or plan"
        )


def _type(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}"


def _after_shared(files: StageFiles) -> list[Task]:
    return [
        Task(number, "update-after-shared", None, float("inf"), float("inf"))
        for number, stage in enumerate(files.stages)
        if "update-after-shared" in stage.modules
    ]
