"""HLO's tile assignments as axes of a mesh."""

import pytest
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from meshwright._shardy import _is_filled, parse_tiles
from meshwright.errors import InternalError

MESH = [("x", 2), ("y", 4)]


@pytest.mark.parametrize(
    ("text", "rank", "dims"),
    [
        ("{replicated}", 2, [[], []]),
        ("{devices=[2,4]<=[8]}", 2, [["x"], ["y"]]),
        ("{devices=[8,1]<=[8]}", 2, [["x", "y"], []]),
        ("{devices=[4,2]<=[2,4]T(1,0)}", 2, [["y"], ["x"]]),
        ("{devices=[8]<=[2,4]T(1,0)}", 1, [["y", "x"]]),
        ("{devices=[1,2,4]<=[8] last_tile_dim_replicate}", 2, [[], ["x"]]),
        ("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 2, [["y"], []]),
        ("{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", 2, [["x"], []]),
    ],
)
def test_parse_tiles(text, rank, dims):
    assert parse_tiles(text, rank, MESH) == dims


def test_axes_of_one_device_shard_nothing():
    assert parse_tiles("{devices=[4]<=[4]}", 1, [("x", 1), ("y", 4)]) == [["y"]]


def test_what_is_not_tiled():
    with pytest.raises(InternalError):
        parse_tiles("{manual}", 1, MESH)


def test_what_every_user_makes_anew():
    text = """
    func.func @main(%given: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %made = stablehlo.negate %one : tensor<f32>
      %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %1 = stablehlo.broadcast_in_dim %made, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %2 = stablehlo.broadcast_in_dim %given, dims = [] : (tensor<f32>) -> tensor<8xf32>
      return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    }"""
    with make_ir_context():
        module = ir.Module.parse(text)
        found = [_is_filled(op.operation) for op in module.body.operations[0].body.blocks[0]]
    assert found == [True, False, True, False, False, False]
