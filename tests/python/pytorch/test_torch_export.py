"""Files that shard modules as planned, run in several processes."""

import copy
import importlib.util
import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import gloo
import modules
from meshwright.torch import _exporting
from meshwright.torch._fsdp_layout import FsdpLayout, Style
from torch import nn
from torch.distributed.tensor import DTensor

import meshwright as mw


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(65)
        self.gate = nn.Linear(65, 256, bias=False)
        self.up = nn.Linear(65, 256)
        self.down = nn.Linear(256, 65)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(self.gate(y).relu() * self.up(y))


class Stack(nn.Module):
    """Of sizes that only samples and the features within layers can be divided by."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(129, 65)
        self.layers = nn.ModuleList([Gated()])
        self.head = nn.Linear(65, 129)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


FSDP = ["ids=[x,_]", "target=[x,_]", "mm.1=[x,_]", "addmm*.1=[x,_]", "*embedding.1=[x,_,_]"]
FSDP += ["*up.weight=[x,_]", "*gate.weight=[x,_]", "*down.weight=[_,x]"]
BOTH = ["ids=[x,_]", "target=[x,_]", "mm.1=[x,y]", "addmm.1=[x,y]", "*up.bias=[y]"]
BOTH += ["*up.weight=[(y,x),_]", "*gate.weight=[(y,x),_]", "*down.weight=[_,y]"]
BOTH += ["addmm_1.1=[x,_]", "addmm_2.1=[x,_]", "*embedding.1=[x,_,_]"]


def adamw(module):
    return torch.optim.AdamW(module.parameters(), lr=1e-2)


def planned(mesh, fix, module=None):
    module = module or Stack()
    ids = torch.empty(2, 33, dtype=torch.long, device="meta")
    given = {"loss": modules.word_loss, "targets": ids, "optimizer": adamw(module), "fix": fix}
    count = torch.Size(mesh).numel()
    return mw.torch.plan(module, ids, cluster=f"{count}xh100-sxm", mesh=mesh, **given)


def local_shapes(plan):
    """Of each parameter on a device."""
    shapes = {}
    for name, placements in plan.torch_placements()["parameters"].items():
        shape = list(plan.subject.module.get_parameter(name).shape)
        for size, placement in zip(plan.mesh_shape.values(), placements):
            if placement.is_shard():
                shape[placement.dim] //= size
        shapes[name] = shape
    return shapes


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found_shapes(module):
    return {
        name: list((value.to_local() if isinstance(value, DTensor) else value).shape)
        for name, value in module.named_parameters()
    }


def train(module, optimizer, ids, loss_of, group=None):
    """Losses of three steps, the mean over processes."""
    losses = []
    for _ in range(3):
        loss = loss_of(module, ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        if group is not None:
            torch.distributed.all_reduce(mean)
            mean /= torch.distributed.get_world_size()
        losses.append(mean.item())
    return losses


def word_loss(module, ids):
    return modules.word_loss(module(ids), ids)


def run_fsdp(path):
    """Losses and shapes of the exported file, and losses of one process."""
    torch.manual_seed(0)
    module = Stack()
    alone = copy.deepcopy(module)
    ids = torch.randint(0, 129, (4, 5))
    wanted = train(alone, adamw(alone), ids, word_loss)
    made = imported(path)
    mesh = made.make_mesh("cpu")
    made.parallelize(module, mesh)
    found = train(module, adamw(module), made.samples(ids, mesh), word_loss, mesh)
    return found, wanted, found_shapes(module)


def llama():
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128}
    return modules.of_transformers("LlamaForCausalLM", "LlamaConfig", **sizes)().module


LLAMA = ["input_ids=[x,_]", "labels=[x,_]", "*norm.weight=[x]", "*proj.weight=[x,_]"]
LLAMA += [
    "lm_head.weight=[x,_]",
    "*embed_tokens.weight=[x,_]",
    "*embedding.1=[x,_,_]",
    "mm.1=[x,_]",
]
LLAMA += [f"mm_{i}.1=[x,_]" for i in range(1, 8)]


def planned_llama():
    torch.manual_seed(0)
    module = llama()
    ids = torch.randint(0, 128, (2, 33))
    given = {"optimizer": adamw(module), "cluster": "2xh100-sxm", "mesh": 2, "fix": LLAMA}
    return mw.torch.plan(module, {"input_ids": ids, "labels": ids}, **given)


def ids():
    return torch.randint(0, 128, (4, 5), generator=torch.Generator().manual_seed(0))


def own_loss(module, ids):
    return module(input_ids=ids, labels=ids).loss


def run_transformers(path, saved, divided):
    import transformers

    config = imported(path).CONFIG
    module = transformers.LlamaForCausalLM.from_pretrained(saved, distributed_config=config)
    alone = transformers.LlamaForCausalLM.from_pretrained(saved)
    wanted = train(alone, adamw(alone), ids(), own_loss)
    own = ids().chunk(2)[torch.distributed.get_rank()] if divided else ids()
    return train(module, adamw(module), own, own_loss, True), wanted, found_shapes(module)


def run_accelerate(path, saved):
    rank, count = str(torch.distributed.get_rank()), str(torch.distributed.get_world_size())
    os.environ |= {"LOCAL_RANK": rank, "RANK": rank, "LOCAL_WORLD_SIZE": count, "WORLD_SIZE": count}
    os.environ |= {"ACCELERATE_USE_CPU": "true", "ACCELERATE_USE_FSDP": "true"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "FSDP_VERSION": "2"}
    import accelerate
    import transformers

    # On CPUs it has no FSDP by itself.
    accelerate.PartialState(cpu=True).distributed_type = accelerate.DistributedType.MULTI_GPU
    made = imported(path)
    options = {"parallelism_config": made.PARALLELISM, "fsdp_plugin": made.PLUGIN}
    accelerator = accelerate.Accelerator(**options)
    module = transformers.LlamaForCausalLM.from_pretrained(saved)
    module, optimizer = accelerator.prepare(module, adamw(module))
    own = ids().chunk(2)[torch.distributed.get_rank()]
    return train(module, optimizer, own, own_loss, True), found_shapes(module)


def test_transformers_and_accelerate_train_as_one_process(tmp_path):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    plan = planned_llama()
    plan.subject.module.save_pretrained(tmp_path / "saved")
    folder = plan.export("transformers", tmp_path / "data")
    given = (tmp_path / "saved", True)
    found, wanted, shapes = gloo.run(run_transformers, 2, folder / "distributed.py", *given)
    assert found == pytest.approx(wanted, rel=1e-4)
    assert shapes == local_shapes(plan)
    assert shapes["model.norm.weight"] == [32]
    folder = plan.export("accelerate", tmp_path / "accelerate")
    again, shapes = gloo.run(run_accelerate, 2, folder / "accelerator.py", tmp_path / "saved")
    assert again == pytest.approx(wanted, rel=1e-4)
    assert shapes == local_shapes(plan)


def test_transformers_takes_styles_of_tensor_parallelism(tmp_path):
    """What the plan's layout says of each module, as its rules; its own rules for others are replaced."""
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    plan = planned_llama()
    plan.subject.module.save_pretrained(tmp_path / "saved")
    block = "model.layers.0.mlp"
    styles = {f"{block}.{name}_proj": Style("colwise", sharded=True) for name in ("gate", "up")}
    styles |= {f"{block}.down_proj": Style("rowwise", sharded=True), "lm_head": Style("colwise")}
    styles |= {"model.embed_tokens": Style("rowwise", embedding=True)}
    dims = dict.fromkeys(plan.torch_placements()["parameters"])
    layout = FsdpLayout([], [], ["x"], dims, styles)
    path = tmp_path / "distributed.py"
    path.write_text(_exporting.TARGETS["transformers"](plan, layout).contents)
    found, wanted, shapes = gloo.run(run_transformers, 2, path, tmp_path / "saved", False)
    assert found == pytest.approx(wanted, rel=1e-4)
    assert shapes[f"{block}.up_proj.weight"] == shapes[f"{block}.gate_proj.weight"] == [64, 64]
    assert shapes[f"{block}.down_proj.weight"] == shapes["lm_head.weight"] == [64, 64]
    assert shapes["model.embed_tokens.weight"] == [64, 64]
    assert shapes["model.layers.0.self_attn.q_proj.weight"] == [64, 64]


def test_what_a_target_cannot_is_refused_with_the_nearest_that_can(tmp_path):
    case = modules.mlp()
    given = {"targets": case.targets, "loss": case.loss, "cluster": "2xh100-sxm", "mesh": 2}
    plan = mw.torch.plan(case.module, case.inputs, **given, fix=["input=[_,x]"])
    with pytest.raises(mw.InvalidArgumentError) as error:
        plan.export("fsdp", tmp_path / "made")
    assert str(error.value) == (
        "fsdp cannot express this plan: the input input is divided otherwise than by samples; nearest "
        "is mw.torch.parallelize(module, plan), which runs any plan of a module"
    )
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("mesh", "fix"), [((2,), FSDP), ((2, 2), BOTH)], ids=["fsdp", "both"])
def test_the_file_trains_as_one_process(tmp_path, mesh, fix):
    plan = planned(mesh, fix)
    folder = plan.export("fsdp", tmp_path / "made")
    found, wanted, shapes = gloo.run(run_fsdp, torch.Size(mesh).numel(), folder / "parallelize.py")
    assert found == pytest.approx(wanted, rel=1e-4)
    assert shapes == local_shapes(plan)
    assert shapes["layers.0.up.weight"] != [256, 65]
    with pytest.raises(mw.InvalidArgumentError, match="holds files already"):
        plan.export("fsdp", folder)
    with pytest.raises(mw.InvalidArgumentError, match="fsdp takes no steps"):
        plan.export("fsdp", tmp_path / "more", steps=1)
    for to, why in {
        "transformers": "Stack is no model of transformers",
        "accelerate": "is sharded where it is read"
        if len(mesh) > 1
        else "words.weight is replicated",
        "torchtitan": "it trains models of its own, and Stack is none",
    }.items():
        with pytest.raises(mw.InvalidArgumentError, match=f'{why}.*nearest is plan.export."fsdp"'):
            plan.export(to, tmp_path / to)
