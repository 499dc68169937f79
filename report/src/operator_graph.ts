// The operators of one segment as a graph small enough to be read: of many operators the cheap
// ones without communication are left out, and what they carry goes past them.

import dagre from "@dagrejs/dagre";
import type { Collective, Program } from "./data";

export interface OperatorNode {
  /** Of the program's instructions; -1: what comes from outside the segment. */
  instruction: number;
  x: number;
  y: number;
  /** Of values that come from elsewhere. */
  text: string;
}

export interface OperatorEdge {
  from: number;
  to: number;
  collectives: Collective[];
  points: { x: number; y: number }[];
}

export interface OperatorGraph {
  nodes: OperatorNode[];
  edges: OperatorEdge[];
  width: number;
  height: number;
  /** Operators that are left out. */
  hidden: number;
}

export const operatorBox = { width: 184, height: 50 };

export function membersOf(program: Program, node: number, layer: number): number[] {
  const { instructions } = program;
  return instructions.node.flatMap((own, i) => (own === node && instructions.layer[i] === layer ? [i] : []));
}

export function graphOf(program: Program, members: readonly number[], most: number): OperatorGraph {
  const { instructions, moves } = program;
  const inside = new Set(members);
  const own = moves.filter((move) => inside.has(move.instruction));
  const moved = new Map<number, number>();
  for (const move of own) moved.set(move.instruction, (moved.get(move.instruction) ?? 0) + move.collective.seconds);
  const weight = (i: number) => instructions.seconds[i] + (moved.get(i) ?? 0) * 2 + (moved.has(i) ? 1e-12 : 0);
  const shown = new Set([...members].sort((a, b) => weight(b) - weight(a) || a - b).slice(0, most));

  // What an operator is made from, seen through those left out.
  const sources = new Map<number, Set<number>>();
  const sourcesOf = (i: number): Set<number> => {
    const known = sources.get(i);
    if (known) return known;
    const result = new Set<number>();
    sources.set(i, result); // loops end here
    for (const operand of instructions.operands[i]) {
      if (!inside.has(operand) || shown.has(operand)) result.add(operand);
      else for (const further of sourcesOf(operand)) result.add(further);
    }
    return result;
  };

  const graph = new dagre.graphlib.Graph<unknown>();
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 46, marginx: 8, marginy: 8, ranker: members.length > 150 ? "longest-path" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  const nodes: OperatorNode[] = [];
  const key = new Map<string, number>();
  const nodeFor = (name: string, instruction: number, text: string): number => {
    const known = key.get(name);
    if (known !== undefined) return known;
    const number = nodes.length;
    key.set(name, number);
    nodes.push({ instruction, x: 0, y: 0, text });
    graph.setNode(String(number), { width: operatorBox.width, height: instruction < 0 || !inside.has(instruction) ? 26 : operatorBox.height });
    return number;
  };
  const order = [...shown].sort((a, b) => a - b);
  for (const i of order) nodeFor(`own ${i}`, i, "");
  const edges: Omit<OperatorEdge, "points">[] = [];
  for (const i of order) {
    const to = key.get(`own ${i}`)!;
    const of = own.filter((move) => move.instruction === i);
    const from = new Map<number, Collective[]>();
    for (const operand of new Set(instructions.operands[i])) {
      const carried = of.filter((move) => move.value === operand).map((move) => move.collective);
      const ends = inside.has(operand) && !shown.has(operand) ? [...sourcesOf(operand)] : [operand];
      ends.forEach((end, e) => {
        const node = shown.has(end) ? key.get(`own ${end}`)! : outside(program, end, nodeFor);
        if (node < 0) return;
        from.set(node, [...(from.get(node) ?? []), ...(e === 0 ? carried : [])]);
      });
    }
    for (const [node, collectives] of from) {
      if (node === to) continue;
      edges.push({ from: node, to, collectives });
      graph.setEdge(String(node), String(to));
    }
  }
  dagre.layout(graph);
  nodes.forEach((node, n) => {
    const at = graph.node(String(n)) as { x: number; y: number };
    node.x = at.x;
    node.y = at.y;
  });
  const size = graph.graph() as { width?: number; height?: number };
  return {
    nodes,
    edges: edges.map((edge) => ({ ...edge, points: (graph.edge(String(edge.from), String(edge.to)) as { points: { x: number; y: number }[] }).points })),
    width: size.width ?? 0,
    height: size.height ?? 0,
    hidden: members.length - shown.size,
  };
}

/** A parameter by its name; values of another segment as one node for the segment; constants not. */
function outside(program: Program, i: number, nodeFor: (name: string, instruction: number, text: string) => number): number {
  const { instructions } = program;
  if (program.opcodes[instructions.opcode[i]] === "parameter") {
    return nodeFor(`parameter ${i}`, i, program.op_names[instructions.op_name[i]] || instructions.name[i]);
  }
  const node = instructions.node[i];
  if (node < 0) return -1;
  const layer = instructions.layer[i];
  const label = program.segments[program.nodes[node].segment].label;
  return nodeFor(`node ${node} ${layer}`, -1, `from ${label}${layer >= 0 ? ` ${layer}` : ""}`);
}
