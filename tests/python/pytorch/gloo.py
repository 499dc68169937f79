"""Runs a function in several processes that have torch.distributed.

They are spawned: autograd does not outlive a fork.
"""

import multiprocessing
import socket
import traceback

import torch


def _work(function, arguments, rank, count, port, answers):
    try:
        torch.set_num_threads(1)
        torch.distributed.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=count
        )
        answer = function(*arguments)
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
        answers.put((rank, answer, None))
    except BaseException:
        answers.put((rank, None, traceback.format_exc()))


def run(function, count, *arguments):
    """What `function` returns in the first of `count` processes."""
    context = multiprocessing.get_context("spawn")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answers = context.SimpleQueue()
    processes = [
        context.Process(target=_work, args=(function, arguments, rank, count, port, answers))
        for rank in range(count)
    ]
    for process in processes:
        process.start()
    first = None
    try:
        for _ in processes:
            rank, answer, error = answers.get()
            assert error is None, error
            first = answer if rank == 0 else first
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.kill()
    return first
