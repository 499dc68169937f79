// Finds whatever a report has a name for, of one plan at a time: views, plans, layers, tensors, lines
// of the user's program, collectives, operators, and what time and memory are spent on.

import type { ArrayReference } from "./context";
import { categories, planNames, type Plan, type Program, type Report } from "./data";
import { specText, typeText } from "./format";
import { stepPartName } from "./palette";
import { aliasesOf, find, Index, matcherOf } from "./search";

export interface Hit {
  kind: "view" | "plan" | "part" | "layer" | "tensor" | "source line" | "collective" | "operator";
  name: string;
  /** What tells it from others of its kind; may be empty. */
  detail: string;
  view: string;
  plan: number;
  array: ArrayReference | null;
}

interface Entry {
  /** In lower case, a line each. */
  text: string;
  hit: Hit;
}

const mostOfKind = 12;

/** What has a name in a program besides arrays and operators. */
function placesOf(program: Program, number: number, plan: number): Entry[] {
  const { layer, source } = program.instructions;
  const operator = (index: number): ArrayReference => ({ program: number, list: "instructions", index });
  const first = (column: readonly number[]): Map<number, number> => {
    const found = new Map<number, number>();
    column.forEach((value, i) => {
      if (value >= 0 && !found.has(value)) found.set(value, i);
    });
    return found;
  };
  const entry = (kind: Hit["kind"], name: string, detail: string, view: string, index: number): Entry => ({
    text: `${name}\n${detail}`.toLowerCase(),
    hit: { kind, name, detail, view, plan, array: operator(index) },
  });
  const byLayer = first(layer);
  const bySource = first(source);
  return [
    ...program.layer_names.flatMap(([value, name]) => (byLayer.has(value) ? [entry("layer", name, "", "network", byLayer.get(value)!)] : [])),
    ...[...bySource].map(([value, index]) => entry("source line", program.sources[value], "", "network", index)),
    ...program.most_expensive.map((one) =>
      entry("collective", `${one.collective.kind} ${one.collective.axes.join(",")}`, [one.cause, one.phase, one.source].filter((text) => text !== "").join(", "), "network", one.instruction),
    ),
  ];
}

/** All of a report, as one of its plans has it. Making it is linear in the plan, and so is a search. */
export class Everything {
  private readonly entries: Entry[] = [];
  private readonly arrays: { program: Program; tensors: Index; operators: Index }[];

  constructor(report: Report, private readonly number: number, views: readonly { id: string; title: string }[]) {
    const plan: Plan | undefined = report.plans[number];
    const add = (kind: Hit["kind"], name: string, detail: string, view: string, of = number) =>
      this.entries.push({ text: `${name}\n${detail}`.toLowerCase(), hit: { kind, name, detail, view, plan: of, array: null } });
    for (const view of views) add("view", view.title, "", view.id);
    planNames(report.plans).forEach((name, i) => add("plan", name, i === number ? "this one" : "", "summary", i));
    this.arrays = [];
    if (!plan) return;
    const step = plan.transformer ? Object.keys(plan.transformer.seconds).map(stepPartName) : ["computation", "communication"];
    for (const name of step) add("part", name, "of the step", "time");
    const memory = plan.transformer ? Object.keys(plan.transformer.memory[0] ?? {}) : categories;
    for (const name of memory) add("part", name, "of memory", "memory");
    plan.programs.forEach((program, p) => {
      this.entries.push(...placesOf(program, p, number));
      this.arrays.push({
        program,
        tensors: new Index(program, p, ["parameters", "outputs"], aliasesOf(plan, p)),
        operators: new Index(program, p, ["instructions"]),
      });
    });
  }

  /** At most a dozen of each kind, as `Index` finds them. */
  search(query: string): Hit[] {
    if (query.trim() === "") return [];
    const fits = matcherOf(query, this.entries.map((entry) => entry.text));
    const found = this.entries.filter((entry) => fits(entry.text)).map((entry) => entry.hit);
    const of = (kind: Hit["kind"]) => found.filter((hit) => hit.kind === kind).slice(0, mostOfKind);
    const arrays = (which: "tensors" | "operators", kind: Hit["kind"], view: string): Hit[] =>
      this.arrays
        .flatMap(({ program, [which]: index }) =>
          index.search(query, mostOfKind).map((array): Hit => {
            const one = find(program, array);
            const detail = which === "tensors" ? `${one.what}, ${typeText(one.type)} ${specText(one.spec)}` : `${one.what}, ${typeText(one.type)}`;
            return { kind, name: one.name, detail, view, plan: this.number, array };
          }),
        )
        .slice(0, mostOfKind);
    return [
      ...of("view"), ...of("plan"), ...of("part"), ...of("layer"), ...arrays("tensors", "tensor", "placement"), ...of("source line"), ...of("collective"),
      ...arrays("operators", "operator", "network"),
    ];
  }
}
