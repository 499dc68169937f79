"""The front end for JAX: meshes and shardings of a plan, and functions sharded as it says."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from meshwright import (
    _calls,
    _jax_version,  # noqa: F401  before what older versions have not
    errors,
    specs,
)
from meshwright._lowering import NO_TRANSFORMATION, is_packed, own_mesh, planned_function
from meshwright.document import Plan
from meshwright.pipeline import Pipeline
from meshwright.pipeline.arrays import StagedArray, from_checkpoint, to_checkpoint  # noqa: F401
from meshwright.pipeline.processes import initialize  # noqa: F401
from meshwright.planning import plan_program
from meshwright.program import Program, lower, read_program, stage


def make_mesh(plan: Plan, devices: Any = None) -> Mesh:
    """The plan's mesh over `devices`: any sequence or array of them, in order."""
    if plan.stages:
        raise errors.InvalidArgumentError(
            "the plan has a pipeline, whose stages have a mesh each: see Plan.stages"
        )
    everything = jax.devices() if devices is None else list(np.asarray(devices).flat)
    if len(everything) < plan.num_devices:
        raise errors.InvalidArgumentError(
            f"the plan is for {plan.num_devices} devices, JAX has {len(everything)}"
            + (
                "; host devices can be had with XLA_FLAGS=--xla_force_host_platform_device_count="
                f"{plan.num_devices}"
                if everything[0].platform == "cpu"
                else ""
            )
        )
    shape = tuple(plan.mesh_shape.values())
    chosen = np.array(everything[: plan.num_devices]).reshape(shape)
    return Mesh(chosen, tuple(plan.mesh_shape))


def in_shardings(plan: Plan, mesh: Mesh | None = None) -> Any:
    """See Plan.in_shardings."""
    leaves = parameter_shardings(plan, mesh)
    if plan.program is None or plan.program.signature is None:
        return leaves
    args, kwargs = jax.tree.unflatten(plan.program.signature.in_tree, leaves)
    return (args, kwargs) if kwargs else args


def out_shardings(plan: Plan, mesh: Mesh | None = None) -> Any:
    """See Plan.out_shardings."""
    leaves = output_shardings(plan, mesh)
    if plan.program is None or plan.program.signature is None:
        return leaves
    return jax.tree.unflatten(plan.program.signature.out_tree, leaves)


def parameter_shardings(plan: Plan, mesh: Mesh | None = None) -> list[NamedSharding]:
    """One for every leaf of the arguments; of a program from elsewhere for every parameter."""
    mesh = _checked(plan, mesh)
    rows = plan.parameters
    signature = plan.program.signature if plan.program is not None else None
    if signature is None:
        return [_named(mesh, row) for row in rows]
    leaves = [NamedSharding(mesh, PartitionSpec()) for _ in signature.in_leaves]
    for index, row in zip(signature.kept, rows, strict=True):
        leaves[index] = _named(mesh, row, len(signature.in_leaves[index].shape))
    return leaves


def output_shardings(plan: Plan, mesh: Mesh | None = None) -> list[NamedSharding]:
    """One for every leaf of the results."""
    mesh = _checked(plan, mesh)
    rows = plan.outputs
    signature = plan.program.signature if plan.program is not None else None
    if signature is None:
        return [_named(mesh, row) for row in rows]
    leaves = zip(rows, signature.out_leaves, strict=True)
    return [_named(mesh, row, len(leaf.shape)) for row, leaf in leaves]


def _checked(plan: Plan, mesh: Mesh | None) -> Mesh:
    if mesh is None:
        return make_mesh(plan)
    if dict(mesh.shape) != plan.mesh_shape or tuple(mesh.shape) != tuple(plan.mesh_shape):
        raise errors.InvalidArgumentError(
            f"the mesh is {specs.mesh_text(mesh)}, the plan's is {specs.mesh_text(plan.mesh_shape)}"
        )
    return mesh


def _named(mesh: Mesh, row: Mapping[str, Any], rank: int | None = None) -> NamedSharding:
    # A key array has fewer dimensions than what it is made of; those are never sharded apart.
    entries = specs.partition_entries(row["spec"][:rank])
    while entries and entries[-1] is None:
        entries.pop()
    return NamedSharding(mesh, PartitionSpec(*entries))


def argument_fixes(program: Program, shardings: Any) -> list[str]:
    """Fixes that say what `shardings`, as jax.jit's in_shardings, say of the arguments."""
    from meshwright import _library

    if program.signature is None:
        raise errors.InvalidArgumentError(
            "shardings go with a function; give a program in a file its fix={name: sharding}"
        )
    args, _ = jax.tree.unflatten(
        program.signature.in_tree, range(program.signature.in_tree.num_leaves)
    )

    def is_spec(value: Any) -> bool:
        return value is None or isinstance(value, (PartitionSpec, NamedSharding, str))

    try:
        by_leaf = jax.tree.broadcast(shardings, args, is_leaf=is_spec)
    except ValueError as error:
        raise errors.InvalidArgumentError(
            f"shardings do not match the arguments: {error}"
        ) from None
    chosen = dict(
        zip(jax.tree.leaves(args), jax.tree.leaves(by_leaf, is_leaf=is_spec), strict=True)
    )
    names = [row["name"] for row in _library.read_program(program.contents)["parameters"]]
    fixes = []
    for name, leaf in zip(names, program.signature.kept, strict=True):
        if chosen.get(leaf) is not None:
            fixes.append(f"{name}={specs.spec_text(chosen[leaf])}")
    return fixes


def mesh_of(shardings: Any) -> Mesh | None:
    """The mesh that NamedShardings among `shardings` are on."""
    for leaf in jax.tree.leaves(shardings):
        if isinstance(leaf, NamedSharding) and isinstance(leaf.mesh, Mesh):
            return leaf.mesh
    return None


class Sharded(_calls.Called):
    """A function compiled for a plan: called like the function, with ordinary pytrees.

    Arguments may be numpy arrays, Python numbers or jax arrays wherever they are; those that do not
    lie as the plan wants are moved first. Results are jax arrays sharded as the plan says; state that
    goes from step to step therefore stays where it is. Buffers of donated arguments must not be used
    again.

    One plan is of one program: where jax.jit would compile the function anew - for another shape,
    another dtype, another static argument - an error says which argument is the cause. It may be
    called inside jax.jit, but not differentiated or mapped.
    """

    def __init__(self, plan: Plan, mesh: Mesh) -> None:
        assert plan.program is not None and plan.program.signature is not None
        planned = planned_function(plan.program, plan)  # fails if they do not belong together
        self.plan = plan
        self.mesh = mesh
        self.in_shardings = in_shardings(plan, mesh)
        self.out_shardings = out_shardings(plan, mesh)
        super().__init__(plan.program.signature)
        self._in_leaves = parameter_shardings(plan, mesh)
        shardings: dict[str, Any] = {
            "in_shardings": tuple(self._in_leaves),
            "out_shardings": output_shardings(plan, mesh),
            "keep_unused": True,
        }
        donated = tuple(self._signature.donated)
        jitted = jax.jit(planned, donate_argnums=donated, **shardings)
        with own_mesh(mesh):
            self.compiled = jitted.lower(*self._signature.in_leaves).compile()
        # JAX (0.8 to 0.10 at least) compiles types of less than a byte for a layout in which it then
        # refuses arrays of theirs; called through jit they are taken.
        small = any(map(is_packed, self._signature.in_leaves))
        self._run = jitted if small else self.compiled
        self._traced = jax.jit(_untransformed(planned), **shardings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = self._leaves(args, kwargs)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._call_traced(leaves)
        placed = self._placed(leaves)
        if any(
            isinstance(leaf, jax.core.Tracer) for leaf in placed
        ):  # concrete arrays, inside of jit
            return self._call_traced(leaves)
        with own_mesh(self.mesh):
            results = self._run(*placed)
        return jax.tree.unflatten(self._signature.out_tree, results)

    def place(self, *args: Any, **kwargs: Any) -> Any:
        """The arguments laid out as the plan wants them: args, or args and kwargs.

        Static arguments are none of them.
        """
        placed = self._placed(self._leaves(args, kwargs))
        args, kwargs = jax.tree.unflatten(self._signature.in_tree, placed)
        return (args, kwargs) if kwargs else args

    def _placed(self, leaves: Sequence[Any]) -> list[Any]:
        self._checked(leaves)
        signature = self._signature
        return list(map(_place, leaves, self._in_leaves, signature.in_leaves, signature.in_names))

    def _call_traced(self, leaves: Sequence[Any]) -> Any:
        """Inside jax.jit."""
        for leaf in leaves:
            if type(leaf).__module__.endswith((".ad", ".batching")):
                raise errors.UnsupportedError(NO_TRANSFORMATION)
        self._checked(leaves)
        return jax.tree.unflatten(self._signature.out_tree, self._traced(*leaves))


def _untransformed(planned: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which says so when grad or vmap comes to it inside a jitted one."""

    def refuse(*_: Any) -> Any:
        raise errors.UnsupportedError(NO_TRANSFORMATION)

    mapped = jax.custom_batching.custom_vmap(lambda *arguments: planned(*arguments))
    mapped.def_vmap(refuse)
    function = jax.custom_vjp(lambda *arguments: mapped(*arguments))
    function.defvjp(refuse, refuse)
    return function


def _place(leaf: Any, sharding: NamedSharding, like: Any, name: str) -> Any:
    if isinstance(leaf, jax.Array):
        if leaf.is_deleted():
            raise errors.InvalidArgumentError(
                f"{name}: this array was donated to an earlier call, or deleted; pass what that call "
                "returned"
            )
        if leaf.sharding is sharding or leaf.sharding.is_equivalent_to(sharding, leaf.ndim):
            return leaf
    else:
        leaf = _calls.host_array(name, leaf, like.dtype)
    return jax.device_put(leaf, sharding)


def shard(
    fn: Callable[..., Any],
    *args: Any,
    plan: Plan | None = None,
    cluster: Any = None,
    mesh: Any = "auto",
    devices: Sequence[Any] | None = None,
    donate_argnums: int | Sequence[int] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Sharded:
    """Plans a function and compiles it with the plan's shardings enforced inside.

    Args:
      fn: a function of pytrees; if it is jitted already, its own options hold. Or a jax.stages.Traced
        or Lowered, or a jax.export.Exported, which have their arguments already.
      *args: example arguments, arrays or jax.ShapeDtypeStruct.
      plan: a plan of this function that was made before; else one is made, with `cluster`, `mesh`
        and `options` as for `meshwright.plan`.
      mesh: as for `meshwright.plan`; of a jax Mesh the devices are used too.
      devices: to run on, in the order of the mesh; default: the first of jax.devices().
      donate_argnums: as for jax.jit.
      kwargs: example keyword arguments.

    With several processes (jax.distributed) all of them call this alike; the first one's plan
    counts.
    """
    program = _program_of(fn, args, kwargs or {}, donate_argnums)
    if plan is None:
        given = {"mesh": mesh, "memory": "device", **options}
        document = _agreed(lambda: plan_program(program, cluster, given).to_json())
    else:
        _check_plan(plan, cluster, options)
        if plan.stages:
            raise errors.InvalidArgumentError("the plan has a pipeline; mw.jax.pipeline runs it")
        document = plan.to_json()
    plan = Plan(document, program)
    if isinstance(mesh, Mesh):
        return Sharded(plan, _checked(plan, mesh))
    return Sharded(plan, make_mesh(plan, devices))


def pipeline(
    fn: Callable[..., Any],
    *args: Any,
    plan: Plan | None = None,
    stages: str | os.PathLike[str] | None = None,
    cluster: Any = None,
    devices: Sequence[Any] | None = None,
    donate_argnums: int | Sequence[int] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Pipeline:
    """Plans a training step as a pipeline and compiles its stages; what is returned runs it.

    Args:
      fn, *args, kwargs, donate_argnums: as for `shard`. State that the function donates is
        overwritten by its new value.
      plan: a plan with a pipeline of this function; else one is made, with `cluster` and `options`
        (pipeline, "auto" by default, micro_batches, schedule, ...) as for `meshwright.plan`.
      stages: the folder of the plan's stages, as `meshwright plan --emit` writes it; default: where
        `meshwright.plan(..., emit=folder)` wrote it.
      devices: to run on, in the order of the plan's; default: the first of jax.devices(). With
        fewer than the plan has, stages share the first ones, a larger stage on one device.

    Raises:
      InvalidArgumentError: plan, stages and function do not belong together.
      InfeasibleError: a device has not the memory; names the stage.
    """
    program = _program_of(fn, args, kwargs or {}, donate_argnums)
    if plan is None:
        if stages is not None:
            raise errors.InvalidArgumentError("stages: are those of a plan; give plan= as well")
        given = {"pipeline": "auto", "memory": "device", **options}
        with tempfile.TemporaryDirectory() as folder:
            emit = os.path.join(folder, "stages")
            plan = plan_program(program, cluster, {**given, "emit": emit})
            return Pipeline(plan, program, emit, devices)
    _check_plan(plan, cluster, options)
    if not plan.stages:
        raise errors.InvalidArgumentError("the plan has no pipeline; mw.jax.shard runs it")
    folder = stages if stages is not None else plan.stages_folder
    if folder is None:
        raise errors.InvalidArgumentError(
            "stages: name the folder of the plan's stages, which meshwright.plan(..., emit=folder) "
            "or `meshwright plan --emit` writes"
        )
    return Pipeline(Plan(plan.to_json(), program), program, folder, devices)


def _check_plan(plan: Any, cluster: Any, options: Mapping[str, Any]) -> None:
    """Raises an error if it is none of a program, or what planning takes is given beside it."""
    if not isinstance(plan, Plan):
        raise errors.InvalidArgumentError(
            f'plan: found {type(plan).__name__}, expected a Plan: mw.Plan.load("plan.json") reads one'
        )
    plan._check_has_program()
    given = [*options] if cluster is None else ["cluster", *options]
    if given:
        raise errors.InvalidArgumentError(
            f"{given[0]}: is for making a plan, and plan= is one already; leave out one of them"
        )


def _program_of(
    fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], donate_argnums: int | Sequence[int]
) -> Program:
    """The program of what is to be run; it has a signature.

    Raises:
      InvalidArgumentError: it is nothing that can be called with arrays.
    """
    if (hasattr(fn, "lower") or not callable(fn)) and donate_argnums != ():
        raise errors.InvalidArgumentError(
            "donate_argnums: the function is jitted already; give them to jax.jit"
        )
    if hasattr(fn, "lower") or not callable(fn) or isinstance(fn, Sharded):
        program = read_program(fn, args, kwargs)
    else:
        program = lower(fn, args, kwargs, donate_argnums=donate_argnums)
    if program.signature is None:
        raise errors.InvalidArgumentError(
            f"found {type(fn).__name__}, expected a function: what is in a file or a text runs through "
            "plan.verify() only"
        )
    if program.signature.calling is None and not stage(fn):
        raise errors.InvalidArgumentError(
            f"{type(fn).__module__}.{type(fn).__name__} changes its arguments before JAX sees them, "
            "which a sharded function would not; pass a function of arrays (of flax: of nnx.split's "
            "state, of equinox: of eqx.partition's arrays), jitted with jax.jit or not at all"
        )
    return program


def _agreed(make: Callable[[], str]) -> str:
    """What the first process makes, in all of them: a search cut off by time may differ."""
    if jax.process_count() == 1:
        return make()
    from jax.experimental import multihost_utils

    first = jax.process_index() == 0
    failure: Exception | None = None
    text = b""
    if first:
        try:
            text = make().encode()
        except errors.Error as error:  # the others wait for an answer
            failure = error
    size = int(multihost_utils.broadcast_one_to_all(np.int64(len(text)), is_source=first))
    if size == 0:
        raise failure or errors.InvalidArgumentError("the first process could not make a plan")
    padded = np.frombuffer(text, np.uint8) if first else np.zeros(size, np.uint8)
    return bytes(np.asarray(multihost_utils.broadcast_one_to_all(padded, is_source=first))).decode()
