// Where the segments of a network stand: a column for each phase, layers downwards, so that the
// backward pass runs up beside the forward pass, and updates stand beside both.

import type { Program } from "./data";

export const box = { width: 236, height: 84, gapX: 100, gapY: 46 };
const left = 50; // for what passes nodes of the first column

export interface Placed {
  node: number;
  x: number;
  y: number;
}

export interface Layout {
  nodes: Placed[];
  /** Nodes that repeat together, framed: more than one node each. */
  frames: { x: number; y: number; width: number; height: number; text: string }[];
  columns: { phase: number; x: number }[];
  width: number;
  height: number;
}

const columnOrder = [1, 0, 2, 3]; // forward, elsewhere, backward, update

export function layoutOf(program: Program): Layout {
  const { nodes, segments } = program;
  const phaseOf = (node: number) => segments[nodes[node].segment].phase;
  const columns = columnOrder.filter((phase) => nodes.some((_, n) => phaseOf(n) === phase));
  const rowOfLayer = new Map<number, number>();
  const row = new Array<number>(nodes.length).fill(0);
  columns.forEach((phase) => {
    let list = nodes.flatMap((_, n) => (phaseOf(n) === phase ? [n] : []));
    if (phase === 2) list = list.reverse();
    let next = 0;
    for (const n of list) {
      const known = nodes[n].layers.map((layer) => rowOfLayer.get(layer)).filter((r): r is number => r !== undefined);
      row[n] = Math.max(next, known.length > 0 ? Math.min(...known) : next);
      next = row[n] + 1;
      for (const layer of nodes[n].layers) if (layer >= 0 && !rowOfLayer.has(layer)) rowOfLayer.set(layer, row[n]);
    }
  });
  const top = 34;
  const placed = nodes.map((_, n) => ({
    node: n,
    x: columns.indexOf(phaseOf(n)) * (box.width + box.gapX) + left,
    y: row[n] * (box.height + box.gapY) + top,
  }));
  const blocks = new Map<number, number[]>();
  nodes.forEach((node, n) => blocks.set(node.block, [...(blocks.get(node.block) ?? []), n]));
  const frames = [...blocks.values()]
    .filter((list) => list.length > 1 && nodes[list[0]].layers.length > 1)
    .map((list) => {
      const ys = list.map((n) => placed[n].y);
      return {
        x: placed[list[0]].x - 9,
        y: Math.min(...ys) - 9,
        width: box.width + 18,
        height: Math.max(...ys) - Math.min(...ys) + box.height + 18,
        text: `${nodes[list[0]].layers.length} times`,
      };
    });
  return {
    nodes: placed,
    frames,
    columns: columns.map((phase, c) => ({ phase, x: c * (box.width + box.gapX) + left })),
    width: Math.max(1, columns.length) * (box.width + box.gapX) - box.gapX + left + 14,
    height: (1 + Math.max(0, ...row)) * (box.height + box.gapY) + top,
  };
}
