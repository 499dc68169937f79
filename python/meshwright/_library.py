"""The door to libmeshwright.so: the functions of meshwright.h, with errors as exceptions.

The library lies beside this file in an installed package; the environment variable
MESHWRIGHT_LIBRARY names another one.
"""

from __future__ import annotations

import ctypes
import functools
import json
import operator
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from meshwright import errors
from meshwright.answers import Answer

_ABI_VERSION = 2

_BYTES = [ctypes.c_char_p, ctypes.c_size_t]
_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "mw_abi_version": ([], ctypes.c_int),
    "mw_version": ([], ctypes.c_char_p),
    "mw_plan": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_estimate": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_annotate": ([*_BYTES, *_BYTES], ctypes.c_void_p),
    "mw_read_program": (_BYTES, ctypes.c_void_p),
    "mw_read_plan": (_BYTES, ctypes.c_void_p),
    "mw_explain": ([*_BYTES, *_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_simulate": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_diff": ([*_BYTES, *_BYTES], ctypes.c_void_p),
    "mw_export": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_report": ([ctypes.c_char_p], ctypes.c_void_p),
    "mw_calibrate": ([ctypes.c_char_p], ctypes.c_void_p),
    "mw_profile": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_model": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_blocks": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_db": ([ctypes.c_char_p, ctypes.c_char_p], ctypes.c_void_p),
    "mw_solve": ([*_BYTES, ctypes.c_char_p], ctypes.c_void_p),
    "mw_tables": ([], ctypes.c_void_p),
    "mw_error": ([ctypes.c_void_p], ctypes.c_char_p),
    "mw_message": ([ctypes.c_void_p], ctypes.c_char_p),
    "mw_text": (
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)],
        ctypes.c_void_p,
    ),
    "mw_free": ([ctypes.c_void_p], None),
}


@functools.cache
def _library() -> ctypes.CDLL:
    path = os.environ.get("MESHWRIGHT_LIBRARY") or str(Path(__file__).with_name("libmeshwright.so"))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load Meshwright's library: {error}") from error
    for name, (arguments, result) in _SIGNATURES.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"{path} is not a library of this version: it has no {name}")
        function.argtypes = arguments
        function.restype = result
    found = library.mw_abi_version()
    if found != _ABI_VERSION:
        raise ImportError(f"{path} has ABI version {found}, this package needs {_ABI_VERSION}")
    return library


def _interruptible(work: Callable[[], int]) -> int:
    """Runs `work` so that Ctrl-C is noticed at once. Its thread ends by itself, at the deadline."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    thread.join()
    return done[0]


def _call(
    function: str, texts: Sequence[str], *arguments: bytes | int | None, optional: bool = False
) -> dict[str, bytes]:
    """Calls `function` and returns the named texts of its result, all or those that there are.

    With "names", a list of further texts, these too.
    """
    library = _library()
    result = _interruptible(lambda: getattr(library, function)(*arguments))
    try:
        error = library.mw_error(result)
        if error is not None:
            message = library.mw_message(result).decode(errors="replace").rstrip("\n")
            raise errors.BY_NAME[error.decode()](message)
        values: dict[str, bytes] = {}
        names = list(texts)
        for name in names:
            size = ctypes.c_size_t()
            text = library.mw_text(result, name.encode(), ctypes.byref(size))
            if text is None and optional:
                continue
            if text is None:
                raise errors.InternalError(f"{function} gave no {name}")
            values[name] = ctypes.string_at(text, size.value)
            if name == "names":
                names += json.loads(values[name])
        return values
    finally:
        library.mw_free(result)


def version() -> str:
    return _library().mw_version().decode()


def _options(options: Mapping[str, Any]) -> bytes:
    """As JSON; numpy's whole numbers as Python's."""
    texts = []
    for name, value in options.items():
        try:
            text = json.dumps(value, allow_nan=False, default=operator.index, ensure_ascii=False)
            texts.append(f"{json.dumps(name)}: {text}".encode())
        except (TypeError, ValueError):  # UnicodeEncodeError too
            raise errors.InvalidArgumentError(
                f'option "{name}": found {value!r}, expected text in UTF-8 or a number'
            ) from None
    return b"{" + b", ".join(texts) + b"}"


def plan(
    program: bytes | None, options: Mapping[str, Any], *, estimate: bool = False
) -> dict[str, bytes]:
    """A plan's JSON as "plan", and "table", "csv", "plot" where there are any; what "emit" wants as
    "stages" or "program".

    `program`: None where the options name it. `options` as meshwright.h documents them.
    """
    function = "mw_estimate" if estimate else "mw_plan"
    size = 0 if program is None else len(program)
    texts = ["plan", "table", "csv", "plot"]
    if "emit" in options:
        texts += ["stages", "program"]
    return _call(function, texts, program, size, _options(options), optional=True)


def explain(plan_json: bytes, options: Mapping[str, Any], program: bytes | None = None) -> Answer:
    """What `meshwright explain` says of a plan; `program`: of the plan, for "why-not"."""
    size = 0 if program is None else len(program)
    arguments = (plan_json, len(plan_json), program, size, _options(options))
    return _answer(_call("mw_explain", ["text", "json"], *arguments))


def simulate(plan_json: bytes, options: Mapping[str, Any]) -> tuple[Answer, bytes, str]:
    """What `meshwright simulate` says; its trace; what is to be said of that."""
    texts = ["text", "json", "trace", "warning"]
    answer = _call("mw_simulate", texts, plan_json, len(plan_json), _options(options))
    return _answer(answer), answer["trace"], answer["warning"].decode()


def diff(before: bytes, after: bytes) -> Answer:
    """What `meshwright diff` says of two plans."""
    arguments = (before, len(before), after, len(after))
    return _answer(_call("mw_diff", ["text", "json"], *arguments))


def export(plan_json: bytes, options: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The usual folder of a launch, and its files: name, contents, executable."""
    texts = ["folder", "files"]
    answer = _call("mw_export", texts, plan_json, len(plan_json), _options(options))
    return answer["folder"].decode(), json.loads(answer["files"])


def report(documents: Sequence[tuple[str, str]], texts: Sequence[str]) -> dict[str, bytes]:
    """Of the report of documents, with their names: "page", "tables", "dot", as there are."""
    rows = [{"name": name, "text": text} for name, text in documents]
    return _call("mw_report", texts, json.dumps(rows).encode(), optional=True)


def calibrate(options: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What `meshwright calibrate` writes, and its warnings."""
    answer = _call("mw_calibrate", ["yaml", "warnings"], _options(options))
    return answer["yaml"].decode(), json.loads(answer["warnings"])


def profile(program: bytes, options: Mapping[str, Any]) -> dict[str, bytes]:
    """What `meshwright profile` says, "text" and "json", and the files that it was asked for."""
    texts = ["text", "json", *(name for name in ("layers-csv", "calibrate") if name in options)]
    return _call("mw_profile", texts, program, len(program), _options(options))


def model(config: bytes | None, options: Mapping[str, Any]) -> Answer:
    """What `meshwright model` says of a configuration, or of the option "model"."""
    size = 0 if config is None else len(config)
    return _answer(_call("mw_model", ["text", "json"], config, size, _options(options)))


def blocks(program: bytes, options: Mapping[str, Any]) -> tuple[Answer, dict[str, bytes]]:
    """What `meshwright blocks` says of a program, and the files that it writes, by name."""
    arguments = (program, len(program), _options(options))
    texts = _call("mw_blocks", ["text", "json", "names"], *arguments)
    files = {name: texts[name] for name in json.loads(texts["names"])}
    return _answer(texts), files


def db(action: str, options: Mapping[str, Any]) -> Answer:
    """What `meshwright db` says of a profile database."""
    return _answer(_call("mw_db", ["text", "json"], action.encode(), _options(options)))


def solve(problem: bytes, options: Mapping[str, Any]) -> Answer:
    """What `meshwright solve` says of an assignment problem."""
    arguments = (problem, len(problem), _options(options))
    return _answer(_call("mw_solve", ["text", "json"], *arguments))


def _answer(texts: Mapping[str, bytes]) -> Answer:
    return Answer(texts["text"].decode(), texts["json"])


def annotated_to_run(program: bytes, plan_json: bytes) -> bytes:
    """The program with the plan in it, to be compiled: StableHLO text or an HloModuleProto."""
    arguments = (program, len(program), plan_json, len(plan_json))
    return _call("mw_annotate", ["runnable"], *arguments)["runnable"]


def program_format(program: bytes) -> str:
    """ "hlo_text", "hlo_proto" or "stablehlo"."""
    return _call("mw_read_program", ["format"], program, len(program))["format"].decode()


def read_program(program: bytes) -> dict[str, list[dict[str, Any]]]:
    """The leaves of the program's "parameters" and "outputs": name, dtype, shape."""
    texts = _call("mw_read_program", ["parameters", "outputs"], program, len(program))
    return {name: json.loads(text) for name, text in texts.items()}


def bounded_size(program: bytes) -> str:
    """A value with a dimension of which only a bound is known, with its type; empty: none."""
    return _call("mw_read_program", ["bounded"], program, len(program))["bounded"].decode()


def program_fingerprint(program: bytes) -> str:
    """Of what a program computes, without names and source lines."""
    texts = _call("mw_read_program", ["fingerprint"], program, len(program))
    return texts["fingerprint"].decode()


def program_proto(program: bytes) -> bytes:
    """A program in HLO as a serialized HloModuleProto."""
    return _call("mw_read_program", ["proto"], program, len(program))["proto"]


def stablehlo_text(program: bytes) -> bytes:
    """A program in StableHLO, text or bytecode, as text."""
    return _call("mw_read_program", ["stablehlo"], program, len(program))["stablehlo"]


def read_plan(plan_json: bytes) -> str:
    """Checks a plan against the schema; returns its table."""
    return _call("mw_read_plan", ["table"], plan_json, len(plan_json))["table"].decode()


def headline(plan_json: bytes) -> list[str]:
    """The sentences that a plan's report begins with."""
    return json.loads(_call("mw_read_plan", ["headline"], plan_json, len(plan_json))["headline"])


def models() -> list[dict[str, str]]:
    """The models that are known by name: "name", and the "source" of their configuration."""
    return json.loads(_call("mw_tables", ["models"])["models"])


def options() -> dict[str, list[dict[str, Any]]]:
    """Of each command, the options that it takes; see mw_tables in meshwright.h."""
    return json.loads(_call("mw_tables", ["options"])["options"])


def devices() -> list[dict[str, Any]]:
    """The built-in device types."""
    return json.loads(_call("mw_tables", ["devices"])["devices"])


def calls() -> list[dict[str, str]]:
    """Every call whose sharding rule is known: "target", "rule", "remark"."""
    return json.loads(_call("mw_tables", ["calls"])["calls"])


def draft_rules(program: bytes) -> str:
    """The calls of a program without a rule, as `meshwright ops PROGRAM` lists them."""
    return _call("mw_read_program", ["rules"], program, len(program))["rules"].decode()


def operators() -> list[dict[str, str]]:
    """Every HLO operator and its sharding rule."""
    return json.loads(_call("mw_tables", ["operators"])["operators"])
