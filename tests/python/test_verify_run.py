"""How `verify` times a step."""

import jax
import numpy as np
import pytest
from meshwright.verify import run


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_steps_are_timed_warm_and_each_from_the_results_of_the_one_before():
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    seen = []

    def step(state, x, gone):
        return x + state, state + 1

    jitted = jax.jit(step, donate_argnums=(0, 2), keep_unused=True)

    def watched(*arguments):
        seen.append([float(a[0]) for a in arguments])
        return jitted(*arguments)

    inputs = [np.zeros(4, np.float32), np.full(4, 8, np.float32), np.full(3, 5, np.float32)]
    assert run._step_seconds(watched, [sharding] * 3, inputs, repeats=2) > 0
    assert len(seen) == 3, "one that warms up"
    assert [row[1:] for row in seen] == [[8, 5]] * 3, (
        "what is not donated stays, what is not made is placed anew"
    )
