"""The Plan: what a search decided, read from its JSON form (docs/plan-schema.md)."""

from __future__ import annotations

import copy
import html
import json
import math
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright import _library, _outputs, errors, specs
from meshwright.answers import Answer
from meshwright.options import ExportOptions, Fixes, as_json
from meshwright.program import Program, read_file

if TYPE_CHECKING:
    from jax.sharding import Mesh
    from typing_extensions import Unpack

    from meshwright.planning import Sweep
    from meshwright.verify import Report

Row = dict[str, Any]


def _document(shown: Plan | Sweep | Report) -> str:
    """What `meshwright report` reads of it."""
    from meshwright.planning import Sweep  # which itself needs this module

    if isinstance(shown, Plan):
        return shown.to_json()
    return shown.csv if isinstance(shown, Sweep) else json.dumps(shown.as_dict())


def _plus_minus(error: float | None) -> str:
    return "" if error is None else f" ± {math.ceil(100 * error)} %"


class Plan:
    """How every array of a program is sharded over a mesh, and what that costs.

    Plans come from `meshwright.plan`, `meshwright.estimate` and `Plan.load`. The lists `ops`,
    `parameters`, `outputs` and `collectives` hold one dictionary a row, as a pandas.DataFrame takes
    them. Figures in bytes are those of one device, figures in seconds those of one step.
    """

    def __init__(self, document: str | bytes, program: Program | None = None) -> None:
        """`document`: the JSON; `program`: what it plans, if that is available."""
        self._json = document.encode() if isinstance(document, str) else document
        self._table = _library.read_plan(self._json)
        self._data: Row = json.loads(self._json)
        self.program = program
        # Where `meshwright.plan(..., emit=folder)` wrote the stages of its pipeline.
        self.stages_folder: Path | None = None

    def __reduce__(self) -> Any:
        """Pickled and copied with its program's text, without the function that this was made of."""
        program = self.program and Program(self.program.contents, self.program.name)
        return type(self), (self._json, program), {"stages_folder": self.stages_folder}

    @classmethod
    def load(cls, path: str | os.PathLike[str], program: Program | None = None) -> Plan:
        """Reads a plan that `save` or the command line wrote."""
        return cls(read_file(path), program)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as JSON, all or nothing."""
        _outputs.write_file(path, self._json)

    def to_json(self) -> str:
        return self._json.decode()

    def as_dict(self) -> Row:
        """The whole document, a copy."""
        return json.loads(self._json)

    def explain(self, tensor: str | None = None, *, parameters: bool = False) -> Answer:
        """The plan in words, as `meshwright explain` prints it: what kind of parallelism it is,
        where time goes, what fills memory, the most expensive collectives and what causes them.

        Args:
          tensor: instead the placement of every parameter, output or instruction of this name (`*`
            and `?` match any characters), who makes it and who moves it.
          parameters: instead the placement of every parameter.
        """
        given = as_json({"tensor": tensor, "parameters": parameters})
        return _library.explain(self._json, given)

    def why_not(self, *why_not: Fixes, program: str | os.PathLike[str] | None = None) -> Answer:
        """What it would cost to do otherwise, everything else planned anew.

        Args:
          *why_not: as `plan`'s `fix`: shardings of a program, {"tok": P("x")} or "tok=[x,_]"; of a
            pipeline those of parameters; degrees of a model, {"tp": 4} or "tp=4,pp=2".
          program: the path of the program, where it is neither known nor where the plan says.
        """
        asked = [
            text for fix in why_not for text in specs.fix_texts(fix, degrees=not self.has_program)
        ]
        if not asked:
            raise errors.InvalidArgumentError("why_not: say what, as for plan's `fix`")
        at_hand = self.program.contents if self.program is not None and program is None else None
        given = as_json({"why_not": asked, "program": program})
        return _library.explain(self._json, given, at_hand)

    def diff(self, other: Plan) -> Answer:
        """What changes from this plan to `other`."""
        if not isinstance(other, Plan):
            raise errors.InvalidArgumentError(
                f"diff: expected a Plan, found {type(other).__name__}"
            )
        return _library.diff(self._json, other._json)

    def simulate(
        self,
        *,
        schedule: str | None = None,
        micro_batches: int | None = None,
        trace: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """The step, or the schedule of a pipeline, event by event.

        Args:
          schedule: another than the plan's.
          micro_batches: another number of them, each as large as in the plan.
          trace: write a trace for Perfetto or chrome://tracing there.
        """
        given = as_json({"schedule": schedule, "micro_batches": micro_batches})
        answer, events, warning = _library.simulate(self._json, given)
        if trace is not None:
            _outputs.write_file(trace, events)
            if warning:
                warnings.warn(warning, stacklevel=2)
        return answer

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *others: Plan | Sweep | Report,
        csv: str | os.PathLike[str] | None = None,
        dot: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes the plan's report: one HTML file that opens without a network.

        Args:
          path: of the HTML file; None: it is not wanted.
          *others: plans to show beside this one, sweeps, and what `verify` found.
          csv: a folder to make, with every table of the plans.
          dot: a file for the graph of the plan's segments, for Graphviz.
        """
        documents = [
            (f"{type(shown).__name__.lower()} {i + 1}", _document(shown))
            for i, shown in enumerate([self, *others])
        ]
        wanted = {"page": path, "tables": csv, "dot": dot}
        texts = [name for name, target in wanted.items() if target is not None]
        if not texts:
            raise errors.InvalidArgumentError("report: say where: path, csv or dot")
        made = _library.report(documents, texts)
        if path is not None:
            if "page" not in made:
                raise errors.UnsupportedError(
                    "report: this library was built without the page (MESHWRIGHT_REPORT); csv and "
                    "dot work"
                )
            _outputs.write_file(path, made["page"])
        if csv is not None:
            tables = json.loads(made["tables"])
            _outputs.write_folder(csv, [(name, text, False) for name, text in tables.items()])
        if dot is not None:
            if "dot" not in made:
                raise errors.InvalidArgumentError("report: dot is of one plan of a program")
            _outputs.write_file(dot, made["dot"])

    def export(
        self,
        to: str,
        path: str | os.PathLike[str] | None = None,
        **options: Unpack[ExportOptions],
    ) -> Path:
        """Makes the folder of a launch: "megatron", "nemo", "torchtitan", "jax", ...

        Args:
          to: what runs it; see `meshwright help export`.
          path: of the folder, which must not be there or be empty; default: "MODEL-TARGET".
          **options: of `meshwright export`, with `_` for `-`: data_path, tokenizer, nodes, ...

        Returns:
          The folder.
        """
        usual, files = _library.export(self._json, as_json({"to": to, **options}))
        folder = Path(usual if path is None else path)
        _outputs.write_folder(folder, [(f["name"], f["contents"], f["executable"]) for f in files])
        return folder

    def _repr_html_(self) -> str:
        """What notebooks show: how the report begins."""
        facts = {
            "step": f"{1e3 * self.step_seconds:.4g} ms{_plus_minus(self.time_error)}",
            "peak memory": f"{self.peak_bytes / 2**30:.3g} GiB{_plus_minus(self.memory_error)} a device",
            "devices": self._data["cluster"]["name"],
        }
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in facts.items()
        )
        lines = [*_library.headline(self._json), *(f"Warning: {text}" for text in self.warnings)]
        sentences = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
        return f"<div><table>{rows}</table>{sentences}</div>"

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
    def has_program(self) -> bool:
        """Whether it is the plan of a program; else of a model, which it holds itself."""
        return self._data.get("transformer") is None

    @property
    def launch(self) -> Row:
        """Of the plan of a model: what it is `for`, the `targets` that launch it, and the `command` for the first.

        The command reads the plan from `plan.json`; `export` takes the same targets.
        """
        if self.has_program:
            raise errors.UnsupportedError(
                "launch: plans of programs are run, by meshwright.jax or torch"
            )
        return copy.deepcopy(self._data["transformer"]["launch"])

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
        return copy.deepcopy(self._data["cluster"]["parts"])

    @property
    def objective_seconds(self) -> float:
        """What the search minimises: the step; of pipelines its serial time."""
        return self._data["objective_seconds"]

    @property
    def step_seconds(self) -> float:
        """The predicted time of one step, collectives overlapped as XLA runs them."""
        return self._data["step_seconds"]

    @property
    def peak_bytes(self) -> int:
        return self._data["peak_bytes"]

    @property
    def time_error(self) -> float | None:
        """The share of `step_seconds` that a measured step may differ by; None with a cost model without unit."""
        return self._data["time_error"]

    @property
    def memory_error(self) -> float | None:
        """The same of `peak_bytes`."""
        return self._data["memory_error"]

    @property
    def gap(self) -> float:
        """How far from optimal the plan may be at most: 0.01 is one per cent."""
        return self._data["gap"]

    @property
    def warnings(self) -> list[str]:
        return list(self._data["warnings"])

    @property
    def deviations(self) -> list[str]:
        """The warnings that say why results are not those of the whole program."""
        return [text for text in self.warnings if "the results are not the whole program's" in text]

    @property
    def left_out(self) -> list[str]:
        """The warnings that name what stages of a pipeline do not do: calls for their effect only."""
        return [text for text in self.warnings if "which stages of a pipeline leave out" in text]

    @property
    def summary(self) -> Row:
        """The figures of the whole plan, without its lists."""
        lists = {
            *("parameters", "outputs", "instructions", "collectives", "inputs", "warnings"),
            *("op_names", "source_files", "memory_timeline", "step_timeline"),
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
        columns = copy.deepcopy(self._data["memory_timeline"])
        if columns is None:
            return []
        columns.pop("length")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def parameters(self) -> list[Row]:
        return copy.deepcopy(self._data["parameters"])

    @property
    def outputs(self) -> list[Row]:
        return copy.deepcopy(self._data["outputs"])

    @property
    def stages(self) -> list[Row]:
        """The stages of a pipeline, each with its own devices and memory; empty without one."""
        return copy.deepcopy(self._data["stages"])

    @property
    def collectives(self) -> list[Row]:
        """All communication, by kind and axes."""
        return copy.deepcopy(self._data["collectives"])

    def _check_has_program(self) -> None:
        if self.has_program:
            return
        raise errors.InvalidArgumentError(
            f"this is a plan of the model {self._data['transformer']['model']}, which has no program "
            "to shard; plan.export(target, path) writes what launches it"
        )

    def mesh(self, devices: Any = None) -> Mesh:
        """The plan's mesh over `devices`, by default the first that JAX sees (of all processes)."""
        from meshwright import jax as front_end

        self._check_has_program()
        return front_end.make_mesh(self, devices)

    def in_shardings(self, mesh: Mesh | None = None) -> Any:
        """A NamedSharding for every argument, as jax.jit's in_shardings takes them.

        The structure is that of the function's positional arguments; of plans whose function is not
        known (made from files, or loaded) a list, one entry for each parameter.
        """
        from meshwright import jax as front_end

        self._check_has_program()
        return front_end.in_shardings(self, mesh)

    def out_shardings(self, mesh: Mesh | None = None) -> Any:
        """A NamedSharding for every result, in the structure of the results. See in_shardings."""
        from meshwright import jax as front_end

        self._check_has_program()
        return front_end.out_shardings(self, mesh)

    def verify(self, program: Any = None, **options: Any) -> Report:
        """Compiles the plan under JAX and holds it against what the compiled program does.

        `program`: what the plan is of, where that is not known. See `meshwright.verify.verify`.
        """
        from meshwright.verify import verify

        self._check_has_program()
        return verify(self, program, **options)
