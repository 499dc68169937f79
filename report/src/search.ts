// Finds arrays and operators by name.

import type { ArrayReference } from "./context";
import { type Move, phases, type Plan, type Program, type Spec, type TensorType } from "./data";

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

/**
 * Whether a text fits: a pattern with * and ? must fit the whole of it or of its last part after a
 * line break, anything else must be in it. Case does not matter.
 */
export function matcher(query: string): (text: string) => boolean {
  const wanted = query.trim().toLowerCase();
  if (!/[*?]/.test(wanted)) return (text) => text.includes(wanted);
  const pattern = wanted.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, "[^\\n]*").replace(/\?/g, "[^\\n]");
  const expression = new RegExp(`^${pattern}$`, "mu");
  return (text) => expression.test(text);
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

  search(query: string): ArrayReference[] {
    const fits = matcher(query);
    return this.references.filter((_, i) => fits(this.texts[i]));
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

/** Operators that read the result of one, and the collectives that move it for them. */
export function usesOf(program: Program, operator: number): { users: number[]; moves: Move[] } {
  return {
    users: program.instructions.operands.flatMap((operands, i) => (operands.includes(operator) ? [i] : [])),
    moves: program.moves.filter((move) => move.value === operator),
  };
}
