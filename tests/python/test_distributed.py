"""Two processes of four devices each run one sharded step together."""

import os
import socket
import subprocess
import sys

WORKER = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))
import numpy as np
from conftest import mlp_arguments, mlp_step
from jax.sharding import PartitionSpec as P
import meshwright as mw
arguments = jax.tree.map(np.asarray, mlp_arguments())
assert len(jax.devices()) == 8 and len(jax.local_devices()) == 4
sharded = mw.jax.shard(mlp_step, *arguments, cluster="2x4xh100-sxm", mesh="2x4",
                       fix={"x": P("x"), "state['up']": P(None, "y")})
state, loss = sharded(*arguments)
state, loss = sharded(state, *arguments[1:])
print("loss", repr(float(loss)), "plan", hash(sharded.plan.to_json()))
try:
    mw.jax.shard(mlp_step, *arguments, cluster="2x4xh100-sxm", mesh="2x4", memory=100)
except mw.Error as error:
    print("error", type(error).__name__)
"""


def test_two_processes():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        address = f"localhost:{probe.getsockname()[1]}"
    folder = os.path.dirname(__file__)
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    program = WORKER.replace("import jax\n", "import conftest\nimport jax\n", 1)
    environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, address, str(index)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (out, err) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, err
        assert "loss" in out
    # The runtime prints lines of its own.
    lines = [
        [line for line in out.splitlines() if line.startswith(("loss", "error"))]
        for out, _ in outputs
    ]
    (first, first_error), (second, second_error) = lines
    assert first == second
    assert first_error == "error InfeasibleError"
    assert second_error == "error InvalidArgumentError"  # it only knows that there is no plan
