// Colours by meaning. They are CSS variables, so that both themes have their own. In each all eight
// and the grey stand out from the page (3:1, WCAG 2.2, 1.4.11) and differ from each other for
// every common kind of colour blindness too; test/unit/palette.test.ts holds styles.css to that.

import type { Axis, Spec } from "./data";

export const series = (i: number): string => `var(--c${i % 8})`;
export const none = "var(--none)";

/** Colours of the parts of one whole, at most nine, each its own. */
export function partColour(i: number): string {
  return i < 8 ? series(i) : none;
}

export const categoryColours = [0, 4, 6, 1, 2, 5].map(series);
const memoryParts: Record<string, string> = {
  weights: categoryColours[0],
  optimizer: categoryColours[1],
  gradients: categoryColours[3],
  activations: categoryColours[4],
  logits: categoryColours[5],
  communication: series(3),
};

/** Of a part of a model's memory, as the plan names it: what programs have in the same colour. */
export function memoryPartColour(name: string): string {
  return memoryParts[name] ?? none;
}

export const taskColours = [0, 1, 2, 4].map(series);
export const waitingColour = none;

const stepParts: Record<string, string> = {
  compute: series(0),
  tensor_communication: series(3),
  context_communication: series(6),
  expert_communication: series(7),
  data_communication: series(1),
  pipeline_communication: series(4),
  host_communication: series(5),
  bubble: waitingColour,
  optimizer: series(2),
};

/** A part of a model's step in the words that programs have for it. */
export const stepPartName = (name: string): string => (name === "compute" ? "computation" : name.replaceAll("_", " "));

/** Of a part of a model's step, as the plan names it. */
export function stepPartColour(name: string): string {
  return stepParts[name] ?? none;
}

/** Colours in the order of the hue for many that nothing but their order tells apart. */
export function spectrum(i: number, count: number): string {
  return count <= 8 ? series(i) : `oklch(var(${i % 2 === 0 ? "--even" : "--odd"}) 0.13 ${((360 * i) / count).toFixed(1)})`;
}
export const computeColour = series(0);
export const launchColour = series(5);
export const contentionColour = series(7);
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

/** One colour for each set of axes: a mesh has at most three that are longer than 1. Red is for communication. */
export function shardingColour(spec: Spec, mesh: readonly Axis[]): string {
  const long = mesh.filter((axis) => axis.size > 1).map((axis) => axis.name);
  const bits = axesOf(spec, mesh).reduce((mask, axis) => mask | (1 << long.indexOf(axis)), 0);
  return bits === 0 ? none : series([0, 1, 4, 2, 6, 7, 5][(bits - 1) % 7]);
}

export function shardingName(spec: Spec, mesh: readonly Axis[]): string {
  return axesOf(spec, mesh).join(", ") || "replicated";
}

/** Black or white, whichever is read better on a colour such as "#0082e1". */
export function inkOn(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.179 ? "#000000" : "#ffffff"; // where both contrasts are equal
}

/** What a CSS variable stands for now: canvases need the colour itself. */
export function resolved(colour: string, element: Element): string {
  const name = /^var\((.*)\)$/.exec(colour)?.[1];
  return name ? getComputedStyle(element).getPropertyValue(name).trim() : colour;
}
