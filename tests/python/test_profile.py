"""Profiles measured by JAX on host devices: the whole path, a kill in the middle, processes."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import models
import numpy as np
import pytest
from profiles import BINARY, command, environment, needs_binary, run, runs

import meshwright as mw

pytestmark = needs_binary


@pytest.fixture
def gpt(tmp_path):
    fn, arguments = models.gpt(np.random.default_rng(0))
    path = tmp_path / "gpt.mlir"
    path.write_text(jax.jit(fn).lower(*arguments).as_text(debug_info=True))
    return path


def has_gone(pid):
    """Within some seconds."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_the_whole_path(gpt, tmp_path):
    """Killed in the middle, a profile goes on where it was; then it is planned from and run."""
    database = tmp_path / "profiles.sqlite"
    # No whole steps: the one of the cost model's plan may be measured to be the fastest.
    options = ["--mesh", "4", "--devices", "host:4", "--threads", "1", "--finalists", "0"]
    first = subprocess.Popen(
        command(gpt, database, *options, "--budget", "60s"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    for line in first.stderr:
        if re.search(r"measured [4-9]", line):
            break
    workers = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL, "it ended before it could be killed"
    assert workers and all(map(has_gone, workers))
    before = runs(database)
    assert len(before) >= 4

    second = run(gpt, database, *options, "--budget", "20s", "--json")
    assert second.returncode == 0, second.stderr
    report = json.loads(second.stdout)
    after = runs(database)
    assert before.keys() < after.keys()
    assert set(after.values()) == {1}, "something was measured twice"
    assert len(after) == len(before) + report["measured"] + report["failed"]
    assert report["known"] > 0 and report["failed"] == 0
    assert all(segment["measured"] for segment in report["segments"])

    plan_path = tmp_path / "plan.json"
    planned = subprocess.run(
        [
            *map(str, [BINARY, "plan", gpt, "--cluster", "4xh100-sxm", "--mesh", "4"]),
            *map(str, ["--db", database, "-o", plan_path, "--quiet"]),
        ],
        capture_output=True,
        text=True,
    )
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(plan_path.read_text())
    assert "measured" in {segment["basis"] for segment in plan["segments"]}
    verified = mw.Plan.load(plan_path).verify(gpt, repeats=0)
    assert verified.passed, verified


def test_a_whole_step_is_measured_and_planned_with(tmp_path):
    fn, arguments = models.mlp(np.random.default_rng(0), layers=1)
    program, database, path = (tmp_path / name for name in ("mlp.mlir", "db", "plan.json"))
    program.write_text(jax.jit(fn).lower(*arguments).as_text(debug_info=True))
    options = ["--mesh", "2", "--devices", "host:2", "--finalists", "2", "--json"]
    profiled = run(program, database, *options)
    assert profiled.returncode == 0, profiled.stderr
    report = json.loads(profiled.stdout)
    assert report["complete"] and report["steps"]["measured"] >= 1 and report["failed"] == 0
    words = [BINARY, "plan", program, "--cluster", "2xh100-sxm", "--mesh", "2", "--db", database]
    planned = subprocess.run(
        [*map(str, words), "-o", str(path), "--quiet"], capture_output=True, text=True
    )
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(path.read_text())
    assert plan["profile"]["step"]["samples"] == 7
    assert plan["step_seconds"] == report["steps"]["seconds"] > 0
    verified = mw.Plan.load(path).verify(program, repeats=0)
    assert verified.passed, verified


def of_two_processes():
    """The environments of processes that work together."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        address = f"localhost:{probe.getsockname()[1]}"
    common = {"JAX_COORDINATOR_ADDRESS": address, "JAX_NUM_PROCESSES": "2"}
    return [environment(**common, JAX_PROCESS_ID=str(number)) for number in range(2)]


def test_two_processes(gpt, tmp_path):
    """One talks, the other does the same at the same time."""
    database = tmp_path / "profiles.sqlite"
    words = ["--mesh", "4", "--devices", "host:2", "--distributed", "--budget", "15s", "--json"]
    processes = [
        subprocess.Popen(
            command(gpt, database, *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables,
        )
        for variables in of_two_processes()
    ]
    try:
        started = time.monotonic()
        output, errors = processes[0].communicate(timeout=90)
        processes[1].communicate(timeout=max(1, 90 - (time.monotonic() - started)))
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], errors
    report = json.loads(output)
    assert report["environment"]["hosts"] == 2
    assert report["measured"] > 0 and report["failed"] == 0


def test_the_first_program_loads_nothing_more():
    """What JAX loads with it belongs to the start of a worker, which may take its time."""
    script = """
import sys
from meshwright import _devices
_devices.choose("host:4")
from meshwright import _measuring
_measuring.warm_up()
loaded = set(sys.modules)
row = {"dtype": "f32", "shape": [8, 8], "spec": [["x"], []]}
job = {"kind": "reshard", "mesh": [["x", 4]], "inputs": [row], "state": [],
       "outputs": [{**row, "spec": [[], ["x"]]}]}
compiled = _measuring.compile_job(job, b"")
assert _measuring.figures(compiled)["collectives"]
_measuring.measure(compiled, lambda number: number)
print(sorted(set(sys.modules) - loaded))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment()
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_a_process_that_dies_is_no_failure_of_what_was_measured():
    array = {"dtype": "f32", "shape": [8, 8]}
    job = {"kind": "reshard", "mesh": [["x", 2]], "state": []}
    job |= {"inputs": [{**array, "spec": [["x"], []]}], "outputs": [{**array, "spec": [[], ["x"]]}]}
    words = [sys.executable, "-m", "meshwright.profile_worker", "--devices", "host:1"]
    workers = [
        subprocess.Popen(
            [*words, "--distributed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=variables,
        )
        for variables in of_two_processes()
    ]
    first, second = workers
    try:
        # More than it could be done with before the other one is gone.
        jobs = [{"id": number, **job} for number in range(200)]
        message = {"command": "measure", "threads": 1, "jobs": jobs}
        print(json.dumps(message), file=first.stdin, flush=True)
        done = 0
        last = {}
        for line in first.stdout:
            last = json.loads(line)
            if last["event"] != "done":
                continue
            assert last["status"] == "measured", last
            done += 1
            if done == 1:
                second.kill()
        assert last["event"] == "lost" and "is gone or does not answer" in last["message"], last
        assert 1 <= done < 200 and first.wait(timeout=10) != 0
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
