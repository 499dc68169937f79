// What fills a device's memory, and when.

import { useMemo, useState } from "preact/hooks";
import { useShared } from "../context";
import { categories, type Program, type Stage, sum, type Timeline } from "../data";
import { bytesText, costText, percentText } from "../format";
import { groupMemory, thinned } from "../memory_over_time";
import { shareOf } from "../numbers";
import { categoryColours, series } from "../palette";
import { Legend, Name, Stack } from "../parts/basic";
import { AreaChart, binaryUnit } from "../parts/chart";
import { ProgramChoice, programName, stagesOf } from "../parts/program_choice";
import { memoryParts, transformerMemory } from "./summary";
import { Table } from "../parts/table";

const usedCategories = (rows: readonly (readonly number[])[]): number[] =>
  categories.flatMap((_, c) => (rows.some((row) => row[c] > 0) ? [c] : []));

function OverProgram({ program, title, budget }: { program: Program; title: string; budget: number | null }) {
  const { plan } = useShared();
  const points = program.memory;
  if (points.length === 0) return null;
  const used = usedCategories(points.map((point) => point.bytes));
  const peak = points.reduce((a, b) => (sum(b.bytes) > sum(a.bytes) ? b : a));
  return (
    <section class="panel">
      <h2>{title}</h2>
      <AreaChart
        label={`${title}: memory of one device by what it is for`}
        x={{ title: plan.stages.length > 0 ? "time of one micro-batch, without overlap" : "time, without overlap", text: (t) => costText(t, plan.in_seconds) }}
        y={{ title: "memory", text: bytesText, unit: binaryUnit }}
        times={points.map((point) => point.seconds)}
        layers={used.map((c) => ({ name: categories[c], colour: categoryColours[c], values: points.map((point) => point.bytes[c]) }))}
        limit={budget === null ? undefined : { value: budget, name: `limit ${bytesText(budget)}` }}
      />
      <Legend entries={used.map((c) => [categories[c], categoryColours[c]])} />
      <p>
        The peak is after {costText(peak.seconds, plan.in_seconds)} with {bytesText(sum(peak.bytes))}
        {program.instructions.name[peak.instruction] !== undefined && (
          <>
            , when <Name text={program.instructions.name[peak.instruction]} /> runs
          </>
        )}
        .
      </p>
      <details>
        <summary>The figures as a table</summary>
        <Table
          caption={`${title}: bytes over time`}
          rows={points}
          columns={[
            { title: "time", number: (point) => point.seconds, cell: (point) => costText(point.seconds, plan.in_seconds) },
            ...used.map((c) => ({ title: categories[c] as string, number: (point: (typeof points)[number]) => point.bytes[c], cell: (point: (typeof points)[number]) => bytesText(point.bytes[c]) })),
            { title: "all", number: (point) => sum(point.bytes), cell: (point) => bytesText(sum(point.bytes)) },
            { title: "operator", cell: (point) => <Name text={program.instructions.name[point.instruction] ?? ""} /> },
          ]}
        />
      </details>
    </section>
  );
}

/** The stage whose devices are nearest to what they may use. */
function peakStage(stages: readonly Stage[]): number {
  const share = (stage: Stage) => (stage.budget === null ? stage.peak_of_group : shareOf(stage.peak_of_group, stage.budget));
  return stages.reduce((best, stage, s) => (share(stage) > share(stages[best]) ? s : best), 0);
}

/** Memory of a group of devices over the simulated step. */
export function OverPipeline({ tasks }: { tasks: Timeline }) {
  const { plan } = useShared();
  const [group, setGroup] = useState(() => peakStage(plan.stages) % tasks.groups);
  const memory = useMemo(() => groupMemory(plan, tasks), [plan, tasks]);
  const one = memory[group];
  const thin = thinned(one.times, one.inFlight, 1500);
  const budget = plan.stages[group].budget;
  return (
    <section class="panel">
      <h2>Memory over the step, by group of devices</h2>
      <div class="bar">
        <label>
          Group
          <select id="group" value={String(group)} onChange={(event) => setGroup(Number(event.currentTarget.value))}>
            {memory.map((_, g) => (
              <option key={g} value={String(g)}>
                {g}
              </option>
            ))}
          </select>
        </label>
      </div>
      <AreaChart
        label={`Memory of a device of group ${group} over the step`}
        x={{ title: "time of the simulated step", text: (t) => costText(t, plan.in_seconds) }}
        y={{ title: "memory", text: bytesText, unit: binaryUnit }}
        times={thin.times}
        layers={[
          { name: "weights, state and what computing needs", colour: series(0), values: thin.times.map(() => one.fixed) },
          { name: "micro-batches in flight", colour: series(2), values: thin.values },
        ]}
        limit={budget === null ? undefined : { value: budget, name: `limit ${bytesText(budget)}` }}
      />
      <Legend
        entries={[
          ["weights, state and what computing needs", series(0)],
          ["micro-batches in flight", series(2)],
        ]}
      />
      <p>
        A device of group {group} holds {bytesText(one.fixed)} all the time and up to {bytesText(Math.max(...one.inFlight))} of micro-batches between their phases.
      </p>
    </section>
  );
}

const budgetShare = (stage: Stage): number | null => (stage.budget === null ? null : shareOf(stage.peak_of_group, stage.budget));

function budgetText(stage: Stage): string {
  const share = budgetShare(stage);
  return share === null ? "no limit" : percentText(share);
}

function StageTable() {
  const { plan } = useShared();
  return (
    <section class="panel">
      <h2>By stage, at its peak</h2>
      <Table
        caption="Memory of a device of each stage"
        most={12}
        rows={plan.stages.map((stage, number) => ({ stage, number }))}
        columns={[
          { title: "stage", cell: ({ number }) => number },
          ...usedCategories(plan.stages.map((stage) => stage.memory)).map((c) => ({
            title: categories[c] as string,
            number: ({ stage }: { stage: (typeof plan.stages)[number] }) => stage.memory[c],
            cell: ({ stage }: { stage: (typeof plan.stages)[number] }) => bytesText(stage.memory[c]),
          })),
          { title: "all on the device", number: ({ stage }) => stage.peak_of_group, cell: ({ stage }) => bytesText(stage.peak_of_group) },
          { title: "of what it may use", number: ({ stage }) => budgetShare(stage), cell: ({ stage }) => budgetText(stage) },
          { title: "micro-batches in flight", number: ({ stage }) => stage.max_in_flight, cell: ({ stage }) => stage.max_in_flight },
        ]}
      />
    </section>
  );
}

function TransformerGroups() {
  const { plan } = useShared();
  const groups = plan.transformer!.memory;
  const keys = Object.keys(groups[0] ?? {});
  const over = plan.transformer!.over_groups;
  return (
    <section class="panel">
      <h2>By pipeline group</h2>
      <Table
        caption="Memory of a GPU of each pipeline group"
        most={12}
        rows={groups.map((group, number) => ({ group, number }))}
        columns={[
          { title: "group", cell: ({ number }) => number },
          ...(over ? [{ title: "nodes of", cell: ({ number }: { number: number }) => <Name text={over.groups[over.stage_groups[number]].name} /> }] : []),
          ...(over
            ? [
                { title: "all", number: ({ number }: { number: number }) => plan.stages[number].peak_of_group, cell: ({ number }: { number: number }) => bytesText(plan.stages[number].peak_of_group) },
                { title: "of what it may use", number: ({ number }: { number: number }) => budgetShare(plan.stages[number]), cell: ({ number }: { number: number }) => budgetText(plan.stages[number]) },
                { title: "micro-batches in flight", number: ({ number }: { number: number }) => plan.stages[number].max_in_flight, cell: ({ number }: { number: number }) => plan.stages[number].max_in_flight },
              ]
            : []),
          ...keys.map((key) => ({ title: key === "host" ? "in the host" : key, number: ({ group }: { group: Record<string, number> }) => group[key], cell: ({ group }: { group: Record<string, number> }) => bytesText(group[key]) })),
        ]}
      />
    </section>
  );
}

export function Memory() {
  const { plan } = useShared();
  const [program, setProgram] = useState(() => plan.stages[peakStage(plan.stages)]?.program ?? 0);
  const parts = plan.transformer ? transformerMemory(plan) : memoryParts(plan.memory);
  const stages = stagesOf(plan, program);
  const budget = plan.stages.length > 0 ? (plan.stages[stages[0]]?.budget ?? null) : plan.budget;
  return (
    <>
      <section class="panel">
        <h2>The peak device</h2>
        <p>
          {bytesText(plan.peak)}
          {plan.budget !== null && ` of ${bytesText(plan.budget)} that it may use`}
          {plan.peak_at && (
            <>
              , at <Name text={plan.peak_at} />
            </>
          )}
        </p>
        <Stack parts={parts} text={bytesText} label="Memory of the peak device" capacity={plan.budget} />
      </section>
      {plan.timeline && <OverPipeline tasks={plan.timeline} />}
      {plan.stages.length > 0 && !plan.transformer && <StageTable />}
      {plan.transformer && <TransformerGroups />}
      {plan.programs.length > 1 && (
        <div class="bar">
          <ProgramChoice value={program} onChange={setProgram} />
        </div>
      )}
      {plan.programs[program] && (
        <OverProgram
          program={plan.programs[program]}
          title={plan.stages.length > 0 ? `One micro-batch through ${programName(plan, program)}, and the update` : "Over the step"}
          budget={budget}
        />
      )}
    </>
  );
}
