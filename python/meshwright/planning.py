"""plan and estimate: from a program and a cluster to a Plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from meshwright import _library, clusters, errors, specs
from meshwright.document import Plan
from meshwright.program import Program, read_program

Fixes = Mapping[str, Any] | Sequence[str] | str


def plan(
    program: Any,
    *args: Any,
    cluster: str | os.PathLike[str] | None = None,
    mesh: Any = "auto",
    memory: str | int = "device",
    fix: Fixes | None = None,
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """Finds the fastest sharding of a program that fits into memory.

    Args:
      program: a function; a jax.stages.Lowered; or a program as HLO text, HloModuleProto,
        StableHLO text or bytecode, or what jax.export serializes: its path, text or bytes.
      *args: example arguments of the function, arrays or jax.ShapeDtypeStruct.
      cluster: "8xh100-sxm", "2x8xa100-80g" or the path of a YAML file. Default: what JAX sees, see
        `meshwright.clusters.guess`.
      mesh: "auto" tries every mesh of one and two axes that suits the cluster; or one mesh: "2x4",
        (2, 4), {"x": 2, "y": 4}, a jax.sharding.Mesh.
      memory: what a device may use: "60GiB", bytes, "device" (all it has) or "unlimited".
      fix: shardings to insist on, {"state[*]['wq']": P(None, "y")} or ["tok=[x,_]"]; names as in
        the plan, `*` and `?` match any characters.
      kwargs: example keyword arguments of the function.
      **options: further options of `meshwright plan`, with `_` for `-`: deadline, seed, threads,
        cost_model, fix_file.

    Raises:
      InfeasibleError: nothing fits; the message says what would.
      InvalidArgumentError, NotFoundError, UnsupportedError: the input is at fault.
    """
    read = read_program(program, args, kwargs or {})
    return plan_program(read, cluster, {"mesh": mesh, "memory": memory, "fix": fix, **options})


def estimate(
    program: Any,
    *args: Any,
    shardings: Any = None,
    mesh: Any = None,
    cluster: str | os.PathLike[str] | None = None,
    memory: str | int = "unlimited",
    fix: Fixes | None = None,
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """Costs given shardings; what is not given is as XLA propagates it (`rest="least-cost"`: as planned).

    Args:
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


def plan_program(
    program: Program,
    cluster: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
    *,
    estimate: bool = False,
) -> Plan:
    """Plans a program that was read. `options` under Python's names."""
    given: dict[str, Any] = {"program": program.name}
    given["cluster"] = clusters.guess() if cluster is None else os.fspath(cluster)
    for name, value in options.items():
        if value is not None:
            given[name.replace("_", "-")] = value
    given["mesh"] = specs.mesh_text(given["mesh"])
    given["fix"] = specs.fix_texts(given.get("fix"))
    files = given.get("fix-file", [])
    given["fix-file"] = [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else list(files)
    return Plan(_library.plan(program.contents, given, estimate=estimate), program)
