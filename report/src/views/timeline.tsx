// The pipeline event by event; without a pipeline one step's operators and collectives.

import { useMemo, useState } from "preact/hooks";
import { useShared } from "../context";
import { layerName, phases, type Plan, type Program, sum, taskKinds, type Timeline as Tasks } from "../data";
import { costText, percentText, plural } from "../format";
import type { GanttRow } from "../gantt";
import { communicationColour, computeColour, contentionColour, launchColour, series, taskColours, waitingColour } from "../palette";
import { shareOf } from "../numbers";
import { Legend, Name, Stack } from "../parts/basic";
import { Gantt, paleShare } from "../parts/gantt";
import { OperatorDetails } from "../parts/operator_details";
import { TraceTable } from "../parts/trace_table";
import { busiestProgram, ProgramChoice, programName } from "../parts/program_choice";
import type { MeasuredTrace } from "../measured_trace";
import { schedulePath } from "../schedule_path";
import { stepParts } from "../step_breakdown";
import { modelLanes } from "../model_lanes";
import { type Box, communicationOf, criticalPath, kernelsOf, partsOf, scheduleOf, spansNodes, type StepParts } from "../step_lanes";
import { shortened } from "../text";
import { OverPipeline } from "./memory";
import { Table } from "../parts/table";

const pipelineColours = [...taskColours, series(6), series(7), launchColour];
const transferColour = 4; // and 5: gradients
const launchTint = 6;

function byRow(count: number, rowOf: readonly number[], start: readonly number[]): number[][] {
  const rows: number[][] = Array.from({ length: count }, () => []);
  rowOf.forEach((row, i) => rows[row].push(i));
  for (const row of rows) row.sort((a, b) => start[a] - start[b]);
  return rows;
}

/** `nameOf`: what a group of devices is called. */
export function pipelineRows(tasks: Tasks, text: (seconds: number) => string, transfers: boolean, nameOf: (group: number) => string = String): GanttRow[] {
  const rows: GanttRow[] = [];
  const lists = byRow(tasks.groups, tasks.group, tasks.start);
  const sent = byRow(tasks.groups, tasks.transfers.from.map((s) => s % tasks.groups), tasks.transfers.start);
  const describeTask = (i: number): string => {
    const what = tasks.micro_batch[i] < 0 ? "" : ` of micro-batch ${tasks.micro_batch[i]}`;
    return `Group ${nameOf(tasks.group[i])}, stage ${tasks.stage[i]}: ${taskKinds[tasks.kind[i]]}${what}, from ${text(tasks.start[i])}, takes ${text(tasks.end[i] - tasks.start[i])}.`;
  };
  const describeTransfer = (i: number): string => {
    const t = tasks.transfers;
    return `Stage ${t.from[i]} sends to stage ${t.to[i]}: micro-batch ${t.micro_batch[i]}, from ${text(t.start[i])}, takes ${text(t.end[i] - t.start[i])}.`;
  };
  const transferTint = (i: number): number => (tasks.transfers.to[i] > tasks.transfers.from[i] ? transferColour : transferColour + 1);
  for (let g = 0; g < tasks.groups; g += 1) {
    const list = lists[g];
    rows.push({
      name: `group ${nameOf(g)}`,
      start: Float64Array.from(list, (i) => tasks.start[i]),
      end: Float64Array.from(list, (i) => tasks.end[i]),
      colour: Uint8Array.from(list, (i) => tasks.kind[i]),
      label: (b) => (tasks.micro_batch[list[b]] < 0 ? "" : String(tasks.micro_batch[list[b]])),
      describe: (b) => describeTask(list[b]),
    });
    if (!transfers) continue;
    const moves = withoutOverlap(sent[g], tasks.transfers.start);
    const t = tasks.transfers;
    rows.push({
      name: "  sends",
      start: Float64Array.from(moves, (i) => t.start[i]),
      end: Float64Array.from(moves, (i, b) => (b + 1 < moves.length ? Math.min(t.end[i], t.start[moves[b + 1]]) : t.end[i])),
      colour: Uint8Array.from(moves, transferTint),
      label: (b) => String(t.micro_batch[moves[b]]),
      describe: (b) => describeTransfer(moves[b]),
    });
  }
  if (tasks.group.length < tasks.all_tasks) return rows; // the end of the step is not among them
  const path = schedulePath(tasks);
  rows.push({
    name: "critical path",
    start: Float64Array.from(path, (link) => link.start),
    end: Float64Array.from(path, (link, b) => (b + 1 < path.length ? Math.min(link.end, path[b + 1].start) : link.end)),
    colour: Uint8Array.from(path, (link) => (link.task >= 0 ? tasks.kind[link.task] : transferTint(link.transfer))),
    label: (b) => (path[b].task >= 0 ? `group ${tasks.group[path[b].task]}` : ""),
    describe: (b) => (path[b].task >= 0 ? describeTask(path[b].task) : describeTransfer(path[b].transfer)),
  });
  return rows;
}

/** Two links of a group may be busy at once; of sends that begin together one is shown. */
function withoutOverlap(list: number[], start: readonly number[]): number[] {
  return list.filter((i, b) => b === 0 || start[i] > start[list[b - 1]]);
}

function Pipeline({ tasks }: { tasks: Tasks }) {
  const { plan } = useShared();
  const [transfers, setTransfers] = useState(false);
  const text = (seconds: number) => costText(seconds, plan.in_seconds);
  const over = plan.transformer?.over_groups;
  const nameOf = (group: number): string => (over ? `${group} on ${shortened(over.groups[over.stage_groups[group]].name, 12)}` : String(group));
  // What the plan's step has beyond the schedule, whose phases are serial.
  const beyond = plan.step - tasks.seconds;
  const shown = tasks.group.length === tasks.all_tasks && beyond > 0 ? beyond : 0;
  const rows = useMemo(() => {
    const all = pipelineRows(tasks, text, transfers, nameOf);
    if (shown <= 1e-9 * tasks.seconds) return all;
    const end = tasks.seconds + shown;
    return [
      ...all,
      {
        name: "host", start: Float64Array.of(tasks.seconds), end: Float64Array.of(end), colour: Uint8Array.of(launchTint), label: () => "launch",
        describe: () => `Launch overhead, less what overlapped collectives save: ${text(shown)}, drawn at the end.`,
      },
    ];
  }, [tasks, transfers]);
  const busy = Array.from({ length: tasks.groups }, () => [0, 0, 0, 0]);
  tasks.group.forEach((g, i) => {
    busy[g][tasks.kind[i]] += tasks.end[i] - tasks.start[i];
  });
  const cut = tasks.group.length < tasks.all_tasks;
  return (
    <>
      <p>
        {plan.schedule}, {plural(plan.stages.length, "stage")} on {plural(tasks.groups, "group")} of devices,{" "}
        {plural(plan.micro_batches, "micro-batch", "micro-batches")}: the schedule takes {text(tasks.seconds)} with every
        phase's operators without overlap, and groups do nothing for {percentText(plan.bubble_share)} of it.
        {Math.abs(beyond) > 1e-6 * plan.step && (beyond > 0 ? ` Launch overhead, less what overlapped collectives save, makes it the plan's ${text(plan.step)}.` : ` Overlapped collectives save ${text(-beyond)} more than launch overhead costs: the plan's step is ${text(plan.step)}.`)}
        {cut && ` Shown are the first ${plural(tasks.group.length, "task")} of ${tasks.all_tasks.toLocaleString("en-US")}.`}
      </p>
      <div class="panel">
        <div class="bar">
          <label>
            <input type="checkbox" checked={transfers} onChange={(event) => setTransfers(event.currentTarget.checked)} />
            show what groups send
          </label>
        </div>
        <Gantt
          label={`Pipeline timeline: ${plural(tasks.groups, "group")}, ${plural(tasks.group.length, "task")}`}
          rows={rows}
          colours={pipelineColours}
          seconds={tasks.shown_seconds + shown}
          text={text}
        />
        <Legend
          entries={[
            ...taskKinds
              .map((kind, k): [string, string, number] => [kind, taskColours[k], k])
              .filter(([, , k]) => tasks.kind.includes(k))
              .map(([kind, colour]): [string, string] => [kind, colour]),
            ...(shown > 1e-9 * tasks.seconds ? ([["launch overhead", launchColour]] as [string, string][]) : []),
            ...(transfers ? ([["activations sent", series(6)], ["gradients sent", series(7)]] as [string, string][]) : []),
          ]}
        />
      </div>
      <div class="panel">
        <h2>Groups of devices</h2>
        <Table
          caption="What each group of devices does in a step"
          most={12}
          rows={busy.map((parts, g) => ({ parts, g }))}
          columns={[
            { title: "group", cell: ({ g }) => (over ? <Name text={nameOf(g)} /> : g) },
            ...taskKinds.map((kind, k) => ({
              title: kind,
              number: ({ parts }: { parts: number[] }) => parts[k],
              cell: ({ parts }: { parts: number[] }) => text(parts[k]),
            })).filter((_, k) => busy.some((parts) => parts[k] > 0)),
            { title: "busy", number: ({ parts }) => shareOf(sum(parts), tasks.shown_seconds), cell: ({ parts }) => percentText(shareOf(sum(parts), tasks.shown_seconds)) },
          ]}
        />
      </div>
    </>
  );
}

const stepColours = [computeColour, communicationColour, launchColour, contentionColour, waitingColour];
const [kernel, communication, launch, contention, rest] = stepColours.keys();

interface StepPicture {
  rows: GanttRow[];
  /** By row and box: the operator to tell of. */
  operators: number[][];
  parts: StepParts;
  seconds: number;
}

/** The lanes of one step. `planStep`: what the plan says that the step takes; null: it says it of several programs together. */
export function stepPicture(plan: Plan, number: number, planStep: number | null, text: (seconds: number) => string): StepPicture {
  const program = plan.programs[number];
  const { instructions, moves } = program;
  const schedule = scheduleOf(program);
  const kernels = kernelsOf(program, schedule);
  const boxes = communicationOf(schedule, kernels);
  const parts = partsOf(program, planStep);
  const between = new Map<string, boolean>();
  const isBetween = (run: number): boolean => {
    const { axes } = moves[schedule.runs[run].moves[0]].collective;
    const key = axes.join();
    if (!between.has(key)) between.set(key, spansNodes(plan, number, axes));
    return between.get(key)!;
  };
  const when = (from: number, to: number) => `from ${text(from)}, takes ${text(to - from)}.`;
  const placeOf = (i: number): string =>
    [layerName(program, instructions.layer[i]), phases[instructions.phase[i]], program.sources[instructions.source[i]] ?? ""].filter((part) => part !== "").join(", ");
  const nameOf = (i: number): string => {
    const place = placeOf(i);
    return `${shortened(instructions.name[i], 120)} (${program.opcodes[instructions.opcode[i]]})${place === "" ? "" : `, ${place}`}`;
  };
  const describe = (box: Box): string => {
    if (box.operator >= 0) return `${nameOf(box.operator)}: ${when(box.start, box.end)}`;
    const run = schedule.runs[box.run];
    const { collective, instruction } = moves[run.moves[0]];
    const combined = run.moves.length > 1 ? `, ${plural(run.moves.length, "collective")} combined` : "";
    const hidden = schedule.overlapped ? (box.hidden ? " Hidden behind kernels here." : " Exposed here: no kernel runs.") : "";
    return `${collective.kind} over ${collective.axes.join(", ")}${combined} for ${nameOf(instruction)}: ${when(run.start, run.end)}${hidden}`;
  };
  const operatorOfBox = (box: Box): number => (box.operator >= 0 ? box.operator : moves[schedule.runs[box.run].moves[0]].instruction);
  const row = (name: string, list: Box[]): GanttRow => ({
    name,
    start: Float64Array.from(list, (box) => box.start),
    end: Float64Array.from(list, (box, b) => (b + 1 < list.length ? Math.min(box.end, list[b + 1].start) : box.end)),
    colour: Uint8Array.from(list, (box) => (box.operator >= 0 ? kernel : communication)),
    pale: Uint8Array.from(list, (box) => (box.hidden ? 1 : 0)),
    label: (b) => (list[b].operator >= 0 ? program.opcodes[instructions.opcode[list[b].operator]] : moves[schedule.runs[list[b].run].moves[0]].collective.kind),
    describe: (b) => describe(list[b]),
  });
  const lanes: [string, Box[]][] = [
    ["compute", kernels],
    ["links in a node", boxes.filter((box) => !isBetween(box.run))],
    ["network", boxes.filter((box) => isBetween(box.run))],
  ];
  if (schedule.overlapped) lanes.push(["critical path", criticalPath(schedule, kernels)]);
  const rows = lanes.map(([name, list]) => row(name, list));
  const operators = lanes.map(([, list]) => list.map(operatorOfBox));
  // What follows the last operator, in the order in which it is added.
  const after = ([["contention", contention, parts.contention, "what hidden collectives take from kernels"], ["launch", launch, parts.launch, "launch overhead"], ["rest", rest, Math.max(0, parts.rest), restText(plan)]] as const).filter(([, , seconds]) => seconds > 0);
  let now = schedule.end;
  const ends = after.map(([, , seconds]) => (now += seconds));
  if (after.length > 0) {
    rows.splice(3, 0, {
      name: "host and losses",
      start: Float64Array.from(ends, (end, b) => end - after[b][2]),
      end: Float64Array.from(ends),
      colour: Uint8Array.from(after, ([, colour]) => colour),
      label: (b) => after[b][0],
      describe: (b) => `${after[b][3]}: ${text(after[b][2])}, drawn at the end.`,
    });
    operators.splice(3, 0, after.map(() => -1));
  }
  return { rows: rows.filter((one) => one.start.length > 0), operators: operators.filter((list) => list.length > 0), parts, seconds: now };
}

const restText = (plan: Plan): string => (plan.profile ? "what was measured beyond the cost model" : "what sums that are kept partial save of it");

/** How much of the communication is exposed, and how: waited for, or at the cost of kernels. */
function communicationText(parts: StepParts, text: (seconds: number) => string): string {
  const exposed = parts.exposed + parts.contention;
  if (exposed + parts.hidden === 0) return ", without communication";
  const how = parts.contention > 0 ? ` (${text(parts.exposed)} waited for, ${text(parts.contention)} of contention with kernels)` : "";
  return `, of which communication is exposed for ${text(exposed)}${how}; ${text(parts.hidden)} of it is hidden`;
}

function OneStep({ program, name, number }: { program: Program; name: string; number: number }) {
  const { plan, chosen, choose } = useShared();
  const text = (seconds: number) => costText(seconds, plan.in_seconds);
  const ofPlan = plan.stages.length === 0;
  const overlapped = program.step !== null;
  const picture = useMemo(() => stepPicture(plan, number, ofPlan && overlapped ? plan.step : null, text), [plan, number]);
  const [trace, setTrace] = useState<MeasuredTrace | null>(null);
  const rows = useMemo(() => [...picture.rows, ...(trace?.lanes ?? [])], [picture, trace]);
  const picked = chosen?.list === "instructions" && chosen.program === number ? chosen.index : -1;
  const { parts } = picture;
  return (
    <>
      <div class="panel">
        <h2>{name}</h2>
        <p>
          {overlapped
            ? `Each operator runs when what it needs is there, overlapped with collectives that it does not need: ${text(picture.seconds)}${communicationText(parts, text)}.`
            : `Operators in the order of the program and the collectives that they wait for, without overlap: ${text(picture.seconds)}.`}{" "}
          All executions of an operator are one box.
        </p>
        <Gantt
          label={`${name}: operators and collectives`}
          rows={rows}
          colours={stepColours}
          seconds={Math.max(picture.seconds, trace?.seconds ?? 0)}
          text={text}
          onPick={(row, box) => {
            const index = picture.operators[row]?.[box] ?? -1;
            if (index >= 0) choose({ program: number, list: "instructions", index });
          }}
        />
        <Legend
          entries={([
            ["computation", computeColour, true],
            [overlapped ? "communication, exposed" : "communication", communicationColour, parts.exposed > 0],
            ["communication, hidden", `color-mix(in srgb, ${communicationColour} ${100 * paleShare}%, transparent)`, parts.hidden > 0],
            ["contention", contentionColour, parts.contention > 0],
            ["launch overhead", launchColour, parts.launch > 0],
          ] as [string, string, boolean][]).filter(([, , shown]) => shown).map(([entry, colour]): [string, string] => [entry, colour])}
        />
      </div>
      {picked >= 0 && <OperatorDetails program={program} number={number} index={picked} elsewhere />}
      {overlapped && (
        <div class="panel">
          <h2>What the step consists of: {text(picture.seconds)}</h2>
          <Stack parts={stepParts(plan, parts)} text={text} label="Parts of the step" />
        </div>
      )}
      {plan.in_seconds && <TraceTable program={program} number={number} trace={trace} onRead={setTrace} />}
    </>
  );
}

function ModelStep() {
  const { plan } = useShared();
  const text = (seconds: number) => costText(seconds, plan.in_seconds);
  const { rows, seconds, parts } = useMemo(() => modelLanes(plan, text), [plan]);
  return (
    <div class="panel">
      <h2>One step of a device: {text(seconds)}</h2>
      <p>
        The lanes are sums, not an overlapped step: the plan of a model has no single operators, and of communication only how much is
        exposed, neither when it runs nor what is hidden. Each micro-batch is shown with its share of what the step computes and waits
        for, and the rest in the order in which it comes.
        {plan.transformer!.sizes.pp > 1 && " The device is of the last pipeline group, which waits for the others first."}
      </p>
      <Gantt label="One step of a device" rows={rows} colours={parts.map((part) => part.colour)} seconds={seconds} text={text} />
      <Legend entries={parts.map((part) => [`${part.name} ${text(part.value)}`, part.colour])} />
    </div>
  );
}

export function Timeline() {
  const { plan } = useShared();
  const [program, setProgram] = useState(() => busiestProgram(plan));
  const several = plan.programs.length > 1;
  return (
    <>
      {plan.timeline && <Pipeline tasks={plan.timeline} />}
      {plan.timeline && <OverPipeline tasks={plan.timeline} />}
      {plan.transformer && !plan.timeline && <ModelStep />}
      {several && (
        <div class="bar">
          <ProgramChoice value={program} onChange={setProgram} />
        </div>
      )}
      {plan.programs[program] && (
        <OneStep key={program} number={program} program={plan.programs[program]} name={plan.stages.length > 0 ? `What ${programName(plan, program)} runs in a step` : "One step"} />
      )}
    </>
  );
}

