"""Running `meshwright profile`, with toys for workers too, and what it stored."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from xla_flags import FAST_TO_COMPILE

BINARY = Path(
    os.environ.get("MESHWRIGHT_BINARY")
    or Path(__file__).parents[2] / "build" / "release" / "meshwright"
)
needs_binary = pytest.mark.skipif(not BINARY.exists(), reason="profiles need the command line")


def environment(**more):
    return {**os.environ, "MESHWRIGHT_PYTHON": sys.executable, "XLA_FLAGS": FAST_TO_COMPILE, **more}


def command(program, database, *options):
    words = [BINARY, "profile", program, "--db", database, *options]
    return [str(word) for word in words]


def run(program, database, *options, **variables):
    return subprocess.run(
        command(program, database, *options),
        capture_output=True,
        text=True,
        env=environment(**variables),
        timeout=120,
    )


def runs(database):
    """How often everything was measured, by key."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "SELECT profile.program, profile.mesh, profile.choice, COUNT(*) FROM profile "
            "JOIN run ON run.profile = profile.number GROUP BY profile.number"
        ).fetchall()
    return {row[:3]: row[3] for row in rows}


def unwrapped(message):
    """As it was before it was made to fit a terminal."""
    return " ".join(message.split())


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
