"""What stages send, against the plan, on figures alone."""

from types import SimpleNamespace

import pytest
from meshwright.pipeline.timeline import Sent
from meshwright.verify.report import EXPLAINED, FAILED, PASSED, SHOWN
from meshwright.verify.stage_traffic import check_transfers

HOP = {"phase": "forward", "bytes_per_device": 4096}
ROWS = {"cross_stage": [{"from": 0, "to": 1, **HOP}, {"from": 1, "to": 2, **HOP}]}
PLAN = SimpleNamespace(summary={"micro_batches": 2}, as_dict=lambda: ROWS)  # of three stages


def sent(*hops, name="x", phase="forward", size=4096):
    return [
        Sent(source, target, phase, name, micro_batch, size)
        for source, target in hops
        for micro_batch in (0, 1)
    ]


@pytest.mark.parametrize(
    ("given", "as_planned", "outcome"),
    [
        (sent((0, 1), (1, 2)), True, PASSED),
        (sent((0, 1)), True, FAILED),
        (sent((0, 1)), False, SHOWN),
        (sent((0, 1), (1, 2), size=5000), True, FAILED),
        # What goes past stage 1 too is counted where it leaves, once, or not at all.
        (sent((0, 1), (0, 2), (1, 2)), True, EXPLAINED),
        (
            sent((0, 1), size=2048) + sent((0, 2), name="y", size=2048) + sent((1, 2)),
            True,
            EXPLAINED,
        ),
        (sent((0, 1), (1, 2)) + sent((0, 2), name="y"), True, EXPLAINED),
        (sent((0, 1), (1, 2))[:-1], True, FAILED),
    ],
)
def test_what_is_sent(given, as_planned, outcome):
    forward, backward = check_transfers(PLAN, given, as_planned)
    assert forward.outcome == outcome, forward
    assert (backward.outcome, backward.planned, backward.measured) == (PASSED, "none", "none")


def test_what_updates_send_is_shown():
    *_, update = check_transfers(PLAN, sent((0, 1), phase="update-before-shared"), True)
    assert (update.name, update.outcome, update.measured) == ("sent update", SHOWN, "2 x, 8.00 KiB")
