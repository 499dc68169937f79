"""Workers that fail, which do not need JAX, and profiles that cannot begin."""

import json
import sqlite3
from pathlib import Path

import pytest
from profiles import SILENT, needs_binary, run, runs, toy, toy_run, unwrapped

from meshwright import errors

pytestmark = needs_binary


@pytest.mark.parametrize(
    "misbehave",
    [
        'if first_time("died"): os.kill(os.getpid(), signal.SIGSEGV)',
        'if first_time("hung"): time.sleep(60)',
        'if first_time("left"): sys.exit(0)',
    ],
)
def test_a_worker_that_fails_once_loses_nothing(step, tmp_path, misbehave):
    done = toy_run(step, tmp_path, "--patience", "1s", misbehave=misbehave)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"] and report["failed"] == 0


@pytest.mark.parametrize(
    ("misbehave", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("time.sleep(60)", "hung while measuring"),
    ],
)
def test_a_program_that_always_fails_is_given_up(step, tmp_path, misbehave, why):
    # The second of all, in whatever batch it stands; the number in the batch tells it.
    misbehave = (
        f"key = json.dumps(job['inputs'] + job['outputs']); bad = os.path.join(marks, 'bad')\n"
        "        if first_time('first'): pass\n"
        "        elif first_time('bad') and open(bad, 'w').write(key) or open(bad).read() == key:\n"
        f"            {misbehave}"
    )
    done = toy_run(step, tmp_path, "--patience", "1s", "--threads", "1", misbehave=misbehave)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["failed"] >= 1 and report["measured"] >= 1
    assert any(why in warning for warning in report["warnings"])


def test_a_worker_killed_when_time_is_nearly_over(step, tmp_path):
    """The next one is not ready in time: that is no reason to fail."""
    misbehave = (
        "n = len(os.listdir(marks)); open(os.path.join(marks, f'm{n}'), 'w').close()\n"
        "        if n > 4: open(os.path.join(marks, 'late'), 'w').close();"
        " os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = Path(toy(tmp_path, misbehave=misbehave))
    head = "import json, os, signal, sys, time\n"
    path.write_text(
        path.read_text().replace(
            head, head + f"if os.path.exists({str(tmp_path / 'late')!r}): time.sleep(60)\n"
        )
    )
    done = run(
        step,
        tmp_path / "profiles.sqlite",
        *("--mesh", "4", "--devices", "host:4", "--budget", "6s", "--json"),
        MESHWRIGHT_PYTHON=str(path),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["measured"] == len(runs(tmp_path / "profiles.sqlite")) > 0
    assert not report["complete"]


def test_a_worker_that_is_killed_before_it_is_ready_is_started_again(step, tmp_path):
    path = Path(toy(tmp_path))
    head = "import json, os, signal, sys, time\n"
    mark = str(tmp_path / "early")
    path.write_text(
        path.read_text().replace(
            head,
            head + f"if not os.path.exists({mark!r}):\n"
            f"    open({mark!r}, 'w').close(); os.kill(os.getpid(), signal.SIGKILL)\n",
        )
    )
    words = ("--mesh", "4", "--devices", "host:4", "--budget", "20s", "--json")
    done = run(step, tmp_path / "a.sqlite", *words, MESHWRIGHT_PYTHON=str(path))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"]
    path.write_text(path.read_text().replace("if not os.path.exists", "if True or os.path.exists"))
    done = run(step, tmp_path / "b.sqlite", *words, MESHWRIGHT_PYTHON=str(path))
    assert done.returncode == 2
    assert "was ended by signal 9 (Killed) before it was ready, as did 5 before it" in unwrapped(
        done.stderr
    )
    assert not (tmp_path / "b.sqlite").exists()


def test_what_failed_is_tried_again_when_asked(step, tmp_path):
    """What timed out also when there is more patience than there was."""
    hang = (
        "if not first_time('first') and not os.path.exists(os.path.join(marks, 'cured')):"
        " time.sleep(60)"
    )
    options = ("--patience", "0.3s", "--threads", "1", "--finalists", "0")
    done = toy_run(step, tmp_path, *options, "--budget", "1.8s", misbehave=hang)
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)
    assert first["failed"] > 0 and first["measured"] == 1
    (tmp_path / "cured").touch()
    again = json.loads(toy_run(step, tmp_path, *options, misbehave=hang).stdout)
    assert again["failed"] == 0 and sum(s["failed"] for s in again["segments"]) == first["failed"]
    longer = ("--patience", "0.5s", "--threads", "1", "--finalists", "0")
    patient = json.loads(toy_run(step, tmp_path, *longer, misbehave=hang).stdout)
    assert patient["complete"] and not any(s["failed"] for s in patient["segments"])


def test_what_does_not_fit_is_tried_again_when_asked(step, tmp_path):
    fail = (
        "if not os.path.exists(os.path.join(marks, 'cured')) and not first_time('first'):\n"
        "            say('done', job, status='out_of_memory', error='full'); continue"
    )
    segments = ("--finalists", "0")
    first = json.loads(toy_run(step, tmp_path, *segments, misbehave=fail).stdout)
    assert first["failed"] > 0 and first["measured"] == 1
    (tmp_path / "cured").touch()
    again = json.loads(toy_run(step, tmp_path, *segments, misbehave=fail).stdout)
    assert sum(s["failed"] for s in again["segments"]) > 0
    words = ("--mesh", "4", "--devices", "host:4", "--json", "--retry", *segments)
    worker = toy(tmp_path, misbehave=fail)
    done = run(step, tmp_path / "profiles.sqlite", *words, MESHWRIGHT_PYTHON=worker)
    retried = json.loads(done.stdout)
    assert retried["complete"] and not any(s["failed"] for s in retried["segments"])


def test_a_failure_is_told_in_one_line(step, tmp_path):
    """In warnings and in the database, whatever a compiler says."""
    fail = (
        "if not first_time('first'):\n"
        "            listing = '\\n\\tat f.cc:1\\n*** stack trace ***'\n"
        "            say('done', job, status='failed', error='bad \\x1b[31m' + 'x' * 999 + listing)\n"
        "            continue"
    )
    report = json.loads(toy_run(step, tmp_path, "--finalists", "0", misbehave=fail).stdout)
    assert report["failed"] > 1
    with sqlite3.connect(tmp_path / "profiles.sqlite") as connection:
        stored = {row[0] for row in connection.execute("SELECT error FROM run")} - {""}
    assert len(stored) == 1
    error = stored.pop()
    assert error.startswith("bad \\x1b[31mxxx") and error.isprintable()
    assert len(error) < 350 and "stack" not in error and "f.cc" not in error
    told = f"{report['failed']} programs could not be measured, the last: {error}"
    assert told in report["warnings"]


def test_errors_of_libraries_in_one_line():
    raised = RuntimeError("\n INTERNAL:  no\tsuch \x1b[1mthing: \n%a = f32[]\n\t\n*** trace ***")
    assert errors.one_line(raised) == "RuntimeError: INTERNAL: no such [1mthing"
    assert errors.one_line(KeyError()) == "KeyError"
    assert len(errors.one_line(RuntimeError("x" * 1000))) == 300


def test_a_process_that_is_lost(step, tmp_path):
    """What was measured when another process went says nothing of what was measured."""
    lose = (
        "if not first_time('first') and first_time('lost'):\n"
        "            lost = {'event': 'lost', 'message': 'a process is gone'}\n"
        "            print(json.dumps(lost), flush=True)\n"
        "            os._exit(3)"
    )
    words = ("--mesh", "4", "--devices", "host:4", "--distributed", "--json")
    database, worker = tmp_path / "profiles.sqlite", toy(tmp_path, misbehave=lose)
    done = run(step, database, *words, MESHWRIGHT_PYTHON=worker)
    assert done.returncode == 2 and not done.stdout
    message = unwrapped(done.stderr).partition("meshwright: ")[2]
    assert message == "a process is gone; what was measured is stored, run this again to go on"
    assert list(runs(database).values()) == [1]
    again = run(step, database, *words, MESHWRIGHT_PYTHON=worker)
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["complete"] and report["known"] == 1 and report["failed"] == 0


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ((), {"hello": '{"event": "unusable", "message": "no JAX\\\\nhere"}'}),
        ((), {"hello": '{"event": "ready", "hosts": "many", "devices": "all"}'}),
        ((), {"misbehave": "sys.exit(3)"}),
        (("--mesh", "8"), {}),
        (("--budget", "0.1s"), {"hello": SILENT}),
    ],
)
def test_a_start_that_fails_leaves_nothing(step, tmp_path, options, how):
    done = toy_run(step, tmp_path, *options, **how)
    assert done.returncode == 2 and not done.stdout
    assert [line[:12] for line in done.stderr.splitlines()].count("meshwright: ") == 1
    assert not list(tmp_path.glob("profiles.sqlite*"))


@pytest.mark.parametrize(
    ("options", "how", "message"),
    [
        (["--budget", "0s"], {}, '--budget: found "0s", expected some time'),
        (["--budget", "soon"], {}, "--budget"),
        (["--mesh", "8"], {}, "--mesh 8 has 8 devices, --devices host:4 4"),
        (["--mesh", "a"], {}, "a"),
        (["--devices", "tpu"], {}, '--devices: found "tpu", expected gpu or host:N'),
        (["--cluster", "2xh100-sxm"], {}, "2"),
        ([], {"hello": '{"event": "unusable", "message": "no JAX here"}'}, "no JAX here"),
        ([], {"hello": "nonsense"}, "nonsense"),
        ([], {"misbehave": "sys.exit(3)"}, "exit code 3"),
        (["--db", "/nowhere/profiles.sqlite"], {}, "/nowhere/profiles.sqlite"),
    ],
)
def test_bad_input(step, tmp_path, options, how, message):
    done = toy_run(step, tmp_path, *options, **how)
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("meshwright: ")]
    # Long messages go on in further lines.
    assert len(lines) == 1 and message in " ".join(done.stderr.split()), done.stderr
    assert not done.stdout


def test_sizes_that_are_only_bounded(tmp_path):
    program = tmp_path / "bounded.hlo"
    program.write_text("HloModule m\nENTRY e {\n  ROOT a = f32[<=8,4] parameter(0)\n}\n")
    done = run(program, tmp_path / "profiles.sqlite", "--mesh", "4", "--devices", "host:4")
    assert done.returncode == 2 and not done.stdout
    assert f'{program}: "a" f32[<=8,4] has a size that is only' in unwrapped(done.stderr)
    assert not list(tmp_path.glob("profiles.sqlite*"))


def test_a_python_without_jax(step, tmp_path):
    done = run(
        step,
        tmp_path / "profiles.sqlite",
        *("--mesh", "4", "--devices", "host:4"),
        MESHWRIGHT_PYTHON="/nowhere/python3",
    )
    assert done.returncode == 2 and "/nowhere/python3" in done.stderr
