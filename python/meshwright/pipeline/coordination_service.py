"""JAX's coordination service as a process: run with its arguments as JSON, by `coordination`.

When a line comes on the standard input, or that ends because the process that started it has died, it
serves on until the last client has disconnected: JAX's clients say that the service is gone if they
find that out, even those that have left it in good order but whose processes have not ended yet.
"""

import errno
import json
import os
import socket
import sys
import time
from pathlib import Path

_GRACE_SECONDS = 60.0  # processes.py takes 40 for gone who gives no sign, and looks every 2
_CONNECTED = "01"  # TCP_ESTABLISHED in the kernel's tables
_PORT_SECONDS = 90.0


def _wait_for_port(address: str) -> None:
    """Until no service of a run before has the port: two could share it, and share the clients."""
    port = _port(address)
    until = time.monotonic() + _PORT_SECONDS
    while _in_use(port):
        if time.monotonic() > until:
            sys.exit(f"port {port} is in use")
        time.sleep(0.2)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _in_use(port: int) -> bool:
    family, every = (socket.AF_INET6, "::") if socket.has_dualstack_ipv6() else (socket.AF_INET, "")
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((every, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _clients(port: int) -> int | None:
    """How many are connected to `port` of this host; None: this system does not say."""
    tables = [table for table in map(Path, ("/proc/net/tcp", "/proc/net/tcp6")) if table.exists()]
    rows = [row.split() for table in tables for row in table.read_text().splitlines()[1:]]
    if not tables:
        return None
    return sum(row[1].endswith(f":{port:04X}") and row[3] == _CONNECTED for row in rows)


def _wait_for_clients(port: int, told: bool) -> None:
    """Until the last one has disconnected. `told`: the process that started this is there to say so."""
    until = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < until:
        clients = _clients(port)
        if clients == 0 or (told and clients is None):
            return
        time.sleep(0.1)


def main() -> None:
    arguments, options = json.loads(sys.argv[1])
    _wait_for_port(arguments[0])
    from jax._src.lib import _jax

    service = _jax.get_distributed_runtime_service(*arguments, **options)
    print("serving", flush=True)
    told = bool(sys.stdin.readline())
    _wait_for_clients(_port(arguments[0]), told)
    service.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
