// A measured trace in the Trace Event Format, as JAX's and PyTorch's profilers write it, held against
// a program: events matched with operators by name.

import type { GanttRow } from "./gantt";
import type { Program } from "./data";
import { secondsText } from "./format";
import { shortened } from "./text";

interface TraceEvent {
  name: string;
  /** Seconds. */
  start: number;
  seconds: number;
  thread: string;
  /** The runs of the program that tell steps apart; empty where the trace does not say it. */
  run: string;
  /** Names it may be known by, the most exact first: XLA's operator, the metadata's path. */
  names: string[];
}

/** Operators that share a name, and what was measured under it. */
export interface Matched {
  name: string;
  /** Instructions; of collectives those that need them. */
  operators: number[];
  predicted: number;
  /** Of one step; the mean of all. */
  measured: number;
  /** Executions measured in a step. */
  count: number;
}

export interface MeasuredTrace {
  /** What the names are that the rows share. */
  by: "operator" | "metadata's name" | "kind of operator";
  rows: Matched[];
  steps: number;
  /** Seconds a step of events that no operator of the program has the name of, and their longest. */
  unmatched: number;
  unmatchedNames: string[];
  /** Seconds of operators that no event has the name of. */
  unmeasured: number;
  /** The lanes of one step, from its first event on. */
  lanes: GanttRow[];
  seconds: number;
}

type Fields = Record<string, unknown>;
const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

function readEvents(text: string): TraceEvent[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is no JSON (${(error as Error).message})`);
  }
  const list = Array.isArray(data) ? data : (data as Fields | null)?.traceEvents;
  if (!Array.isArray(list)) throw new Error("it has no list traceEvents, as traces of JAX's and PyTorch's profilers do");
  const threadNames = new Map<string, string>();
  const threadOf = (event: Fields) => `${textOf(event.pid)}/${textOf(event.tid)}`;
  for (const event of list as Fields[]) {
    if (event?.ph === "M" && event.name === "thread_name") threadNames.set(threadOf(event), textOf((event.args as Fields | undefined)?.name));
  }
  const events: TraceEvent[] = [];
  for (const event of list as Fields[]) {
    const [start, seconds] = [Number(event?.ts), Number(event?.dur)];
    if (event?.ph !== "X" || !(seconds > 0) || !Number.isFinite(start)) continue;
    const args = (event.args ?? {}) as Fields;
    const name = textOf(event.name);
    const path = textOf(args.tf_op) || textOf(args.op_name) || textOf(args.name);
    events.push({
      name,
      start: start / 1e6,
      seconds: seconds / 1e6,
      thread: threadNames.get(threadOf(event)) || threadOf(event),
      run: textOf(args.run_id) || textOf(args.step_num),
      names: [textOf(args.hlo_op), name, path.replace(/:$/, "")].filter((one) => one !== ""),
    });
  }
  if (events.length === 0) throw new Error("it has no events with a duration (\"ph\": \"X\")");
  return events.sort((a, b) => a.start - b.start);
}

const kindsOfKernels: [pattern: RegExp, opcode: string][] = [
  [/all[-_]?reduce/i, "all-reduce"],
  [/all[-_]?gather/i, "all-gather"],
  [/reduce[-_]?scatter/i, "reduce-scatter"],
  [/all[-_]?to[-_]?all/i, "all-to-all"],
  [/collective[-_]?permute|send[-_]?recv/i, "collective-permute"],
  [/conv(olution)?\b|cudnn.*(fprop|dgrad|wgrad)/i, "convolution"],
  [/\bdot\b|gemm|matmul|::(add|b)?mm\b|wgmma|xmma/i, "dot"],
];

/** "dot" of "dot.17", of "aten::mm" and of kernels of matmuls. */
function kindOf(name: string): string {
  return kindsOfKernels.find(([pattern]) => pattern.test(name))?.[1] ?? name.replace(/[.\d]+$/, "");
}

/** The operators by each of the names that events may have, the most exact first. */
function levelsOf(program: Program): { by: MeasuredTrace["by"]; keysOf(event: TraceEvent): string[]; operators: Map<string, number[]>; seconds: Map<string, number> }[] {
  const { name, op_name, opcode, seconds } = program.instructions;
  const table = (keyOf: (i: number) => string) => {
    const operators = new Map<string, number[]>();
    const times = new Map<string, number>();
    const add = (key: string, i: number, takes: number) => {
      if (key === "" || !(takes > 0)) return;
      operators.set(key, [...(operators.get(key) ?? []), i]);
      times.set(key, (times.get(key) ?? 0) + takes);
    };
    name.forEach((_, i) => add(keyOf(i), i, seconds[i]));
    // The plan's collectives have no names of their own but their kinds.
    for (const move of program.moves) add(move.collective.kind, move.instruction, move.collective.seconds);
    return { operators, seconds: times };
  };
  const collective = (event: TraceEvent) => kindOf(event.name);
  return [
    { by: "operator", keysOf: (event) => [...event.names, collective(event)], ...table((i) => name[i]) },
    { by: "metadata's name", keysOf: (event) => [...event.names, collective(event)], ...table((i) => program.op_names[op_name[i]] ?? "") },
    { by: "kind of operator", keysOf: (event) => [kindOf(event.names[0])], ...table((i) => program.opcodes[opcode[i]]) },
  ];
}

/** Errors say what the text is not. */
export function readTrace(text: string, program: Program): MeasuredTrace {
  const events = readEvents(text);
  const tried = levelsOf(program).map((level) => {
    const keys = events.map((event) => level.keysOf(event).find((key) => level.operators.has(key)) ?? "");
    return { ...level, keys, matched: events.reduce((all, event, e) => all + (keys[e] === "" ? 0 : event.seconds), 0) };
  });
  // The most exact that tells as good as much as the best.
  const most = Math.max(...tried.map((level) => level.matched));
  if (most === 0) throw new Error("no event has the name of an operator of this plan, nor of its metadata, nor of its kind");
  const level = tried.find((one) => one.matched >= 0.9 * most)!;
  // Threads on which the program runs: others have the host's calls, which enclose each other.
  const threads = new Set(events.filter((_, e) => level.keys[e] !== "").map((event) => event.thread));
  const own = events.flatMap((event, e) => (threads.has(event.thread) ? [{ ...event, key: level.keys[e] }] : []));
  const runs = new Set(own.map((event) => event.run).filter((run) => run !== ""));
  const counts = new Map<string, number>();
  for (const event of own) counts.set(event.key, (counts.get(event.key) ?? 0) + 1);
  const executions = (key: string) => level.operators.get(key)!.reduce((all, i) => all + program.instructions.executions[i], 0);
  const repeated = [...counts].filter(([key]) => key !== "").map(([key, count]) => count / executions(key)).sort((a, b) => a - b);
  const steps = Math.max(1, runs.size > 0 ? runs.size : Math.round(repeated[repeated.length >> 1]));

  const measured = new Map<string, number>();
  for (const event of own) measured.set(event.key, (measured.get(event.key) ?? 0) + event.seconds);
  const rows = [...level.operators].flatMap(([key, operators]): Matched[] =>
    measured.has(key)
      ? [{ name: key, operators: [...new Set(operators)], predicted: level.seconds.get(key)!, measured: measured.get(key)! / steps, count: counts.get(key)! / steps }]
      : [],
  );
  rows.sort((a, b) => Math.abs(b.measured - b.predicted) - Math.abs(a.measured - a.predicted));
  const names = new Map<string, number>();
  for (const event of own) if (event.key === "") names.set(event.name, (names.get(event.name) ?? 0) + event.seconds);

  // One step to look at: the last, as first ones compile and warm up.
  const lastRun = [...runs].pop();
  const from = lastRun === undefined ? own[Math.floor((own.length * (steps - 1)) / steps)].start : Math.min(...own.filter((event) => event.run === lastRun).map((event) => event.start));
  const shown = own.filter((event) => (lastRun === undefined ? event.start >= from : event.run === lastRun));
  const lanes = [...threads].sort().flatMap((thread): GanttRow[] => {
    const list: typeof shown = [];
    for (const event of shown) {
      const last = list[list.length - 1];
      if (event.thread === thread && (!last || event.start >= last.start + last.seconds - 1e-9)) list.push(event);
    }
    if (list.length === 0) return [];
    return [
      {
        name: "measured",
        start: Float64Array.from(list, (event) => event.start - from),
        end: Float64Array.from(list, (event) => event.start - from + event.seconds),
        colour: Uint8Array.from(list, (event) => (event.key === "" ? 4 : kindsOfKernels.slice(0, 5).some(([, kind]) => kind === kindOf(event.name)) ? 1 : 0)),
        label: (b) => shortened(list[b].name, 24),
        describe: (b) =>
          `Measured on ${shortened(thread, 60)}: ${shortened(list[b].name, 160)}${list[b].key === "" ? ", no operator of the plan" : `, ${shortened(list[b].key, 160)} of the plan`}, ${secondsText(list[b].seconds)}.`,
      },
    ];
  });
  return {
    by: level.by,
    rows,
    steps,
    unmatched: [...names.values()].reduce((a, b) => a + b, 0) / steps,
    unmatchedNames: [...names].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([name]) => name),
    unmeasured: [...level.seconds].reduce((all, [key, seconds]) => all + (measured.has(key) ? 0 : seconds), 0),
    lanes,
    seconds: Math.max(0, ...lanes.map((lane) => lane.end[lane.end.length - 1])),
  };
}

/** The text of a trace, unpacked where it is gzip. */
export async function traceText(file: Blob): Promise<string> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return file.text();
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
