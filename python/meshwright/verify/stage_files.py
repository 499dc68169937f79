"""The folder that `meshwright plan --emit` wrote for a plan with a pipeline: docs/stages.md."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from meshwright import errors
from meshwright.document import Plan

INDEX = "stages.json"
# In the order in which a stage runs them.
PHASES = ("forward", "backward", "update", "update-before-shared", "update-after-shared")

# By whether a module is of the update: what its inputs and outputs can be.
INPUT_ROLES = {
    False: ("state", "data", "activation", "gradient", "saved", "micro-batch"),
    True: ("state", "data", "saved", "sum", "shared"),
}
OUTPUT_ROLES = {
    False: ("state", "activation", "gradient", "saved", "sum", "result"),
    True: ("state", "sum", "shared", "result"),
}
# Of values that are combined over the layers of a loop.
COMBINATIONS = ("sum", "product", "max", "min", "and", "or")

# (value, layer, layers): makes an output of one module the input of another.
Key = tuple[int, "int | None", "tuple[int, int] | None"]


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output of a module."""

    role: str
    name: str
    value: int
    parameter: int | None  # that it is, or that the output replaces
    output: int | None
    layer: int | None
    layer_dimension: int | None
    layers: tuple[int, int] | None  # [first, end)
    combine: str | None
    batch_dimension: int | None

    @property
    def key(self) -> Key:
        return self.value, self.layer, self.layers


@dataclasses.dataclass(frozen=True)
class Module:
    path: Path
    inputs: Sequence[Value]
    outputs: Sequence[Value]


@dataclasses.dataclass(frozen=True)
class Stage:
    first_layer: int
    end_layer: int
    axes: Sequence[tuple[str, int]]  # of its mesh
    modules: Mapping[str, Module]  # by phase


@dataclasses.dataclass(frozen=True)
class StageFiles:
    index: Path
    program: str  # fingerprint
    micro_batches: int
    stages: Sequence[Stage]

    def modules(self) -> Iterator[tuple[int, str, Module]]:
        for number, stage in enumerate(self.stages):
            for phase in PHASES:
                if phase in stage.modules:
                    yield number, phase, stage.modules[phase]


def read_stage_files(folder: str | os.PathLike[str]) -> StageFiles:
    """Reads the index; the modules it names are there."""
    index = Path(folder) / INDEX
    contents = read_file(index, "; `meshwright plan --emit` writes it")
    try:
        data = json.loads(contents)
    except (RecursionError, ValueError) as error:
        raise errors.InvalidArgumentError(f"{index}: {error}") from None
    reader = _Reader(index)
    micro_batches = reader.get(data, "micro_batches", int)
    stages = [reader.stage(stage) for stage in reader.get(data, "stages", list)]
    if micro_batches < 1 or not stages:
        raise errors.InvalidArgumentError(
            f"{index}: found {_counts(len(stages), micro_batches)}, expected at least one of each"
        )
    return StageFiles(index, reader.get(data, "program", str), micro_batches, stages)


def read_file(path: Path, hint: str = "") -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise errors.NotFoundError(f"cannot open {path}: {error.strerror}{hint}") from None
    except OSError as error:
        raise errors.InvalidArgumentError(f"cannot read {path}: {error.strerror}") from None


def check_plan(files: StageFiles, plan: Plan) -> None:
    """Raises an error if the folder is another plan's."""
    rows = plan.stages
    planned = [(row["first_layer"], row["end_layer"], _axes(row["mesh"])) for row in rows]
    found = [(stage.first_layer, stage.end_layer, list(stage.axes)) for stage in files.stages]
    micro_batches = plan.summary["micro_batches"]
    if len(found) != len(planned) or files.micro_batches != micro_batches:
        difference = (
            f"{_counts(len(found), files.micro_batches)}, the plan has {len(planned)} and "
            f"{micro_batches}"
        )
    elif found != planned:
        number = next(i for i, pair in enumerate(zip(found, planned)) if pair[0] != pair[1])
        difference = (
            f"stage {number} as {_text(*found[number])}, the plan {_text(*planned[number])}"
        )
    else:
        return
    raise errors.InvalidArgumentError(f"{files.index} is of another plan: it has {difference}")


def check_program(
    files: StageFiles, parameters: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]]
) -> None:
    """Raises an error if the stages are not of the program with these parameters and outputs."""
    for _, _, module in files.modules():
        for value in (*module.inputs, *module.outputs):
            if value.output is not None:
                kind, rows, number = "output", outputs, value.output
            elif value.parameter is not None:
                kind, rows, number = "parameter", parameters, value.parameter
            else:
                continue
            name = rows[number]["name"] if number < len(rows) else None
            if name != value.name:
                found = "no such " + kind if name is None else f'"{name}"'
                raise errors.InvalidArgumentError(
                    f'{files.index}: {kind} {number} is "{value.name}", the program has {found}: '
                    "the stages are of another program"
                )
            _check_dimensions(files, value, rows[number]["shape"])


def _check_dimensions(files: StageFiles, value: Value, shape: Sequence[int]) -> None:
    """Raises an error if what `value` says about an array of the program cannot be."""

    def refuse(key: str, found: object, expected: str) -> None:
        raise errors.InvalidArgumentError(
            f'{files.index}: "{key}" of "{value.name}": found {found}, expected {expected}'
        )

    for key in ("batch_dimension", "layer_dimension"):
        dimension = getattr(value, key)
        if dimension is not None and dimension >= len(shape):
            refuse(key, dimension, f"a dimension of an array of shape {list(shape)}")
    if value.layer_dimension is not None:
        size = shape[value.layer_dimension]
        if value.layers is None or value.layers[1] > size:
            found = "none" if value.layers is None else list(value.layers)
            refuse("layers", found, f"a range of the {size} layers of the array")
    if value.batch_dimension is not None and value.parameter is not None:
        size = shape[value.batch_dimension]
        if value.output is None and size % files.micro_batches != 0:
            refuse(
                "batch_dimension",
                value.batch_dimension,
                f"a dimension that {files.micro_batches} micro-batches divide, not of size {size}",
            )


def _axes(mesh: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(axis["name"], axis["size"]) for axis in mesh["axes"]]


def _counts(stages: int, micro_batches: int) -> str:
    return (
        f"{stages} stage{'s' * (stages != 1)} and "
        f"{micro_batches} micro-batch{'es' * (micro_batches != 1)}"
    )


def _text(first: int, end: int, axes: Sequence[tuple[str, int]]) -> str:
    return f"layers {first}-{end - 1} on {mesh_text(axes)}"


def mesh_text(axes: Sequence[tuple[str, int]]) -> str:
    return ",".join(f"{name}={size}" for name, size in axes if size > 1) or "one device"


class _Reader:
    """Takes JSON apart; errors name the file and the key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, data: Any, key: str, kind: type, *, optional: bool = False) -> Any:
        if not isinstance(data, dict):
            raise errors.InvalidArgumentError(
                f'{self.path}: found {_json_text(data)}, expected an object with "{key}"'
            )
        if key not in data:
            raise errors.InvalidArgumentError(f'{self.path}: "{key}" is missing')
        value = data[key]
        if value is None and optional:
            return None
        if not isinstance(value, kind) or isinstance(value, bool):
            names = {int: "an integer", str: "a string", list: "a list", dict: "an object"}
            self.refuse(key, value, names[kind])
        return value

    def refuse(self, key: str, value: Any, expected: str) -> None:
        raise errors.InvalidArgumentError(
            f'{self.path}: "{key}": found {_json_text(value)}, expected {expected}'
        )

    def index(self, data: Any, key: str, *, optional: bool = False) -> Any:
        value = self.get(data, key, int, optional=optional)
        if value is not None and value < 0:
            self.refuse(key, value, "an integer from 0")
        return value

    def stage(self, data: Any) -> Stage:
        axes = []
        for axis in self.get(data, "mesh", list):
            size = self.get(axis, "size", int)
            if size < 1:
                self.refuse("size", size, "an integer from 1")
            axes.append((self.get(axis, "name", str), size))
        modules = {}
        for phase, module in self.get(data, "modules", dict).items():
            if phase not in PHASES:
                self.refuse("modules", phase, " or ".join(PHASES))
            modules[phase] = self.module(module, phase.startswith("update"))
        return Stage(self.index(data, "first_layer"), self.index(data, "end_layer"), axes, modules)

    def module(self, data: Any, update: bool) -> Module:
        file = self.get(data, "file", str)
        if not file or Path(file).name != file:
            self.refuse("file", file, "the name of a file in the same folder")
        return Module(
            self.path.with_name(file),
            [self.input(value, update) for value in self.get(data, "inputs", list)],
            [self.output(value, update) for value in self.get(data, "outputs", list)],
        )

    def input(self, data: Any, update: bool) -> Value:
        value = self.value(data, INPUT_ROLES[update])
        if (value.role in ("state", "data")) != (value.parameter is not None):
            wanted = "null" if value.parameter is not None else "the number of a parameter"
            self.refuse(
                "parameter", value.parameter, f'{wanted} for "{value.name}" of role {value.role}'
            )
        return value

    def output(self, data: Any, update: bool) -> Value:
        value = self.value(data, OUTPUT_ROLES[update])
        if value.role in ("state", "result") and value.output is None:
            self.refuse(
                "output", None, f'the number of an output for "{value.name}" of role {value.role}'
            )
        return value

    def one_of(self, data: Any, key: str, names: Sequence[str], *, optional: bool = False) -> Any:
        name = self.get(data, key, str, optional=optional)
        if name is not None and name not in names:
            self.refuse(key, name, f"{', '.join(names[:-1])} or {names[-1]}")
        return name

    def value(self, data: Any, roles: Sequence[str]) -> Value:
        layers = self.get(data, "layers", list, optional=True)
        if layers is not None:
            if len(layers) != 2 or not all(type(layer) is int for layer in layers):
                self.refuse("layers", layers, "two integers")
            if not 0 <= layers[0] < layers[1]:
                self.refuse("layers", layers, "a range that is not empty")
        return Value(
            role=self.one_of(data, "role", roles),
            name=self.get(data, "name", str),
            value=self.index(data, "value"),
            parameter=self.index(data, "parameter", optional=True),
            output=self.index(data, "output", optional=True),
            layer=self.index(data, "layer", optional=True),
            layer_dimension=self.index(data, "layer_dimension", optional=True),
            layers=None if layers is None else (layers[0], layers[1]),
            combine=self.one_of(data, "combine", COMBINATIONS, optional=True),
            batch_dimension=self.index(data, "batch_dimension", optional=True),
        )


def _json_text(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:40] + "..."
