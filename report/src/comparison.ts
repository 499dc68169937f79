// Which parameters plans keep differently, with what repeats in one row.

import type { Axis, Plan, Spec, Tensor } from "./data";
import { specText } from "./format";
import { layerFolded, withLayer } from "./layer_names";

export interface Difference {
  /** The number of the layer as * where there are several. */
  name: string;
  /** Parameters: one for each layer. */
  count: number;
  type: string;
  /** The placement in each plan; empty where it does not have the parameter. */
  specs: string[];
  bytes: number[];
}

interface Kept {
  tensor: Tensor;
  /** More than one where stages that share a name keep their parts differently. */
  placements: string[];
}

function placementText(spec: Spec, mesh: readonly Axis[]): string {
  const sizes = new Map(mesh.map((axis) => [axis.name, axis.size]));
  return [specText(spec), ...spec.flat().map((axis) => `${axis}=${sizes.get(axis)}`)].join(" ");
}

/**
 * Every parameter by its name. A stage that is equal to an earlier one is listed there, with the
 * names of that one's layers: its own are as many layers further on.
 */
function kept(plan: Plan): Map<string, Kept> {
  const result = new Map<string, Kept>();
  const add = (name: string, tensor: Tensor, placement: string) => {
    const known = result.get(name);
    if (!known) result.set(name, { tensor, placements: [placement] });
    else if (!known.placements.includes(placement)) known.placements.push(placement);
  };
  plan.programs.forEach((program, p) => {
    const stages = plan.stages.filter((stage) => stage.program === p);
    const shifts = stages.length === 0 ? [0] : stages.map((stage) => stage.first_layer - stages[0].first_layer);
    for (const tensor of program.parameters) {
      const placement = placementText(tensor.spec, program.mesh);
      for (const shift of shifts) add(withLayer(tensor.name, tensor.layer_place ?? -1, shift), tensor, placement);
    }
  });
  return result;
}

/** Differences in the order of the first plan's parameters, then those that only others have. */
export function differences(plans: readonly Plan[]): Difference[] {
  const all = plans.map(kept);
  const names = [...new Set(all.flatMap((one) => [...one.keys()]))];
  const rows = new Map<string, Difference>();
  for (const name of names) {
    const here = all.map((one) => one.get(name));
    // What stages hand on is an input of the next, not a parameter of the program.
    if (here.some((one) => one === undefined) && here.every((one) => !one || one.tensor.category === "inputs")) continue;
    const specs = here.map((one) => one?.placements.join(" or ") ?? "");
    if (specs.every((spec) => spec === specs[0])) continue;
    const first = here.find((one) => one !== undefined)!.tensor;
    const type = `${first.dtype}[${first.shape.join(",")}]`;
    const folded = layerFolded(name, first.layer_place ?? -1);
    const key = JSON.stringify([folded, type, specs]);
    const row = rows.get(key);
    if (row) {
      row.name = folded;
      row.count += 1;
    } else {
      rows.set(key, { name, count: 1, type, specs, bytes: here.map((one) => one?.tensor.bytes ?? 0) });
    }
  }
  return [...rows.values()];
}
