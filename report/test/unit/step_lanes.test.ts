import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plan, Program } from "../../src/data";
import { stepParts } from "../../src/step_breakdown";
import { communicationOf, criticalPath, kernelsOf, partsOf, scheduleOf, spansNodes } from "../../src/step_lanes";
import { sampleProgram } from "../sample";

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(a), Math.abs(b)), `${a} is not ${b}`);
const length = (boxes: readonly { start: number; end: number }[]) => boxes.reduce((all, box) => all + box.end - box.start, 0);

/** A generator of numbers in [0, 1), the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A program of `kernels` operators in a row and collectives beside them, as a queue of each runs. */
function randomProgram(seed: number): { program: Program; step: number } {
  const random = randomOf(seed);
  const program = sampleProgram(1, 2);
  const kernels = 1 + Math.floor(20 * random());
  const seconds: number[] = [];
  const start: number[] = [];
  const runs: { start: number; end: number }[] = [];
  program.moves = [];
  let compute = 0;
  let link = 0;
  for (let i = 0; i < kernels; i += 1) {
    if (random() < 0.5) {
      // It begins when what it moves is there: the result of one of the operators before it.
      const maker = Math.floor(i * random());
      const run = { start: Math.max(link, i === 0 ? 0 : start[maker] + seconds[maker]), end: 0 };
      run.end = run.start + random();
      link = run.end;
      program.moves.push({ instruction: i, value: -1, collective: { kind: "all-gather", axes: ["y"], count: 1, bytes: 1, seconds: run.end - run.start } });
      runs.push(run);
      if (random() < 0.5) compute = Math.max(compute, run.end);
    }
    start.push(compute);
    seconds.push(random() < 0.2 ? 0 : random() < 0.2 ? 1e-9 : random());
    compute += seconds[i];
  }
  const end = Math.max(compute, link);
  const parts = (moment: number) => Math.round((moment / end) * 1e7);
  program.instructions.seconds = seconds;
  program.step = {
    end, contention: random(), launch: random(), start: start.map(parts),
    runs: { start: runs.map((run) => parts(run.start)), end: runs.map((run) => parts(run.end)), moves: runs.map((_, r) => [r]) },
  };
  return { program, step: end + program.step.contention + program.step.launch };
}

test("without the plan's times operators wait for their own collectives", () => {
  const program = sampleProgram(3, 4);
  const schedule = scheduleOf(program);
  const kernels = kernelsOf(program, schedule);
  const compute = program.instructions.seconds.reduce((a, b) => a + b, 0);
  near(schedule.end, compute + 6e-3);
  assert.ok(communicationOf(schedule, kernels).every((box) => !box.hidden));
  near(length(communicationOf(schedule, kernels)), 6e-3);
  near(partsOf(program, null).exposed, 6e-3);
});

test("the parts of a step add up to it, and the critical path to its last operator", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const { program, step } = randomProgram(seed);
    const schedule = scheduleOf(program);
    const kernels = kernelsOf(program, schedule);
    for (const shown of [step, step + 0.5]) {
      const parts = partsOf(program, shown);
      near(stepParts({ profile: null } as Plan, parts).reduce((all, part) => all + part.value, 0), shown);
      near(parts.hidden + parts.exposed, length(schedule.runs));
    }
    const boxes = communicationOf(schedule, kernels);
    for (const box of boxes.filter((one) => !one.hidden)) {
      for (const one of kernels) assert.ok(one.end <= box.start + 1e-5 || one.start >= box.end - 1e-5, `seed ${seed}`);
    }
    const path = criticalPath(schedule, kernels);
    near(path[path.length - 1].end, schedule.end);
    near(path[0].start, 0);
    near(length(path), schedule.end);
    for (let b = 1; b < path.length; b += 1) assert.ok(Math.abs(path[b].start - path[b - 1].end) < 2e-5, `seed ${seed}`);
  }
});

test("a collective is on the network where its devices are in several nodes", () => {
  const program = sampleProgram(1, 2); // x=2, y=2, the last axis next to each other
  const plan = { programs: [program], stages: [], cluster: { name: "", parts: [{ device: "d", nodes: 2, per_node: 2, memory: 1 }] } } as unknown as Plan;
  assert.deepEqual([["x"], ["y"], ["x", "y"]].map((axes) => spansNodes(plan, 0, axes)), [true, false, true]);
  const placed = { ...plan, stages: [{ program: 0, devices: [0, 2, 1, 3] }] } as unknown as Plan;
  assert.deepEqual([["x"], ["y"]].map((axes) => spansNodes(placed, 0, axes)), [false, true]);
});
