"""The Plan: what a search decided, read from its JSON form (docs/plan-schema.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright import _library, errors
from meshwright.program import Program

if TYPE_CHECKING:
    from jax.sharding import Mesh

    from meshwright.verify import Report

Row = dict[str, Any]


class Plan:
    """How every array of a program is sharded over a mesh, and what that costs.

    Plans come from `meshwright.plan`, `meshwright.estimate` and `Plan.load`. The lists `ops`,
    `parameters`, `outputs` and `collectives` hold one dictionary a row, as a pandas.DataFrame takes
    them. Figures in bytes are those of one device, figures in seconds those of one step.
    """

    def __init__(self, document: str | bytes, program: Program | None = None) -> None:
        """`document`: the JSON; `program`: what it plans, if that is at hand."""
        self._json = document.encode() if isinstance(document, str) else document
        self._table, self._explanation = _library.read_plan(self._json)
        self._data: Row = json.loads(self._json)
        self.program = program

    @classmethod
    def load(cls, path: str | os.PathLike[str], program: Program | None = None) -> Plan:
        """Reads a plan that `save` or the command line wrote."""
        try:
            document = Path(path).read_bytes()
        except FileNotFoundError as error:
            raise errors.NotFoundError(f"cannot open {os.fspath(path)}: {error.strerror}") from None
        except OSError as error:
            raise errors.InvalidArgumentError(
                f"cannot read {os.fspath(path)}: {error.strerror}"
            ) from None
        return cls(document, program)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as JSON, all or nothing."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            temporary.write_bytes(self._json)
            temporary.replace(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise errors.InvalidArgumentError(
                f"cannot write {os.fspath(path)}: {error.strerror}"
            ) from None

    def to_json(self) -> str:
        return self._json.decode()

    def as_dict(self) -> Row:
        """The whole document, a copy."""
        return json.loads(self._json)

    def explain(self) -> str:
        """The plan in words, as `meshwright explain` prints it: what kind of parallelism it is,
        where time goes, what fills memory, the dearest collectives and what causes them.
        """
        return self._explanation

    def __str__(self) -> str:
        """In short: time, memory, collectives, and how the parameters are sharded."""
        return self._table

    def __repr__(self) -> str:
        mesh = ",".join(f"{name}={size}" for name, size in self.mesh_shape.items())
        how = f"mesh {mesh}"
        if self.stages:
            stages, parts = len(self.stages), self._data["micro_batches"]
            how = f"{stages} stage{'s' * (stages > 1)}, {parts} micro-batch{'es' * (parts > 1)}"
        return (
            f"<Plan for {self._data['cluster']['name']}, {how}: "
            f"{1e3 * self.step_seconds:.3g} ms, {self.peak_bytes / 2**30:.3g} GiB>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        mine, theirs = dict(self._data), dict(other._data)
        mine.pop("planning_seconds")
        theirs.pop("planning_seconds")
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    @property
    def mesh_shape(self) -> dict[str, int]:
        """The axes of the mesh with their sizes, outermost first."""
        return {axis["name"]: axis["size"] for axis in self._data["mesh"]["axes"]}

    @property
    def num_devices(self) -> int:
        """Those that run the program: of the mesh, or of all stages."""
        if self.stages:
            return len({device for stage in self.stages for device in stage["devices"]})
        count = 1
        for size in self.mesh_shape.values():
            count *= size
        return count

    @property
    def device_types(self) -> list[Row]:
        """The devices planned for: type, numbers and memory, a row for each part of the cluster."""
        return self.as_dict()["cluster"]["parts"]

    @property
    def objective_seconds(self) -> float:
        """What the search minimises: kernels and collectives one after the other."""
        return self._data["objective_seconds"]

    @property
    def step_seconds(self) -> float:
        """The predicted time of one step, collectives beside kernels as XLA runs them."""
        return self._data["step_seconds"]

    @property
    def peak_bytes(self) -> int:
        return self._data["peak_bytes"]

    @property
    def gap(self) -> float:
        """How far from optimal the plan may be at most: 0.01 is one per cent."""
        return self._data["gap"]

    @property
    def warnings(self) -> list[str]:
        return list(self._data["warnings"])

    @property
    def summary(self) -> Row:
        """The figures of the whole plan, without its lists."""
        lists = {
            *("parameters", "outputs", "instructions", "collectives", "inputs", "warnings"),
            *("op_names", "source_files", "memory_timeline"),
        }
        return {key: value for key, value in self.as_dict().items() if key not in lists}

    @property
    def ops(self) -> list[Row]:
        """Every operator in program order: what it reads and computes, spec, strategy, seconds,
        collectives.

        `op_name` and `source` ("file:line") are those of the program's metadata, absent where it
        says nothing; `operands` are positions in this list.
        """
        document = self.as_dict()
        rows = document["instructions"]
        for row in rows:
            if "op_name" in row:
                row["op_name"] = document["op_names"][row["op_name"]]
            if "source" in row:
                file, line = row["source"]
                row["source"] = f"{document['source_files'][file]}:{line}"
        return rows

    @property
    def memory_timeline(self) -> list[Row]:
        """Memory of one device over the step: bytes by category, the peak as it is.

        Empty where there is no program, and of pipelines: there each of `stages` has its own.
        """
        columns = self.as_dict()["memory_timeline"]
        if columns is None:
            return []
        columns.pop("length")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def parameters(self) -> list[Row]:
        return self.as_dict()["parameters"]

    @property
    def outputs(self) -> list[Row]:
        return self.as_dict()["outputs"]

    @property
    def stages(self) -> list[Row]:
        """The stages of a pipeline, each with its own devices and memory; empty without one."""
        return self.as_dict()["stages"]

    @property
    def collectives(self) -> list[Row]:
        """All communication, by kind and axes."""
        return self.as_dict()["collectives"]

    def mesh(self, devices: Any = None) -> Mesh:
        """The plan's mesh over `devices`, by default the first that JAX sees (of all processes)."""
        from meshwright import jax as front_end

        return front_end.make_mesh(self, devices)

    def in_shardings(self, mesh: Mesh | None = None) -> Any:
        """A NamedSharding for every argument, as jax.jit's in_shardings takes them.

        The structure is that of the function's positional arguments; of plans whose function is not
        known (made from files, or loaded) a list, one entry for each parameter.
        """
        from meshwright import jax as front_end

        return front_end.in_shardings(self, mesh)

    def out_shardings(self, mesh: Mesh | None = None) -> Any:
        """A NamedSharding for every result, in the structure of the results. See in_shardings."""
        from meshwright import jax as front_end

        return front_end.out_shardings(self, mesh)

    def verify(self, program: Any = None, **options: Any) -> Report:
        """Compiles the plan under JAX and holds it against what the compiled program does.

        `program`: what the plan is of, where that is not known. See `meshwright.verify.verify`.
        """
        from meshwright.verify import verify

        return verify(self, program, **options)
