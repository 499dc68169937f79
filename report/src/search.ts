// Finds arrays and operators by name.

import type { ArrayReference } from "./context";
import { type Move, phases, type Plan, type Program, type Spec, type TensorType } from "./data";
import { globMatcher, isGlob } from "./glob";

/** What stands for an array in lists. */
export interface Found extends ArrayReference {
  name: string;
  type: TensorType;
  spec: Spec;
  /** "parameter", "output" or the opcode. */
  what: string;
}

export function find(program: Program, reference: ArrayReference): Found {
  if (reference.list === "instructions") {
    const { name, opcode, type, spec } = program.instructions;
    const i = reference.index;
    return { ...reference, name: name[i], type: program.types[type[i]], spec: program.specs[spec[i]], what: program.opcodes[opcode[i]] };
  }
  const tensor = program[reference.list][reference.index];
  return { ...reference, name: tensor.name, type: tensor, spec: tensor.spec, what: reference.list === "parameters" ? "parameter" : "output" };
}

/** Tells texts that fit a query, or `null` where it is no pattern and has but to be in a text. */
function patternOf(wanted: string): ((text: string) => boolean) | null {
  if (!isGlob(wanted)) return null;
  const fits = globMatcher(wanted);
  return (text) => text.split("\n").some(fits);
}

/**
 * Tells which of `texts` are found: those with the query in a line of theirs, and where that finds
 * nothing those with all its words in a line ("layer5 w1"). A pattern must fit the whole of a line,
 * and a part where that finds nothing. Case does not matter: `texts` are in lower case.
 */
export function matcherOf(query: string, texts: readonly string[]): (text: string) => boolean {
  const wanted = query.trim().toLowerCase();
  const whole = patternOf(wanted);
  if (whole === null) {
    const asItIs = (text: string) => text.includes(wanted);
    const words = wanted.split(/\s+/);
    if (words.length < 2 || texts.some(asItIs)) return asItIs;
    return (text) => text.split("\n").some((line) => words.every((word) => line.includes(word)));
  }
  return texts.some(whole) ? whole : patternOf(`*${wanted}*`)!;
}

/** What the parameters of a program are called in the stages that are equal to the one that lists them. */
export function aliasesOf(plan: Plan, program: number): string[][] {
  const own = plan.stages.filter((stage) => stage.program === program && stage.parameter_names.length > 0);
  return own.length === 0 ? [] : plan.programs[program].parameters.map((_, i) => own.map((stage) => stage.parameter_names[i]));
}

/** Everything that has a name in a program, ready to be searched; a line each for its names. */
export class Index {
  private readonly texts: string[] = [];
  private readonly references: ArrayReference[] = [];

  /** `aliases`: by parameter what it is called in other stages. */
  constructor(program: Program, number: number, lists: ArrayReference["list"][], aliases: string[][] = []) {
    const add = (list: ArrayReference["list"], index: number, text: string) => {
      this.texts.push(text.toLowerCase());
      this.references.push({ program: number, list, index });
    };
    for (const list of lists) {
      if (list !== "instructions") {
        program[list].forEach((tensor, i) => add(list, i, [tensor.name, tensor.category, tensor.kind, ...(list === "parameters" ? aliases[i] ?? [] : [])].join("\n")));
        continue;
      }
      const { name, opcode, op_name, source, phase } = program.instructions;
      name.forEach((text, i) =>
        add(list, i, [text, program.opcodes[opcode[i]], program.op_names[op_name[i]] ?? "", program.sources[source[i]] ?? "", phases[phase[i]]].join("\n")),
      );
    }
  }

  /** Those that `matcherOf` finds, the first `most`. */
  search(query: string, most = Infinity): ArrayReference[] {
    const fits = matcherOf(query, this.texts);
    const found: ArrayReference[] = [];
    for (let i = 0; i < this.texts.length && found.length < most; i += 1) if (fits(this.texts[i])) found.push(this.references[i]);
    return found;
  }
}

/** The operators that stand for parameters, by their own names and by those of the metadata. */
export function parameterOperators(program: Program): Map<string, number> {
  const { name, opcode, op_name } = program.instructions;
  const result = new Map<string, number>();
  name.forEach((text, i) => {
    if (program.opcodes[opcode[i]] !== "parameter") return;
    result.set(text, i);
    if (op_name[i] >= 0) result.set(program.op_names[op_name[i]], i);
  });
  return result;
}

/** The operator that makes or stands for an array; outputs have none of their own. */
export function operatorOf(program: Program, reference: ArrayReference, names: Map<string, number>): number | undefined {
  if (reference.list === "instructions") return reference.index;
  if (reference.list !== "parameters") return undefined;
  return names.get(program.parameters[reference.index].name);
}

/** A collective that moves an array. */
export interface ArrayMove extends Move {
  /** The operator whose result is a view of the array and is what moves; -1: the array itself. */
  through: number;
}

/** Operators that read the result of one, and the collectives that move it for them, or views of it further along. */
export function usesOf(program: Program, operator: number): { users: number[]; moves: ArrayMove[] } {
  const { instructions, moves } = program;
  const mostViews = 64;
  const isView = program.opcodes.map((_, i) => program.views.includes(i));
  const views = [operator];
  for (let at = 0; at < views.length && views.length < mostViews; at += 1) {
    instructions.operands.forEach((operands, i) => {
      if (operands[0] === views[at] && isView[instructions.opcode[i]]) views.push(i);
    });
  }
  return {
    users: instructions.operands.flatMap((operands, i) => (operands.includes(operator) ? [i] : [])),
    moves: views.flatMap((view, at) => moves.filter((move) => move.value === view).map((move) => ({ ...move, through: at === 0 ? -1 : view }))),
  };
}
