import assert from "node:assert/strict";
import { test } from "node:test";
import { axisSpansNodes, modelLanes } from "../../src/model_lanes";
import { schedulePath } from "../../src/schedule_path";
import { sampleModel, samplePipeline } from "../sample";

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, b), `${a} is not ${b}`);

test("the lanes of a model's step add up to it, each part to its sum", () => {
  const cluster = { name: "", parts: [{ device: "d", nodes: 2, per_node: 2, memory: 1 }] };
  for (const microBatches of [1, 3, 100_000]) {
    const plan = { ...sampleModel(), cluster, micro_batches: microBatches };
    const { rows, seconds, parts } = modelLanes(plan, String);
    near(seconds, Object.values(plan.transformer!.seconds).reduce((a, b) => a + b, 0));
    near(parts.reduce((all, part) => all + part.value, 0), seconds);
    const byPart = new Map<number, number>();
    for (const row of rows) {
      for (let b = 0; b < row.start.length; b += 1) {
        byPart.set(row.colour[b], (byPart.get(row.colour[b]) ?? 0) + row.end[b] - row.start[b]);
        assert.ok(b === 0 || row.start[b] >= row.end[b - 1] - 1e-9);
      }
    }
    parts.forEach((part, p) => near(byPart.get(p) ?? 0, part.value));
    assert.deepEqual(rows.map((row) => row.name), ["compute", "links in a node", "network", "host", "waiting"]);
  }
  const plan = { ...sampleModel(), cluster };
  assert.deepEqual(["pp", "tp", "dp"].map((axis) => axisSpansNodes(plan, axis)), [true, false, false]);
});

test("the critical path of a pipeline leads from its first task to its last without a gap", () => {
  for (const microBatches of [1, 2, 7]) {
    const tasks = samplePipeline(microBatches).timeline!;
    const path = schedulePath(tasks);
    assert.equal(path[0].start, 0);
    assert.equal(path[path.length - 1].end, Math.max(...tasks.end));
    for (let i = 1; i < path.length; i += 1) near(path[i].start, path[i - 1].end);
  }
});
