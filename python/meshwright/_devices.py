"""Which devices JAX is to use, as `--devices` says: host:N, host (as many as needed), gpu, or planned
(those that a plan is for where they are here, else of the host)."""

from __future__ import annotations

import os
import re
from typing import Any

from meshwright import clusters, errors
from meshwright.document import Plan


def choose(text: str, needed: int | None = None) -> None:
    """Sets JAX up before it is loaded. `needed` is the number for "host"; without it there is none.

    Raises:
      InvalidArgumentError: `text` is none of these.
    """
    if text == "planned" and needed is not None:
        choose(f"host:{needed}")
        os.environ.pop("JAX_PLATFORMS", None)
        return
    if text == "gpu":
        # Not JAX_PLATFORMS=cuda,rocm: JAX refuses a platform that it has no plugin for.
        os.environ.pop("JAX_PLATFORMS", None)
        return
    match = re.fullmatch(r"host(?::([1-9][0-9]{0,4}))?", text)
    if match is None or (match[1] is None and needed is None):
        raise errors.InvalidArgumentError(f'--devices: found "{text}", expected host:N or gpu')
    count = int(match[1] or needed or 0)
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}".strip()
    os.environ["JAX_PLATFORMS"] = "cpu"
    # What XLA cannot compile it raises, and logs with a stack trace besides.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def check(jax: Any, text: str) -> None:
    """Whether JAX, now loaded, has devices of that kind.

    Raises:
      InvalidArgumentError: it has not, and why.
    """
    try:
        devices = jax.devices()
        if text == "gpu" and devices[0].platform != "gpu":
            jax.devices("gpu")  # says what is the matter, where anything is known of GPUs
            raise RuntimeError(f"JAX prefers its {devices[0].platform} devices")
    except RuntimeError as error:
        raise errors.InvalidArgumentError(
            f"--devices {text}: {' '.join(str(error).split())}"
        ) from None


def planned_or_host(jax: Any, plan: Plan) -> list[Any]:
    """The devices of the kind and number that `plan` is for if they are here, else of the host.

    Where the host's are taken although there are others, JAX is left with no others: programs are
    exported for the platform that it prefers.
    """
    try:
        here = jax.devices()
    except RuntimeError:  # a plug-in without its device
        here = jax.devices("cpu")
    kinds = {row["device"] for row in plan.device_types}
    if len(here) >= plan.num_devices and {clusters.device_type(here[0].device_kind)} == kinds:
        return list(here[: plan.num_devices])
    if here[0].platform != "cpu":
        from jax.extend.backend import clear_backends

        jax.config.update("jax_platforms", "cpu")
        clear_backends()
    return list(jax.devices())
