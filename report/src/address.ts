// What the page shows, as the part of its address behind "#": "memory?plan=1&array=0.parameters.3".
// Who reloads or sends the address sees the same.

import type { ArrayReference } from "./context";
import type { Plan } from "./data";

export interface Address {
  view: string;
  plan: number;
  chosen: ArrayReference | null;
}

const lists = ["parameters", "outputs", "instructions"] as const;

function readArray(text: string | null): ArrayReference | null {
  const [program, list, index] = (text ?? "").split(".");
  const known = lists.find((name) => name === list);
  if (!known || !/^\d{1,9}$/.test(program) || !/^\d{1,9}$/.test(index ?? "")) return null;
  return { program: Number(program), list: known, index: Number(index) };
}

/** Anybody may write an address: what makes no sense is left out. */
export function readAddress(hash: string): Address {
  const [view, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const values = new URLSearchParams(query);
  const plan = values.get("plan") ?? "";
  return { view, plan: /^\d{1,9}$/.test(plan) ? Number(plan) : 0, chosen: readArray(values.get("array")) };
}

export function addressText({ view, plan, chosen }: Address): string {
  const values = new URLSearchParams();
  if (plan !== 0) values.set("plan", String(plan));
  if (chosen) values.set("array", `${chosen.program}.${chosen.list}.${chosen.index}`);
  const query = values.toString();
  return `#${view}${query === "" ? "" : `?${query}`}`;
}

export function isThere(plan: Plan, chosen: ArrayReference | null): boolean {
  const program = chosen ? plan.programs[chosen.program] : undefined;
  if (!chosen || !program) return false;
  const list = program[chosen.list];
  return chosen.index < (Array.isArray(list) ? list : list.name).length;
}
