"""Runs every model with every kind of plan in 1, 2 and 4 processes, and says what differs.

python tests/python/run_pipelines.py --all
python tests/python/run_pipelines.py --models gpt moe --kinds meshes --processes 2
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import pipeline_models
import test_pipeline_run

SECONDS = 1800  # after which one is taken to hang: on a busy machine the others are slow


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the whole matrix, 5 steps each")
    parser.add_argument("--models", nargs="+", default=list(pipeline_models.MODELS))
    parser.add_argument("--kinds", nargs="+", default=list(pipeline_models.KINDS))
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--devices", type=int, default=8, help="of the host, in all processes")
    arguments = parser.parse_args()
    failed = 0
    for count in arguments.processes:
        for kind in arguments.kinds:
            for model in arguments.models:
                failed += not passes(count, kind, model, arguments.steps, arguments.devices)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


def passes(count, kind, model, steps, devices):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            outputs = test_pipeline_run.processes(
                count, devices // count, Path(folder) / "run", model, kind, steps, devices, SECONDS
            )
            error = max(map(test_pipeline_run.error_of, outputs))
            said = f"error {error:.1e}"
            passed = error < test_pipeline_run.TOLERANCE.get(model, 2e-5)
        except Exception as failure:
            said, passed = str(failure)[-2000:], False
    seconds = time.monotonic() - begin
    outcome = "ok    " if passed else "FAILED"
    print(f"{outcome} {count} processes, {kind}, {model}: {said}, {seconds:.0f} s", flush=True)
    return passed


if __name__ == "__main__":
    main()
