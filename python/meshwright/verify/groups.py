"""Which mesh axes a collective's groups of devices span."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

_LIST = re.compile(r"replica_groups=\{((?:\{[0-9,]*\},?)*)\}")
_IOTA = re.compile(r"replica_groups=\[([0-9,]+)\]<=\[([0-9,]+)\](?:T\(([0-9,]+)\))?")
_MESH = re.compile(
    r"replica_groups=mesh\[([^\]]*)\](?:, *device_ids=\(?(\[[0-9,]*\](?:T\([0-9,]+\))?)\)?)? *"
    r"\{([^}]*)\}"
)
_PAIRS = re.compile(r"source_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")


def group_axes(attributes: str, mesh: Mapping[str, int]) -> tuple[list[str], int]:
    """The axes (in the order of the mesh) and the size of a group.

    `attributes`: of the instruction, as compiled HLO has them; devices are numbered along `mesh`.
    """
    if pairs := _PAIRS.search(attributes):
        groups = [_numbers(pair) for pair in re.findall(r"\{([\d,]+)\}", pairs[1])]
        return _spanned(groups, mesh), 2
    groups = _groups(attributes, math.prod(mesh.values()))
    return _spanned(groups, mesh), len(groups[0])


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _groups(attributes: str, devices: int) -> list[list[int]]:
    if match := _MESH.search(attributes):
        return _mesh_groups(*match.groups())
    if match := _IOTA.search(attributes):
        shape, source, order = (_numbers(part) if part else [] for part in match.groups())
        ids = np.arange(math.prod(source)).reshape(source)
        return (ids.transpose(order) if order else ids).reshape(shape).tolist()
    if match := _LIST.search(attributes):
        listed = [_numbers(group) for group in re.findall(r"\{([\d,]*)\}", match[1])]
        if any(listed):
            return listed
    return [list(range(devices))]


def _mesh_groups(axes: str, device_ids: str | None, used: str) -> list[list[int]]:
    """mesh['a'=2,'b'=4] {'b'}, or a part of an axis: 'b':(1)2 is the first half of b."""
    names, sizes = [], []
    for name, size in re.findall(r"'([^']*)'=(\d+)", axes):
        names.append(name)
        sizes.append(int(size))
    ids = np.arange(math.prod(sizes))
    if device_ids:
        shape, _, order = device_ids.removesuffix(")").partition("T(")
        ids = ids.reshape(_numbers(shape.strip("[]")))
        ids = ids.transpose(_numbers(order)) if order else ids
    # Every axis cut into three: before, used, after.
    cut: list[int] = []
    kept: list[int] = []
    parts = dict.fromkeys(names, (1, 1))
    for name, before, size in re.findall(r"'([^']*)'(?::\((\d+)\)(\d+))?", used):
        parts[name] = (int(before), int(size)) if size else (1, sizes[names.index(name)])
    for name, size in zip(names, sizes):
        before, inside = parts[name]
        kept.append(len(cut) + 1)
        cut += [before, inside, size // (before * inside)]
    rest = [dim for dim in range(len(cut)) if dim not in kept]
    members = math.prod(cut[dim] for dim in kept)
    return ids.reshape(cut).transpose(rest + kept).reshape(-1, members).tolist()


def _spanned(groups: Sequence[Sequence[int]], mesh: Mapping[str, int]) -> list[str]:
    """The axes along which members of a group differ."""
    sizes = tuple(mesh.values())
    differs = np.zeros(len(sizes), bool)
    for group in groups:
        places = np.array(np.unravel_index(np.array(group), sizes))
        differs |= (places != places[:, :1]).any(axis=1)
    return [name for name, different in zip(mesh, differs) if different]
