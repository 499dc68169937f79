"""docs/plan-schema.md has a row for every key of real plans in the table of its object, and no others."""

import json
import os
import re
import subprocess
import sys

import jax
import pytest
from pages import ROOT

PAGE = (ROOT / "docs" / "plan-schema.md").read_text()
HLO = ROOT / "tests" / "data" / "hlo"
# Plans of all kinds: sharding alone, with given shardings and an annotated network, a pipeline over two
# types of devices, a model with everything that is optional, one of a sweep, one over groups of nodes, sharding alone
# with measured segments.
PLANS = [
    f"plan {HLO}/tiny_gpt.train.hlo.txt.gz --cluster 8xh100-sxm --mesh 2x4 --memory 20MiB",
    f"plan {HLO}/tiny_gpt.train.hlo.txt.gz --cluster 8xh100-sxm --mesh 8 --memory 8MiB --deadline 5s",
    f"plan {HLO}/tiny_gpt.train.hlo.txt.gz --cluster 4xh100-sxm+4xa100-80g --pipeline 2 --deadline 5s --micro-batch-rng independent",
    "plan - --cluster 8xh100-sxm --mesh 8 --fix x=[_,x] --fix w=[x,_] --fix v=[x,_]",
    # Values that are moved in two steps, for one user and for all.
    f"plan {HLO}/../cases/two_step_gather.hlo --cluster 8xh100-sxm --mesh x=2,y=4 --fix x=[x,_] --fix w=[_,y]",
    f"plan {HLO}/../cases/two_step_result.hlo --cluster 8xh100-sxm --mesh x=2,y=4 --fix x=[x,y] --fix v=[_,_]",
    f"plan {HLO}/../cases/two_step_result.hlo --cluster 8xh100-sxm --mesh x=2,y=4 --fix x=[x,y] --fix y=[x,y]",
    "plan llama3-8b --cluster 2x8xh100-sxm --global-batch 64 --mtbf 50000h --network 400Gbit/s",
    "plan llama3-8b --cluster 8xh100-sxm --global-batch 16 --sweep gpus=4..8",
    "plan llama3-8b --cluster 1x8xh100-sxm+2x8xa100-80g --global-batch 32 --pareto --steps 10",
    f"plan {HLO}/tiny_gpt.train.hlo.txt.gz --cluster 4xh100-sxm --mesh 4 --db DATABASE",
    "plan STEP --cluster 2xh100-sxm --mesh 2 --db DATABASE",
]
PROFILES = [
    f"profile {HLO}/tiny_gpt.train.hlo.txt.gz --cluster 4xh100-sxm --mesh 4 --devices host:4 --budget 20s",
    # So small that all of it is measured, whole steps too.
    "profile STEP --cluster 2xh100-sxm --mesh 2 --devices host:2 --budget 100s",
]
# What no network here has: an operator of several results, partial sums that wait for an addition. Read
# from standard input.
PROGRAM = """HloModule special

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT less = pred[] compare(a, b), direction=LT
}

ENTRY main {
  x = f32[64,8192] parameter(0)
  w = f32[8192,64] parameter(1)
  v = f32[8192,64] parameter(2)
  numbers = s32[64,64] parameter(3)
  xw = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  xv = f32[64,64] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sum = f32[64,64] add(xw, xv)
  ROOT sort = (f32[64,64], s32[64,64]) sort(sum, numbers), dimensions={1}, to_apply=less
}
"""
KEY = re.compile(r"`([a-z_0-9]+)`")


def slug(heading):
    return heading.lower().replace(" ", "-")


def sections():
    """Text below each heading, by its anchor."""
    parts = re.split(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    return {slug(heading): text for heading, text in zip(parts[1::2], parts[2::2])}


SECTIONS = sections()


def rows(text):
    """(keys, type, meaning) of each row of the tables in `text`; a row may be of several keys."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        keys = KEY.findall(cells[0]) if line.startswith("| `") else []
        if keys and len(cells) >= 2:
            kind, meaning = (cells[1], cells[2]) if len(cells) > 2 else ("", cells[1])
            yield keys, kind, meaning.rstrip(" |")


def tables(text):
    """The tables of a section: one may have a second for the objects in it."""
    return [part for part in re.split(r"\n\s*\n", text) if part.lstrip().startswith("|")]


class Checker:
    def __init__(self):
        self.seen = {}  # by anchor: the keys that plans have
        self.inline = set()  # keys of objects that have no table, but a row in which they stand

    def check(self, value, anchor, where):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                self.check_object(one, anchor, where)
            elif isinstance(one, list):
                self.check(one, anchor, where)

    def check_object(self, value, anchor, where):
        text = SECTIONS[anchor]
        if not tables(text):  # listed in a sentence
            assert set(value) == set(KEY.findall(text)), f"{where} has other keys than #{anchor}"
            self.seen.setdefault(anchor, set()).update(value)
            return
        documented = {key: row for row in rows(text) for key in row[0]}
        assert set(value) <= set(documented), (
            f"{where}: #{anchor} lacks {set(value) - set(documented)}"
        )
        self.seen.setdefault(anchor, set()).update(value)
        for key, member in value.items():
            self.check_member(member, documented[key], f"{where}.{key}", text)

    def check_member(self, value, row, where, text):
        if re.match(r"as (that|those) of a plan", row[2]):
            plan = {key: one for one in rows(SECTIONS["the-document"]) for key in one[0]}
            row = plan[where.rsplit(".", 1)[-1]]
        linked = re.search(r"\(#([a-z-]+)\)", row[1])
        if linked:
            self.check(value, linked[1], where)
            return
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                self.check_inline(one, row[2] + self.of_parts(row[0], text), where)

    def of_parts(self, keys, text):
        """The table headed "key of a part" is about the objects in `parts`."""
        found = [
            part for part in tables(text) for key in keys if f"key of a {key.rstrip('s')}" in part
        ]
        return "".join(found)

    def check_inline(self, value, meaning, where):
        named = set(KEY.findall(meaning))
        assert set(value) <= named, f"{where}: {set(value) - named} are not in its row"
        self.inline |= set(value)
        for key, member in value.items():
            anchor = re.search(rf"`{key}`: the \[\w+\]\(#([a-z-]+)\)", meaning)
            if key == "configuration":
                self.check(member, "degrees", f"{where}.{key}")
            elif anchor:
                self.check(member, anchor[1], f"{where}.{key}")
            else:
                for one in member if isinstance(member, list) else [member]:
                    if isinstance(one, dict):
                        self.check_inline(one, meaning, f"{where}.{key}")


def train(w, x):
    loss, gradient = jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
    return w - 0.1 * gradient, loss


@pytest.fixture(scope="module")
def plans(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    step = folder / "step.mlir"
    shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((16, 16), (32, 16))]
    step.write_text(jax.jit(train, donate_argnums=0).lower(*shapes).as_text(debug_info=True))

    def words(command):
        named = command.replace("DATABASE", str(folder / "profiles.sqlite"))
        return [program, *named.replace("STEP", str(step)).split()]

    for command in PROFILES:
        subprocess.run(
            words(command + " --db DATABASE"),
            check=True,
            capture_output=True,
            env={**os.environ, "MESHWRIGHT_PYTHON": sys.executable},
        )
    made = []
    for command in PLANS:
        done = subprocess.run(
            [*words(command), "--json"],
            check=False,
            input=PROGRAM,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        made.append(json.loads(done.stdout))
    return made


@pytest.fixture(scope="module")
def checked(plans):
    checker = Checker()
    for plan, command in zip(plans, PLANS):
        checker.check_object(plan, "the-document", command.split()[1].rsplit("/", 1)[-1])
    return checker


def test_version(plans):
    version = re.search(r"its schema, version \*\*(\d+)\*\*", PAGE)
    assert {plan["schema"] for plan in plans} == {int(version[1])}


def test_every_key_is_in_the_table_of_its_object(checked):
    assert len(checked.seen["the-document"]) > 20


def test_every_row_is_of_a_key_that_plans_have(checked):
    keys = set().union(checked.inline, *checked.seen.values())
    for anchor, text in SECTIONS.items():
        for row in (row for table in tables(text) for row in rows(table)):
            for key in row[0]:
                assert key in checked.seen.get(anchor, set()) | checked.inline, (
                    f"#{anchor}: no plan has {key}"
                )
            if "object" in row[1] and "(#" not in row[1]:
                assert set(KEY.findall(row[2])) <= keys, f"#{anchor}, {row[0]}: {row[2]}"
