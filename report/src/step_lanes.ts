// One step of a program, as the plan costs it: when each operator and collective runs, what hides
// behind what, and which of them the step waits for. With the plan's times of an overlapped step
// (docs/plan-schema.md) everything adds up to the step; without them operators wait for their own
// collectives, without overlap.

import { nodeOf, type Plan, type Program, sum } from "./data";

/** Collectives that run as one: indices of the program's moves. */
export interface StepRun {
  start: number;
  end: number;
  moves: number[];
}

export interface StepSchedule {
  overlapped: boolean;
  /** By instruction, in seconds. */
  start: Float64Array;
  /** As they start. */
  runs: StepRun[];
  /** Of the last operator or collective. */
  end: number;
  contention: number;
  launch: number;
}

const parts = 1e7; // of the end, that moments are counted in (program_view.cc)

function overlapped(program: Program): StepSchedule {
  const step = program.step!;
  const seconds = (moment: number) => (moment / parts) * step.end;
  const { runs } = step;
  return {
    overlapped: true,
    start: Float64Array.from(step.start, seconds),
    runs: runs.start.map((start, r) => ({ start: seconds(start), end: seconds(runs.end[r]), moves: runs.moves[r] })),
    end: step.end,
    contention: step.contention,
    launch: step.launch,
  };
}

function serial(program: Program): StepSchedule {
  const { instructions, moves } = program;
  const start = new Float64Array(instructions.seconds.length);
  const runs: StepRun[] = [];
  let now = 0;
  let move = 0;
  instructions.seconds.forEach((seconds, i) => {
    for (; move < moves.length && moves[move].instruction === i; move += 1) {
      const takes = moves[move].collective.seconds;
      runs.push({ start: now, end: now + takes, moves: [move] });
      now += takes;
    }
    start[i] = now;
    now += seconds;
  });
  return { overlapped: false, start, runs, end: now, contention: 0, launch: 0 };
}

export const scheduleOf = (program: Program): StepSchedule => (program.step ? overlapped(program) : serial(program));

/** Something that a lane shows: an operator, or a part of a run of collectives. */
export interface Box {
  start: number;
  end: number;
  /** -1: none. */
  operator: number;
  run: number;
  hidden: boolean;
}

/** Operators that take time, as they run. */
export function kernelsOf(program: Program, schedule: StepSchedule): Box[] {
  const boxes: Box[] = [];
  program.instructions.seconds.forEach((seconds, i) => {
    if (seconds > 0) boxes.push({ start: schedule.start[i], end: schedule.start[i] + seconds, operator: i, run: -1, hidden: false });
  });
  boxes.sort((a, b) => a.start - b.start);
  return boxes;
}

/** Each run in the parts during which a kernel runs as well, and those during which none does. */
export function communicationOf(schedule: StepSchedule, kernels: readonly Box[]): Box[] {
  const boxes: Box[] = [];
  const least = 1e-7 * schedule.end; // what rounding leaves is no part
  let first = 0;
  schedule.runs.forEach((run, r) => {
    const add = (start: number, end: number, hidden: boolean) => {
      const last = boxes[boxes.length - 1];
      if (last && last.run === r && last.hidden === hidden) last.end = end;
      else if (end - start > least) boxes.push({ start, end, operator: -1, run: r, hidden });
    };
    while (first < kernels.length && kernels[first].end <= run.start) first += 1;
    let now = run.start;
    for (let k = first; k < kernels.length && kernels[k].start < run.end; k += 1) {
      const [from, to] = [Math.max(kernels[k].start, now), Math.min(kernels[k].end, run.end)];
      if (from - now > least) add(now, from, false);
      if (to > from) add(from, to, true);
      now = Math.max(now, to);
    }
    if (run.end - now > least) add(now, run.end, false);
  });
  return boxes;
}

/**
 * What the end of the step waited for, as it ran: each begins when the one before it ends, on the
 * same queue if that was busy until then, else on the other.
 */
export function criticalPath(schedule: StepSchedule, kernels: readonly Box[]): Box[] {
  const runs: Box[] = schedule.runs.map((run, r) => ({ start: run.start, end: run.end, operator: -1, run: r, hidden: false })).filter((box) => box.end > box.start);
  const queues = [kernels, runs];
  const slack = 3e-7 * schedule.end;
  // The last of a queue that ends at `time` or before it, and began before `start`.
  const before = (queue: number, time: number, start: number): Box | undefined => {
    const list = queues[queue];
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].end <= time + slack) low = middle + 1;
      else high = middle;
    }
    while (low > 0 && list[low - 1].start >= start) low -= 1;
    return list[low - 1];
  };
  const path: Box[] = [];
  let time = schedule.end;
  let queue = 0;
  for (;;) {
    const start = path.length > 0 ? time : Infinity;
    const [same, other] = [before(queue, time, start), before(1 - queue, time, start)];
    const next = same && (!other || same.end >= time - slack || same.end >= other.end) ? same : other;
    if (!next) break;
    path.push(next);
    queue = next.operator >= 0 ? 0 : 1;
    time = next.start;
  }
  return path.reverse();
}

/** What a step consists of; it adds up to it. `rest`: what this order of the program does not explain. */
export interface StepParts {
  computation: number;
  exposed: number;
  idle: number;
  contention: number;
  launch: number;
  rest: number;
  /** Communication behind kernels: no part of the step. */
  hidden: number;
}

/** `step`: of the plan; what is measured may be more or less than what the cost model has. */
export function partsOf(program: Program, step: number | null): StepParts {
  const schedule = scheduleOf(program);
  const kernels = kernelsOf(program, schedule);
  const boxes = communicationOf(schedule, kernels);
  const length = (hidden: boolean) => sum(boxes.filter((box) => box.hidden === hidden).map((box) => box.end - box.start));
  const computation = sum(program.instructions.seconds);
  const exposed = length(false);
  const whole = schedule.end + schedule.contention + schedule.launch;
  const rest = step === null ? 0 : step - whole;
  return {
    computation,
    exposed,
    idle: Math.max(0, schedule.end - computation - exposed),
    contention: schedule.contention,
    launch: schedule.launch,
    rest: Math.abs(rest) > 1e-6 * whole ? rest : 0,
    hidden: length(true),
  };
}

/** Whether the devices of a collective over `axes` are in several nodes. */
export function spansNodes(plan: Plan, number: number, axes: readonly string[]): boolean {
  const { mesh } = plan.programs[number];
  const devices = plan.stages.find((stage) => stage.program === number)?.devices;
  let group = [0];
  let stride = 1;
  for (const axis of [...mesh].reverse()) {
    const own = stride;
    if (axes.includes(axis.name)) group = group.flatMap((device) => Array.from({ length: axis.size }, (_, i) => device + i * own));
    stride *= axis.size;
  }
  const nodes = new Set(group.map((device) => nodeOf(plan, devices?.[device] ?? device)));
  return nodes.size > 1;
}
