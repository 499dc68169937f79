// The time of a program's step by what takes it.

import { phases, type Plan, type Program, sum } from "./data";
import { communicationColour, computeColour, contentionColour, launchColour, waitingColour } from "./palette";
import type { Part } from "./parts/basic";
import type { StepParts } from "./step_lanes";

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

/** What a step consists of, in the words and colours of all pages. Communication is exposed where kernels wait for it, and where it takes from them. */
export function stepParts(plan: Plan, parts: StepParts): Part[] {
  const all = [
    { name: "computation", value: parts.computation, colour: computeColour },
    { name: "exposed communication, waited for", value: parts.exposed, colour: communicationColour },
    { name: "idle", value: parts.idle, colour: waitingColour },
    { name: "exposed communication, contention", value: parts.contention, colour: contentionColour },
    { name: "launch overhead", value: parts.launch, colour: launchColour },
    { name: plan.profile ? "measured beyond the cost model" : "other", value: parts.rest, colour: waitingColour },
  ];
  // What rounding leaves is no part.
  const least = 1e-6 * sum(all.map((part) => part.value));
  return all.filter((part) => part.value > least);
}

export interface OpcodeTime {
  opcode: string;
  count: number;
  seconds: number;
}

/** With what is recomputed. */
export function byOpcode(program: Program): OpcodeTime[] {
  const result = program.opcodes.map((opcode) => ({ opcode, count: 0, seconds: 0 }));
  const { opcode, phase, seconds } = program.instructions;
  const forward = phases.indexOf("forward");
  seconds.forEach((value, i) => {
    result[opcode[i]].seconds += program.recompute && phase[i] === forward ? 2 * value : value;
    result[opcode[i]].count += 1;
  });
  return result.filter((one) => one.seconds > 0).sort((a, b) => b.seconds - a.seconds);
}
