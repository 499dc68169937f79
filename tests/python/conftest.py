"""Eight host devices for every test, and small training steps of each family of models."""

import os
import tempfile
from pathlib import Path

from xla_flags import FAST_TO_COMPILE

os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count=8 {FAST_TO_COMPILE}")
os.environ["JAX_PLATFORMS"] = "cpu"
# What is verified after it was run is compiled once.
CACHE = tempfile.TemporaryDirectory(prefix="meshwright_jax_")
os.environ["JAX_COMPILATION_CACHE_DIR"] = CACHE.name
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"

import jax
import jax.numpy as jnp
import numpy as np
import pytest

DATA = Path(__file__).parent.parent / "data" / "hlo"

# Two weights and a batch that is cheap to split.
STEP = """HloModule step

ENTRY main {
  w = f32[1024,512] parameter(0), metadata={op_name="state['w']"}
  x = f32[4096,1024] parameter(1), metadata={op_name="x"}
  y = f32[4096,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[1024,512] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  wn = f32[1024,512] subtract(w, g)
  ROOT out = (f32[1024,512], f32[4096,512]) tuple(wn, y)
}
"""


@pytest.fixture
def step_text() -> str:
    return STEP


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def step() -> Path:
    """A training step, as HLO text."""
    return DATA / "mlp_adam.train.hlo.txt"


def mlp_step(state, x, y):
    """A layer forward and back, plain gradient descent."""

    def loss(params):
        hidden = jnp.tanh(x @ params["up"])
        return ((hidden @ params["down"] - y) ** 2).mean()

    value, grads = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, grads), value


def mlp_arguments(hidden=64, batch=32, width=16):
    generator = np.random.default_rng(0)

    def normal(*shape):
        return jnp.asarray(generator.normal(size=shape), jnp.float32)

    state = {"up": 0.1 * normal(width, hidden), "down": 0.1 * normal(hidden, width)}
    return state, normal(batch, width), normal(batch, width)


def largest_difference(left, right) -> float:
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs)
