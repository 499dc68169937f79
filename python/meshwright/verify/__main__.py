"""python3 -m meshwright.verify PLAN --program PROGRAM: the worker of `meshwright verify`."""

from __future__ import annotations

import argparse
import json
import sys

from meshwright import _devices, errors
from meshwright.document import Plan

# Exit codes of the command line: HACKING.md.
_BAD_INPUT, _CHECK_FAILED, _BUG = 2, 4, 1
# More of them cost more time to compile for than they show about stages.
_HOST_DEVICES = 8


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise errors.InvalidArgumentError(message)


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = _Parser(prog="meshwright verify", add_help=False)
    parser.add_argument("plan")
    parser.add_argument("--program", required=True)
    parser.add_argument("--stages")
    parser.add_argument("--pipeline", action="store_true")
    parser.add_argument("--trace")
    parser.add_argument("--devices", default="")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def _needed(plan: Plan) -> int:
    """Devices of the host: as many as the plan has; of stages, which can share them, not too many."""
    if not plan.stages:
        return plan.num_devices
    needed = 1 + max(max(stage["devices"]) for stage in plan.stages)
    return min(needed, _HOST_DEVICES)


def _run(argv: list[str]) -> int:
    arguments = _arguments(argv)
    from meshwright.verify import verify

    plan = Plan.load(arguments.plan)
    if arguments.pipeline and not plan.stages:
        raise errors.InvalidArgumentError(f"--pipeline: {arguments.plan} has no pipeline")
    if arguments.pipeline and arguments.repeats < 1:
        raise errors.InvalidArgumentError("--pipeline: needs a step to time, found --repeats 0")
    devices = arguments.devices or "planned"
    _devices.choose(devices, _needed(plan))
    try:
        import jax
    except ImportError:
        raise errors.InvalidArgumentError(
            f"{sys.executable} has no JAX; install it with: {sys.executable} -m pip install "
            "'jax[cpu]' (or 'jax[cuda12]')"
        ) from None
    _devices.check(jax, devices)
    chosen = _devices.planned_or_host(jax, plan) if devices == "planned" else None
    report = verify(
        plan,
        arguments.program,
        stages=arguments.stages,
        devices=chosen,
        repeats=max(arguments.repeats, 0),
        seed=arguments.seed,
        trace=arguments.trace,
    )
    print(json.dumps(report.as_dict(), indent=2) if arguments.json else report)
    if arguments.pipeline and not arguments.json:
        print(report.timeline_text())
    return 0 if report.passed else _CHECK_FAILED


def main() -> int:
    try:
        return _run(sys.argv[1:])
    except errors.InternalError as error:
        print(f"meshwright: {error}", file=sys.stderr)
        return _BUG
    except errors.Error as error:
        print(f"meshwright: {error}", file=sys.stderr)
        return _BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
