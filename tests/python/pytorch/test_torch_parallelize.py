"""Modules and optimizers that train as planned, in several processes."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import gloo
import modules
import torch.distributed.checkpoint as dcp
from torch.distributed.tensor import DTensor, Replicate, Shard

import meshwright as mw

RATES = [1e-2, 5e-3, 1e-3]


def make_plan(case, optimizer, **options):
    given = {"loss": case.loss, "targets": case.targets, "optimizer": optimizer}
    return mw.torch.plan(case.module, case.inputs, cluster="2xh100-sxm", mesh=2, **given, **options)


def train(module, optimizer, case, loss=None):
    losses = []
    for rate in RATES:
        optimizer.param_groups[0]["lr"] = rate
        value = module(*case.inputs, *case.targets) if loss is None else loss(module)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(value.item())
    return losses


def adamw(module):
    return torch.optim.AdamW(module.parameters(), lr=0.5)


def momentum(module):
    return torch.optim.SGD(module.parameters(), lr=0.5, momentum=0.9, nesterov=True)


# Sharded so that weights, their state and activations move.
CASES = {
    "mlp": (modules.mlp, adamw, ["1.weight=[x,_]", "5.weight=[_,x]", "state.3.weight.exp_avg=[x]"]),
    "decoder": (modules.decoder, adamw, ["*up.weight=[x,_]", "words.weight=[_,x]", "ids=[x,_]"]),
    "momentum": (modules.mlp, momentum, ["1.weight=[x,_]"]),
}


def both_ways(folder):
    """By case: losses of the parallel module and of the plain one, and how its parameters lie."""
    answers = {}
    for name, (make, optimize, fix) in CASES.items():
        torch.manual_seed(0)
        case = make()
        plain = copy.deepcopy(case)
        plan = make_plan(case, optimize(case.module), fix=fix)
        module, optimizer = mw.torch.parallelize(case.module, plan)
        found = train(module, optimizer, case)
        wanted = train(
            *(plain.module, optimize(plain.module), plain),
            lambda module: plain.loss(module(*plain.inputs), *plain.targets),
        )
        assert all(isinstance(x, DTensor) for x in module.state_dict().values())
        laid = {name: x.placements for name, x in module.named_parameters()}
        assert laid == plan.torch_placements()["parameters"]
        dcp.save({"model": module.state_dict()}, checkpoint_id=f"{folder}/{name}")
        # Into the unsharded module.
        fresh = {"model": make().module.state_dict()}
        dcp.load(fresh, checkpoint_id=f"{folder}/{name}")
        for key, value in plain.module.state_dict().items():
            torch.testing.assert_close(fresh["model"][key], value, rtol=1e-3, atol=1e-4)
        answers[name] = (found, wanted)
    # The last is the multi-layer perceptron.
    with pytest.raises(mw.InvalidArgumentError, match=r"input: found torch.float32\[8, 64\]"):
        module(torch.zeros(8, 64), *case.targets)
    with pytest.raises(mw.InvalidArgumentError, match="inputs of the structure"):
        module(case.inputs[0])
    return answers


def test_loops_train_as_torch_does(tmp_path):
    for name, (found, wanted) in gloo.run(both_ways, 2, str(tmp_path)).items():
        assert found == pytest.approx(wanted, rel=1e-3), name


def test_placements_are_those_of_the_plan():
    case = modules.mlp()
    plan = make_plan(case, adamw(case.module), fix=CASES["mlp"][2])
    found = plan.torch_placements()
    assert found["parameters"]["1.weight"] == (Shard(0),)
    assert found["parameters"]["5.weight"] == (Shard(1),)
    assert found["state"]["3.weight.exp_avg"] == (Shard(0),)
    assert found["outputs"]["loss"] == (Replicate(),)
    assert set(found["buffers"]) == {name for name, _ in case.module.named_buffers()}


def test_too_few_processes_are_refused():
    case = modules.mlp()
    plan = make_plan(case, adamw(case.module))
    with pytest.raises(mw.InvalidArgumentError, match="2 devices, torch.distributed has 1 proc"):
        mw.torch.parallelize(case.module, plan)
