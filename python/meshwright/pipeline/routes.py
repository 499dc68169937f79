"""Where every input of a pipeline's modules comes from, and every result of the program.

This is docs/stages.md's "One step" as a table: nothing here runs. It follows from what the index of
the emitted modules declares alone.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from meshwright import errors
from meshwright.verify.stage_files import Key, StageFiles, Value


@dataclasses.dataclass(frozen=True)
class Port:
    """An output of a module; `phase` as the index has it."""

    stage: int
    phase: str
    index: int

    @property
    def module(self) -> tuple[int, str]:
        return self.stage, self.phase


@dataclasses.dataclass(frozen=True)
class Source:
    """What an input is made from: a parameter, the micro-batch's number (neither), or outputs.

    `ports` of phases with micro-batches that an update takes are sums over these (`summed`), or what
    the last one gave; several are combined by `combine`.
    """

    parameter: int | None = None
    ports: tuple[Port, ...] = ()
    summed: bool = False
    combine: str = "sum"


@dataclasses.dataclass(frozen=True)
class Result:
    """What a result of the program is made from.

    One port: what it gave - in the first micro-batch -, its sum, or, with `batch_dimension`, what it
    gave in all micro-batches, concatenated. With `bounds` such a part of each port along `dimension`.
    """

    ports: tuple[Port, ...]
    summed: bool = False
    batch_dimension: int | None = None
    dimension: int | None = None
    bounds: tuple[tuple[int, int], ...] = ()


class Routes:
    """`sources`: by module, one an input; `results`: one an output of the program."""

    def __init__(self, files: StageFiles, outputs: Sequence[Mapping[str, Any]]) -> None:
        """`outputs`: the program's rows, with name and shape.

        Errors: an input that no module before it gives; an output that none gives.
        """
        self._files = files
        self._modules = {(stage, phase): module for stage, phase, module in files.modules()}
        self._made: dict[Key, list[Port]] = defaultdict(list)
        self._shared: dict[int, list[Port]] = defaultdict(list)  # what is combined, by value
        self.sources: dict[tuple[int, str], list[Source]] = {}
        for key in _in_order(files):
            module = self._modules[key]
            self.sources[key] = [self._source(key, value) for value in module.inputs]
            seen: set[Key] = set()  # a value may be an output of the program and a sum too
            for index, value in enumerate(module.outputs):
                if value.combine is not None:
                    self._shared[value.value].append(Port(*key, index))
                if value.key not in seen:
                    self._made[value.key].append(Port(*key, index))
                seen.add(value.key)
        self.results = [self._result(number, row) for number, row in enumerate(outputs)]

    def value(self, port: Port) -> Value:
        return self._modules[port.module].outputs[port.index]

    def _source(self, key: tuple[int, str], value: Value) -> Source:
        stage, phase = key
        update = phase.startswith("update")
        if value.parameter is not None:
            return Source(parameter=value.parameter)
        if value.role == "micro-batch" and not update:
            return Source()
        if value.combine is not None:
            ports = self._shared[value.value]
            if ports and sum(map(_layers, map(self.value, ports))) == _layers(value):
                return Source(ports=tuple(ports), combine=value.combine)
        else:
            made = self._made.get(value.key, [])
            shared = update and value.role == "shared"
            made = [port for port in made if port.phase.startswith("update") == shared]
            if made and update and value.role == "sum":
                return Source(ports=tuple(made), summed=True)
            if made:  # of several that give the same, the one that needs no transfer
                own = [port for port in made if port.stage == stage]
                return Source(ports=((own or made)[-1],))
        raise errors.InvalidArgumentError(
            f'{self._files.index}: stage {stage} {phase} takes "{value.name}" ({value.role}), which '
            "no module before it gives"
        )

    def _result(self, number: int, row: Mapping[str, Any]) -> Result:
        whole: list[Port] = []
        layers: dict[int, Port] = {}
        for key in _in_order(self._files):
            for index, value in enumerate(self._modules[key].outputs):
                if value.output != number:
                    continue
                if value.layer_dimension is not None and value.layers is not None:
                    layers.setdefault(value.layers[0], Port(*key, index))
                else:
                    whole.append(Port(*key, index))
        if whole:
            return self._of_micro_batches(min(whole, key=self._rank))
        ports, bounds, at = [], [], 0
        dimension = None
        while at in layers:
            port = layers[at]
            value = self.value(port)
            dimension = value.layer_dimension
            assert value.layers is not None
            ports.append(port)
            bounds.append(value.layers)
            at = value.layers[1]
        if dimension is None or at != row["shape"][dimension]:
            found = "nothing" if dimension is None else f"{at} layers"
            raise errors.InvalidArgumentError(
                f'{self._files.index}: the modules give {found} for output "{row["name"]}" of '
                f"shape {row['shape']}"
            )
        return dataclasses.replace(
            self._of_micro_batches(ports[0]),
            ports=tuple(ports),
            dimension=dimension,
            bounds=tuple(bounds),
        )

    def _of_micro_batches(self, port: Port) -> Result:
        """What an output with the role and the dimensions of this one is as a result."""
        value = self.value(port)
        if value.role == "sum":
            return Result((port,), summed=True)
        update = port.phase.startswith("update")
        return Result((port,), batch_dimension=None if update else value.batch_dimension)

    def _rank(self, port: Port) -> int:
        """Of several outputs that are one result: sums first, what is concatenated last."""
        result = self._of_micro_batches(port)
        return 0 if result.summed else 1 if result.batch_dimension is None else 2


def _in_order(files: StageFiles) -> Iterator[tuple[int, str]]:
    """The modules, each after those that it takes something from."""
    stages = range(len(files.stages))
    rounds = (
        (("forward",), stages),
        (("backward",), reversed(stages)),
        (("update", "update-before-shared"), stages),
        (("update-after-shared",), stages),
    )
    for phases, order in rounds:
        for stage in order:
            for phase in phases:
                if phase in files.stages[stage].modules:
                    yield stage, phase


def _layers(value: Value) -> int:
    return 0 if value.layers is None else value.layers[1] - value.layers[0]
