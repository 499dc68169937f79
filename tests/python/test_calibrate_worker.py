"""The worker of `meshwright calibrate --run` is started as a file."""

import pathlib
import subprocess
import sys

import meshwright


def test_starts_as_a_file():
    worker = pathlib.Path(meshwright.__file__).with_name("calibrate_worker.py")
    done = subprocess.run([sys.executable, worker, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout
