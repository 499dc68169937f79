"""Runs what `meshwright export` writes with the frameworks themselves, as far as CPUs can.

    python -m venv frameworks && . frameworks/bin/activate
    pip install torch accelerate transformers torchtitan deepspeed megatron-bridge  # or some of them
    python bench/launch/frameworks.py build/release/meshwright

Accelerate and DeepSpeed train a tiny Llama for three steps on four processes; torchtitan's own
reader takes the configuration; of NeMo, whose kernels need GPUs, the fields of every class that the
program makes are looked up in Megatron-Bridge's and Megatron-Core's sources. What is not installed
is left out and said so. Exits with 1 if one fails.
"""

import argparse
import ast
import importlib.util
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

TINY = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
STEPS = 3
SECONDS = 600  # of one training; DeepSpeed compiles its optimizer first
TRAINED = {
    "accelerate": ["tp=1,zero=2,mbs=2", "tp=1,zero=3,mbs=2", "tp=1,zero=3,mbs=1,shard=2"],
    "deepspeed": ["tp=1,zero=0", "tp=1,zero=1,mbs=2", "tp=1,zero=2,mbs=2", "tp=1,zero=3,mbs=2",
                  "tp=2,zero=1,mbs=2"],
}  # fmt: skip
TITAN = ["zero=2", "tp=2,sp=on,pp=2,zero=3,schedule=1f1b", "tp=2,sp=off,zero=2",
         "pp=2,vp=2,zero=2,recompute=full", "cp=2,zero=3,recompute=selective"]  # fmt: skip
NEMO = ["tp=2,sp=on,pp=2,zero=1,schedule=interleaved,vp=2", "zero=3", "cp=2,zero=1"]


def export(meshwright, folder, model, target, fixes, devices, *options):
    """The folder of the launch of the best plan with `fixes` on `devices` GPUs of a node."""
    plan, launch = folder / "plan.json", folder / "launch"
    shape = ["--global-batch", "16", "--seq", "64" if model.endswith(".json") else "2048"]
    for command in (
        ["plan", model, "--cluster", f"1x{devices}xh100-sxm", *shape, "--fix", fixes, "--for",
         target, "-o", plan],
        ["export", plan, "--to", target, "-o", launch, "--steps", str(STEPS), "--learning-rate",
         "1e-3", *options],
    ):  # fmt: skip
        subprocess.run([meshwright, *command], check=True, stdout=subprocess.DEVNULL)
    return launch


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def train(launch):
    """What is wrong with a training run, or nothing."""
    here = pathlib.Path(__file__).parent / "without_gpus"
    environment = os.environ | {
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(here),
        "MASTER_PORT": str(free_port()),
        "DS_ACCELERATOR": "cpu",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    try:
        done = subprocess.run(
            ["bash", launch / "launch.sh"],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    steps = re.findall(r"^step (\d+): loss ([\d.]+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    if [int(number) for number, _ in steps] != list(range(STEPS)):
        return f"these steps: {steps}"
    return ""


def read_titan(launch):
    """The same of torchtitan's reading of a configuration, in a process of its own."""
    new = importlib.util.find_spec("torchtitan.config.job_config") is None
    if new:
        arguments = ["--module", "meshwright_config", "--config", "meshwright", "--hf_assets_path",
                     "/tmp"]  # fmt: skip
    elif (launch / "torchtitan.toml").exists():
        arguments = ["--job.config_file", str(launch / "torchtitan.toml")]
    else:
        return ""  # launch.sh says so
    program = (
        f"from torchtitan.config import ConfigManager; ConfigManager().parse_args({arguments})"
    )
    environment = os.environ | {"PYTHONPATH": str(launch), "LEARNING_RATE": "1e-3"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
    )
    return "" if done.returncode == 0 else done.stderr.strip()[-300:]


def classes_of(roots):
    """Of each class in the sources below `roots`: its fields, and the names of its bases."""
    found = {}
    for root in roots:
        for file in pathlib.Path(root).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.ClassDef):
                    continue
                fields = {
                    item.target.id
                    for item in node.body
                    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
                }
                for made in node.body:
                    if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                        fields |= {a.arg for a in made.args.args + made.args.kwonlyargs}
                bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
                at = found.setdefault(node.name, (set(), set()))
                at[0].update(fields)
                at[1].update(bases)
    return found


def fields_of(name, classes, seen=()):
    if name not in classes or name in seen:
        return set()
    fields, bases = classes[name]
    return fields.union(*(fields_of(base, classes, (*seen, name)) for base in bases))


def look_up_nemo(launch, classes):
    """What the program sets that no class has."""
    wrong = []
    for node in ast.walk(ast.parse((launch / "pretrain.py").read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).split(".")[-1]
        if name not in classes:
            continue
        fields = fields_of(name, classes)
        wrong += [f"{name}.{k.arg}" for k in node.keywords if k.arg and k.arg not in fields]
    return ", ".join(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("meshwright", type=pathlib.Path, help="the program")
    parser.add_argument("targets", nargs="*", help="of these alone; else of all")
    arguments = parser.parse_args()
    meshwright = arguments.meshwright.resolve()
    failed = False

    def say(target, fixes, wrong):
        nonlocal failed
        failed = failed or bool(wrong)
        print(f"{target:11} {fixes:50} {wrong or 'ok'}", flush=True)

    def wanted(target, package):
        if arguments.targets and target not in arguments.targets:
            return False
        found = importlib.util.find_spec(package) is not None
        if not found:
            print(f"{package} is not installed: left out")
        return found

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tiny.json").write_text(json.dumps(TINY))

        def each(target, model, devices, all_fixes, judge, *options):
            for number, fixes in enumerate(all_fixes):
                place = folder / f"{target}{number}"
                place.mkdir()
                launch = export(meshwright, place, model, target, fixes, devices, *options)
                say(target, fixes, judge(launch))

        for target, all_fixes in TRAINED.items():
            if wanted(target, target):
                each(target, str(folder / "tiny.json"), 4, all_fixes, train, "--data-path", "mock")
        if wanted("torchtitan", "torchtitan"):
            each("torchtitan", "llama3-8b", 8, TITAN, read_titan)
        if wanted("nemo", "megatron"):
            roots = importlib.util.find_spec("megatron").submodule_search_locations
            classes = classes_of(roots)
            each("nemo", "llama3-8b", 8, NEMO, lambda launch: look_up_nemo(launch, classes))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
