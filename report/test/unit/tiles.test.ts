import assert from "node:assert/strict";
import { test } from "node:test";
import type { Axis, Spec } from "../../src/data";
import { coordinates, meshSize, placedCoordinates, sliceText, tilingOf } from "../../src/tiles";

test("devices are laid over the mesh row-major", () => {
  const mesh = [{ name: "x", size: 2 }, { name: "y", size: 4 }];
  assert.deepEqual(coordinates(mesh, 5), [1, 1]);
  assert.deepEqual(coordinates([], 0), []);
});

test("a replicated array is one tile on all devices", () => {
  const tiling = tilingOf([4, 6], [[], []], [{ name: "x", size: 3 }]);
  assert.equal(tiling.tiles.length, 1);
  assert.deepEqual(tiling.tiles[0].devices, [0, 1, 2]);
  assert.equal(sliceText(tiling.tiles[0].ranges), "0:4, 0:6");
});

test("the first axis of a dimension cuts it into the largest pieces", () => {
  const mesh = [{ name: "x", size: 2 }, { name: "y", size: 2 }];
  const xy = tilingOf([8], [["x", "y"]], mesh);
  const yx = tilingOf([8], [["y", "x"]], mesh);
  assert.deepEqual(xy.tiles.map((tile) => tile.devices), [[0], [1], [2], [3]]);
  assert.deepEqual(yx.tiles.map((tile) => tile.devices), [[0], [2], [1], [3]]);
  assert.equal(sliceText(yx.tiles[1].ranges), "2:4");
});

test("uneven parts are padded, so that the last ones are shorter or empty", () => {
  const tiling = tilingOf([5], [["x"]], [{ name: "x", size: 4 }]);
  assert.deepEqual(tiling.tiles.map((tile) => sliceText(tile.ranges)), ["0:2", "2:4", "4:5", "5:5"]);
});

test("a scalar has a tile too", () => {
  const tiling = tilingOf([], [], [{ name: "x", size: 2 }]);
  assert.deepEqual(tiling.tiles[0].devices, [0, 1]);
  assert.equal(sliceText(tiling.tiles[0].ranges), "the scalar");
});

// An oracle of another kind: element by element, who keeps it.
function keepers(shape: number[], spec: Spec, mesh: Axis[], element: number[]): number[] {
  const result: number[] = [];
  for (let device = 0; device < meshSize(mesh); device += 1) {
    const own = element.every((at, d) => {
      let low = 0;
      let length = shape[d];
      let parts = 1;
      for (const axis of spec[d]) parts *= mesh.find((one) => one.name === axis)!.size;
      const piece = Math.ceil(length / parts);
      // Halve by each axis in turn: the padded range that is left is the device's.
      let range = piece * parts;
      for (const axis of spec[d]) {
        const a = mesh.findIndex((one) => one.name === axis);
        range /= mesh[a].size;
        const inner = mesh.slice(a + 1).reduce((product, one) => product * one.size, 1);
        low += range * (Math.floor(device / inner) % mesh[a].size);
        length = range;
      }
      return spec[d].length === 0 || (at >= low && at < low + length);
    });
    if (own) result.push(device);
  }
  return result;
}

test("every element of random arrays lies where an element-wise count says", () => {
  let seed = 12345;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return Math.floor((seed / 0x7fffffff) * below) % below;
  };
  for (let round = 0; round < 200; round += 1) {
    const mesh = ["x", "y", "z"].slice(0, 1 + random(3)).map((name) => ({ name, size: 1 + random(4) }));
    const free = mesh.map((axis) => axis.name).sort(() => random(3) - 1);
    const shape = Array.from({ length: 1 + random(3) }, () => 1 + random(7));
    const spec: Spec = shape.map(() => free.splice(0, random(3)));
    const tiling = tilingOf(shape, spec, mesh);
    const count = shape.reduce((a, b) => a * b, 1);
    for (let e = 0; e < count; e += 1) {
      const element: number[] = [];
      for (let d = shape.length - 1, rest = e; d >= 0; d -= 1) {
        element.unshift(rest % shape[d]);
        rest = Math.floor(rest / shape[d]);
      }
      const found = tiling.tiles.filter((tile) => tile.ranges.every((r, d) => element[d] >= r.begin && element[d] < r.end));
      assert.equal(found.length, 1, `round ${round}`);
      assert.deepEqual(found[0].devices, keepers(shape, spec, mesh, element), `round ${round}`);
    }
  }
});

test("devices that are placed: each group has as many on a node as it should, and every place is taken once", () => {
  const mesh = [{ name: "pp", size: 2 }, { name: "dp", size: 4 }, { name: "cp", size: 1 }, { name: "tp", size: 4 }];
  const placement = { pp: 2, dp: 2, cp: 1, tp2: 1, tp: 2, rows: 2 };
  const all = Array.from({ length: 32 }, (_, device) => placedCoordinates(mesh, placement, device));
  assert.equal(new Set(all.map(String)).size, 32);
  assert.deepEqual(all[0], [0, 0, 0, 0]);
  const others = (at: number[], axis: number) => at.filter((_, a) => a !== axis).join();
  for (const [axis, inside] of [[0, 2], [1, 2], [3, 2]]) {
    for (let node = 0; node < 4; node += 1) {
      const local = all.slice(8 * node, 8 * node + 8);
      for (const at of local) assert.equal(local.filter((one) => others(one, axis) === others(at, axis)).length, inside);
    }
  }
  // Without a placement of its own the numbering is the mesh's.
  const inOrder = { pp: 1, dp: 2, cp: 1, tp2: 1, tp: 4, rows: 1 };
  for (let device = 0; device < 32; device += 1) assert.deepEqual(placedCoordinates(mesh, inOrder, device), coordinates(mesh, device));
});
