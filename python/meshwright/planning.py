"""plan, estimate, sweep and model: from what is to be planned and a cluster to a Plan."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright import _library, _outputs, clusters, errors, specs
from meshwright.answers import Answer
from meshwright.document import Plan, Row
from meshwright.options import (
    BlocksOptions,
    EstimateOptions,
    Fixes,
    Mesh,
    PlanOptions,
    SolveOptions,
    SweepOptions,
    as_json,
)
from meshwright.program import Program, read_file, read_program

if TYPE_CHECKING:
    from typing_extensions import Unpack


def plan(
    program: Any,
    *args: Any,
    cluster: str | os.PathLike[str] | None = None,
    global_batch: int | None = None,
    pipeline: str | int = "off",
    mesh: Mesh = "auto",
    memory: str | int = "device",
    fix: Fixes | None = None,
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Finds the fastest way to train a program or a model that fits into memory.

    Args:
      program: a program: a function; a jax.stages.Lowered; or HLO text, HloModuleProto, StableHLO
        text or bytecode, or what jax.export serializes: its path, text or bytes. Or a model: a
        name of `meshwright.models()` ("llama3-70b"), a config.json or YAML file, the folder of one,
        its dictionary, or a configuration of transformers (anything with `to_dict`).
      *args: example arguments of the function, arrays or jax.ShapeDtypeStruct.
      cluster: "8xh100-sxm", "2x8xa100-80g" or the path of a YAML file; of models also groups of
        nodes, "2x8xh100-sxm+4x8xa100-80g". Default: what JAX sees, see `meshwright.clusters.guess`.
      global_batch: sequences of a step; models need it.
      pipeline: of programs, "auto" cuts the program into as many stages as is best; or their number.
      mesh: of programs, "auto" tries every mesh of one and two axes that suits the cluster; or one
        mesh: "2x4", (2, 4), {"x": 2, "y": 4}, a jax.sharding.Mesh.
      memory: what a device may use: "60GiB", bytes, "device" (all it has) or "unlimited".
      fix: what to insist on. Of programs shardings, {"state[*]['wq']": P(None, "y")} or
        ["tok=[x,_]"]; names as in the plan, `*` and `?` match any characters. Of models degrees,
        {"tp": 8, "pp": 4} or "tp=8,pp=4".
      kwargs: example keyword arguments of the function.
      **options: further options of `meshwright plan`, with `_` for `-` (and `for_`): deadline,
        seed, threads, seq, dtype, objective, micro_batches, ..., and the files to write: output,
        emit (with `pipeline` a folder, which must not be there or be empty), csv and plot; see
        `meshwright.options`.

    Raises:
      InfeasibleError: nothing fits; the message says what would.
      InvalidArgumentError, NotFoundError, UnsupportedError: the input is at fault.
    """
    subject = _read_subject(program, args, kwargs or {})
    named = {"global_batch": global_batch, "pipeline": pipeline, "mesh": mesh, "memory": memory}
    usual = {"pipeline": "off", "mesh": "auto", "memory": "device"}
    given = {name: value for name, value in named.items() if value != usual.get(name)}
    return _plan(subject, cluster, {**given, "fix": fix, **options})


def estimate(
    program: Any,
    *args: Any,
    shardings: Any = None,
    mesh: Mesh = None,
    cluster: str | os.PathLike[str] | None = None,
    memory: str | int = "unlimited",
    fix: Fixes | None = None,
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[EstimateOptions],
) -> Plan:
    """Costs given shardings; what is not given is as XLA propagates it (`rest="least-cost"`: as planned).

    Args:
      program: a program, as for `plan`.
      shardings: of the function's arguments, as jax.jit's in_shardings: a pytree (prefix) of
        NamedSharding, PartitionSpec or None (left open).
      mesh: as for `plan`, but needed, unless the shardings are NamedShardings and bring theirs.

    Everything else is as for `plan`.
    """
    read = read_program(program, args, kwargs or {})
    fixes = specs.fix_texts(fix)
    if shardings is not None:
        from meshwright import jax as front_end

        fixes = front_end.argument_fixes(read, shardings) + fixes
        mesh = mesh if mesh is not None else front_end.mesh_of(shardings)
    if mesh is None:
        raise errors.InvalidArgumentError("mesh: is needed, e.g. mesh=(2, 4)")
    given = {"mesh": mesh, "memory": memory, "fix": fixes, **options}
    return plan_program(read, cluster, given, estimate=True)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The best plan on each number of GPUs, for each batch or for each length of sequences."""

    table: str  # for a terminal
    csv: str
    plot: Row  # a Vega-Lite chart with its data
    plan: Plan  # of the last row; it has all rows in short

    def __str__(self) -> str:
        return self.table


def sweep(
    model: Any,
    over: str,
    *,
    cluster: str | os.PathLike[str] | None = None,
    global_batch: int,
    weak: bool = False,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Plans a model on 64, 128, ... GPUs in nodes like the cluster's, also on more than it has, or
    likewise over batches or lengths of sequences.

    Args:
      model: as for `plan`.
      over: "64..4096", GPUs; or "batch=64..1024", sequences of a step, or "seq=2048..16384", tokens
        of a sequence.
      weak: let the global batch grow with the GPUs.

    Everything else is as for `plan`.
    """
    more = {
        "sweep": over if "=" in over else f"gpus={over}",
        "weak": weak,
        "global_batch": global_batch,
    }
    subject = _read_subject(model, (), {})
    texts = _answer(subject, cluster, {**more, **options}, estimate=False)
    chart = json.loads(texts["plot"])
    return Sweep(texts["table"].decode(), texts["csv"].decode(), chart, Plan(texts["plan"]))


def model(model: Any, *, seq: int | None = None, source_seq: int | None = None) -> Answer:
    """Describes a transformer: its layers, tensors, parameters and flops.

    Args:
      model: as for `plan`.
      seq: tokens per sequence; default: the model's longest, at most 4096.
      source_seq: of the encoder; default: as many as of the decoder.
    """
    subject = _read_subject(model, (), {})
    given = as_json({"seq": seq, "source_seq": source_seq})
    return _library.model(subject.contents, {"model": subject.name, **given})


def blocks(
    program: Any,
    *args: Any,
    mesh: Mesh,
    cluster: str | os.PathLike[str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[BlocksOptions],
) -> Answer:
    """What a sharding goes through without communication, and what repeats: ParallelBlocks.

    Args:
      program: a program, as for `plan`, as are the example arguments, `mesh` and `cluster`.
      **options: `emit`, a folder to be made, with every kind of block as a program of its own.
    """
    read = read_program(program, args, kwargs or {})
    folder = options.get("emit")
    if folder is not None:
        _outputs.check_folder(folder)
    given = {"mesh": specs.mesh_text(mesh), "cluster": cluster or clusters.guess(), **options}
    answer, files = _library.blocks(read.contents, {"program": read.name, **as_json(given)})
    if folder is not None:
        _outputs.write_folder(folder, [(name, data, False) for name, data in files.items()])
    return answer


def solve(problem: Any, **options: Unpack[SolveOptions]) -> Answer:
    """Chooses a strategy for every node so that costs are least and usage stays within its limit.

    Args:
      problem: in the IOPDDL contest's JSON: a dictionary, or a path, gzip or plain.
      **options: options of `meshwright solve`: deadline, threads, seed, and `output`, a file.

    Returns:
      The outcome, its figures and the choice; `data` has these and how it was found.

    Raises:
      InfeasibleError: there is no assignment, or none was found in time.
    """
    text = json.dumps(problem).encode() if isinstance(problem, Mapping) else read_file(problem)
    output = options.get("output")
    if output is not None:
        _outputs.check_file(output, "output")
    answer = _library.solve(text, as_json(options))
    if output is not None:
        _outputs.write_file(output, json.dumps(answer.data).encode())
    return answer


def draft_rules(program: Any, *args: Any, kwargs: Mapping[str, Any] | None = None) -> str:
    """The calls of a program that have no sharding rule, as a file for `rules=` to be completed.

    Args:
      program: a program, as for `plan`.
    """
    return _library.draft_rules(read_program(program, args, kwargs or {}).contents)


@dataclasses.dataclass(frozen=True)
class _Subject:
    """What is to be planned."""

    name: str
    contents: bytes | None = None  # None: a path or a name, which the library reads
    program: Program | None = None  # None: a model, or what the library reads


def _read_subject(program: Any, args: Any, kwargs: Mapping[str, Any]) -> _Subject:
    config = _configuration(program)
    path = isinstance(program, os.PathLike) or (isinstance(program, str) and "\n" not in program)
    if config is None and not path:
        read = read_program(program, args, kwargs)
        return _Subject(read.name, read.contents, read)
    if args or kwargs:
        raise errors.InvalidArgumentError(
            "example arguments go with a function; a file or a model has none"
        )
    if config is None:
        return _Subject(os.fspath(program))
    try:
        contents = json.dumps(config, default=str).encode()
    except (TypeError, ValueError) as error:
        raise errors.InvalidArgumentError(f"the model's configuration: {error}") from None
    name = config.get("_name_or_path") or config.get("model_type")
    return _Subject(name if isinstance(name, str) and name else "model", contents)


def _configuration(model: Any) -> Mapping[str, Any] | None:
    """The dictionary of a model's configuration; None: it is something else."""
    if isinstance(model, Mapping):
        return model
    to_dict = getattr(model, "to_dict", None)
    if isinstance(model, type) or not callable(to_dict):
        return None
    config = to_dict()
    return config if isinstance(config, Mapping) else None


# The options that name files, and what the library calls their contents.
_FILES = {"csv": "csv", "plot": "plot", "emit": "program", "output": "plan"}


def _answer(
    subject: _Subject,
    cluster: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
    *,
    estimate: bool,
) -> dict[str, bytes]:
    given = {**options, "cluster": clusters.guess() if cluster is None else cluster}
    if "mesh" in given:
        given["mesh"] = specs.mesh_text(given["mesh"])
    given["fix"] = specs.fix_texts(given.get("fix"), degrees=subject.program is None)
    given["program"] = subject.name
    files = {name: given[name] for name in _FILES if given.get(name) is not None}
    for name, path in files.items():
        if name == "emit" and given.get("pipeline", "off") != "off":
            _outputs.check_folder(path)
        else:
            _outputs.check_file(path, name)
    texts = _library.plan(subject.contents, as_json(given), estimate=estimate)
    for name, path in files.items():
        if name == "emit" and "stages" in texts:
            stages = json.loads(texts["stages"])
            _outputs.write_folder(path, [(s["name"], s["contents"], False) for s in stages])
        else:
            _outputs.write_file(path, texts[_FILES[name]])
    return texts


def _plan(
    subject: _Subject,
    cluster: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
    *,
    estimate: bool = False,
) -> Plan:
    texts = _answer(subject, cluster, options, estimate=estimate)
    if "plan" not in texts:
        raise errors.UnsupportedError(
            "cost_model: FASOP's search makes no plan; `meshwright plan` prints what it finds"
        )
    program = subject.program
    plan = Plan(texts["plan"], program)
    if "stages" in texts:
        plan.stages_folder = Path(options["emit"])
    if program is None and subject.contents is None and plan.has_program:
        plan.program = Program(Path(subject.name).read_bytes(), subject.name)
    return plan


def plan_program(
    program: Program,
    cluster: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
    *,
    estimate: bool = False,
) -> Plan:
    """Plans a program that was read. `options` under Python's names."""
    subject = _Subject(program.name, program.contents, program)
    return _plan(subject, cluster, options, estimate=estimate)
