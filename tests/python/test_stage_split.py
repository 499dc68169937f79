"""A backward module in two computes what it computes as one, and nothing twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo
from meshwright._lowering import _module_function
from meshwright._shardy import from_hlo
from meshwright.verify.stage_split import split


def backward(weights, x, gradient):
    """Three layers: the gradient of x, and those of the weights."""

    def forward(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w.T)
        return x

    _, back = jax.vjp(forward, weights, x)
    weights, x = back(gradient)
    return [x, *weights]


def looped(weights, x, gradient):
    """The same with the layers in a loop, which makes all gradients."""

    def forward(weights, x):
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, jnp.stack(weights))[0]

    _, back = jax.vjp(forward, weights, x)
    weights, x = back(gradient)
    return [x, *weights]


def dots(module):
    with make_ir_context():
        return str(hlo.deserialize_portable_artifact(ir.Context.current, module)).count(
            "stablehlo.dot_general"
        )


def both_parts(parts, chosen, arguments, outputs):
    others = [number for number in range(len(outputs)) if number not in chosen]
    between = list(parts.between)
    first = _module_function(
        parts.first, arguments, [*(outputs[number] for number in chosen), *between]
    )
    given = first(*arguments)
    late = [arguments[number] for number in parts.needed] + list(given[len(chosen) :])
    second = _module_function(parts.second, late, [outputs[number] for number in others])
    found = dict(zip(chosen, given)) | dict(zip(others, second(*late)))
    return [found[number] for number in range(len(outputs))]


@pytest.mark.parametrize("step", [backward, looped])
@pytest.mark.parametrize("chosen", [[0], [2, 0], []])
def test_two_parts_give_what_one_gives(step, chosen):
    generator = np.random.default_rng(0)
    weights = [generator.standard_normal((8, 8), np.float32) for _ in range(3)]
    x, gradient = generator.standard_normal((2, 4, 8), np.float32)
    arguments = [*weights, x, gradient]
    flat = jax.jit(lambda *flat: step(list(flat[:3]), *flat[3:]), keep_unused=True)
    expected = flat(*arguments)
    proto = flat.lower(*arguments).compiler_ir("hlo").as_serialized_hlo_module_proto()
    module = from_hlo(proto, [])
    parts = split(module, chosen)
    for got, wanted in zip(both_parts(parts, chosen, arguments, expected), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    if step is backward and chosen == [0]:
        # Of the forward pass recomputed and both gradients, each matmul is in one part.
        assert dots(parts.second) == 3  # one for each weight
        assert set(parts.needed) < set(range(len(arguments)))


def test_what_is_chosen_may_be_what_is_left():
    """A value that is both an output that others wait for and a sum."""
    flat = jax.jit(lambda x: [(y := x @ x), y, x])
    x = np.eye(4, dtype=np.float32)
    proto = flat.lower(x).compiler_ir("hlo").as_serialized_hlo_module_proto()
    parts = split(from_hlo(proto, []), [0])
    for got, wanted in zip(both_parts(parts, [0], [x], flat(x)), flat(x)):
        np.testing.assert_array_equal(got, wanted)
    assert len(parts.between) == 1
    assert list(parts.needed) == [0]
