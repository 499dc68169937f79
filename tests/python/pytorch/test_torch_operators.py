"""Every row of the table of operators: what XLA computes of it is what torch computes."""

import json
import operator
import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
jax = pytest.importorskip("jax", reason="jax, whose XLA evaluates StableHLO, is not installed")

import numpy as np
import operator_cases as cases
import torch.utils._pytree as pytree
from jaxlib import _jax
from meshwright.torch._lowering import lower
from meshwright.torch._step import Leaf, Step
from meshwright.torch.operators import TABLE
from torch import Tensor, fx
from torch._subclasses.fake_tensor import FakeTensorMode

jax.config.update("jax_enable_x64", True)

# One call, which tests of whole models hold: the kernel is torch's own, and no operation of StableHLO.
ATTENTION = {
    torch.ops.meshwright.attention.default,
    torch.ops.meshwright.attention_backward.default,
}


def program(call, args, kwargs):
    """A step of one operator, and which of its results it gives."""
    graph, leaves = fx.Graph(), []
    flat, tree = pytree.tree_flatten((args, kwargs))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = [mode.from_tensor(x) if isinstance(x, Tensor) else x for x in flat]
        given = []
        for value in fake:
            if isinstance(value, Tensor):
                node = graph.placeholder(f"x{len(leaves)}")
                node.meta["val"] = value
                leaves.append(Leaf("input", node.name, value))
                given.append(node)
            else:
                given.append(value)
        like_args, like_kwargs = pytree.tree_unflatten(fake, tree)
        like = call(*like_args, **like_kwargs)
    node_args, node_kwargs = pytree.tree_unflatten(given, tree)
    node = graph.call_function(call, node_args, node_kwargs)
    node.meta["val"] = like
    results = [node]
    if not isinstance(like, Tensor):
        results = [graph.call_function(operator.getitem, (node, i)) for i in range(len(like))]
        if call is torch.ops.aten.max_pool2d_with_indices.default:
            results = results[:1]  # the places are not computed: no operator of a step reads them
        for part, value in zip(results, like):
            part.meta["val"] = value
    graph.output(tuple(results))
    names = [str(i) for i in range(len(results) - 1)]
    module = fx.GraphModule({}, graph)
    return Step(module, leaves, {}, [], names, [], None), len(results)


def evaluated(text, tensors):
    device = jax.devices("cpu")[0]
    devices = _jax.DeviceList((device,))
    run = device.client.compile_and_load(text, devices, _jax.CompileOptions())
    given = [jax.device_put(x.detach().contiguous().numpy(), device) for x in tensors]
    return [
        np.asarray(value[0])
        for value in run.execute_sharded(given).disassemble_into_single_device_arrays()
    ]


def both(call, args, kwargs):
    """What XLA computes and what torch computes."""
    step, count = program(call, args, kwargs)
    flat = pytree.tree_leaves((args, kwargs))
    found = evaluated(lower(step).text, [x for x in flat if isinstance(x, Tensor)])
    wanted = call(*args, **kwargs)
    wanted = [wanted] if isinstance(wanted, Tensor) else list(wanted)[:count]
    return found, [x.numpy() for x in wanted]


def name(value):
    return str(value) if isinstance(value, torch._ops.OpOverload) else ""


def multiplied(text, tensors):
    """The operation that XLA's CPU has no kernel for, as JAX computes it from the numbers in the text."""
    [numbers] = re.findall(r"#chlo.ragged_dot<(.*?)>", text)
    lists = {key: json.loads(value) for key, value in re.findall(r"(\w+) = (\[.*?\])", numbers)}
    contracted = (lists["lhs_contracting_dimensions"], lists["rhs_contracting_dimensions"])
    dimensions = jax.lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(contracted, ([], [])),
        lhs_ragged_dimensions=lists["lhs_ragged_dimensions"],
        rhs_group_dimensions=lists.get("rhs_group_dimensions", []),
    )
    a, b, ends = (x.numpy() for x in tensors)
    sizes = np.diff(ends, prepend=0)
    return jax.lax.ragged_dot_general(a, b, sizes, dimensions)


@pytest.mark.parametrize("call, args, kwargs", cases.RAGGED, ids=name)
def test_grouped_products_are_ragged(call, args, kwargs):
    step, _ = program(call, args, kwargs)
    a, b, ends = args
    turned = a.dim() == 3  # the transposed product of transposed operands
    given = (b.mT, a.mT, ends) if turned else args
    found = multiplied(lower(step).text, given)
    wanted = call(*args, **kwargs)
    np.testing.assert_allclose(found.T if turned else found, wanted.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("call, args, kwargs", cases.CASES, ids=name)
def test_it_computes_what_torch_does(call, args, kwargs):
    for found, wanted in zip(*both(call, args, kwargs), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("call, args, kwargs", cases.FILLED_BY_NOTHING, ids=name)
def test_empty_tensors_have_their_shape(call, args, kwargs):
    [found], [wanted] = both(call, args, kwargs)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)


@pytest.mark.parametrize("call, args, kwargs, drawn", cases.RANDOM, ids=name)
def test_random_numbers_are_of_their_distribution(call, args, kwargs, drawn):
    least, most, mean = drawn
    for [found] in both(call, args, kwargs):
        assert least <= found.min() and found.max() <= most
        assert abs(found.mean() - mean) < 0.05


def test_every_row_has_a_case():
    held = {
        row[0] for row in [*cases.CASES, *cases.RAGGED, *cases.FILLED_BY_NOTHING, *cases.RANDOM]
    }
    assert {str(row) for row in TABLE.keys() - held} == {str(row) for row in ATTENTION}
