"""Arrays from one sharding to another, between devices of different stages too.

An array stays on devices. Shards that the receiver's devices have as the sender's do are copied from
device to device; else the array is resharded before, by the sender's devices, or after, by the
receiver's: where `jax.device_put` finds no such shards, it goes through the host.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from meshwright.pipeline.processes import meet


def move(array: jax.Array, target: NamedSharding) -> jax.Array:
    """The array in the sharding `target`, asynchronously; itself if it has it already.

    Every process that has devices of either side calls it, all in the same order; any other may, and
    gets an array of which it has nothing, as a sender does.
    """
    source = array.sharding
    if source == target or source.is_equivalent_to(target, array.ndim):
        return array
    if not isinstance(source, NamedSharding):  # of one device, as ordinary arrays have
        return put(array, target)
    return mover(array.shape, source, target)(array)


@functools.lru_cache(4096)
def mover(
    shape: tuple[int, ...], source: NamedSharding, target: NamedSharding
) -> Callable[[jax.Array], jax.Array]:
    """What `move` does with arrays of a shape and a sharding."""
    before, after = _common(shape, source, target)
    steps = [] if source.is_equivalent_to(before, len(shape)) else [_resharder(before)]
    if _devices(before) != _devices(after):
        if len(_processes(before) | _processes(after)) > 1:
            steps.append(functools.partial(_across_processes, target=after))
        elif is_here(after):
            steps.append(functools.partial(jax.device_put, device=after))
        else:
            steps.append(functools.partial(absent, sharding=after))
    if not after.is_equivalent_to(target, len(shape)):
        steps.append(_resharder(target))
    return functools.partial(functools.reduce, _apply, steps) if len(steps) != 1 else steps[0]


def _apply(array: jax.Array, step: Callable[[jax.Array], jax.Array]) -> jax.Array:
    return step(array)


def put(leaf: Any, target: NamedSharding) -> jax.Array:
    """An array that every process has, or that lies elsewhere, in the sharding `target`."""
    if isinstance(leaf, jax.Array):
        if isinstance(leaf.sharding, NamedSharding) or leaf.sharding == target:
            return move(leaf, target)
        if target.is_fully_addressable:
            return jax.device_put(leaf, target)
        leaf = np.asarray(leaf)
    if target.is_fully_addressable:
        return jax.device_put(leaf, target)
    return jax.make_array_from_callback(
        leaf.shape, target, lambda where: leaf[where], dtype=leaf.dtype
    )


def is_here(sharding: NamedSharding) -> bool:
    """Whether this process has some of its devices."""
    return jax.process_index() in _processes(sharding)


def absent(like: Any, sharding: NamedSharding) -> jax.Array:
    """An array with `like`'s shape and dtype of which this process has nothing."""
    return jax.make_array_from_single_device_arrays(like.shape, sharding, [], dtype=like.dtype)


def everywhere(array: jax.Array) -> jax.Array:
    """The array on one device of every process, so that each can read it."""
    first = {device.process_index: device for device in reversed(jax.devices())}
    devices = [first[process] for process in sorted(first)]
    copies = [
        move(array, NamedSharding(Mesh(np.array([device]), ("one",)), PartitionSpec()))
        for device in devices
    ]
    mine = [copy.addressable_data(0) for copy in copies if is_here(copy.sharding)]
    replicated = NamedSharding(Mesh(np.array(devices), ("process",)), PartitionSpec())
    return jax.make_array_from_single_device_arrays(array.shape, replicated, mine)


# Between processes arrays go by collectives over a joint mesh of one sender and one receiver for
# each shard. JAX's other means, device_put from process to process, needs its transfer server
# (jax_cross_host_transfer_socket_address), which did not answer within a minute when it was tried on
# the CPU backend of JAX 0.10; collectives work wherever training on several processes does. Which of
# them is faster was not measured.


def _across_processes(array: jax.Array, target: NamedSharding) -> jax.Array:
    """`target` has the shards that the array has."""
    sent = {shard.device: shard.data for shard in array.addressable_shards}
    kept = _kept(array.shape, array.sharding, target)
    received: dict[Any, jax.Array] = {device: sent[device] for device in kept if device in sent}
    part = array.sharding.shard_shape(array.shape)
    for senders, receivers in _rounds(array.shape, array.sharding, target):
        mine = {
            device: sent[device] if device in sent else _blank(part, array.dtype, device)
            for device in (*senders, *receivers)
            if device.process_index == jax.process_index()
        }
        if not mine:
            continue
        exchange, joint, shape = _exchange(part, senders, receivers)
        blocks = [data if part else data.reshape(1) for data in mine.values()]
        moved = exchange(jax.make_array_from_single_device_arrays(shape, joint, blocks))
        for shard in moved.addressable_shards:
            if shard.device in receivers:
                received[shard.device] = shard.data if part else shard.data.reshape(())
    order = [device for device in _devices(target) if device in received]
    return jax.make_array_from_single_device_arrays(
        array.shape, target, [received[device] for device in order], dtype=array.dtype
    )


@functools.lru_cache(4096)
def _rounds(
    shape: tuple[int, ...], source: NamedSharding, target: NamedSharding
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Senders and receivers, a device once each in a round; what stays where it is is in none."""
    stays = _kept(shape, source, target)
    having: dict[str, list[Any]] = {}
    for device, index in source.devices_indices_map(shape).items():
        having.setdefault(str(index), []).append(device)
    rounds: list[dict[Any, Any]] = []  # receiver by sender
    turns: dict[str, int] = {}
    for device, index in target.devices_indices_map(shape).items():
        key = str(index)
        if device in stays:
            continue
        turn = turns[key] = turns.get(key, -1) + 1
        sender = having[key][turn % len(having[key])]
        number = turn // len(having[key])
        if number == len(rounds):
            rounds.append({})
        rounds[number][sender] = device
    return [pair for one in rounds for pair in _disjoint(one)]


def _disjoint(receivers: dict[Any, Any]) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Pairs by sender, apart where a device both sends and receives."""
    if receivers.keys().isdisjoint(receivers.values()):
        return [(tuple(receivers), tuple(receivers.values()))]
    return [((sender,), (receiver,)) for sender, receiver in receivers.items()]


@functools.lru_cache(4096)
def _kept(shape: tuple[int, ...], source: NamedSharding, target: NamedSharding) -> frozenset[Any]:
    """The devices that have their shard of the target already."""
    there = source.devices_indices_map(shape)
    wanted = target.devices_indices_map(shape)
    return frozenset(device for device, index in wanted.items() if there.get(device) == index)


@functools.lru_cache(4096)
def _exchange(
    part: tuple[int, ...], senders: tuple[Any, ...], receivers: tuple[Any, ...]
) -> tuple[Any, NamedSharding, tuple[int, ...]]:
    """What sends an array of `part`'s shape from each sender to its receiver."""
    meet((*senders, *receivers))
    mesh = Mesh(np.array([senders, receivers]), ("side", "pair"))
    spec = PartitionSpec(("side", "pair"))
    block = part or (1,)
    shape = (block[0] * 2 * len(senders), *block[1:])
    send = jax.shard_map(
        lambda data: jax.lax.ppermute(data, "side", [(0, 1)]),
        mesh=mesh,
        in_specs=spec,
        out_specs=spec,
    )
    return jax.jit(send), NamedSharding(mesh, spec), shape


@functools.lru_cache(256)
def _blank(part: tuple[int, ...], dtype: Any, device: Any) -> jax.Array:
    """What a receiver brings along."""
    return jax.device_put(np.zeros(part, dtype), device)


def _processes(sharding: NamedSharding) -> set[int]:
    return {device.process_index for device in _devices(sharding)}


@functools.cache
def _resharder(target: NamedSharding) -> Callable[[jax.Array], jax.Array]:
    """For arrays on the devices of `target`."""
    if not is_here(target):
        return functools.partial(absent, sharding=target)
    return jax.jit(lambda array: array, out_shardings=target)


@functools.lru_cache(4096)
def _common(
    shape: tuple[int, ...], source: NamedSharding, target: NamedSharding
) -> tuple[NamedSharding, NamedSharding]:
    """A sharding on the sender's and one on the receiver's devices that have the same shards."""
    if _devices(source) == _devices(target):
        return target, target
    sent, wanted = _tiles(shape, source), _tiles(shape, target)
    if wanted == sent:
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
