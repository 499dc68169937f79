"""Which cluster this machine is, from what JAX says about its devices."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

from meshwright import _library, errors

# JAX's device_kind, lower case, by device type; the first match counts.
_KINDS = [
    (r"gb300", "gb300-nvl72"),
    (r"gb200", "gb200-nvl72"),
    (r"\bb300", "b300"),
    (r"\bb200", "b200"),
    (r"h200", "h200"),
    (r"h100.*pcie", "h100-pcie"),
    (r"h100.*96gb", "h100-96g"),
    (r"h100", "h100-sxm"),
    (r"a100.*pcie.*40gb", "a100-40g-pcie"),
    (r"a100.*40gb", "a100-40g"),
    (r"a100.*80gb", "a100-80g"),
    (r"v100", "v100"),
    (r"a10g", "a10g"),
    (r"\bl4\b", "l4"),
    (r"rtx 3090", "rtx3090"),
    (r"mi300x", "mi300x"),
    (r"tpu v5p?$", "tpu-v5p"),
]

# What is planned for where there are only host devices, which have no figures of their own.
_STAND_IN = "h100-sxm"


def device_type(kind: str) -> str | None:
    """The built-in device type that JAX calls `kind`; None if there is none."""
    for pattern, name in _KINDS:
        if re.search(pattern, kind.lower()):
            return name
    return None


def guess(devices: Sequence[Any] | None = None) -> str:
    """The cluster of `devices` (default: all that JAX sees), such as "2x8xh100-sxm".

    Host (CPU) devices stand for as many H100s, and a warning says so: a plan for them shows what it
    would be there, its times say nothing about this machine.
    """
    import jax

    devices = list(devices if devices is not None else jax.devices())
    kinds = sorted({device.device_kind for device in devices})
    if len(kinds) > 1:
        raise errors.InvalidArgumentError(f"the devices differ: {', '.join(kinds)}; name a cluster")
    if devices[0].platform == "cpu":
        warnings.warn(
            f"planning for {len(devices)} x {_STAND_IN}, which the CPU devices here stand for; "
            "name a cluster to plan for another",
            stacklevel=3,
        )
        return f"{len(devices)}x{_STAND_IN}"
    name = device_type(kinds[0])
    if name is None:
        known = ", ".join(device["name"] for device in _library.devices())
        raise errors.InvalidArgumentError(
            f"JAX's devices are {kinds[0]}, of which no figures are built in; name a cluster (one "
            f"of {known}) or describe yours in a YAML file"
        )
    processes = len({device.process_index for device in devices})
    per_process = len(devices) // processes
    # One process a device says nothing about nodes; then as many share one as is usual.
    if processes == 1 or per_process == 1 or len(devices) % processes:
        return f"{len(devices)}x{name}"
    return f"{processes}x{per_process}x{name}"
