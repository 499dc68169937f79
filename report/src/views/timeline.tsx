// The pipeline event by event; without a pipeline one step's operators and collectives.

import { useMemo, useState } from "preact/hooks";
import { useShared } from "../context";
import { type Program, sum, taskKinds, type Timeline as Tasks } from "../data";
import { costText, percentText, plural } from "../format";
import type { GanttRow } from "../gantt";
import { communicationColour, computeColour, series, taskColours } from "../palette";
import { shareOf } from "../numbers";
import { Legend, Name, Table } from "../parts/basic";
import { Gantt } from "../parts/gantt";
import { ProgramChoice, programName } from "../parts/program_choice";
import { stepTimeline } from "../step_timeline";
import { shortened } from "../text";

const pipelineColours = [...taskColours, series(6), series(7)];
const transferColour = 4; // and 5: gradients

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
  for (let g = 0; g < tasks.groups; g += 1) {
    const list = lists[g];
    rows.push({
      name: `group ${nameOf(g)}`,
      start: Float64Array.from(list, (i) => tasks.start[i]),
      end: Float64Array.from(list, (i) => tasks.end[i]),
      colour: Uint8Array.from(list, (i) => tasks.kind[i]),
      label: (b) => (tasks.micro_batch[list[b]] < 0 ? "" : String(tasks.micro_batch[list[b]])),
      describe: (b) => {
        const i = list[b];
        const what = tasks.micro_batch[i] < 0 ? "" : ` of micro-batch ${tasks.micro_batch[i]}`;
        return `Group ${nameOf(g)}, stage ${tasks.stage[i]}: ${taskKinds[tasks.kind[i]]}${what}, from ${text(tasks.start[i])}, takes ${text(tasks.end[i] - tasks.start[i])}.`;
      },
    });
    if (!transfers) continue;
    const moves = withoutOverlap(sent[g], tasks.transfers.start);
    const t = tasks.transfers;
    rows.push({
      name: "  sends",
      start: Float64Array.from(moves, (i) => t.start[i]),
      end: Float64Array.from(moves, (i, b) => (b + 1 < moves.length ? Math.min(t.end[i], t.start[moves[b + 1]]) : t.end[i])),
      colour: Uint8Array.from(moves, (i) => (t.to[i] > t.from[i] ? transferColour : transferColour + 1)),
      label: (b) => String(t.micro_batch[moves[b]]),
      describe: (b) => {
        const i = moves[b];
        return `Stage ${t.from[i]} sends to stage ${t.to[i]}: micro-batch ${t.micro_batch[i]}, from ${text(t.start[i])}, takes ${text(t.end[i] - t.start[i])}.`;
      },
    });
  }
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
  const rows = useMemo(() => pipelineRows(tasks, text, transfers, nameOf), [tasks, transfers]);
  const busy = Array.from({ length: tasks.groups }, () => [0, 0, 0, 0]);
  tasks.group.forEach((g, i) => {
    busy[g][tasks.kind[i]] += tasks.end[i] - tasks.start[i];
  });
  const cut = tasks.group.length < tasks.all_tasks;
  return (
    <>
      <p>
        {plan.schedule}, {plural(plan.stages.length, "stage")} on {plural(tasks.groups, "group")} of devices,{" "}
        {plural(plan.micro_batches, "micro-batch", "micro-batches")}: a step takes {text(tasks.seconds)} with every
        phase's operators without overlap; groups do nothing for {percentText(plan.bubble_share)} of it.
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
          seconds={tasks.shown_seconds}
          text={text}
        />
        <Legend
          entries={[
            ...taskKinds
              .map((kind, k): [string, string, number] => [kind, taskColours[k], k])
              .filter(([, , k]) => tasks.kind.includes(k))
              .map(([kind, colour]): [string, string] => [kind, colour]),
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
              number: true,
              cell: ({ parts }: { parts: number[] }) => text(parts[k]),
            })).filter((_, k) => busy.some((parts) => parts[k] > 0)),
            { title: "busy", number: true, cell: ({ parts }) => percentText(shareOf(sum(parts), tasks.shown_seconds)) },
          ]}
        />
      </div>
    </>
  );
}

function OneStep({ program, name }: { program: Program; name: string }) {
  const { plan } = useShared();
  const text = (seconds: number) => costText(seconds, plan.in_seconds);
  const { rows, seconds } = useMemo(() => stepTimeline(program, text), [program]);
  return (
    <div class="panel">
      <h2>{name}</h2>
      <p>
        Operators in the order of the program and the collectives that they wait for, without overlap:{" "}
        {text(seconds)}. All executions of an operator are one box.
      </p>
      <Gantt label={`${name}: operators and collectives`} rows={rows} colours={[computeColour, communicationColour]} seconds={seconds} text={text} />
      <Legend entries={[["computation", computeColour], ["communication", communicationColour]]} />
    </div>
  );
}

export function Timeline() {
  const { plan } = useShared();
  const [program, setProgram] = useState(0);
  const several = plan.programs.length > 1;
  return (
    <>
      {plan.timeline && <Pipeline tasks={plan.timeline} />}
      {several && (
        <div class="bar">
          <ProgramChoice value={program} onChange={setProgram} />
        </div>
      )}
      {plan.programs[program] && (
        <OneStep program={plan.programs[program]} name={plan.stages.length > 0 ? `What ${programName(plan, program)} runs in a step` : "One step"} />
      )}
    </>
  );
}

