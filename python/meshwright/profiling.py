"""calibrate and profile: measurements of devices, which plans are then costed with."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright import _library, _outputs, errors, specs
from meshwright.answers import Answer
from meshwright.options import Mesh, ProfileOptions, as_json
from meshwright.program import read_program

if TYPE_CHECKING:
    from typing_extensions import Unpack


@contextlib.contextmanager
def _this_python() -> Iterator[None]:
    """What measures is run by this Python, unless MESHWRIGHT_PYTHON names another."""
    name, package = "MESHWRIGHT_PYTHON", str(Path(__file__).parents[1])
    before = {key: os.environ.get(key) for key in (name, "PYTHONPATH")}
    os.environ[name] = before[name] or sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [before["PYTHONPATH"], package]))
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def calibrate(
    from_: str | os.PathLike[str] | None = None,
    *,
    run: bool = False,
    worker: str | os.PathLike[str] | None = None,
    device: str = "h100-sxm",
    output: str | os.PathLike[str] | None = None,
) -> str:
    """Turns measurements of a device into the curves that plans are costed with.

    Args:
      from_: measurements, a CSV file; see `meshwright help calibrate`.
      run: measure on the GPUs of this machine instead, with JAX.
      worker: the Python program that measures.
      device: the device type that was measured.
      output: write the calibration there too, for `calibration:` in a cluster's file.

    Returns:
      The calibration, as YAML.
    """
    if output is not None:
        _outputs.check_file(output, "output")
    given = {"from": from_, "run": run, "worker": worker, "device": device}
    with _this_python():
        yaml, notes = _library.calibrate(as_json(given))
    for note in notes:
        warnings.warn(note, stacklevel=2)
    if output is not None:
        _outputs.write_file(output, yaml.encode())
    return yaml


def _process_number() -> int:
    """Of this process among those of `distributed`, as meshwright profile reads it."""
    names = ("JAX_PROCESS_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
    return next((int(os.environ[name]) for name in names if name in os.environ), 0)


def _serve(devices: str) -> None:
    """Measures what the first process asks for, until that is done."""
    worker = ["-m", "meshwright.profile_worker", "--devices", devices, "--distributed"]
    with _this_python():
        command = [os.environ["MESHWRIGHT_PYTHON"], *worker]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise errors.UnsupportedError(
            f"the measuring worker ended with exit code {done.returncode}; see its messages above"
        )


def profile(
    program: Any,
    *args: Any,
    mesh: Mesh,
    db: str | os.PathLike[str],
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[ProfileOptions],
) -> Answer:
    """Measures what repeats in a program, under the shardings that are worth it.

    It can be interrupted and called again: what the database has is not measured again, and
    `plan(..., db=...)` plans with it.

    Args:
      program: a program, as for `plan`.
      *args: example arguments of the function.
      mesh: as for `plan`, but needed.
      db: the profile database, made if it is not there.
      kwargs: example keyword arguments of the function.
      **options: further options of `meshwright profile`, with `_` for `-`: devices, budget, ...

    Returns:
      What was measured; of `distributed` processes that are not the first an empty answer.
    """
    if options.get("distributed") and _process_number() > 0:
        _serve(options.get("devices", "gpu"))
        return Answer("", "null")
    read = read_program(program, args, kwargs or {})
    given = {"program": read.name, "mesh": specs.mesh_text(mesh), "db": db, **options}
    files = {key: given[key] for key in ("layers_csv", "calibrate") if given.get(key) is not None}
    for key, path in files.items():
        _outputs.check_file(path, key)
    with _this_python():
        texts = _library.profile(read.contents, as_json(given))
    for key, path in files.items():
        _outputs.write_file(path, texts[key.replace("_", "-")])
    return Answer(texts["text"].decode(), texts["json"])
