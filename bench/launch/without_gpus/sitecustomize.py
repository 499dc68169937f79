"""Lets processes that torchrun or accelerate starts train on CPUs, for ../frameworks.py.

Accelerate has FSDP on GPUs only: here it takes the CPU for one, with gloo. DeepSpeed's all-reduce
through shared memory, which it builds for CPUs, is left to gloo too.
"""

import importlib.abc
import importlib.util
import os
import sys


def run_accelerate_on_cpus(module):
    import torch

    def backend(self, cpu, sagemaker_dp=False, backend=None):
        return "gloo", module.DistributedType.MULTI_GPU

    def device(self):
        self.device = torch.device("cpu")

    module.PartialState._prepare_backend = backend
    module.PartialState.set_device = device


def leave_shared_memory_out(module):
    module.build_shm_op = lambda: None


PATCHES = {
    "accelerate.state": run_accelerate_on_cpus,
    "deepspeed.comm.torch": leave_shared_memory_out,
}


class Finder(importlib.abc.MetaPathFinder):
    """Calls the patch of a module once that is made."""

    def __init__(self):
        self.left = dict(PATCHES)

    def find_spec(self, name, path, target=None):
        patch = self.left.pop(name, None)
        if patch is None:
            return None
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            patch(module)

        spec.loader.exec_module = exec_module
        return spec


if "LOCAL_RANK" in os.environ:
    sys.meta_path.insert(0, Finder())
