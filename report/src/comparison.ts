// Which parameters two plans keep differently.

import type { Plan, Spec, Tensor } from "./data";
import { specText } from "./format";

export interface Difference {
  name: string;
  type: string;
  /** The placement in each plan; empty where it does not have the parameter. */
  specs: string[];
  bytes: number[];
}

interface Kept {
  tensor: Tensor;
  spec: Spec;
  where: string;
}

function kept(plan: Plan): Map<string, Kept> {
  const result = new Map<string, Kept>();
  plan.programs.forEach((program, p) => {
    const stages = plan.stages.flatMap((stage, s) => (stage.program === p ? [s] : []));
    const sizes = new Map(program.mesh.map((axis) => [axis.name, axis.size]));
    for (const tensor of program.parameters) {
      if (result.has(tensor.name)) continue;
      const sizesText = tensor.spec.flat().map((axis) => `${axis}=${sizes.get(axis)}`).join(" ");
      result.set(tensor.name, { tensor, spec: tensor.spec, where: [sizesText, stages.length > 0 ? `stage ${stages[0]}` : ""].filter(Boolean).join(", ") });
    }
  });
  return result;
}

/** Differences in the order of the first plan's parameters, then those that only others have. */
export function differences(plans: readonly Plan[]): Difference[] {
  const all = plans.map(kept);
  const names = new Set(all.flatMap((one) => [...one.keys()]));
  const result: Difference[] = [];
  for (const name of names) {
    const places = all.map((one) => one.get(name));
    const specs = places.map((place) => (place ? [specText(place.spec), place.where].filter(Boolean).join(" ") : ""));
    if (specs.every((spec) => spec === specs[0])) continue;
    const first = places.find((place) => place !== undefined)!;
    result.push({
      name,
      type: `${first.tensor.dtype}[${first.tensor.shape.join(",")}]`,
      specs,
      bytes: places.map((place) => place?.tensor.bytes ?? 0),
    });
  }
  return result;
}
