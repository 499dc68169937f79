"""Finds the programs that other projects keep among their sources: as files, as parts of files that
their test tools split, as raw strings of C++ tests, and as data of Python tests."""

import ast
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

BYTECODE_MAGIC = b"ML\xefR"

HLO_TEXT = "HLO text"
HLO_PROTO = "HLO proto"
MLIR_TEXT = "MLIR text"
MLIR_BYTECODE = "MLIR bytecode"
JAX_EXPORT = "jax.export file"

# By the ends of files' names. Bytecode is told by its first bytes, whatever its file is called.
TEXT_ENDS = {
    ".mlir": MLIR_TEXT,
    ".hlo": HLO_TEXT,
    ".hlo.txt": HLO_TEXT,
    ".hlotxt": HLO_TEXT,
}
CPP_ENDS = (".cc", ".cpp", ".h")

SPLIT = re.compile(rb"^[ \t]*// -----.*$", re.MULTILINE)  # what *-opt --split-input-file splits at
RAW_STRING = re.compile(r'R"([^\s()\\]{0,16})\((.*?)\)\1"', re.DOTALL)
PLACEHOLDER = re.compile(r"\$\d|\$\{")  # absl::Substitute and the like: the program is not complete
ENTRY = re.compile(r"^\s*ENTRY\b", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    name: str  # path below the folder, and #K where it is the file's K-th
    form: str  # one of the above
    contents: bytes


def _has_code(text, comment=b"//"):
    lines = (line.strip() for line in text.splitlines())
    return any(line and not line.startswith(comment) for line in lines)


def _from_text(contents, form):
    if contents.startswith(BYTECODE_MAGIC):
        return [(MLIR_BYTECODE, contents)]
    return [(form, part) for part in SPLIT.split(contents) if _has_code(part)]


def _from_cpp(contents):
    text = contents.decode(errors="replace")
    if 'R"' not in text:
        return
    for match in RAW_STRING.finditer(text):
        body = match[2]
        if PLACEHOLDER.search(body):
            continue
        if "HloModule" in body or ENTRY.search(body):
            yield HLO_TEXT, body.encode()
        elif "func.func" in body:
            yield MLIR_TEXT, body.encode()


def _from_python(contents):
    if b"mlir_module_" not in contents and b"exported_serialized" not in contents:
        return
    try:
        tree = ast.parse(contents)
    except SyntaxError:
        return
    exported = set()  # constants inside exported_serialized=...
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "exported_serialized":
            exported |= {id(leaf) for leaf in ast.walk(node.value)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant):
            continue
        value = node.value
        if isinstance(value, bytes) and value.startswith(BYTECODE_MAGIC):
            yield MLIR_BYTECODE, value
        elif isinstance(value, bytes) and id(node) in exported:
            yield JAX_EXPORT, value
        elif isinstance(value, str) and "func.func" in value and "module " in value:
            yield MLIR_TEXT, value.encode()


def _from_file(path):
    name = path.name
    for end, form in TEXT_ENDS.items():
        if name.endswith(end):
            return _from_text(path.read_bytes(), form)
    if name.endswith(CPP_ENDS):
        return _from_cpp(path.read_bytes())
    if name.endswith(".py"):
        return _from_python(path.read_bytes())
    if name.endswith(".pb"):
        return [(HLO_PROTO, path.read_bytes())]
    if name.endswith(".pbtxt"):
        contents = path.read_bytes()
        return [(HLO_PROTO, contents)] if b"hlo_module {" in contents else []
    with path.open("rb") as file:
        if file.read(len(BYTECODE_MAGIC)) != BYTECODE_MAGIC:
            return []
    return [(MLIR_BYTECODE, path.read_bytes())]


def find_modules(folder):
    """All modules below `folder`, in the order of their names; one that several files have, once."""
    folder = Path(folder)
    seen = set()
    modules = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for file in sorted(files):
            path = Path(parent) / file
            if not path.is_file() or path.is_symlink():
                continue
            found = list(_from_file(path))
            base = path.relative_to(folder).as_posix()
            for i, (form, contents) in enumerate(found):
                digest = hashlib.sha256(contents).digest()
                if digest in seen:
                    continue
                seen.add(digest)
                modules.append(Module(f"{base}#{i}" if len(found) > 1 else base, form, contents))
    return modules
