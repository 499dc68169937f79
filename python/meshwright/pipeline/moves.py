"""Arrays from one sharding to another, between devices of different stages too.

An array stays on devices. Shards that the receiver's devices have as the sender's do are copied from
device to device; else the array is resharded before, by the sender's devices, or after, by the
receiver's: where `jax.device_put` finds no such shards, it goes through the host.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def move(array: jax.Array, target: NamedSharding) -> jax.Array:
    """The array in the sharding `target`, asynchronously; itself if it has it already."""
    source = array.sharding
    if source == target or source.is_equivalent_to(target, array.ndim):
        return array
    if not isinstance(source, NamedSharding):  # of one device, as ordinary arrays have
        return jax.device_put(array, target)
    before, after = _common(array.shape, source, target)
    array = _reshard(array, before)
    array = jax.device_put(array, after)
    return _reshard(array, target)


def _reshard(array: jax.Array, target: NamedSharding) -> jax.Array:
    """On the devices that the array is on."""
    if array.sharding.is_equivalent_to(target, array.ndim):
        return array
    return _identity(target)(array)


@functools.cache
def _identity(target: NamedSharding) -> Any:
    return jax.jit(lambda array: array, out_shardings=target)


@functools.lru_cache(4096)
def _common(
    shape: tuple[int, ...], source: NamedSharding, target: NamedSharding
) -> tuple[NamedSharding, NamedSharding]:
    """A sharding on the sender's and one on the receiver's devices that have the same shards."""
    if _devices(source) == _devices(target):
        return target, target
    sent, wanted = _tiles(shape, source), _tiles(shape, target)
    if all(tiles in (1, other) for tiles, other in zip(wanted, sent)) and wanted == sent:
        return source, target
    after = _tiled(target, sent)
    if after is not None:
        return source, after
    before = _tiled(source, wanted)
    if before is not None:
        return before, target
    return _replicated(source), _replicated(target)


def _devices(sharding: NamedSharding) -> tuple[Any, ...]:
    return tuple(sharding.mesh.devices.flat)


def _tiles(shape: Sequence[int], sharding: NamedSharding) -> tuple[int, ...]:
    """Into how many parts each dimension is cut."""
    shard = sharding.shard_shape(tuple(shape))
    return tuple(size // part if part else 1 for size, part in zip(shape, shard))


def _tiled(sharding: NamedSharding, tiles: Sequence[int]) -> NamedSharding | None:
    """On the same devices one that cuts dimensions into so many parts; None: they do not come out."""
    factors = _primes(math.prod(sharding.mesh.devices.shape))
    names = [f"f{number}" for number in range(len(factors))]
    free = list(zip(names, factors))
    entries = []
    for count in tiles:
        axes = []
        for prime in _primes(count):
            axis = next((axis for axis in free if axis[1] == prime), None)
            if axis is None:
                return None
            free.remove(axis)
            axes.append(axis[0])
        entries.append(tuple(axes) or None)
    devices = np.array(_devices(sharding), object).reshape(factors or [1])
    return NamedSharding(Mesh(devices, names or ["one"]), PartitionSpec(*entries))


def _primes(number: int) -> list[int]:
    found, prime = [], 2
    while number > 1:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return found


def _replicated(sharding: NamedSharding) -> NamedSharding:
    return NamedSharding(sharding.mesh, PartitionSpec())
