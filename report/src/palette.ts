// Colours by meaning. They are CSS variables, so that both themes have their own.

import type { Axis, Spec } from "./data";

export const series = (i: number): string => `var(--c${i % 8})`;
export const none = "var(--none)";

export const categoryColours = [0, 4, 6, 1, 2, 5].map(series);
export const taskColours = [0, 1, 2, 4].map(series);
export const computeColour = series(0);
export const communicationColour = series(3);

const kinds = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"];
export function collectiveColour(kind: string): string {
  const i = kinds.indexOf(kind);
  return series(i < 0 ? 5 : [3, 1, 4, 7, 6][i]);
}

/** The axes that cut an array, in the order of the mesh. */
export function axesOf(spec: Spec, mesh: readonly Axis[]): string[] {
  const used = new Set(spec.flat());
  return mesh.filter((axis) => axis.size > 1 && used.has(axis.name)).map((axis) => axis.name);
}

/** One colour for each set of axes: a mesh has at most three that are longer than 1. */
export function shardingColour(spec: Spec, mesh: readonly Axis[]): string {
  const long = mesh.filter((axis) => axis.size > 1).map((axis) => axis.name);
  const bits = axesOf(spec, mesh).reduce((mask, axis) => mask | (1 << long.indexOf(axis)), 0);
  return bits === 0 ? none : series([0, 1, 4, 2, 6, 3, 5][(bits - 1) % 7]);
}

export function shardingName(spec: Spec, mesh: readonly Axis[]): string {
  return axesOf(spec, mesh).join(", ") || "replicated";
}

/** What a CSS variable stands for now: canvases need the colour itself. */
export function resolved(colour: string, element: Element): string {
  const name = /^var\((.*)\)$/.exec(colour)?.[1];
  return name ? getComputedStyle(element).getPropertyValue(name).trim() : colour;
}
