"""JAX's coordination service as a process: run with its arguments as JSON, by `coordination`.

It serves until a line comes on the standard input. Where that just ends, the process that started it
has died, and the others, which learn that from their signs of life, get the time to end in their turn.
"""

import errno
import json
import os
import socket
import sys
import time

_GRACE_SECONDS = 60.0  # processes.py takes 40 for gone who gives no sign, and looks every 2
_PORT_SECONDS = 90.0


def _wait_for_port(address: str) -> None:
    """Until no service of a run before has the port: two could share it, and share the clients."""
    port = int(address.rpartition(":")[2])
    until = time.monotonic() + _PORT_SECONDS
    while _in_use(port):
        if time.monotonic() > until:
            sys.exit(f"port {port} is in use")
        time.sleep(0.2)


def _in_use(port: int) -> bool:
    family, every = (socket.AF_INET6, "::") if socket.has_dualstack_ipv6() else (socket.AF_INET, "")
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((every, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def main() -> None:
    arguments, options = json.loads(sys.argv[1])
    _wait_for_port(arguments[0])
    from jax._src.lib import _jax

    service = _jax.get_distributed_runtime_service(*arguments, **options)
    print("serving", flush=True)
    if sys.stdin.readline():
        service.shutdown()
    else:
        time.sleep(_GRACE_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
