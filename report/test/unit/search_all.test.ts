import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plan, Report } from "../../src/data";
import { Everything } from "../../src/search_all";
import { sampleModel, sampleProgram } from "../sample";

const views = [{ id: "network", title: "Network" }, { id: "memory", title: "Memory" }];

function reportOf(): Report {
  const program = sampleProgram(12, 3);
  program.most_expensive = [{
    collective: { kind: "all-reduce", axes: ["y"], count: 1, bytes: 1, seconds: 1 }, cause: "reduces partial sums of dot", source: "model.py:12", phase: "forward", places: 1,
    instruction: program.moves[0].instruction,
  }];
  const plan = { file: "a/one.json", stages: [], programs: [program], transformer: null } as unknown as Plan;
  return { tool_version: "", plans: [plan, { ...sampleModel(), file: "two.json" }], sweeps: [], verifications: [] };
}

test("whatever has a name is found, and leads to where it is shown", () => {
  const everything = new Everything(reportOf(), 0, views);
  const first = (query: string) => {
    const [hit] = everything.search(query);
    return [hit.kind, hit.name, hit.view, hit.array && `${hit.array.list} ${hit.array.index}`];
  };
  assert.deepEqual(first("network"), ["view", "Network", "network", null]);
  assert.deepEqual(first("TWO.json"), ["plan", "two.json", "summary", null]);
  assert.deepEqual(first("gradients"), ["part", "gradients", "memory", null]);
  assert.deepEqual(first("layer 11").slice(0, 3), ["layer", "layer 11", "network"]);
  assert.deepEqual(first("layer3'"), ["tensor", "state['layer3']['w']", "placement", "parameters 3"]);
  assert.deepEqual(first("layer3 'w'"), ["tensor", "state['layer3']['w']", "placement", "parameters 3"]);
  assert.deepEqual(first("model.py").slice(0, 3), ["source line", "model.py:12", "network"]);
  assert.deepEqual(first("partial sums").slice(0, 3), ["collective", "all-reduce y", "network"]);
  assert.deepEqual(first("op.1.4.0").slice(0, 3), ["operator", "op.1.4.0", "network"]);
  assert.deepEqual(first("layer {10..11}").slice(0, 2), ["layer", "layer 10"]);
  assert.deepEqual(everything.search(" "), []);
  assert.deepEqual(everything.search("no such thing"), []);
});

test("no kind crowds out another", () => {
  const hits = new Everything(reportOf(), 0, views).search("layer");
  assert.deepEqual([...new Set(hits.map((hit) => hit.kind))], ["layer", "tensor", "operator"]);
  assert.ok(hits.filter((hit) => hit.kind === "operator").length <= 12);
});

test("plans of models have their parts", () => {
  const hits = new Everything(reportOf(), 1, views).search("bubble");
  assert.deepEqual(hits.map((hit) => [hit.kind, hit.view, hit.plan]), [["part", "time", 1]]);
});
