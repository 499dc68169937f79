"""One training step by the modules of a pipeline's stages: docs/stages.md, as a runtime does it."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from meshwright import errors
from meshwright.verify.stage_files import Key, StageFiles, Value
from meshwright.verify.stage_program import StageProgram

_COMBINE = {
    "sum": np.add,
    "product": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
# Stages wait for each other's shared values once.
_UPDATE_ROUNDS = (("update", "update-before-shared"), ("update-after-shared",))

Programs = Mapping[tuple[int, str], StageProgram]  # by stage and phase


@dataclasses.dataclass
class _Piece:
    """A part of an output of the program: [begin, ...) of `dimension`, or all of it."""

    dimension: int | None
    begin: int
    array: np.ndarray


class StageStep:
    """Modules exchange nothing but what the index says they do."""

    def __init__(
        self,
        files: StageFiles,
        programs: Programs,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[Mapping[str, Any]],
    ) -> None:
        """`inputs`: the whole program's; `outputs`: its rows, with name and shape."""
        self.seconds: dict[tuple[int, str], list[float]] = defaultdict(list)
        self._files = files
        self._programs = programs
        self._inputs = inputs
        self._outputs = outputs
        self._summed = {
            value.key
            for _, phase, module in files.modules()
            for value in module.inputs
            if phase.startswith("update") and value.role == "sum"
        }
        self._values: dict[Key, np.ndarray] = {}  # of the micro-batch at hand
        self._sums: dict[Key, np.ndarray] = {}
        self._shared: dict[Key, np.ndarray] = {}
        self._combined: dict[int, tuple[np.ndarray, int]] = {}  # by value: of how many layers
        self._result_sums: dict[int, np.ndarray] = {}
        self._pieces: dict[int, list[_Piece]] = defaultdict(list)

    def run(self) -> list[np.ndarray]:
        """The outputs of the whole program."""
        stages = range(len(self._files.stages))
        for micro_batch in range(self._files.micro_batches):
            self._values.clear()
            for stage in stages:
                self._run(stage, "forward", micro_batch)
            for stage in reversed(stages):
                self._run(stage, "backward", micro_batch)
        for phases in _UPDATE_ROUNDS:
            for stage in stages:
                for phase in phases:
                    self._run(stage, phase, None)
        return [self._output(number) for number in range(len(self._outputs))]

    def _run(self, stage: int, phase: str, micro_batch: int | None) -> None:
        program = self._programs.get((stage, phase))
        if program is None:
            return
        where = f"stage {stage} {phase}"
        arrays = [
            self._input(value, micro_batch, len(expected.shape), where)
            for value, expected in zip(program.module.inputs, program.inputs)
        ]
        for value, array, expected in zip(program.module.inputs, arrays, program.inputs):
            if array.shape != expected.shape or array.dtype != expected.dtype:
                raise errors.InvalidArgumentError(
                    f'{program.module.path}: input "{value.name}" is {_type(expected)}, what it is '
                    f"given is {_type(array)}: the module is of another program or plan"
                )
        placed = program.place(arrays)
        start = time.perf_counter()
        results = program.run(placed)
        self.seconds[stage, phase].append(time.perf_counter() - start)
        kept: set[Key] = set()  # a value may be an output of the program and a sum for the update
        for value, result in zip(program.module.outputs, results):
            self._keep(value, np.asarray(result), micro_batch, kept)

    def _input(self, value: Value, micro_batch: int | None, rank: int, where: str) -> np.ndarray:
        if value.parameter is not None:
            array = self._inputs[value.parameter]
            return self._parameter(value, array, micro_batch) if array.ndim == rank else array
        if value.role == "micro-batch" and micro_batch is not None:
            return np.array(micro_batch, np.int32)
        if value.combine is not None:
            array, layers = self._combined.get(value.value, (None, 0))
            if array is not None and layers == _layers(value):
                return array
        elif micro_batch is None and value.role in ("sum", "shared"):
            found = (self._sums if value.role == "sum" else self._shared).get(value.key)
            if found is not None:
                return found
        elif value.key in self._values:
            return self._values[value.key]
        raise errors.InvalidArgumentError(
            f'{self._files.index}: {where} takes "{value.name}" ({value.role}), which no module '
            "before it gives"
        )

    def _parameter(self, value: Value, array: np.ndarray, micro_batch: int | None) -> np.ndarray:
        """The part of a parameter that the module is for."""
        if value.layer_dimension is not None and value.layers is not None:
            array = _part(array, value.layer_dimension, *value.layers)
        if value.batch_dimension is not None and micro_batch is not None:
            size = array.shape[value.batch_dimension] // self._files.micro_batches
            array = _part(
                array, value.batch_dimension, micro_batch * size, (micro_batch + 1) * size
            )
        return array

    def _keep(
        self, value: Value, array: np.ndarray, micro_batch: int | None, kept: set[Key]
    ) -> None:
        if value.output is not None:
            self._deliver(value, value.output, array, micro_batch)
        if micro_batch is None:
            if value.combine is not None:
                self._combine(value, value.combine, array)
            self._shared[value.key] = array
            return
        self._values[value.key] = array
        if value.key in self._summed and value.key not in kept:
            _add(self._sums, value.key, array)
        kept.add(value.key)

    def _combine(self, value: Value, how: str, array: np.ndarray) -> None:
        before, layers = self._combined.get(value.value, (None, 0))
        whole = array if before is None else _COMBINE[how](before, array)
        self._combined[value.value] = whole, layers + _layers(value)

    def _deliver(
        self, value: Value, output: int, array: np.ndarray, micro_batch: int | None
    ) -> None:
        if value.role == "sum":
            _add(self._result_sums, output, array)
            return
        piece = _Piece(None, 0, array)
        if value.batch_dimension is not None and micro_batch is not None:
            size = array.shape[value.batch_dimension]
            piece = _Piece(value.batch_dimension, micro_batch * size, array)
        elif value.layer_dimension is not None and value.layers is not None:
            piece = _Piece(value.layer_dimension, value.layers[0], array)
        self._pieces[output].append(piece)

    def _output(self, number: int) -> np.ndarray:
        row = self._outputs[number]
        array = self._result_sums.get(number)
        if array is None:
            array = _assembled(self._pieces[number])
        if array is None or list(array.shape) != row["shape"]:
            found = "nothing" if array is None else f"an array of shape {list(array.shape)}"
            raise errors.InvalidArgumentError(
                f'{self._files.index}: the modules give {found} for output "{row["name"]}" of '
                f"shape {row['shape']}"
            )
        return array


def _assembled(pieces: Sequence[_Piece]) -> np.ndarray | None:
    for piece in pieces:
        if piece.dimension is None:
            return piece.array
    if not pieces:
        return None
    by_begin = {piece.begin: piece for piece in pieces}
    parts = list(_without_gaps(by_begin))
    dimension = pieces[0].dimension
    assert dimension is not None
    return np.concatenate(parts, dimension) if parts else None


def _without_gaps(by_begin: Mapping[int, _Piece]) -> Iterator[np.ndarray]:
    """The pieces from 0 on, as far as they join."""
    at = 0
    while (piece := by_begin.get(at)) is not None and piece.dimension is not None:
        yield piece.array
        at += piece.array.shape[piece.dimension]


def _add(sums: dict[Any, np.ndarray], key: Any, array: np.ndarray) -> None:
    sums[key] = sums[key] + array if key in sums else array


def _layers(value: Value) -> int:
    return 0 if value.layers is None else value.layers[1] - value.layers[0]


def _part(array: np.ndarray, dimension: int, begin: int, end: int) -> np.ndarray:
    where = [slice(None)] * array.ndim
    where[dimension] = slice(begin, end)
    return array[tuple(where)]


def _type(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}"
