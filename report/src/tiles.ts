// Which part of an array each device of a mesh keeps.
//
// Devices are laid over the mesh row-major, the last axis fastest. A dimension of a spec is cut by
// its axes, the first into the largest pieces; uneven parts are padded, so the last ones may be
// shorter or empty.

import type { Axis, Spec } from "./data";

export interface Range {
  begin: number;
  end: number;
}

export interface Tile {
  /** Which part along each dimension. */
  index: number[];
  /** What of the array: for each dimension. */
  ranges: Range[];
  /** Positions in the mesh, rising. */
  devices: number[];
}

export interface Tiling {
  /** Parts along each dimension. */
  parts: number[];
  tiles: Tile[];
  /** Position in the mesh -> index of `tiles`. */
  tileOf: number[];
}

export function meshSize(mesh: readonly Axis[]): number {
  return mesh.reduce((product, axis) => product * axis.size, 1);
}

/** Where the device stands along each axis. */
export function coordinates(mesh: readonly Axis[], device: number): number[] {
  const result = new Array<number>(mesh.length);
  for (let i = mesh.length - 1; i >= 0; i -= 1) {
    result[i] = device % mesh[i].size;
    device = Math.floor(device / mesh[i].size);
  }
  return result;
}

export function tilingOf(shape: readonly number[], spec: Spec, mesh: readonly Axis[]): Tiling {
  const axisIndex = new Map(mesh.map((axis, i) => [axis.name, i]));
  const parts = shape.map((_, d) =>
    (spec[d] ?? []).reduce((product, axis) => product * mesh[axisIndex.get(axis)!].size, 1),
  );
  const strides = new Array<number>(shape.length).fill(1);
  for (let d = shape.length - 2; d >= 0; d -= 1) strides[d] = strides[d + 1] * parts[d + 1];
  const tiles = new Map<number, Tile>();
  const keys: number[] = [];
  for (let device = 0; device < meshSize(mesh); device += 1) {
    const at = coordinates(mesh, device);
    const index = shape.map((_, d) =>
      (spec[d] ?? []).reduce((number, axis) => {
        const i = axisIndex.get(axis)!;
        return number * mesh[i].size + at[i];
      }, 0),
    );
    const key = index.reduce((total, i, d) => total + i * strides[d], 0);
    keys.push(key);
    const tile = tiles.get(key);
    if (tile) {
      tile.devices.push(device);
      continue;
    }
    const ranges = index.map((i, d) => {
      const length = Math.ceil(shape[d] / parts[d]);
      return { begin: Math.min(i * length, shape[d]), end: Math.min((i + 1) * length, shape[d]) };
    });
    tiles.set(key, { index, ranges, devices: [device] });
  }
  const sorted = [...tiles.keys()].sort((a, b) => a - b);
  const position = new Map(sorted.map((key, i) => [key, i]));
  return {
    parts,
    tiles: sorted.map((key) => tiles.get(key)!),
    tileOf: keys.map((key) => position.get(key)!),
  };
}

export function sliceText(ranges: readonly Range[]): string {
  return ranges.length === 0 ? "the scalar" : ranges.map((r) => `${r.begin}:${r.end}`).join(", ");
}
