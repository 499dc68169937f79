// Programs and plans of any size, as the page gets them.

import type { Plan, Program, Segment, SegmentNode, Timeline } from "../src/data";

/**
 * A training step of `layers` equal layers of `perLayer` operators each in the forward and as many
 * in the backward phase, and one update each, on a mesh x=2, y=2.
 */
export function sampleProgram(layers: number, perLayer: number): Program {
  const instructions: Program["instructions"] = {
    name: [], opcode: [], type: [], spec: [], strategy: [], operands: [], op_name: [], source: [],
    layer: [], phase: [], node: [], executions: [], seconds: [],
  };
  const opcodes = ["parameter", "dot", "add", "multiply", "constant"];
  const add = (name: string, opcode: number, operands: number[], layer: number, phase: number, node: number) => {
    instructions.name.push(name);
    instructions.opcode.push(opcode);
    instructions.type.push(opcode === 0 ? 0 : 1);
    instructions.spec.push(opcode === 1 ? 1 : opcode === 0 ? 2 : 0);
    instructions.strategy.push(0);
    instructions.operands.push(operands);
    instructions.op_name.push(layer >= 0 ? layer : -1);
    instructions.source.push(0);
    instructions.layer.push(layer);
    instructions.phase.push(phase);
    instructions.node.push(node);
    instructions.executions.push(1);
    instructions.seconds.push(opcode === 1 ? 2e-3 : opcode === 0 ? 0 : 1e-4);
    return instructions.name.length - 1;
  };
  const weights = Array.from({ length: layers }, (_, l) => add(`w.${l}`, 0, [], -1, 0, -1));
  let last = add("x", 0, [], -1, 0, -1);
  const moves: Program["moves"] = [];
  for (const phase of [1, 2]) {
    for (let i = 0; i < layers; i += 1) {
      const layer = phase === 1 ? i : layers - 1 - i;
      for (let k = 0; k < perLayer; k += 1) {
        const before = last;
        last = add(`op.${phase}.${layer}.${k}`, k === 0 ? 1 : 2 + (k % 2), k === 0 ? [last, weights[layer]] : [last], layer, phase, phase - 1);
        if (k === 0) {
          moves.push({ instruction: last, value: before, collective: { kind: "all-reduce", axes: ["y"], count: 1, bytes: 1 << 20, seconds: 1e-3 } });
        }
      }
    }
  }
  for (let l = 0; l < layers; l += 1) add(`update.${l}`, 2, [weights[l], last], l, 3, 2);
  const all = Array.from({ length: layers }, (_, l) => l);
  const node = (segment: number, list: number[]): SegmentNode => ({ segment, layers: list, text: `layers 0-${layers - 1}`, block: segment });
  const segment = (phase: number, label: string): Segment => ({
    label, phase, rounds: 1, operators: phase === 3 ? 1 : perLayer, seconds: 2e-3, communication_seconds: phase === 3 ? 0 : 1e-3,
    collectives: phase === 3 ? [] : [{ kind: "all-reduce", axes: ["y"], count: 1, bytes: 1 << 20, seconds: 1e-3 }],
  });
  return {
    mesh: [{ name: "x", size: 2 }, { name: "y", size: 2 }],
    opcodes,
    views: [],
    types: [{ dtype: "f32", shape: [8, 8] }, { dtype: "f32", shape: [16, 8] }],
    specs: [[["x"], []], [["x"], ["y"]], [[], ["y"]]],
    strategies: ["m=x"],
    op_names: all.map((l) => `jit(step)/layer${l}/dot`),
    sources: ["model.py:12"],
    instructions,
    moves,
    collectives: [{ kind: "all-reduce", axes: ["y"], count: 2 * layers, bytes: layers << 21, seconds: 2e-3 * layers }],
    parameters: weights.map((_, l) => ({ name: `state['layer${l}']['w']`, dtype: "f32", shape: [8, 8], spec: [[], ["y"]], bytes: 128, category: "parameters", kind: "" })),
    outputs: [],
    recompute: false,
    axes: [{ name: "x", use: "data 100 %" }],
    phases: [],
    most_expensive: [],
    segments: [segment(1, "forward layer"), segment(2, "backward layer"), segment(3, "update layer")],
    nodes: [node(0, all), node(1, [...all].reverse()), node(2, all)],
    edges: [{ from: 0, to: 1, values: 1, collectives: [] }, { from: 1, to: 2, values: layers, collectives: [] }],
    layer_names: all.map((l) => [l, `layer ${l}`]),
    step: null,
    memory: [],
  };
}

/** Two stages of one program, as GPipe runs `microBatches`. */
export function samplePipeline(microBatches: number): Plan {
  const stage = (s: number) => ({
    layers: `layer ${s}`, device: "d", budget: 1 << 30, devices: [4 * s, 4 * s + 1, 4 * s + 2, 4 * s + 3], program: 0, parameter_names: [],
    recompute: false, forward: 1, backward: 2, weight_gradient: 0, update: 0.5, fixed: 1000, in_flight: 10 * (s + 1),
    peak: 0, peak_of_group: 0, max_in_flight: microBatches, memory: [0, 0, 0, 0, 0, 0],
  });
  const timeline: Timeline = {
    groups: 2, seconds: 0, shown_seconds: 0, all_tasks: 0,
    group: [], stage: [], micro_batch: [], kind: [], start: [], end: [],
    transfers: { from: [], to: [], micro_batch: [], start: [], end: [] },
  };
  const task = (group: number, kind: number, microBatch: number, start: number, takes: number) => {
    timeline.group.push(group);
    timeline.stage.push(group);
    timeline.kind.push(kind);
    timeline.micro_batch.push(microBatch);
    timeline.start.push(start);
    timeline.end.push(start + takes);
  };
  for (let m = 0; m < microBatches; m += 1) {
    task(0, 0, m, m, 1);
    task(1, 0, m, m + 1, 1);
  }
  for (let m = 0; m < microBatches; m += 1) {
    task(1, 1, m, microBatches + 1 + 2 * m, 2);
    task(0, 1, m, microBatches + 3 + 2 * m, 2);
  }
  timeline.seconds = timeline.shown_seconds = 3 * microBatches + 3;
  timeline.all_tasks = timeline.group.length;
  return { stages: [stage(0), stage(1)], chunks: 1, micro_batches: microBatches, programs: [sampleProgram(1, 2)], timeline } as unknown as Plan;
}

/** The plan of a model on two pipeline groups, with experts over all four devices. */
export function sampleModel(): Plan {
  const seconds = Object.fromEntries(
    ["compute", "tensor_communication", "context_communication", "expert_communication", "data_communication", "pipeline_communication", "host_communication", "bubble", "optimizer"].map((name, i) => [name, i + 1]),
  );
  return {
    programs: [], stages: [], timeline: null, profile: null, mesh: [{ name: "pp", size: 2 }, { name: "dp", size: 1 }, { name: "cp", size: 1 }, { name: "tp", size: 2 }],
    budget: 100,
    transformer: {
      model: "m", objective: "time", degrees: "tp=2 pp=2 ep=4", sizes: { tp: 2, cp: 1, pp: 2, dp: 1, ep: 4, etp: 1 }, placement: null, seconds,
      memory: [{ weights: 1, host: 0 }], alternatives: [], sensitivity: [], sweep: [], sweep_axis: "gpus", goodput: null, over_groups: null,
    },
  } as unknown as Plan;
}
