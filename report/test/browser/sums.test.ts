// Every figure that is a sum equals the sum of the parts that stand beside it, on plans of all kinds
// whose sizes and options are drawn at random.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { type Plan, type Report, sum } from "../../src/data";
import { groupMemory } from "../../src/memory_over_time";
import { modelLanes } from "../../src/model_lanes";
import { schedulePath } from "../../src/schedule_path";
import { byOpcode } from "../../src/step_breakdown";
import { memoryParts, timeParts, transformerMemory } from "../../src/views/summary";
import { stepPicture } from "../../src/views/timeline";
import { mixedCluster } from "../kinds";
import { Folder, meshwright } from "../support";

const folder = new Folder();
after(() => folder.remove());

/** What a page of these plans is given. */
function plansOf(...files: string[]): Plan[] {
  const html = readFileSync(folder.report("page.html", ...files), "utf8");
  return (JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)![1]) as Report).plans;
}

// Figures of single operators have five digits in the page.
const near = (a: number, b: number, what: string) => assert.ok(Math.abs(a - b) <= 2e-4 * Math.max(Math.abs(a), Math.abs(b)) + 1e-12, `${what}: ${a} and ${b}`);

const seed = Number(process.env.MESHWRIGHT_SEED ?? Math.floor(1e9 * Math.random()));
let state = seed;
function random<T>(choices: readonly T[]): T {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return choices[Math.floor((state / 2 ** 32) * choices.length)];
}
const cases = Number(process.env.MESHWRIGHT_CASES ?? 3);

function plan(name: string, ...options: string[]): string {
  meshwright("plan", ...options, "-o", folder.file(name));
  return folder.file(name);
}

function checkPrograms(one: Plan): void {
  for (const [number, program] of one.programs.entries()) {
    const { seconds } = program.instructions;
    const moved = sum(program.moves.map((move) => move.collective.seconds));
    const phases = (which: "compute" | "communication") => sum(program.phases.filter((phase) => phase.phase !== "recomputation").map((phase) => phase[which]));
    near(phases("compute"), sum(seconds), "phases compute");
    near(phases("communication"), moved, "phases communicate");
    near(sum(program.collectives.map((collective) => collective.seconds)), moved, "collectives by kind");
    near(sum(program.segments.flatMap((segment, s) => program.nodes.filter((node) => node.segment === s).map((node) => node.layers.length * segment.seconds))), sum(seconds), "segments");
    if (!program.recompute) near(sum(byOpcode(program).map((opcode) => opcode.seconds)), sum(seconds), "operators");
    const { parts, seconds: shown, rows } = stepPicture(one, number, one.stages.length === 0 && program.step ? one.step : null, String);
    const { hidden, ...own } = parts;
    near(sum(Object.values(own)), shown, "parts of the step");
    near(Math.max(...rows.map((row) => row.end[row.end.length - 1])), shown, "lanes of the step");
    if (one.stages.length === 0) {
      near(sum(seconds), one.compute, "computation");
      near(moved, one.communication, "communication");
      near(shown, program.step ? one.step : one.compute + one.communication, "the step");
    }
  }
}

function check(one: Plan): void {
  const total = (parts: { value: number }[]) => sum(parts.map((part) => part.value));
  if (!one.transformer?.over_groups && one.stages.length === 0) near(total(timeParts(one)), one.step, "the step's parts");
  if (one.transformer) {
    near(total(transformerMemory(one)), one.peak, "memory by what the framework keeps");
    near(sum(Object.values(one.transformer.seconds)), one.step, "the model's step");
    for (const other of one.transformer.alternatives) near(one.step + sum(Object.values(other.slower_by)), other.seconds, `alternative ${other.degrees}`);
    if (!one.timeline) near(modelLanes(one, String).seconds, one.step, "lanes of a model");
  } else {
    near(total(memoryParts(one.memory)), one.peak, "memory by category");
  }
  if (one.timeline) {
    near(one.timeline.seconds, one.transformer ? one.step : one.objective, "the pipeline's step");
    if (!one.transformer) near(total(timeParts(one)), Math.max(one.step, one.objective), "the pipeline's parts");
    near(Math.max(...one.timeline.end), one.timeline.shown_seconds, "its last task");
    const path = schedulePath(one.timeline);
    near(sum(path.map((link) => link.end - link.start)), one.timeline.seconds, "its critical path");
    groupMemory(one, one.timeline).forEach((memory, group) => {
      const most = one.stages[group].peak_of_group;
      assert.ok(memory.fixed + Math.max(...memory.inFlight) <= most * (1 + 1e-9) + 1, `memory of group ${group}`);
    });
  }
  checkPrograms(one);
}

test(`sums are those of their parts (MESHWRIGHT_SEED=${seed})`, () => {
  const files: string[] = [];
  const program = (which: string, ...options: string[]) => plan(`${files.length}.json`, `${process.env.MESHWRIGHT_REPOSITORY ?? ".."}/tests/data/hlo/${which}`, ...options);
  const model = (...options: string[]) => plan(`${files.length}.json`, "gpt3-1.3b", "--global-batch", random(["32", "64", "128"]), "--seq", random(["1024", "2048"]), ...options);
  for (let i = 0; i < cases; i += 1) {
    files.push(program(random(["mlp_adam.train.hlo.txt", "mlp_wide_batch.train.hlo.txt", "tiny_gpt.train.hlo.txt.gz"]), "--cluster", random(["8xh100-sxm", "2x4xa100-80g"]), "--mesh", random(["x=2,y=4", "8", "x=4,y=2"]), "--memory", "unlimited"));
    files.push(program("pipeline/tied_clip.train.hlo.txt.gz", "--cluster", "4xh100-sxm", "--pipeline", random(["2", "auto"]), "--micro-batches", random(["2", "4"]), "--schedule", random(["1f1b", "gpipe", "zb-h1"])));
    files.push(model("--cluster", random(["8xh100-sxm", "2x8xh100-sxm", "4x8xa100-80g"]), ...random([[], ["--fix", "pp=2"], ["--fix", "tp=2"]])));
  }
  files.push(model("--cluster", folder.write("mixed.yaml", mixedCluster)));
  for (const one of plansOf(...files)) {
    try {
      check(one);
    } catch (error) {
      (error as Error).message += ` (${one.file}, a plan of ${one.program_name} on ${one.cluster.name})`;
      throw error;
    }
  }
});
