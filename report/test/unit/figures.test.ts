import assert from "node:assert/strict";
import { test } from "node:test";
import type { OverGroups, Plan, Report } from "../../src/data";
import { decimalTicks, spread } from "../../src/parts/chart";
import { busiestProgram } from "../../src/parts/program_choice";
import { layersByGroup, nodesText } from "../../src/views/front";
import { choiceText } from "../../src/views/measured";
import { allViews } from "../../src/views/index";
import { degreesText, timeParts, transformerMemory } from "../../src/views/summary";
import { sampleModel, samplePipeline, sampleProgram } from "../sample";

const over: OverGroups = {
  groups: [
    { name: "fast", device: "a", nodes: 2, per_node: 4, used_nodes: 2, stages: 1, tp: 1, dp: 8, micro_batch: 4, dollars_per_hour: 20 },
    { name: "slow", device: "b", nodes: 7, per_node: 4, used_nodes: 4, stages: 2, tp: 2, dp: 8, micro_batch: 4, dollars_per_hour: 10 },
    { name: "none", device: "c", nodes: 1, per_node: 4, used_nodes: 0, stages: 0, tp: 0, dp: 0, micro_batch: 0, dollars_per_hour: null },
  ],
  stage_groups: [0, 1, 1], steps: 10, most_seconds: null, most_dollars: null, dollars: 2,
  choices: [{ nodes: [2, 4, 0], seconds: 1, dollars: 2, degrees: "", is_bound: false, on_front: true, beaten_by: null, groups: [0, 1, 1], layers: [40, 4, 3] }],
};

test("choices of nodes in words", () => {
  assert.equal(nodesText(over, [2, 4, 0]), "2 of fast, 4 of slow");
  assert.equal(nodesText(over, [0, 0, 0]), "none");
  assert.equal(layersByGroup(over, over.choices[0]), "40 on fast, 7 on slow (2 stages)");
});

test("what was chosen for a segment is said in words", () => {
  assert.equal(choiceText("[x] > m=x > [_]"), "enters as [x], runs m=x, leaves as [_]");
  assert.equal(choiceText("- > > [_,_,_]"), "nothing enters, leaves as [_,_,_]");
  assert.equal(choiceText("- > n=y > -"), "nothing enters, runs n=y, nothing leaves");
  assert.equal(choiceText("other"), "other");
});

test("degrees have those of experts, and none that groups do not share", () => {
  const plan = sampleModel();
  assert.equal(degreesText(plan), "tp\u00a02, pp\u00a02, ep\u00a04");
  plan.transformer!.over_groups = over;
  plan.stages = [0, 1, 2].map(() => ({ budget: 100 })) as unknown as Plan["stages"];
  assert.equal(degreesText(plan), "pp\u00a03, ep\u00a04");
});

test("the parts of a step have a colour each", () => {
  const colours = timeParts(sampleModel()).map((part) => part.colour);
  assert.equal(new Set(colours).size, colours.length);
});

test("peak memory is that of the device with the least left, whatever its size", () => {
  const plan = sampleModel();
  plan.transformer!.memory = [{ weights: 60, host: 900 }, { weights: 50, host: 0 }];
  plan.stages = [{ budget: 100 }, { budget: 60 }] as unknown as Plan["stages"];
  assert.deepEqual(transformerMemory(plan).map((part) => part.value), [50]);
});

test("the stage that works longest is shown first", () => {
  const plan = samplePipeline(2);
  plan.stages.forEach((stage, s) => {
    stage.program = s;
    stage.forward = s === 1 ? 2 : 1;
  });
  assert.equal(busiestProgram(plan), 1);
  plan.stages[1].program = -1;
  assert.equal(busiestProgram(plan), 0);
  assert.equal(busiestProgram(sampleModel()), 0);
});

test("ticks of a logarithmic axis are round, and reach over a narrow one too", () => {
  assert.deepEqual(decimalTicks([1e5, 6e6]), [1e5, 2e5, 5e5, 1e6, 2e6, 5e6]);
  assert.deepEqual(decimalTicks([492e3, 717e3]), [5e5, 6e5, 7e5]);
  for (const low of [1, 1.3, 4.9, 7]) for (const factor of [1.33, 1.5, 2, 4, 30]) {
    const ticks = decimalTicks([low, low * factor]);
    assert.ok(ticks.length > 1 && ticks[0] < low * 1.7 && ticks[ticks.length - 1] > (low * factor) / 2.5, `${low} ${factor}: ${ticks}`);
  }
});

test("axes reach over all values, logarithmic ones only over those that have a logarithm", () => {
  assert.deepEqual(spread([], {}), [0, 1]);
  assert.deepEqual(spread([4, 2], { fromZero: true }), [0, 4]);
  for (const values of [[1e5, 6e6], [1], [0, 3], [-1], [5e-324, 1.7e308], [1e300, -1e300]]) {
    for (const log of [false, true]) {
      const [low, high] = spread(values, { log });
      assert.ok(Number.isFinite(high - low) && low < high, `${values} ${log}: ${low} ${high}`);
      if (log) assert.ok(low > 0);
    }
  }
});

test("every view of every kind of plan shows something or says why not", () => {
  const report = (plan: Plan): Report => ({ tool_version: "", plans: [plan], sweeps: [], verifications: [] });
  const titles = (plan: Plan, show: boolean) => allViews().filter((view) => (view.missing(report(plan), plan) === null) === show).map((view) => view.id);
  const program = { programs: [sampleProgram(1, 1)], stages: [], transformer: null, timeline: null, profile: null } as unknown as Plan;
  assert.deepEqual(titles(program, false), ["choices", "scaling", "measured", "compare"]);
  assert.deepEqual(titles(sampleModel(), false), ["network", "placement", "scaling", "measured", "compare"]);
  const mixed = { ...sampleModel(), timeline: {} } as unknown as Plan;
  assert.deepEqual(titles(mixed, false), ["network", "placement", "scaling", "measured", "compare"]);
  const alone: Report = { tool_version: "", plans: [], sweeps: [{ file: "", axis: "gpus", rows: [] }], verifications: [] };
  assert.deepEqual(allViews().filter((view) => view.missing(alone, program) === null).map((view) => view.id), ["scaling"]);
  for (const view of allViews()) {
    const missing = view.missing(alone, program);
    if (missing) assert.match(missing.why, /^[A-Z].*[.:y]$/);
  }
});
