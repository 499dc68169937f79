import assert from "node:assert/strict";
import { test } from "node:test";
import { differences } from "../../src/comparison";
import type { Axis, Plan, Program, Spec } from "../../src/data";
import { layerFolded } from "../../src/layer_names";
import { sampleProgram } from "../sample";

/** A program whose parameters are these, all with the same spec. */
function programOf(names: string[], spec: Spec, mesh: Axis[], category = "parameters"): Program {
  return { ...sampleProgram(1, 1), mesh, parameters: names.map((name) => ({ name, dtype: "f32", shape: [8, 8], spec, bytes: 4, category, kind: "", layer_place: name.includes("layer") ? 1 : -1 })) };
}

const mesh = [{ name: "x", size: 2 }];
const weights = (first: number, end: number) => Array.from({ length: end - first }, (_, i) => `state[0]['layer${first + i}']['w']`);

/** `layers` equal stages of two layers each. */
function pipelineOf(stages: number, spec: Spec): Plan {
  return {
    programs: [programOf(weights(0, 2), spec, mesh)],
    stages: Array.from({ length: stages }, (_, s) => ({ program: 0, parameter_names: s === 0 ? [] : weights(2 * s, 2 * s + 2) })),
  } as unknown as Plan;
}

const whole = (layers: number, spec: Spec): Plan => ({ programs: [programOf(weights(0, layers), spec, mesh)], stages: [] }) as unknown as Plan;

test("a stage that is equal to another has parameters of its own", () => {
  assert.deepEqual(differences([whole(8, [["x"], []]), pipelineOf(4, [["x"], []])]), []);
  assert.deepEqual(differences([pipelineOf(4, [["x"], []]), pipelineOf(4, [["x"], []])]), []);
});

test("which stage keeps a parameter is no difference, how is one, and layers are one row", () => {
  const [row, ...others] = differences([whole(8, [["x"], []]), pipelineOf(4, [[], ["x"]])]);
  assert.deepEqual(others, []);
  assert.equal(row.name, "state[0]['layer*']['w']");
  assert.equal(row.count, 8);
  assert.deepEqual(row.specs, ["[x,_] x=2", "[_,x] x=2"]);
});

test("what only one plan has is not there in the other, but for what stages hand on", () => {
  const longer = differences([whole(8, [["x"], []]), pipelineOf(3, [["x"], []])]);
  assert.deepEqual(longer.map((one) => [one.name, one.count, ...one.specs]), [["state[0]['layer*']['w']", 2, "[x,_] x=2", ""]]);
  const plan = pipelineOf(4, [["x"], []]);
  plan.programs[0].parameters.push({ ...plan.programs[0].parameters[0], name: "add.7", category: "inputs" });
  for (const stage of plan.stages.slice(1)) stage.parameter_names.push("add.8");
  assert.deepEqual(differences([whole(8, [["x"], []]), plan]), []);
});

test("stages that share a name may keep their parts of it differently", () => {
  const stacked = (specs: Spec[]): Plan =>
    ({ programs: specs.map((spec) => programOf(["stack['w']"], spec, mesh)), stages: specs.map((_, s) => ({ program: s, parameter_names: [] })) }) as unknown as Plan;
  assert.deepEqual(differences([stacked([[["x"], []], [["x"], []]]), stacked([[["x"], []]])]), []);
  const [row] = differences([stacked([[["x"], []], [[], ["x"]]]), stacked([[["x"], []]])]);
  assert.deepEqual(row.specs, ["[x,_] x=2 or [_,x] x=2", "[x,_] x=2"]);
});

test("only the number that counts layers is folded", () => {
  assert.equal(layerFolded("s[1]['layer19']['norm2']", 1), "s[1]['layer*']['norm2']");
  assert.equal(layerFolded("while.51/carry{1}", -1), "while.51/carry{1}");
});
