import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, costText, rangesText, secondsText, specText } from "../../src/format";
import { groupMemory, thinned } from "../../src/memory_over_time";
import { layoutOf } from "../../src/network_layout";
import { graphOf, membersOf } from "../../src/operator_graph";
import { shardingColour, shardingName } from "../../src/palette";
import { binaryUnit, tickTexts } from "../../src/parts/chart";
import { aliasesOf, Index, operatorOf, parameterOperators, usesOf } from "../../src/search";
import { byOpcode, stageTimes } from "../../src/step_breakdown";
import { samplePipeline, sampleProgram } from "../sample";

test("figures have three digits and a unit", () => {
  assert.equal(bytesText(0), "0 B");
  assert.equal(bytesText(1023), "1023 B");
  assert.equal(bytesText(12.34 * 2 ** 30), "12.3 GiB");
  assert.equal(secondsText(0.001184), "1.18 ms");
  assert.equal(secondsText(0), "0 s");
  assert.equal(secondsText(999.6e-6), "1.00 ms");
  assert.equal(costText(12.5, false), "12.5");
  assert.equal(rangesText([0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
  assert.equal(specText([["x"], [], ["y", "z"]]), "[x,_,(y,z)]");
});

test("ticks tell their values apart", () => {
  assert.deepEqual(tickTexts([0, 1, 2], secondsText), ["0 s", "1.00 s", "2.00 s"]);
  assert.deepEqual(tickTexts([28.3, 28.32, 28.34], secondsText), ["28.30 s", "28.32 s", "28.34 s"]);
  assert.deepEqual(tickTexts([1e-3, 1.0001e-3], secondsText), ["1.0000 ms", "1.0001 ms"]);
  assert.equal(binaryUnit(5 * 2 ** 30), 2 ** 30);
  assert.equal(binaryUnit(0), 1);
});

test("the breakdown counts everything once, and what is recomputed twice", () => {
  const program = sampleProgram(3, 4);
  const { phase, seconds } = program.instructions;
  const total = (wanted: (i: number) => boolean) => seconds.reduce((all, one, i) => all + (wanted(i) ? one : 0), 0);
  const all = () => byOpcode(program).reduce((sum, one) => sum + one.seconds, 0);
  assert.ok(Math.abs(all() - total(() => true)) < 1e-12);
  program.recompute = true;
  assert.ok(Math.abs(all() - total(() => true) - total((i) => phase[i] === 1)) < 1e-12);
});

test("memory of a group follows its micro-batches", () => {
  const plan = samplePipeline(3);
  const [first, second] = groupMemory(plan, plan.timeline!);
  assert.equal(first.fixed, 1000);
  assert.equal(Math.max(...first.inFlight), 30);
  assert.equal(Math.max(...second.inFlight), 60);
  assert.equal(first.inFlight[first.inFlight.length - 1], 0);
  const thin = thinned([...Array(100).keys()], Array.from({ length: 100 }, (_, i) => (i === 57 ? 9 : 1)), 10);
  assert.equal(Math.max(...thin.values), 9);
  assert.ok(thin.times.length <= 11);
});

test("backward layers stand beside the forward layers", () => {
  const program = sampleProgram(4, 3);
  program.nodes = [
    { segment: 0, layers: [0], text: "", block: 0 },
    { segment: 0, layers: [1, 2, 3], text: "", block: 1 },
    { segment: 1, layers: [3, 2, 1], text: "", block: 2 },
    { segment: 1, layers: [0], text: "", block: 3 },
    { segment: 2, layers: [0, 1, 2, 3], text: "", block: 4 },
  ];
  const { nodes } = layoutOf(program);
  assert.equal(nodes[2].y, nodes[1].y);
  assert.equal(nodes[3].y, nodes[0].y);
  assert.ok(nodes[1].y > nodes[0].y);
  assert.ok(nodes[4].x > nodes[2].x && nodes[2].x > nodes[0].x);
});

test("segments keep apart", () => {
  const program = sampleProgram(2, 3);
  program.nodes = Array.from({ length: 12 }, (_, i) => ({ segment: i % 3, layers: [Math.floor(i / 3)], text: "", block: i }));
  const places = layoutOf(program).nodes.map((one) => `${one.x},${one.y}`);
  assert.equal(new Set(places).size, places.length);
});

test("a segment's graph has its operators, and values from outside once", () => {
  const program = sampleProgram(3, 5);
  const members = membersOf(program, 0, 1);
  assert.equal(members.length, 5);
  const graph = graphOf(program, members, 100);
  assert.equal(graph.hidden, 0);
  const outside = graph.nodes.filter((node) => node.text !== "").map((node) => node.text);
  assert.deepEqual(outside.sort(), ["from forward layer 0", "w.1"]);
  const carried = graph.edges.filter((edge) => edge.collectives.length > 0);
  assert.equal(carried.length, 1);
  assert.equal(graph.nodes[carried[0].from].text, "from forward layer 0");
});

test("what is left out is seen through", () => {
  const program = sampleProgram(1, 30);
  const graph = graphOf(program, membersOf(program, 0, 0), 4);
  assert.equal(graph.hidden, 26);
  const own = graph.nodes.flatMap((node, n) => (node.text === "" ? [n] : []));
  assert.equal(own.length, 4);
  // A chain stays a chain: each but the first is made from exactly one of the others.
  for (const n of own.slice(1)) assert.equal(graph.edges.filter((edge) => edge.to === n).length, 1);
});

test("a search finds by part, by pattern and by source", () => {
  const program = sampleProgram(12, 3);
  const index = new Index(program, 0, ["parameters", "instructions"]);
  assert.equal(index.search("layer1").length, 3 + 3 * (3 + 3 + 1)); // 1, 10 and 11
  assert.equal(index.search("state[*]['layer1']*").length, 0); // brackets mean themselves
  assert.equal(index.search("state['layer1?']*").length, 2);
  assert.equal(index.search("layer1*").length, 3 + 3 * (3 + 3 + 1)); // no whole name, but parts
  assert.equal(index.search("state['layer{0..3,11}']['w']").length, 5);
  assert.equal(index.search("LAYER{1}").length, 1 + 3 + 3 + 1);
  assert.equal(index.search("MODEL.py:12").length, program.instructions.name.length);
  assert.equal(index.search("").length, program.parameters.length + program.instructions.name.length);
  assert.equal(index.search("(((").length, 0);
});

test("shardings are told by the axes that cut", () => {
  const { mesh } = sampleProgram(1, 1);
  assert.equal(shardingName([["y"], ["x"]], mesh), "x, y");
  assert.equal(shardingName([[], []], mesh), "replicated");
  const colours = [[[]], [["x"]], [["y"]], [["x", "y"]]].map((spec) => shardingColour(spec as string[][], mesh));
  assert.equal(new Set(colours).size, 4);
  assert.equal(shardingName([["z"]], [{ name: "z", size: 1 }]), "replicated");
});

test("a stage's step is its micro-batches and one update, and a group's all of its stages", () => {
  const plan = samplePipeline(5);
  assert.deepEqual(stageTimes(plan), [[5, 10, 0.5], [5, 10, 0.5]]);
  plan.chunks = 2;
  assert.deepEqual(stageTimes(plan), [[10, 20, 1]]);
});

test("who reads an array, and what moves it", () => {
  const program = sampleProgram(3, 4);
  const names = parameterOperators(program);
  const weight = operatorOf(program, { program: 0, list: "parameters", index: 1 }, new Map([["state['layer1']['w']", 1]]))!;
  assert.deepEqual(usesOf(program, weight).users.map((i) => program.instructions.name[i]), ["op.1.1.0", "op.2.1.0", "update.1"]);
  const before = program.instructions.name.indexOf("op.1.0.3");
  assert.equal(usesOf(program, before).moves.length, 1); // the all-reduce of the next layer's product
  assert.equal(operatorOf(program, { program: 0, list: "outputs", index: 0 }, names), undefined);
  // A conversion is what moves, for others further along.
  const first = program.instructions.name.indexOf("op.1.0.2");
  assert.equal(usesOf(program, first).moves.length, 0);
  program.views = [program.instructions.opcode[before]];
  const [through] = usesOf(program, first).moves;
  assert.equal(program.instructions.name[through.through], "op.1.0.3");
  assert.equal(program.instructions.name[through.instruction], "op.1.1.0");
});

test("a parameter is found by what it is called in an equal stage", () => {
  const plan = samplePipeline(1);
  plan.stages[1].parameter_names = ["state['layer9']['w']"];
  assert.deepEqual(aliasesOf(plan, 0), [["state['layer9']['w']"]]);
  const found = new Index(plan.programs[0], 0, ["parameters"], aliasesOf(plan, 0)).search("*layer9*");
  assert.deepEqual(found.map((one) => one.index), [0]);
});
