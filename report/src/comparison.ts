// Which parameters plans keep differently, with what repeats in one row.

import type { Axis, Plan, Spec, Tensor } from "./data";
import { specText } from "./format";
import { layerFolded } from "./layer_names";
import { aliasesOf } from "./search";

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

/** Every parameter by its name; those of a stage that is equal to an earlier one have their own. */
function kept(plan: Plan): Map<string, Kept> {
  const result = new Map<string, Kept>();
  const add = (name: string, tensor: Tensor, placement: string) => {
    const known = result.get(name);
    if (!known) result.set(name, { tensor, placements: [placement] });
    else if (!known.placements.includes(placement)) known.placements.push(placement);
  };
  plan.programs.forEach((program, p) => {
    const aliases = aliasesOf(plan, p);
    program.parameters.forEach((tensor, i) => {
      const placement = placementText(tensor.spec, program.mesh);
      for (const name of [tensor.name, ...(aliases[i] ?? [])]) add(name, tensor, placement);
    });
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
