// The step of a model's plan in lanes. Such a plan has sums and no events: micro-batches share alike
// what belongs to them, and everything adds up to the step.

import { nodeOf, type Plan, sum } from "./data";
import type { GanttRow } from "./gantt";
import { stepPartColour, stepPartName } from "./palette";
import type { Part } from "./parts/basic";
import { coordinates, placedCoordinates } from "./tiles";

/** What each micro-batch does, and over which axis of the mesh it communicates. */
const ofMicroBatch: [part: string, axis: string | null][] = [
  ["compute", null],
  ["tensor_communication", "tp"],
  ["context_communication", "cp"],
  ["expert_communication", "dp"],
  ["pipeline_communication", "pp"],
];
const mostBoxes = 4096;

/** Whether the devices along an axis of the mesh are in several nodes. */
export function axisSpansNodes(plan: Plan, name: string): boolean {
  const placement = plan.transformer?.placement ?? null;
  const count = plan.mesh.reduce((product, axis) => product * axis.size, 1);
  const nodes = new Set<number>();
  for (let i = 0; i < count; i += 1) {
    const at = placement ? placedCoordinates(plan.mesh, placement, i) : coordinates(plan.mesh, i);
    if (plan.mesh.every((axis, a) => axis.name === name || at[a] === 0)) nodes.add(nodeOf(plan, i));
  }
  return nodes.size > 1;
}

interface Box {
  lane: "compute" | "links in a node" | "network" | "host" | "waiting";
  part: number;
  start: number;
  end: number;
  what: string;
}

export function modelLanes(plan: Plan, text: (seconds: number) => string): { rows: GanttRow[]; seconds: number; parts: Part[] } {
  const { seconds } = plan.transformer!;
  const whole = sum(Object.values(seconds));
  const names = Object.keys(seconds).filter((name) => seconds[name] > 1e-9 * whole);
  const parts = names.map((name) => ({ name: stepPartName(name), value: seconds[name], colour: stepPartColour(name) }));
  const boxes: Box[] = [];
  let now = 0;
  const add = (lane: Box["lane"], name: string, takes: number, what: string) => {
    if (!names.includes(name) || takes <= 0) return;
    boxes.push({ lane, part: names.indexOf(name), start: now, end: now + takes, what });
    now += takes;
  };
  const spans = new Map<string, boolean>();
  const linksOf = (axis: string): Box["lane"] => {
    if (!spans.has(axis)) spans.set(axis, axisSpansNodes(plan, axis));
    return spans.get(axis) ? "network" : "links in a node";
  };
  add("waiting", "bubble", seconds.bubble, "waits for other pipeline groups");
  // Of very many micro-batches several share a box.
  const count = Math.max(1, Math.min(plan.micro_batches, Math.floor(mostBoxes / ofMicroBatch.length)));
  for (let m = 0; m < count; m += 1) {
    for (const [name, axis] of ofMicroBatch) {
      const which = count === plan.micro_batches ? `micro-batch ${m}` : `${(plan.micro_batches / count).toFixed(1)} micro-batches`;
      add(axis === null ? "compute" : linksOf(axis), name, seconds[name] / count, `${stepPartName(name)} of ${which}`);
    }
  }
  add(linksOf("dp"), "data_communication", seconds.data_communication, "exposed communication of gradients and weights");
  add("host", "host_communication", seconds.host_communication, "exposed communication with the host's memory");
  add("compute", "optimizer", seconds.optimizer, "optimizer");
  const lanes = ["compute", "links in a node", "network", "host", "waiting"] as const;
  const rows = lanes.flatMap((lane): GanttRow[] => {
    const list = boxes.filter((box) => box.lane === lane);
    if (list.length === 0) return [];
    return [
      {
        name: lane,
        start: Float64Array.from(list, (box) => box.start),
        end: Float64Array.from(list, (box) => box.end),
        colour: Uint8Array.from(list, (box) => box.part),
        label: (b) => parts[list[b].part].name,
        describe: (b) => `${list[b].what}: from ${text(list[b].start)}, takes ${text(list[b].end - list[b].start)}.`,
      },
    ];
  });
  return { rows, seconds: now, parts };
}
