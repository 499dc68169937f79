"""Plans of modules as what other launchers of PyTorch read, each where it expresses the plan."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch
from typing import Any, NamedTuple

import torch
from torch import nn

from meshwright import errors
from meshwright.torch._fsdp_layout import FsdpLayout, Style, fsdp_layout
from meshwright.torch._planning import TorchPlan

_ANY = "mw.torch.parallelize(module, plan), which runs any plan of a module"

_FSDP = '''"""Shards a module as its plan says, by FSDP2 and tensor parallelism. For torch {version} or later.

On {devices} processes that have torch.distributed, and the module on their device:

    mesh = make_mesh("cuda")
    parallelize(module, mesh)          # then the optimizer, over module.parameters()
    loss = loss_of(module(samples(inputs, mesh)), samples(targets, mesh))

A device's loss is the mean over its samples: gradients are averaged over devices.
"""

from fnmatch import fnmatch

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

MESH = {mesh}
REPLICATE, SHARD, TENSOR = {replicate}, {shard}, {tensor}  # axes: the first two divide samples
# Modules that tensor parallelism runs on parts of their weights.
STYLES = {styles}
# Modules whose weights are gathered at a time.
GROUPS = {groups}
# Along which dimension parameters are sharded over SHARD; None: not.
DIMENSIONS = {dims}


def make_mesh(device_type):
    return init_device_mesh(device_type, tuple(MESH.values()), mesh_dim_names=tuple(MESH))


def samples(batch, mesh):
    """The part of a batch that this process computes with."""
    for axis in MESH:
        if axis in REPLICATE + SHARD:
            batch = batch.tensor_split(MESH[axis])[mesh.get_local_rank(axis)]
    return batch


def parallelize(module, mesh):
    if STYLES:
        parallelize_module(module, joined(mesh, TENSOR), STYLES)
    dims = {{value: found(DIMENSIONS, name) for name, value in module.named_parameters()}}
    whole = {{value for value, dim in dims.items() if dim is None}}
    if SHARD:
        over = mesh[(*REPLICATE, *SHARD)] if REPLICATE else joined(mesh, SHARD)
        parts = [part for name, part in module.named_modules() if name and found(GROUPS, name)]
        for part in [*reversed(parts), module]:
            fully_shard(
                part, mesh=over, shard_placement_fn=lambda p: Shard(dims[p]), ignored_params=whole
            )
    for value in whole:
        if value.requires_grad:
            value.register_post_accumulate_grad_hook(lambda value: average(value.grad, mesh))
    return module


def average(gradient, mesh):
    local = gradient.to_local() if isinstance(gradient, DTensor) else gradient
    for axis in REPLICATE + SHARD:
        dist.all_reduce(local, group=mesh.get_group(axis))
        local /= MESH[axis]


def joined(mesh, axes):
    return mesh[axes[0]] if len(axes) == 1 else mesh[tuple(axes)]._flatten()


def found(table, name):
    parts = name.split(".")
    for pattern in table:
        atoms = pattern.split(".")
        if len(atoms) == len(parts) and all(map(fnmatch, parts, atoms)):
            return table[pattern]
    return None
'''

_TRANSFORMERS = '''"""How transformers {version} or later shards {kind} as its plan says:

    {kind}.from_pretrained(path, distributed_config=CONFIG)

on {devices} processes, of which each {tensor} beside one another have the same samples. A process's loss is the
mean over its samples.
"""

from transformers.distributed import DistributedConfig

CONFIG = DistributedConfig(
    tp_size={tensor},
    fsdp_size={shard},
    dp_replicate_size={replicate},
    tp_plan={styles},
    fsdp_plan={groups},
)
'''

_ACCELERATE = '''"""How Accelerate shards a {kind} as its plan says, by FSDP 2:

    accelerator = Accelerator(parallelism_config=PARALLELISM, fsdp_plugin=PLUGIN)
    module, optimizer = accelerator.prepare(module, optimizer)

on {devices} processes. A process's loss is the mean over its samples.
"""

from accelerate import FullyShardedDataParallelPlugin
from accelerate.parallelism_config import ParallelismConfig

PARALLELISM = ParallelismConfig(dp_replicate_size={replicate}, dp_shard_size={shard})
PLUGIN = FullyShardedDataParallelPlugin(
    fsdp_version=2,
    auto_wrap_policy="transformer_based_wrap",
    transformer_cls_names_to_wrap={classes},
    reshard_after_forward=True,
)
'''


class File(NamedTuple):
    name: str
    contents: str


def export(plan: TorchPlan, to: str) -> File:
    """Raises InvalidArgumentError, which names the parameter and the nearest target, where `to` cannot."""
    try:
        layout = fsdp_layout(plan)
    except errors.InvalidArgumentError as error:
        raise _refusal(to, str(error), _ANY) from None
    if to != "fsdp":
        try:
            return TARGETS[to](plan, layout)
        except errors.InvalidArgumentError as error:
            raise _refusal(to, str(error), 'plan.export("fsdp")') from None
    return _fsdp(plan, layout)


def _refusal(to: str, why: str, nearest: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        f"{to} cannot express this plan: {why}; nearest is {nearest}"
    )


def _fsdp(plan: TorchPlan, layout: FsdpLayout) -> File:
    styles = {name: _torch_style(style) for name, style in layout.styles.items()}
    modules = [name for name, _ in plan.subject.module.named_modules()]
    text = _FSDP.format(
        version=".".join(torch.__version__.split(".")[:2]),
        devices=plan.num_devices,
        mesh=plan.mesh_shape,
        replicate=layout.replicate,
        shard=layout.shard,
        tensor=layout.tensor,
        styles=_code(_patterns(styles, modules)),
        groups=_code({name: "True" for name in _patterns(_groups(plan.subject.module), modules)}),
        dims=_code({k: str(v) for k, v in _patterns(layout.dims, layout.dims).items()}),
    )
    return File("parallelize.py", text)


def _torch_style(style: Style) -> str:
    if style.kind == "colwise":
        return (
            "ColwiseParallel()" if style.sharded else "ColwiseParallel(output_layouts=Replicate())"
        )
    return "RowwiseParallel()" if style.sharded else "RowwiseParallel(input_layouts=Replicate())"


def _transformers(plan: TorchPlan, layout: FsdpLayout) -> File:
    from transformers import PreTrainedModel, __version__

    module = plan.subject.module
    if not isinstance(module, PreTrainedModel):
        raise errors.InvalidArgumentError(f"{type(module).__name__} is no model of transformers")
    _check_all_sharded(layout)
    if [*layout.replicate, *layout.shard, *layout.tensor] != list(plan.mesh_shape):
        raise errors.InvalidArgumentError(
            f"the mesh {', '.join(plan.mesh_shape)} has other axes outside than those of replicas, then samples"
        )
    styles: dict[str, str] = {}
    for name, style in layout.styles.items():
        if style.embedding:
            word = f"embedding_{style.kind}"
        elif style.kind == "colwise":
            word = "colwise" if style.sharded else "colwise_gather_output"
        else:
            word = "rowwise" if style.sharded else "rowwise_split_input"
        kind = _kind(name)
        if styles.setdefault(kind, word) != word:
            raise errors.InvalidArgumentError(
                f"{name} is sharded differently than others of its kind"
            )
    names = [name for name, _ in module.named_modules()]
    for name in names:
        if _kind(name) in styles and name not in layout.styles:
            raise errors.InvalidArgumentError(f"{name} is replicated, others of its kind are not")
    # What the plan leaves whole, the model's own rules may not.
    styles |= {rule: "replicate" for rule in module.tp_plan if rule not in styles}
    groups = {_kind(name): "free_full_weight" for name in _groups(module)}
    return File(
        "distributed.py",
        _TRANSFORMERS.format(
            version=".".join(__version__.split(".")[:2]),
            kind=type(module).__name__,
            devices=plan.num_devices,
            tensor=_size(plan, layout.tensor),
            shard=_size(plan, layout.shard),
            replicate=_size(plan, layout.replicate),
            styles=_code({k: repr(v) for k, v in styles.items()}, 8) if layout.tensor else None,
            groups=_code({k: repr(v) for k, v in groups.items()}, 8),
        ),
    )


def _accelerate(plan: TorchPlan, layout: FsdpLayout) -> File:
    if layout.styles:
        raise errors.InvalidArgumentError(
            f"{next(iter(layout.styles))}.weight is sharded where it is read"
        )
    if not layout.shard:
        raise errors.InvalidArgumentError(
            f"no parameter is sharded, {next(iter(layout.dims))} neither"
        )
    if [*layout.replicate, *layout.shard] != list(plan.mesh_shape):
        raise errors.InvalidArgumentError("replicas are along an inner axis of the mesh")
    _check_all_sharded(layout)
    module = plan.subject.module
    classes = sorted({type(module.get_submodule(name)).__name__ for name in _groups(module)})
    return File(
        "accelerator.py",
        _ACCELERATE.format(
            kind=type(module).__name__,
            devices=plan.num_devices,
            replicate=_size(plan, layout.replicate),
            shard=_size(plan, layout.shard),
            classes=classes,
        ),
    )


def _torchtitan(plan: TorchPlan, layout: FsdpLayout) -> File:
    raise errors.InvalidArgumentError(
        f"it trains models of its own, and {type(plan.subject.module).__name__} is none"
    )


TARGETS: dict[str, Callable[[TorchPlan, FsdpLayout], File]] = {
    "fsdp": _fsdp,
    "transformers": _transformers,
    "accelerate": _accelerate,
    "torchtitan": _torchtitan,
}


def _check_all_sharded(layout: FsdpLayout) -> None:
    """Of FSDP that shards all parameters along their first dimension, or none."""
    for name, dim in layout.dims.items():
        if dim != 0 and layout.shard:
            how = "replicated" if dim is None else f"sharded along dimension {dim}"
            raise errors.InvalidArgumentError(
                f"{name} is {how}, not along dimension 0 as all are there"
            )


def _size(plan: TorchPlan, axes: Iterable[str]) -> int:
    return math.prod(plan.mesh_shape[axis] for axis in axes)


def _groups(module: nn.Module) -> dict[str, bool]:
    """Modules whose weights are gathered at a time: those of lists that are called as such."""
    shared: dict[int, set[str]] = {}
    for name, value in module.named_parameters(remove_duplicate=False):
        shared.setdefault(id(value), set()).add(name)
    apart = [name for names in shared.values() if len(names) > 1 for name in names]
    unimplemented = nn.Module.forward
    return {
        name: True
        for name, part in module.named_modules()
        if _kind(name).endswith("*")
        and type(part).forward is not unimplemented
        and any(True for _ in part.parameters())
        and not any(other.startswith(f"{name}.") for other in apart)
        and not any(_kind(outer).endswith("*") for outer in _outer(name) if _called(module, outer))
    }


def _called(module: nn.Module, name: str) -> bool:
    return type(module.get_submodule(name)).forward is not nn.Module.forward


def _outer(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _kind(name: str) -> str:
    """A name with `*` for numbers of layers."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", name)


def _patterns(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """`values` with one pattern for those of a kind, where all of `names` that it matches have one value."""
    patterns: dict[str, Any] = {}
    for name, value in values.items():
        pattern = _kind(name)
        atoms = pattern.split(".")
        matched = [
            n
            for n in names
            if n.count(".") + 1 == len(atoms) and all(map(fnmatch, n.split("."), atoms))
        ]
        alike = all(n in values and values[n] == value for n in matched)
        patterns[pattern if alike else name] = value
    return patterns


def _code(values: Mapping[str, str], indent: int = 4) -> str:
    """A dictionary of Python whose values are code."""
    if not values:
        return "{}"
    lines = [f'{" " * indent}"{key}": {value},\n' for key, value in values.items()]
    return "{\n" + "".join(lines) + " " * (indent - 4) + "}"
