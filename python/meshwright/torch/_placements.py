"""What a plan says of each tensor of a step, as DTensor's placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import fx
from torch.distributed.tensor import Placement, Replicate, Shard

from meshwright.document import Plan, Row
from meshwright.specs import Spec
from meshwright.torch._lowering import Lowered, Made

Placements = tuple[Placement, ...]


def placements(spec: Spec, axes: Sequence[str]) -> Placements:
    """A spec as one placement for each axis of the mesh.

    Where several axes cut one dimension, DTensor lets the first of the mesh cut the largest pieces,
    whatever the order of the plan: as many bytes, other pieces.
    """
    by_axis = {axis: dim for dim, names in enumerate(spec) for axis in names}
    return tuple(Shard(by_axis[axis]) if axis in by_axis else Replicate() for axis in axes)


class Layouts:
    """A plan by the nodes of the step that it is of."""

    def __init__(self, plan: Plan, lowered: Lowered) -> None:
        self.axes = list(plan.mesh_shape)
        self._rows: dict[str, list[Row]] = {}
        document = plan.as_dict()
        names = document["op_names"]
        self._parameters: list[Row] = []
        for row in document["instructions"]:
            if row["opcode"] == "parameter":
                self._parameters.append(row)
            elif "op_name" in row:
                self._rows.setdefault(names[row["op_name"]], []).append(row)
        self._lowered = lowered
        self._outputs = document["outputs"]

    def leaf(self, index: int) -> Placements:
        """How a leaf of the step is kept."""
        return self._of(self._parameters[index]["spec"])

    def shared(self, index: int) -> Placements | None:
        """How all users of a leaf see it, where that differs from how it is kept."""
        spec = self._parameters[index].get("shared_spec")
        return None if spec is None else self._of(spec)

    def output(self, index: int) -> Placements:
        return self._of(self._outputs[index]["spec"])

    def operand(self, node: fx.Node, argument: fx.Node) -> tuple[list[Placements], set[int]]:
        """The placements that `argument` goes through to how `node` reads it; and along which
        dimensions of the mesh it may be partial sums. Nothing: it is read as it is kept.
        """
        made = self._lowered.made.get(argument.name)
        use = self._lowered.uses.get(node.name, {}).get(made) if isinstance(made, Made) else None
        rows = self._rows.get(use.label) if use is not None else None
        if use is None or not rows or "operand_specs" not in rows[0]:
            return [], set()
        row, position = rows[0], use.operand
        if position >= len(row["operand_specs"]):
            return [], set()
        steps = row.get("operand_paths", [])
        between = steps[position] if position < len(steps) else []
        path = [self._of(spec) for spec in [*between, row["operand_specs"][position]]]
        return path, self._positions(row.get("pending_axes", ()))

    def result(self, made: Any) -> tuple[list[Placements], set[int]] | None:
        """The placements that a result goes through to how it is kept, and along which dimensions of the
        mesh it stays partial sums, if it is. None: the plan does not say.
        """
        if not isinstance(made, Made) or made.label not in self._rows:
            return None
        row = self._rows[made.label][-1]
        kept = [row["spec"], *row.get("other_specs", ())]
        if made.index >= len(kept):
            return None
        steps = row.get("result_paths", [])
        between = steps[made.index] if made.index < len(steps) else []
        own = any(one["value"] == row["name"] for one in row["collective"])
        partial = set(row.get("pending_axes", ()))
        if not own:
            partial |= set(row.get("reduced_axes", ()))
        path = [self._of(spec) for spec in [*between, kept[made.index]]]
        return path, self._positions(partial)

    def computed(self, made: Any) -> Placements | None:
        """How what makes a first result computes it. None: the plan does not say."""
        if not isinstance(made, Made) or made.label not in self._rows:
            return None
        row = self._rows[made.label][-1]
        return self._of(row.get("computed_specs", [row["spec"]])[0])

    def _of(self, spec: Spec) -> Placements:
        return placements(spec, self.axes)

    def _positions(self, axes: Any) -> set[int]:
        return {self.axes.index(axis) for axis in axes}


def named(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> dict[str, Placements]:
    """Rows of a plan's parameters or outputs by name."""
    axes = list(plan.mesh_shape)
    return {row["name"]: placements(row["spec"], axes) for row in rows}
