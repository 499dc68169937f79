"""HLO's tile assignments as axes of a mesh."""

import pytest
from meshwright._shardy import parse_tiles
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
