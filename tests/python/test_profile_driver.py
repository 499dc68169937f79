"""The driver of profiles, with workers that do not need JAX."""

import json
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from profiles import command, environment, needs_binary, run, runs, unwrapped

pytestmark = needs_binary

HELLO = (
    '{"event": "ready", "device": "toy", "device_type": "", "devices": 4, "driver": "", '
    '"libraries": "none", "hosts": 1}'
)
SILENT = "' + str(time.sleep(60)) + '"  # for a minute
TOY = """#!{python}
import json, os, signal, sys, time
print('{hello}', flush=True)
marks = {marks!r}

def first_time(name):
    path = os.path.join(marks, name)
    if os.path.exists(path):
        return False
    open(path, "w").close()
    return True

def say(event, job, **more):
    print(json.dumps({{"event": event, "id": job["id"], **more}}), flush=True)

for line in sys.stdin:
    for job in json.loads(line)["jobs"]:
        say("compiling", job)
        say("compiled", job)
        say("measuring", job)
        {misbehave}
        say("done", job, status="measured", samples=[0.01, 0.02], peak_bytes=1, collectives=[],
            compile_seconds=0.1)
    print('{{"event": "idle"}}', flush=True)
"""


@pytest.fixture
def step(data):
    return data / "mlp_adam.train.hlo.txt"


def toy(folder, misbehave="pass", hello=HELLO):
    path = folder / "worker"
    text = TOY.format(python=sys.executable, hello=hello, marks=str(folder), misbehave=misbehave)
    # One that runs cannot be written.
    if not path.exists() or path.read_text() != text:
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def toy_run(step, folder, *options, **how):
    given = {"--mesh": "4", "--devices": "host:4", "--budget": "20s"}
    given |= dict(zip(options[::2], options[1::2]))
    database = given.pop("--db", folder / "profiles.sqlite")
    words = [str(word) for pair in given.items() for word in pair]
    return run(step, database, *words, "--json", MESHWRIGHT_PYTHON=toy(folder, **how))


def test_everything_is_measured_once(step, tmp_path):
    done = toy_run(step, tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"] and report["measured"] > 3
    again = json.loads(toy_run(step, tmp_path).stdout)
    assert again["measured"] == 0 and again["complete"]
    assert again["known"] == sum(segment["measured"] for segment in report["segments"])


def steps_of(database):
    return [key for key in runs(database) if key[0].startswith("step ")]


def test_whole_steps_are_measured_in_the_end(step, tmp_path):
    first = json.loads(toy_run(step, tmp_path, "--finalists", "0").stdout)
    assert first["steps"] == {"measured": 0, "failed": 0}
    assert not steps_of(tmp_path / "profiles.sqlite")
    second = json.loads(toy_run(step, tmp_path, "--finalists", "2").stdout)
    assert second["measured"] == second["steps"]["measured"] == 2
    assert second["steps"]["seconds"] == 0.015
    assert len(steps_of(tmp_path / "profiles.sqlite")) == 2


def test_the_fastest_of_all_whole_steps_is_told(step, tmp_path):
    """Not only of those that this profile looked at."""
    faster_each = (
        "if job.get('wait'):\n"
        "            n = len(os.listdir(marks)); open(os.path.join(marks, f'{n}'), 'w').close()\n"
        "            say('done', job, status='measured', samples=[1e-3 / n]); continue"
    )
    done = toy_run(step, tmp_path, "--finalists", "4", misbehave=faster_each)
    first = json.loads(done.stdout)["steps"]
    steps = steps_of(tmp_path / "profiles.sqlite")
    assert first["measured"] == len(steps) > 2
    second = json.loads(toy_run(step, tmp_path, "--finalists", "2").stdout)
    assert second["measured"] == 0 and second["steps"] == first
    with sqlite3.connect(tmp_path / "profiles.sqlite") as connection:
        (least,) = connection.execute("SELECT min(seconds) FROM sample").fetchone()
    assert first["seconds"] == least


def test_times_of_layers(step, tmp_path):
    """A mesh of one device: all there is to choose is nothing, and that is what layers take."""
    path = tmp_path / "layers.csv"
    done = toy_run(step, tmp_path, "--mesh", "1", "--layers-csv", path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"]
    header, *rows = path.read_text().splitlines()
    names = "gpu,tp,micro_batch,layer_id,forward_seconds,backward_seconds,update_seconds"
    assert header == names
    assert len(rows) == len(report["sequence"])
    for number, row in enumerate(rows):
        gpu, tp, batch, layer, forward, backward, update = row.split(",")
        assert (gpu, tp, batch, layer) == ("h100-sxm", "1", "16384", str(number))
        assert 0 < float(forward) < float(backward) < 0.015
        assert float(forward) + float(backward) + float(update) == pytest.approx(0.015)


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


def start_toy(step, folder, *options, **how):
    words = ["--mesh", "4", "--devices", "host:4", "--json", *options]
    if "--budget" not in options:
        words += ["--budget", "60s"]
    return subprocess.Popen(
        command(step, folder / "profiles.sqlite", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(MESHWRIGHT_PYTHON=toy(folder, **how)),
    )


def test_profilers_at_once_share_the_work(step, tmp_path):
    processes = [start_toy(step, tmp_path, misbehave="time.sleep(0.02)") for _ in range(3)]
    reports = []
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        reports.append(json.loads(output))
    measured = runs(tmp_path / "profiles.sqlite")
    assert set(measured.values()) == {1}
    assert sum(report["measured"] for report in reports) == len(measured)
    assert all(report["complete"] for report in reports)
    # Whoever comes last has something to do, too.
    assert all(report["measured"] > 0 for report in reports)


def test_what_a_killed_profiler_was_at_is_free(step, tmp_path):
    first = start_toy(step, tmp_path, misbehave="time.sleep(0 if first_time('one') else 60)")
    for line in first.stderr:
        if "measured 1" in line:
            break
    time.sleep(0.5)
    with sqlite3.connect(tmp_path / "profiles.sqlite") as connection:
        assert connection.execute("SELECT COUNT(*) FROM claim").fetchone()[0] > 0
    first.kill()
    first.wait()
    begun = time.monotonic()
    done = toy_run(step, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"]
    assert time.monotonic() - begun < 15
    assert set(runs(tmp_path / "profiles.sqlite").values()) == {1}


@pytest.mark.parametrize("moment", range(6))
def test_killed_at_any_moment_nothing_is_lost(step, tmp_path, moment):
    database = tmp_path / "profiles.sqlite"
    first = start_toy(step, tmp_path, misbehave="time.sleep(0.01)")
    for line in first.stderr:
        if "measured 1," in line:
            break
    time.sleep(0.037 * moment)
    first.kill()
    told = re.findall(r"measured (\d+)", line + first.stderr.read())
    first.wait()
    before = runs(database)
    assert len(before) >= int(told[-1])
    done = toy_run(step, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"]
    after = runs(database)
    assert before.items() <= after.items() and set(after.values()) == {1}


def test_interrupted_it_says_what_there_is(step, tmp_path):
    first = start_toy(step, tmp_path, misbehave="time.sleep(0.05)")
    for line in first.stderr:
        if "measured 2," in line:
            break
    first.send_signal(signal.SIGINT)
    output, errors = first.communicate(timeout=30)
    assert first.returncode == 130
    assert "meshwright: interrupted; what was measured is in " in unwrapped(errors)
    report = json.loads(output)
    assert report["measured"] == len(runs(tmp_path / "profiles.sqlite"))
    again = json.loads(toy_run(step, tmp_path).stdout)
    assert again["complete"] and again["known"] > 0


def test_interrupted_before_it_could_begin(step, tmp_path):
    first = start_toy(step, tmp_path, hello=SILENT)
    time.sleep(1)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=30)
    assert first.returncode == 130 and errors == "meshwright: interrupted\n"
    assert not (tmp_path / "profiles.sqlite").exists()


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
    words = ("--mesh", "4", "--devices", "host:4", "--budget", "20s", "--json", "--retry", *segments)
    worker = toy(tmp_path, misbehave=fail)
    done = run(step, tmp_path / "profiles.sqlite", *words, MESHWRIGHT_PYTHON=worker)
    retried = json.loads(done.stdout)
    assert retried["complete"] and not any(s["failed"] for s in retried["segments"])


def test_a_process_that_is_lost(step, tmp_path):
    """What was measured when another process went says nothing of what was measured."""
    lose = (
        "if not first_time('first') and first_time('lost'):\n"
        "            print(json.dumps({'event': 'lost', 'message': 'a process is gone'}), flush=True)\n"
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
    ("how", "message"),
    [
        ("removed", "profiles.sqlite was removed or replaced while this wrote to it"),
        ("truncated", "profiles.sqlite was truncated while this wrote to it"),
        # The profile ends before it writes again.
        ("cut", "is lost, at least in part: "),
    ],
)
def test_a_database_that_is_taken_away(step, tmp_path, how, message):
    hang = how == "cut" and "time.sleep(0 if first_time('one') or first_time('two') else 60)"
    first = start_toy(
        step,
        tmp_path,
        *("--budget", "3s" if hang else "60s", "--threads", "1"),
        misbehave=hang or "time.sleep(0.05)",
    )
    for line in first.stderr:
        if "measured 2," in line:
            break
    path = tmp_path / "profiles.sqlite"
    if how == "removed":
        path.unlink()
    else:
        time.sleep(0.2)
        size = path.stat().st_size
        with path.open("r+b") as file:
            if how == "truncated":
                file.truncate(size // 2)
            else:
                file.seek(size // 2)
                file.write(b"x" * 4096)
    output, errors = first.communicate(timeout=30)
    assert first.returncode == 2 and not output
    assert message in unwrapped(errors)
    assert path.exists() == (how != "removed")


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
        (["--budget", "0s"], {}, "--budget: found \"0s\", expected some time"),
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


def test_a_python_without_jax(step, tmp_path):
    done = run(
        step,
        tmp_path / "profiles.sqlite",
        *("--mesh", "4", "--devices", "host:4"),
        MESHWRIGHT_PYTHON="/nowhere/python3",
    )
    assert done.returncode == 2 and "/nowhere/python3" in done.stderr
