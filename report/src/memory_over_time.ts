// Memory of a device of each group of a pipeline over the step: what its stages hold whatever
// happens, and what each micro-batch keeps between its forward and its last backward task.

import type { Plan, Timeline } from "./data";

export interface GroupMemory {
  fixed: number;
  times: number[];
  /** Bytes of micro-batches in flight from that time on. */
  inFlight: number[];
}

export function groupMemory(plan: Plan, tasks: Timeline): GroupMemory[] {
  const last = tasks.kind.includes(2) ? 2 : 1; // weight gradients end it where there are some
  const changes: { time: number; bytes: number }[][] = Array.from({ length: tasks.groups }, () => []);
  tasks.group.forEach((group, i) => {
    const bytes = plan.stages[tasks.stage[i]].in_flight;
    if (tasks.kind[i] === 0) changes[group].push({ time: tasks.start[i], bytes });
    if (tasks.kind[i] === last) changes[group].push({ time: tasks.end[i], bytes: -bytes });
  });
  return changes.map((list, group) => {
    // What ends makes room for what begins at the same time.
    list.sort((a, b) => a.time - b.time || a.bytes - b.bytes);
    const result: GroupMemory = {
      fixed: plan.stages.reduce((total, stage, s) => total + (s % tasks.groups === group ? stage.fixed : 0), 0),
      times: [0],
      inFlight: [0],
    };
    let now = 0;
    for (const change of list) {
      now += change.bytes;
      const end = result.times.length - 1;
      if (result.times[end] === change.time) {
        result.inFlight[end] = now;
      } else {
        result.times.push(change.time);
        result.inFlight.push(now);
      }
    }
    result.times.push(tasks.shown_seconds);
    result.inFlight.push(now);
    return result;
  });
}

/** At most `most` points of `values`, each the largest of its stretch. */
export function thinned(times: number[], values: number[], most: number): { times: number[]; values: number[] } {
  if (times.length <= most) return { times, values };
  const result = { times: [] as number[], values: [] as number[] };
  const stretch = times.length / most;
  for (let k = 0; k < most; k += 1) {
    const [first, end] = [Math.floor(k * stretch), Math.floor((k + 1) * stretch)];
    let best = first;
    for (let i = first; i < end; i += 1) if (values[i] > values[best]) best = i;
    result.times.push(times[first]);
    result.values.push(values[best]);
  }
  result.times.push(times[times.length - 1]);
  result.values.push(values[values.length - 1]);
  return result;
}
