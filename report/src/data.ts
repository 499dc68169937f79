// What `meshwright report` puts into the page, as src/meshwright/report writes it. Lists of equal
// length that begin with the same thing are columns of one table: it halves the page.

import { sumOf } from "./numbers";

export interface Axis {
  name: string;
  size: number;
}

/** For each dimension the axes that cut it, the first into the largest pieces. */
export type Spec = string[][];

export interface TensorType {
  dtype: string;
  shape: number[];
}

export interface Collective {
  kind: string;
  axes: string[];
  count: number;
  bytes: number;
  seconds: number;
}

export interface Tensor extends TensorType {
  /** Which number in the name counts layers, from 0; -1: none. Of parameters only. */
  layer_place?: number;
  name: string;
  spec: Spec;
  bytes: number;
  category: string;
  /** How it is parallel, in words; empty where nothing can be said. */
  kind: string;
}

/** The operators, a column each. */
export interface Instructions {
  name: string[];
  opcode: number[];
  type: number[];
  spec: number[];
  strategy: number[];
  operands: number[][];
  /** -1: none. */
  op_name: number[];
  source: number[];
  layer: number[];
  /** Index of `phases`. */
  phase: number[];
  /** Index of the program's `nodes`; -1: outside all of them. */
  node: number[];
  executions: number[];
  seconds: number[];
}

/** One collective of one operator. */
export interface Move {
  instruction: number;
  /** The operator whose result is moved; -1: not known. */
  value: number;
  collective: Collective;
}

/** A distinct part of the network: one layer in one phase, however often it is repeated. */
export interface Segment {
  label: string;
  /** Index of `phases`. */
  phase: number;
  /** Of a loop outside the layers: how often it goes round; else 1. */
  rounds: number;
  operators: number;
  /** Of one of its repetitions, as are the next two. */
  seconds: number;
  communication_seconds: number;
  /** Between its own operators. */
  collectives: Collective[];
}

/** Equal segments in a row. */
export interface SegmentNode {
  segment: number;
  /** A number for each repetition; -1 where there is no layer. */
  layers: number[];
  /** What users call the layers: "layers 0-23"; empty where there is none. */
  text: string;
  /** Nodes of one block repeat together: A B A B. */
  block: number;
}

/** Values that the operators of one node make and those of another take. */
export interface SegmentEdge {
  from: number;
  to: number;
  values: number;
  collectives: Collective[];
}

/** Of a device in a step. */
export interface PhaseTime {
  /** "forward", "recomputation", "backward", "update"; empty: not known. */
  phase: string;
  compute: number;
  communication: number;
}

/** Collectives of one kind and reason at one place of the source, summed over repeated layers. */
export interface CausedCollectives {
  collective: Collective;
  /** What it does to what: "all-gathers state['wq']"; names of repeated layers are folded. */
  cause: string;
  /** "model.py:17"; may be empty. */
  source: string;
  phase: string;
  /** Operators that have such a collective. */
  places: number;
  /** The first operator that causes it. */
  instruction: number;
}

/** When a step's operators and collectives run, in ten-millionths of `end`, which is in seconds. */
export interface Step {
  /** Of the last operator or collective; the step ends `contention` and `launch` later. */
  end: number;
  /** What hidden collectives take from kernels. */
  contention: number;
  launch: number;
  /** By instruction. */
  start: number[];
  /** Collectives that run as one: indices of `moves`. */
  runs: { start: number[]; end: number[]; moves: number[][] };
}

export interface MemoryPoint {
  seconds: number;
  instruction: number;
  /** In the order of `categories`. */
  bytes: number[];
}

/** What a device runs: a plan without a pipeline has one, a pipeline one for each distinct stage. */
export interface Program {
  mesh: Axis[];
  opcodes: string[];
  /** Of `opcodes`: those whose result is their first operand with other types or places of its elements, or a part of it. */
  views: number[];
  types: TensorType[];
  specs: Spec[];
  strategies: string[];
  op_names: string[];
  sources: string[];
  instructions: Instructions;
  moves: Move[];
  collectives: Collective[];
  parameters: Tensor[];
  outputs: Tensor[];
  /** The forward phase runs once more, for the backward phase. */
  recompute: boolean;
  /** What each axis of several devices is used for, by the bytes of the weights. */
  axes: { name: string; use: string }[];
  phases: PhaseTime[];
  /** The most expensive first; not all. */
  most_expensive: CausedCollectives[];
  segments: Segment[];
  nodes: SegmentNode[];
  edges: SegmentEdge[];
  /** What users call each layer that an operator is of. */
  layer_names: [layer: number, name: string][];
  /** null: of a stage, or under a cost model without overlap. */
  step: Step | null;
  memory: MemoryPoint[];
}

export interface Stage {
  /** What users call its layers; may be empty. */
  layers: string;
  device: string;
  budget: number | null;
  devices: number[];
  mesh: Axis[];
  /** Index of the plan's programs; -1: it has none. */
  program: number;
  /** Of a stage that is equal to an earlier one: what its own parameters are called, as that one lists them. */
  parameter_names: string[];
  recompute: boolean;
  forward: number;
  backward: number;
  weight_gradient: number;
  update: number;
  fixed: number;
  in_flight: number;
  peak: number;
  peak_of_group: number;
  max_in_flight: number;
  memory: number[];
}

export interface Transfer {
  from: number;
  to: number;
  phase: string;
  bytes: number;
  seconds: number;
}

/** The pipeline event by event; a column each, times in seconds. */
export interface Timeline {
  groups: number;
  seconds: number;
  shown_seconds: number;
  all_tasks: number;
  group: number[];
  stage: number[];
  micro_batch: number[];
  /** Index of `taskKinds`. */
  kind: number[];
  start: number[];
  end: number[];
  transfers: { from: number[]; to: number[]; micro_batch: number[]; start: number[]; end: number[] };
}

export interface Alternative {
  degrees: string;
  seconds: number;
  peak_bytes: number;
  mfu: number;
  slower_by: Record<string, number>;
}

export interface Transformer {
  model: string;
  parameters: number;
  sequence: number;
  global_batch: number;
  objective: string;
  degrees: string;
  /** tp, cp, pp, dp, ep, etp. */
  sizes: Record<string, number>;
  /** null: devices are numbered in the order of the mesh. */
  placement: Placement | null;
  mfu: number;
  hfu: number;
  seconds: Record<string, number>;
  memory: Record<string, number>[];
  search: Record<string, number>;
  alternatives: Alternative[];
  sensitivity: { change: string; step_change: number }[];
  sweep: SweepRow[];
  sweep_axis: SweepAxis;
  goodput: Goodput | null;
  over_groups: OverGroups | null;
}

/** What failures and checkpoints leave. */
export interface Goodput {
  mtbf_seconds: number;
  checkpoint_seconds: number;
  restart_seconds: number;
  interval_seconds: number;
  share: number;
  tokens_per_second: number;
}

/** A segment of the network: what one execution takes, as measured or by the cost model. */
export interface ProfiledSegment {
  fingerprint: string;
  occurrences: number;
  choice: string;
  /** "measured" or "predicted". */
  basis: string;
  seconds: number;
  spread: number;
  samples: number;
  model_seconds: number;
  peak_bytes: number;
}

/** What was measured for a plan with a profile database. */
export interface Profile {
  environment: { device: string; device_type: string; driver: string; libraries: string; hosts: number } | null;
  segment_seconds: number;
  other_seconds: number;
  /** A whole step under this plan. */
  step: { seconds: number; spread: number; samples: number; composed_seconds: number; peak_bytes: number } | null;
  segments: ProfiledSegment[];
}

/** How many devices of each group share a node; `rows`: those of all groups of tp. */
export interface Placement {
  tp: number;
  tp2: number;
  cp: number;
  dp: number;
  pp: number;
  rows: number;
}

/** Nodes that are alike, and what the stages on them have in common. */
export interface NodeGroup {
  name: string;
  device: string;
  nodes: number;
  per_node: number;
  used_nodes: number;
  stages: number;
  tp: number;
  dp: number;
  micro_batch: number;
  dollars_per_hour: number | null;
}

/** A choice of nodes: on the front of time and cost, or beaten by one that is. */
export interface NodeChoice {
  /** Of each group. */
  nodes: number[];
  seconds: number;
  dollars: number | null;
  degrees: string;
  /** Only a bound: nothing on these nodes is better. */
  is_bound: boolean;
  on_front: boolean;
  beaten_by: number | null;
  /** By stage; of the front only. */
  groups: number[];
  layers: number[];
}

/** What a plan over groups of nodes takes of them, and what it could take. */
export interface OverGroups {
  groups: NodeGroup[];
  /** By stage: index of `groups`. */
  stage_groups: number[];
  steps: number | null;
  most_seconds: number | null;
  most_dollars: number | null;
  /** Of a step. */
  dollars: number | null;
  choices: NodeChoice[];
}

export interface Plan {
  file: string;
  program_name: string;
  /** Sentences, names in them between U+2068 and U+2069. */
  headline: string[];
  tool_version: string;
  in_seconds: boolean;
  cluster: { name: string; parts: ClusterPart[] };
  mesh: Axis[];
  objective: number;
  bound: number;
  gap: number;
  compute: number;
  communication: number;
  step: number;
  peak: number;
  budget: number | null;
  peak_at: string;
  memory: number[];
  schedule: string | null;
  micro_batches: number;
  chunks: number;
  bubble_share: number;
  cost_model: string;
  planning_seconds: number;
  inputs: { path: string; kind: string; sha256: string }[];
  fixes: string[];
  warnings: string[];
  programs: Program[];
  stages: Stage[];
  transfers: Transfer[];
  timeline: Timeline | null;
  profile: Profile | null;
  transformer: Transformer | null;
}

export interface ClusterPart {
  device: string;
  nodes: number;
  per_node: number;
  memory: number;
}

export interface SweepRow {
  gpus: number;
  global_batch: number;
  sequence: number;
  degrees: string;
  seconds: number;
  tokens_per_second: number;
  mfu: number;
  efficiency: number;
  peak_bytes: number;
}

export type SweepAxis = "gpus" | "batch" | "seq";

/** A step over numbers of devices, batches or lengths of sequences: the table of `meshwright plan --sweep --csv`. */
export interface Sweep {
  file: string;
  axis: SweepAxis;
  rows: SweepRow[];
}

/** What `meshwright verify --json` found. */
export interface Verification {
  file: string;
  /** What it says of the plan. */
  plan: string;
  /** Of the report's plans, the one that was verified; null: none of them. */
  plan_index: number | null;
  devices: string;
  passed: boolean;
  checks: {
    name: string;
    outcome: string;
    planned: string;
    measured: string;
    remark: string;
    notes: string[];
    planned_value: number | null;
    measured_value: number | null;
  }[];
}

export interface Report {
  tool_version: string;
  plans: Plan[];
  sweeps: Sweep[];
  verifications: Verification[];
}

export const phases = ["", "forward", "backward", "update"] as const;
export const taskKinds = ["forward", "backward", "weight gradient", "update"] as const;
export const categories = [
  "parameters",
  "optimizer state",
  "inputs",
  "gradients",
  "activations",
  "temporaries",
] as const;

export function readReport(document: Document): Report {
  const element = document.getElementById("data");
  return JSON.parse(element?.textContent ?? "null") as Report;
}

export const sum = sumOf;

/** Stretches of neighbours with the same key. */
export function runsOf<T>(list: readonly T[], key: (one: T) => string): { first: number; end: number }[] {
  const runs: { first: number; end: number }[] = [];
  list.forEach((one, i) => {
    const last = runs[runs.length - 1];
    if (last && key(list[last.first]) === key(one)) last.end = i + 1;
    else runs.push({ first: i, end: i + 1 });
  });
  return runs;
}

export function deviceCount(plan: Plan): number {
  return sum(plan.cluster.parts.map((part) => part.nodes * part.per_node));
}

/** "layer 3", "before layer 0"; empty: it is of none. */
export function layerName(program: Program, layer: number): string {
  return program.layer_names.find(([number]) => number === layer)?.[1] ?? "";
}

/** The node that a device is in, counted over the whole cluster. */
export function nodeOf(plan: Plan, device: number): number {
  let nodes = 0;
  for (const part of plan.cluster.parts) {
    if (device < part.nodes * part.per_node) return nodes + Math.floor(device / part.per_node);
    device -= part.nodes * part.per_node;
    nodes += part.nodes;
  }
  return nodes;
}

/** Sweeps by themselves, and those that plans have. */
export function sweepsOf(report: Report): Sweep[] {
  const own = report.plans.flatMap((plan) => (plan.transformer && plan.transformer.sweep.length > 0 ? [{ file: plan.file, axis: plan.transformer.sweep_axis, rows: plan.transformer.sweep }] : []));
  return [...own, ...report.sweeps];
}

/** Short names that tell the plans of one report apart. */
export function planNames(plans: readonly Plan[]): string[] {
  const short = plans.map((plan) => plan.file.replace(/^.*\//, ""));
  return new Set(short).size === short.length ? short : plans.map((plan) => plan.file);
}
