// One step of a program as the plan costs it: every operator waits for its own collectives, then
// computes, without overlap. It takes compute + communication, the plan's objective.

import type { Program } from "./data";
import type { GanttRow } from "./gantt";
import { shortened } from "./text";

export function stepTimeline(
  program: Program,
  text: (seconds: number) => string,
): { rows: GanttRow[]; seconds: number } {
  const { instructions, moves } = program;
  const compute = { start: [] as number[], end: [] as number[], index: [] as number[] };
  const communication = { start: [] as number[], end: [] as number[], index: [] as number[] };
  let now = 0;
  let move = 0;
  instructions.seconds.forEach((seconds, i) => {
    for (; move < moves.length && moves[move].instruction === i; move += 1) {
      const takes = moves[move].collective.seconds;
      if (takes <= 0) continue;
      communication.start.push(now);
      communication.end.push(now + takes);
      communication.index.push(move);
      now += takes;
    }
    if (seconds <= 0) return;
    compute.start.push(now);
    compute.end.push(now + seconds);
    compute.index.push(i);
    now += seconds;
  });
  const row = (
    name: string,
    colour: number,
    boxes: typeof compute,
    label: (index: number) => string,
    describe: (index: number) => string,
  ): GanttRow => ({
    name,
    start: Float64Array.from(boxes.start),
    end: Float64Array.from(boxes.end),
    colour: new Uint8Array(boxes.start.length).fill(colour),
    label: (b) => label(boxes.index[b]),
    describe: (b) =>
      `${describe(boxes.index[b])}: from ${text(boxes.start[b])}, takes ${text(boxes.end[b] - boxes.start[b])}.`,
  });
  return {
    rows: [
      row(
        "compute",
        0,
        compute,
        (i) => program.opcodes[instructions.opcode[i]],
        (i) => `${shortened(instructions.name[i], 300)} (${program.opcodes[instructions.opcode[i]]})`,
      ),
      row(
        "communication",
        1,
        communication,
        (m) => moves[m].collective.kind,
        (m) =>
          `${moves[m].collective.kind} over ${moves[m].collective.axes.join(", ")} for ${shortened(instructions.name[moves[m].instruction], 300)}`,
      ),
    ],
    seconds: now,
  };
}
