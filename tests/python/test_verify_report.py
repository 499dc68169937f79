"""The table of `verify`: it fits a terminal, and loses nothing for that."""

from meshwright.verify.report import FAILED, PASSED, SHOWN, Check, Report


def table(*checks):
    return str(Report("Plan for 8xh100-sxm, mesh x=8", "8 x host devices", list(checks)))


def test_a_remark_that_does_not_fit_stands_below():
    shown = table(
        Check("numerics", PASSED, "<= 0.005", "2.2e-05", "largest error of 3 outputs " * 2),
        Check("all-reduce y", PASSED, "1 x, 8.00 MiB", "1 x, 8.00 MiB", "+0.0% bytes"),
        Check("memory", SHOWN, "40.8 MiB", "49.0 MiB", "not judged: no h100-sxm"),
    )
    assert shown.splitlines()[2:] == [
        "  check                      planned       measured",
        "  numerics      ok          <= 0.005        2.2e-05",
        "      largest error of 3 outputs largest error of 3 outputs",
        "  all-reduce y  ok     1 x, 8.00 MiB  1 x, 8.00 MiB  +0.0% bytes",
        "  memory        shown       40.8 MiB       49.0 MiB  not judged: no h100-sxm",
        "verified",
    ]


def test_long_notes_are_broken_at_spaces_only():
    name = "layer" * 30
    cause = "unexplained: " + ", ".join(f"compiled all-reduce.{i} (all-reduce x)" for i in range(9))
    shown = table(Check("pairwise", FAILED, "9 x", "9 x", notes=[cause, f"planned {name}"]))
    lines = shown.splitlines()
    assert [line for line in lines if len(line) > 80] == [" " * 8 + name]
    assert " ".join(" ".join(lines[4:-1]).split()) == f"{cause} planned {name}"
