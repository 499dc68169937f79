"""Running `meshwright profile`, and what it stored."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FLAGS

BINARY = Path(
    os.environ.get("MESHWRIGHT_BINARY")
    or Path(__file__).parents[2] / "build" / "release" / "meshwright"
)
needs_binary = pytest.mark.skipif(not BINARY.exists(), reason="profiles need the command line")


def environment(**more):
    return {**os.environ, "MESHWRIGHT_PYTHON": sys.executable, "XLA_FLAGS": FLAGS, **more}


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
