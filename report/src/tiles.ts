// Which part of an array each device of a mesh keeps.
//
// Devices are laid over the mesh row-major, the last axis fastest. A dimension of a spec is cut by
// its axes, the first into the largest pieces; uneven parts are padded, so the last ones may be
// shorter or empty.

import type { Axis, Placement, Spec } from "./data";

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

/**
 * The same where a model's plan places its groups: a device's number is its node's, then its place in
 * the node, both row-major over pp, dp, cp, rows and columns of tp (docs/plan-schema.md, "Degrees").
 */
export function placedCoordinates(mesh: readonly Axis[], placement: Placement, device: number): number[] {
  const sizeOf = (name: string): number => mesh.find((axis) => axis.name === name)?.size ?? 1;
  const inside = [placement.pp, placement.dp, placement.cp, placement.tp2, placement.tp / placement.tp2];
  const whole = [sizeOf("pp"), sizeOf("dp"), sizeOf("cp"), placement.rows, sizeOf("tp") / placement.rows];
  const axes = (sizes: number[]): Axis[] => sizes.map((size) => ({ name: "", size }));
  const perNode = inside.reduce((product, size) => product * size, 1);
  const node = coordinates(axes(whole.map((size, i) => size / inside[i])), Math.floor(device / perNode));
  const local = coordinates(axes(inside), device % perNode);
  const [pp, dp, cp, row, column] = node.map((at, i) => at * inside[i] + local[i]);
  const at: Record<string, number> = { pp, dp, cp, tp: row * whole[4] + column };
  return mesh.map((axis) => at[axis.name] ?? 0);
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
