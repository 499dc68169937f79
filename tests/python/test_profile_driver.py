"""The driver of profiles, with workers that do not need JAX."""

import json
import re
import signal
import sqlite3
import time

import pytest
from profiles import SILENT, needs_binary, runs, start_toy, toy_run, unwrapped

pytestmark = needs_binary


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


def test_times_of_layers_that_were_not_measured(step, tmp_path):
    """No reason to keep back what was."""
    fail = "if not first_time('a'): say('done', job, status='failed', error='no'); continue"
    path = tmp_path / "layers.csv"
    done = toy_run(step, tmp_path, "--layers-csv", path, misbehave=fail)
    assert done.returncode == 2, done.stderr
    report = json.loads(done.stdout)
    assert report["measured"] == 1
    assert any("no whole step was measured: segment" in one for one in report["warnings"])
    assert "--layers-csv" in unwrapped(done.stderr) and not path.exists()


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


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("removed", "profiles.sqlite was removed or replaced while this wrote to it"),
        ("truncated", "profiles.sqlite was truncated "),
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
