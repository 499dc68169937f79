// What all views share: the report, the plan that is looked at, and where to go.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Plan, Report } from "./data";

/** An array of a program: a parameter, an output or an operator's result. */
export interface ArrayReference {
  program: number;
  list: "parameters" | "outputs" | "instructions";
  index: number;
}

export interface Shared {
  report: Report;
  plan: Plan;
  theme: "light" | "dark";
  chosen: ArrayReference | null;
  choose(reference: ArrayReference | null): void;
  /** Shows another view. */
  go(view: string): void;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  return useContext(SharedContext)!;
}
