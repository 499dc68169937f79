"""Steps of modules as programs and plans."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import modules
import torch.nn.functional as F
from meshwright.torch import _version
from meshwright.torch._verifying import _run_alone, _values, _wanted
from torch import nn
from torch.utils.checkpoint import checkpoint

import meshwright as mw


def plan(module, inputs, **options):
    return mw.torch.plan(module, inputs, cluster="8xh100-sxm", **options)


def square(out):
    return out.square().mean()


def test_names_are_those_of_torch():
    case = modules.mlp()
    made = plan(
        case.module, case.inputs, targets=case.targets, loss=case.loss, optimizer=case.adamw()
    )
    names = {row["name"]: row for row in made.parameters}
    wanted = {*case.module.state_dict(), "input", "target", "optimizer.0.lr"}
    for name, _ in case.module.named_parameters():
        wanted |= {f"state.{name}.{key}" for key in ("step", "exp_avg", "exp_avg_sq")}
    assert set(names) == wanted
    assert names["1.weight"]["category"] == "parameters"
    assert names["state.1.weight.exp_avg"]["category"] == "optimizer_state"
    assert names["input"]["category"] == "inputs"
    assert any(row.get("op_name") == "1/addmm" for row in made.ops)


def test_attention_is_one_call():
    case = modules.decoder()
    made = plan(case.module, case.inputs, loss=case.loss, targets=case.targets)
    calls = [row["op_name"] for row in made.ops if row["opcode"] == "custom-call"]
    assert len(calls) == 4 and sum("backward" in call for call in calls) == 2
    scores = [row for row in made.ops if row["shape"][-2:] == [16, 16]]
    assert not scores


def test_a_large_module_needs_no_memory():
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(2**16, 2**18), nn.ReLU(), nn.Linear(2**18, 2**16))
        inputs = (torch.empty(2**14, 2**16),)
    optimizer = torch.optim.AdamW(module.parameters())
    made = plan(module, inputs, loss=square, optimizer=optimizer, memory="unlimited")
    assert sum(row["bytes_per_device"] for row in made.parameters) > 2**34


def test_frozen_parameters_have_no_gradient_and_no_state():
    module = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    module[0].requires_grad_(False)
    optimizer = torch.optim.AdamW(p for p in module.parameters() if p.requires_grad)
    made = plan(module, (torch.zeros(4, 8),), loss=square, optimizer=optimizer)
    assert not [row for row in made.parameters if row["name"].startswith("state.0.")]
    placed = made.torch_placements()
    assert "0.weight" in placed["parameters"] and "0.weight" not in placed["outputs"]
    module.requires_grad_(False)
    with pytest.raises(mw.InvalidArgumentError, match="no parameter that is trained"):
        plan(module, (torch.zeros(4, 8),), loss=square)


class Recomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))

    def forward(self, x):
        return checkpoint(self.part, x, use_reentrant=False)


def test_what_is_checkpointed_is_recomputed():
    inputs = (torch.zeros(4, 64),)
    counts = []
    for module in (Recomputed().part, Recomputed()):
        made = plan(module, inputs, loss=square)
        counts.append(sum(row["opcode"] == "tanh" for row in made.ops))
    assert counts == [1, 2]


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(64, 64)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.part(x).float()


def test_autocast_is_followed():
    made = plan(Mixed(), (torch.zeros(4, 64),), loss=square)
    assert {row["dtype"] for row in made.ops if row["opcode"] == "dot"} == {"bf16"}


class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(8, 8)

    def forward(self, x):
        return torch.linalg.qr(self.part(x)).Q  # the line that is named


def test_an_operator_without_a_row_is_named_with_its_line():
    with pytest.raises(mw.UnsupportedError) as refused:
        plan(Unknown(), (torch.zeros(8, 8),), loss=square)
    with open(__file__) as file:
        line = next(i for i, text in enumerate(file, 1) if "the line that is named" in text)
    assert f"test_torch_plan.py:{line}: " in str(refused.value)
    assert "aten.linalg_qr.default: there is no row" in str(refused.value)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(8, 8)

    def forward(self, x):
        y = self.part(x)
        return y if y.sum() > 0 else -y


def test_what_cannot_be_traced_is_one_error():
    with pytest.raises(mw.UnsupportedError, match="^Branches: its step cannot be traced: "):
        plan(Branches(), (torch.zeros(8, 8),), loss=square)


def test_a_loss_is_needed():
    with pytest.raises(mw.InvalidArgumentError, match="^loss: the module gives no loss itself"):
        plan(nn.Linear(8, 8), (torch.zeros(8, 8),))


@pytest.mark.parametrize("optimizer", ["Adadelta", "Adagrad", "AdamW", "NAdam", "RMSprop", "SGD"])
def test_updates_are_those_of_the_optimizer(optimizer):
    kind = getattr(torch.optim, optimizer)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4))
    groups = [
        {"params": list(module[0].parameters()), "weight_decay": 0.5},
        {"params": [*module[1].parameters(), module[2].weight], "lr": 0.1},
    ]
    optimizer = kind(groups, lr=0.01)  # of the last bias it knows nothing
    inputs = (torch.randn(4, 8),)
    subject = plan(module, inputs, loss=square, optimizer=optimizer).subject
    wanted = _wanted(subject.step)
    values = _values(subject, 0)
    found = dict(zip(wanted, _run_alone(subject.step, values, list(wanted.values()))))
    square(module(*inputs)).backward()
    optimizer.step()
    assert "2.bias" not in found
    for name, value in module.named_parameters():
        if name in found:
            torch.testing.assert_close(found[name], value.detach())
            for key, x in optimizer.state[value].items():
                if isinstance(x, torch.Tensor):
                    torch.testing.assert_close(found[f"state.{name}.{key}"], x)


def test_an_optimizer_of_another_module_is_refused():
    other = torch.optim.SGD(nn.Linear(8, 8).parameters())
    with pytest.raises(mw.InvalidArgumentError, match="^optimizer: has a parameter"):
        plan(nn.Linear(8, 8), (torch.zeros(8, 8),), loss=square, optimizer=other)


def test_an_optimizer_whose_steps_depend_on_values_is_refused():
    module = nn.Linear(8, 8)
    with pytest.raises(
        mw.UnsupportedError, match="^optimizer: a step of Adafactor cannot be traced"
    ):
        plan(module, torch.zeros(8, 8), optimizer=torch.optim.Adafactor(module.parameters()))


def test_tracing_leaves_the_module_as_it_was():
    case = modules.cnn()
    before = {name: value.clone() for name, value in case.module.state_dict().items()}
    sdpa = F.scaled_dot_product_attention
    plan(case.module, case.inputs, loss=case.loss, targets=case.targets, optimizer=case.adamw())
    for name, value in case.module.state_dict().items():
        torch.testing.assert_close(value, before[name])
    assert F.scaled_dot_product_attention is sdpa
    assert all(parameter.grad is None for parameter in case.module.parameters())
    assert not case.module._forward_hooks and not case.module[0]._forward_hooks


def test_it_needs_no_jax():
    program = (
        "import sys; sys.modules['jax'] = sys.modules['jaxlib'] = None\n"
        "import torch, meshwright as mw\n"
        "m = torch.nn.Linear(8, 8)\n"
        "p = mw.torch.plan(m, torch.zeros(8, 8), loss=lambda y: y.sum(), cluster='2xh100-sxm')\n"
        "print(p.torch_placements()['parameters'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "weight" in done.stdout, done.stderr


def test_an_old_torch_is_refused():
    with pytest.raises(mw.UnsupportedError, match=r"^PyTorch 2.5.1 is installed, .* 2.14 or newer"):
        _version.check("2.5.1")
    _version.check("2.14.0+cpu")
    _version.check("3.0.0a0")


def test_the_gradient_of_a_slice_is_padded():
    class Rotated(nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            return torch.cat([-y[..., 4:], y[..., 0].unsqueeze(-1), y[..., 1:4]], -1)

    made = plan(Rotated(8, 8), torch.randn(16, 8), loss=square)
    text = made.subject.lowered.text
    assert text.count("stablehlo.pad") == 3 and "stablehlo.gather" not in text
