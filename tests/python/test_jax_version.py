"""Which JAX the package works with: declared, checked and tested alike."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import meshwright as mw
from meshwright import _jax_version

ROOT = Path(__file__).parents[2]
OLDEST = ".".join(map(str, _jax_version.OLDEST))


def test_it_is_declared_as_it_is_checked():
    project = (ROOT / "pyproject.toml").read_text()
    assert set(re.findall(r"jax(?:\[cpu\])?>=([0-9.]+)", project)) == {OLDEST}
    for page in ("README.md", "docs/howto/jax.md"):
        assert f"JAX {OLDEST}" in (ROOT / page).read_text(), page


def test_versions():
    _jax_version.check(OLDEST)
    _jax_version.check(jax.__version__)
    for version in ("0.10.2", "0.8.0.dev20250901", "1.0"):
        _jax_version.check(version)
    for version in ("0.7.0", "0.6.2", "0.4.38"):
        with pytest.raises(mw.UnsupportedError) as caught:
            _jax_version.check(version)
        assert f"JAX {version} is installed" in str(caught.value)
        assert f"{OLDEST} or newer" in str(caught.value)


@pytest.mark.parametrize(
    "use",
    [
        "mw.plan(lambda x: x, jax.ShapeDtypeStruct((8,), 'float32'), cluster='8xh100-sxm')",
        "mw.jax",
        (
            "mw.plan('HloModule m\\nENTRY e {\\n  ROOT a = f32[8] parameter(0)\\n}\\n', "
            "cluster='8xh100-sxm', mesh=8).verify()"
        ),
    ],
)
def test_an_old_one_is_named(use):
    """Before whatever it lacks is missed."""
    code = f"import jax; jax.__version__ = '0.5.3'; import meshwright as mw; {use}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("meshwright.errors.UnsupportedError: JAX 0.5.3 is installed"), (
        done.stderr
    )
