"""Asks XLA's own parsers, as they come with jaxlib, which modules they take: HLO text and protos must
parse, MLIR must parse, verify and convert to HLO. They end the process on some inputs, so they run in
one of their own: `python xla.py` reads modules from standard input and answers a line each."""

import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import modules as forms

HEADER = struct.Struct("<QQ")  # bytes of the form's name and of the contents, which follow


def available():
    """Whether this Python has jaxlib's parsers."""
    code = "from jaxlib import _hlo, _jax; _hlo.hlo_module_from_text, _jax.mlir"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


def _exported(contents):
    """The bytecode in a file of jax.export: a flatbuffer's vector, behind its size."""
    start = contents.index(forms.BYTECODE_MAGIC)
    (size,) = struct.unpack_from("<I", contents, start - 4)
    return contents[start : start + size]


def _takes(form, contents):
    from jaxlib import _hlo, _jax

    try:
        if form == forms.HLO_TEXT:
            _hlo.hlo_module_from_text(contents.decode())
        elif form == forms.HLO_PROTO:
            _hlo.HloModule.from_serialized_hlo_module_proto(contents)
        elif form == forms.JAX_EXPORT:
            _jax.mlir.mlir_module_to_xla_computation(_exported(contents), False, False)
        else:
            text = contents if form == forms.MLIR_BYTECODE else contents.decode()
            _jax.mlir.mlir_module_to_xla_computation(text, False, False)
    except Exception:
        return False
    return True


def _serve():
    answers = sys.stdout.buffer
    while header := sys.stdin.buffer.read(HEADER.size):
        form_bytes, bytes_ = HEADER.unpack(header)
        form = sys.stdin.buffer.read(form_bytes).decode()
        answers.write(b"1\n" if _takes(form, sys.stdin.buffer.read(bytes_)) else b"0\n")
        answers.flush()


class _Parser:
    def __init__(self):
        self.process = None

    def takes(self, module):
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        form = module.form.encode()
        try:
            self.process.stdin.write(HEADER.pack(len(form), len(module.contents)))
            self.process.stdin.write(form + module.contents)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:  # it ended: the next module gets another
            self.process.kill()
            self.process.communicate()
            self.process = None
        return answer == b"1\n"

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def taken(modules, processes):
    """Whether XLA takes each of the modules."""
    idle = SimpleQueue()

    def ask(module):
        try:
            parser = idle.get_nowait()
        except Empty:
            parser = _Parser()
        answer = parser.takes(module)
        idle.put(parser)
        return answer

    with ThreadPoolExecutor(processes) as pool:
        answers = list(pool.map(ask, modules))
    while not idle.empty():
        idle.get().close()
    return answers


if __name__ == "__main__":
    _serve()
