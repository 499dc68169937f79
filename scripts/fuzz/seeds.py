"""Writes what fuzzers begin with: `seeds.py FOLDER [SOURCES]` makes FOLDER/TARGET/ for every target of
tests/fuzz, from the texts of our own tests and tests/data, and from SOURCES (a folder of other projects'
sources, as for scripts/corpora.sh). Protos and plans are made by the release build."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "scripts" / "corpora"), str(ROOT / "python")]
os.environ.setdefault("MESHWRIGHT_LIBRARY", str(ROOT / "build" / "release" / "libmeshwright.so"))

import modules as corpus

from meshwright import _library, errors

MOST_BYTES = 4096  # of a seed: mutations of long inputs are slow, and find no more
MOST_BYTES_OF_PLANS = 16384
MOST_SOURCES = 2000  # seeds of a target from SOURCES
MOST_PROTOS = 400
MESHWRIGHT = ROOT / "build" / "release" / "meshwright"

TARGETS_OF_FORMS = {
    corpus.HLO_TEXT: "hlo_text",
    corpus.HLO_PROTO: "hlo_proto",
    corpus.MLIR_TEXT: "mlir_text",
    corpus.MLIR_BYTECODE: "mlir_bytecode",
    corpus.JAX_EXPORT: "mlir_bytecode",
}

# Strings of tests in these folders that hold all of these words are seeds.
TARGETS_OF_STRINGS = [
    ("cluster_yaml", "tests/cluster", ["nodes", "\n"]),
    ("cluster_yaml", "tests/cluster", ["device", "\n"]),
    ("config_json", "tests/transformer", ["hidden_size"]),
    ("config_json", "tests/transformer", ["model:", "\n"]),
    ("profile_csv", "tests/transformer", ["gpu,tp"]),
    ("profile_csv", "tests/cluster", ["usec"]),
]
TARGETS_OF_FILES = [
    ("cluster_yaml", "tests/data/cluster/*.yaml"),
    ("profile_csv", "tests/data/measured/*.csv.gz"),
]
# What plans are made of, for seeds of plan_json: of a program, of its pipeline, of models.
PLANS = [
    ["plan", "{program}", "--cluster", "8xh100-sxm", "--mesh", "x=2,y=4"],
    ["estimate", "{program}", "--cluster", "8xh100-sxm", "--mesh", "8"],
    ["plan", "{program}", "--cluster", "8xh100-sxm", "--pipeline", "2"],
    ["plan", "llama3-8b", "--cluster", "8xh100-sxm", "--global-batch", "16"],
    ["plan", "llama3-8b", "--cluster", "1x8xh100-sxm+1x8xa100-80g", "--global-batch", "16"],
]


def inflated(path):
    contents = path.read_bytes()
    return gzip.decompress(contents) if path.suffix == ".gz" else contents


# Adjacent string literals of C++.
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def strings(folder):
    """The strings in C++ files of a folder, raw and others."""
    for path in sorted((ROOT / folder).rglob("*.cc")):
        text = path.read_text()
        for match in corpus.RAW_STRING.finditer(text):
            yield match[2].lstrip("\n")
        for match in LITERALS.finditer(corpus.RAW_STRING.sub("", text)):
            joined = "".join(LITERAL.findall(match[0]))
            yield joined.replace("\\n", "\n").replace('\\"', '"')


def proto_of(text):
    """A program's HloModuleProto, or None if it is refused."""
    try:
        return _library._call("mw_read_program", ["proto"], text, len(text)).get("proto")
    except errors.Error:
        return None


def plans():
    smallest = min(
        (m for m in corpus.find_modules(ROOT / "tests" / "intra") if m.form == corpus.HLO_TEXT),
        key=lambda module: abs(len(module.contents) - 1000),
    )
    with tempfile.TemporaryDirectory() as folder:
        program, plan = Path(folder) / "program", Path(folder) / "plan.json"
        program.write_bytes(smallest.contents)
        for words in PLANS:
            argv = [MESHWRIGHT, *(word.format(program=program) for word in words), "-o", plan]
            done = subprocess.run(argv, capture_output=True, check=False)
            if done.returncode == 0:
                yield plan.read_bytes()


def all_seeds(sources):
    """Pairs of a target and a seed."""
    own = corpus.find_modules(ROOT / "tests")
    foreign = corpus.find_modules(sources) if sources else []
    step = max(1, len(foreign) // MOST_SOURCES)
    chosen = own + [m for i, m in enumerate(foreign) if i % step == 0 or "bytecode" in m.form]
    for module in chosen:
        yield TARGETS_OF_FORMS[module.form], module.contents
    texts = [m.contents for m in chosen if m.form == corpus.HLO_TEXT]
    for text in texts[:: max(1, len(texts) // MOST_PROTOS)]:
        if proto := proto_of(text):
            yield "hlo_proto", proto
    for path in sorted((ROOT / "tests" / "data" / "hlo").glob("*.gz")):
        for end, form in {
            ".txt.gz": "hlo_text",
            ".pb.gz": "hlo_proto",
            ".mlir.gz": "mlir_text",
        }.items():
            if path.name.endswith(end):
                yield form, inflated(path)
    for target, folder, words in TARGETS_OF_STRINGS:
        for text in strings(folder):
            if all(word in text for word in words):
                yield target, text.encode()
    configurations = json.loads(
        (ROOT / "tests" / "data" / "transformer" / "parameters.json").read_text()
    )
    for row in configurations["rows"]:
        yield "config_json", json.dumps(row["config"], indent=1).encode()
    for target, pattern in TARGETS_OF_FILES:
        for path in sorted(ROOT.glob(pattern)):
            yield target, inflated(path)
    for plan in plans():
        yield "plan_json", plan


def main():
    folder = Path(sys.argv[1])
    counts = {}
    for target, seed in all_seeds(sys.argv[2] if len(sys.argv) > 2 else None):
        if len(seed) > (MOST_BYTES_OF_PLANS if target == "plan_json" else MOST_BYTES):
            continue
        path = folder / target / hashlib.sha256(seed).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seed)
        counts[target] = counts.get(target, 0) + 1
    print("seeds:", ", ".join(f"{target} {count}" for target, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
