// The time of a program's step by what takes it.

import { type Collective, phases, type Plan, type Program, sum } from "./data";

/** What each group of devices does in a step: forward and backward of all micro-batches, the update once. */
export function stageTimes(plan: Plan): [forward: number, backward: number, update: number][] {
  const groups = plan.stages.length / plan.chunks;
  return Array.from({ length: groups }, (_, g) => {
    const own = plan.stages.filter((_, s) => s % groups === g);
    return [
      plan.micro_batches * sum(own.map((stage) => stage.forward)),
      plan.micro_batches * sum(own.map((stage) => stage.backward)),
      sum(own.map((stage) => stage.update)),
    ];
  });
}

export interface PhaseTime {
  phase: string;
  compute: number;
  communication: number;
}

export function byPhase(program: Program): PhaseTime[] {
  const result = phases.map((phase) => ({ phase: phase || "elsewhere", compute: 0, communication: 0 }));
  const { instructions, moves } = program;
  instructions.seconds.forEach((seconds, i) => {
    result[instructions.phase[i]].compute += seconds;
  });
  for (const move of moves) {
    result[instructions.phase[move.instruction]].communication += move.collective.seconds;
  }
  return result.filter((one) => one.compute + one.communication > 0).sort((a, b) => order(a.phase) - order(b.phase));
}

const order = (phase: string): number => (phase === "elsewhere" ? phases.length : phases.indexOf(phase as "forward"));

export interface OpcodeTime {
  opcode: string;
  count: number;
  seconds: number;
}

export function byOpcode(program: Program): OpcodeTime[] {
  const result = program.opcodes.map((opcode) => ({ opcode, count: 0, seconds: 0 }));
  const { opcode, seconds } = program.instructions;
  seconds.forEach((value, i) => {
    result[opcode[i]].seconds += value;
    result[opcode[i]].count += 1;
  });
  return result.filter((one) => one.seconds > 0).sort((a, b) => b.seconds - a.seconds);
}

export interface CostlyMove extends Collective {
  /** Operators, the dearest first. */
  instructions: number[];
}

/** The dearest collectives, those that equal operators of all layers cause in one row. */
export function dearestMoves(program: Program, most: number): CostlyMove[] {
  const groups = new Map<string, CostlyMove>();
  const { instructions, moves } = program;
  for (const { instruction, collective } of moves) {
    const opName = program.op_names[instructions.op_name[instruction]] ?? instructions.name[instruction];
    const key = [collective.kind, collective.axes.join(), instructions.phase[instruction], opName.replace(/\d+/g, "*"), collective.bytes].join("|");
    const group = groups.get(key);
    if (group) {
      group.count += collective.count;
      group.bytes += collective.bytes;
      group.seconds += collective.seconds;
      group.instructions.push(instruction);
    } else {
      groups.set(key, { ...collective, instructions: [instruction] });
    }
  }
  return [...groups.values()].sort((a, b) => b.seconds - a.seconds).slice(0, most);
}
