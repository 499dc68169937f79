"""A planned step run on as many devices as the plan has: processes of gloo's, or simulated ones."""

from __future__ import annotations

import collections
import logging
import multiprocessing
import socket
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.utils._pytree as pytree
from torch import Tensor, fx
from torch.distributed._local_tensor import LocalTensor, LocalTensorMode
from torch.distributed.tensor.debug import CommDebugMode
from torch.testing._internal.distributed.fake_pg import FakeStore

from meshwright import errors
from meshwright.torch._placements import Layouts
from meshwright.torch._running import Runner

# Plans' words for what CommDebugMode counts.
_KINDS = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "alltoall": "all-to-all",
    "permute": "collective-permute",
    "broadcast": "collective-permute",
}


class Ran(NamedTuple):
    """What a run gave: whole tensors by name, collectives by kind, operators that ran replicated.

    `bytes`: of a device in all collectives, of each the larger of what goes in and what comes out.
    """

    values: dict[str, Tensor]
    collectives: dict[str, int]
    bytes: int
    replicated: list[str]


class _Counted(CommDebugMode):
    """Counts the bytes of collectives too."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if result is not NotImplemented and func._overloadpacket in self.comm_registry:
            tensors = [x for x in pytree.tree_leaves((args, result)) if isinstance(x, Tensor)]
            self.bytes += max(x.numel() * x.element_size() for x in tensors)
        return result


def run_simulated(
    plan: Any,
    values: list[Tensor],
    wanted: Mapping[str, fx.Node],
    seed: int,
    layouts: Layouts | None = None,
) -> Ran:
    """In this process: every operator runs on the parts of all devices, collectives on lists of them.

    `layouts`: default: the plan's.
    """
    if torch.distributed.is_initialized():
        raise errors.InvalidArgumentError(
            "verify: devices cannot be simulated in a process of torch.distributed"
        )
    count = plan.num_devices
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=count)
    try:
        with LocalTensorMode(count):
            ran = _run(plan, values, wanted, seed, layouts)
            full = {
                name: x.reconcile() if isinstance(x, LocalTensor) else x
                for name, x in ran.values.items()
            }
        return ran._replace(values=full)
    finally:
        torch.distributed.destroy_process_group()


def run_processes(
    plan: Any, values: list[Tensor], wanted: Mapping[str, fx.Node], seed: int, timeout: float
) -> Ran:
    """In as many processes of this machine. Raises InternalError if one fails or does not end."""
    # Forked, so that a module that cannot be pickled need not be.
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        count = plan.num_devices
        processes = [
            context.Process(
                target=_work, args=(rank, count, port, folder, plan, values, wanted, seed)
            )
            for rank in range(count)
        ]
        for process in processes:
            process.start()
        end = time.monotonic() + timeout
        failure = None
        while failure is None and any(process.is_alive() for process in processes):
            time.sleep(0.02)
            if any(process.exitcode not in (None, 0) for process in processes):
                failure = "a process failed"
            elif time.monotonic() > end:
                failure = f"not done after {timeout:g} s"
        for process in processes:
            if failure is not None:
                process.kill()
            process.join()
        said = "".join(path.read_text() for path in sorted(Path(folder).glob("error-*"))[:1])
        result = Path(folder) / "result.pt"
        if failure is not None or not result.exists():
            raise errors.InternalError(
                f"verify: {failure or 'no process answered'}\n{said}".rstrip()
            )
        return Ran(*torch.load(result, weights_only=False))


def _work(
    rank: int,
    count: int,
    port: int,
    folder: str,
    plan: Any,
    values: list[Tensor],
    wanted: Mapping[str, fx.Node],
    seed: int,
) -> None:
    try:
        torch.set_num_threads(1)
        logging.getLogger("torch").setLevel(logging.ERROR)
        torch.distributed.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=count
        )
        answer = _run(plan, values, wanted, seed)
        if rank == 0:
            torch.save(tuple(answer), Path(folder) / "result.pt")
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    except BaseException:
        Path(folder, f"error-{rank}").write_text(traceback.format_exc())
        raise SystemExit(1) from None


def _run(
    plan: Any,
    values: list[Tensor],
    wanted: Mapping[str, fx.Node],
    seed: int,
    layouts: Layouts | None = None,
) -> Ran:
    """On the devices of torch.distributed's processes."""
    step, lowered = plan.subject.step, plan.subject.lowered
    runner = Runner(step, lowered, layouts or Layouts(plan, lowered), plan.device_mesh("cpu"))
    given = {
        node: runner.place_leaf(i, value)
        for i, (node, value) in enumerate(zip(runner.leaves, values))
    }
    positions = {step.leaves[i].name: i for i in step.replaced}
    torch.manual_seed(seed)
    with _Counted() as counted:
        results = dict(zip(wanted, runner.run(given, list(wanted.values()))))
        for name, index in positions.items():  # as what they replace is kept
            results[name] = runner.place_leaf(index, results[name])
    ran: dict[str, int] = collections.Counter()
    for operator, number in counted.get_comm_counts().items():
        text = str(operator).rsplit(".", 1)[-1]
        kind = next((word for key, word in _KINDS.items() if key in str(operator)), text)
        ran[kind] += number
    full = {name: x.full_tensor() for name, x in results.items()}
    return Ran(full, dict(ran), counted.bytes, sorted(runner.replicated))
