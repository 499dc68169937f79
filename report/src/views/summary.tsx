import { useMemo } from "preact/hooks";
import { useShared } from "../context";
import { categories, deviceCount, type Plan, sum } from "../data";
import { bytesText, costText, countText, dollarsText, meshText, percentText, plural, runTimeText, secondsText } from "../format";
import { shareOf } from "../numbers";
import { categoryColours, communicationColour, computeColour, launchColour, memoryPartColour, stepPartColour, stepPartName, waitingColour } from "../palette";
import { Name, Nothing, type Part, Sentence, Stack } from "../parts/basic";
import { Table } from "../parts/table";
import { stepParts } from "../step_breakdown";
import { partsOf } from "../step_lanes";
import { together, visible } from "../text";

function Card({ label, value, note }: { label: string; value: string; note: string }) {
  return (
    <div class="card">
      <div class="label">{label}</div>
      <div class="value">{value}</div>
      <div class="note">{together(note)}</div>
    </div>
  );
}

/** What a step consists of: of a pipeline the share of all groups' time. */
export function timeParts(plan: Plan): Part[] {
  if (plan.transformer) {
    return Object.entries(plan.transformer.seconds).map(([name, value]) => ({
      name: stepPartName(name),
      value,
      colour: stepPartColour(name),
    }));
  }
  const program = plan.stages.length === 0 ? plan.programs[0] : undefined;
  if (program?.step) return stepParts(plan, partsOf(program, plan.step));
  const parts = [
    { name: "computation", value: plan.compute, colour: computeColour },
    { name: "communication", value: plan.communication, colour: communicationColour },
  ];
  const idle = plan.objective - plan.compute - plan.communication;
  if (plan.stages.length > 1 && idle > 0) {
    parts.push({ name: "waiting, of the busiest stage", value: idle, colour: waitingColour });
  }
  const beyond = plan.step - plan.objective;
  if (plan.stages.length > 0 && beyond > 1e-9 * plan.step) parts.push({ name: "launch overhead, less what overlap saves", value: beyond, colour: launchColour });
  return parts;
}

/** Of a step without overlap and launch overhead. */
export function serialSeconds(plan: Plan): number {
  return plan.transformer || plan.stages.length > 0 ? plan.objective : plan.compute + plan.communication;
}

export function memoryParts(bytes: readonly number[]): Part[] {
  return categories.map((name, i) => ({ name, value: bytes[i], colour: categoryColours[i] }));
}

/** The degrees of a model's training, those of more than one: `ep` lies on the same devices as others. */
export function degreesText(plan: Plan): string {
  const model = plan.transformer!;
  const sizes = { ...model.sizes };
  if (model.over_groups) {
    // Those of the first stage; groups may differ, and stages of a group (0).
    for (const degree of ["tp", "dp"] as const) {
      const all = new Set(model.over_groups.groups.filter((group) => group.used_nodes > 0).map((group) => group[degree]));
      if (all.size > 1 || all.has(0)) sizes[degree] = 1;
    }
    sizes.pp = plan.stages.length;
  }
  return Object.entries(sizes).flatMap(([name, size]) => (size > 1 ? [`${name}\u00a0${size}`] : [])).join(", ");
}

function DollarsCard({ plan }: { plan: Plan }) {
  const over = plan.transformer?.over_groups;
  if (!over) return null;
  if (over.dollars === null) return <Card label="Cost" value="no price" note="the groups of nodes have none" />;
  const rates = over.groups.map((group) => (group.used_nodes > 0 ? group.dollars_per_hour ?? 0 : 0)).reduce((a, b) => a + b, 0);
  return over.steps === null ? (
    <Card label="Cost of a step" value={dollarsText(over.dollars)} note={`${dollarsText(rates)} an hour`} />
  ) : (
    <Card label="Cost of the run" value={dollarsText(over.dollars * over.steps)} note={`${runTimeText(plan.step * over.steps)} at ${dollarsText(rates)} an hour`} />
  );
}

function GoodputCard({ plan }: { plan: Plan }) {
  const goodput = plan.transformer?.goodput;
  if (!goodput) return null;
  return (
    <Card
      label="Goodput, with failures"
      value={percentText(goodput.share)}
      note={`${countText(Math.round(goodput.tokens_per_second))} tokens a second; a failure every ${runTimeText(goodput.mtbf_seconds)}, a checkpoint every ${runTimeText(goodput.interval_seconds)}`}
    />
  );
}

function Cards({ plan }: { plan: Plan }) {
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const serial = serialSeconds(plan);
  return (
    <div class="cards">
      <Card
        label="One training step"
        value={time(plan.step)}
        note={plan.step !== serial ? `${time(serial)} serial` : `computation ${time(plan.compute)}`}
      />
      <Card
        label="How close to optimal"
        value={`gap ${percentText(plan.gap, 2)}`}
        note={`bound ${time(plan.bound)}${plan.step !== plan.objective ? " serial" : ""}`}
      />
      <Card
        label="Peak memory"
        value={bytesText(plan.peak)}
        note={plan.budget === null ? "no limit set" : `${percentText(shareOf(plan.peak, plan.budget))} of ${bytesText(plan.budget)}`}
      />
      <Card
        label="Devices"
        value={countText(deviceCount(plan))}
        note={plan.cluster.parts.map((part) => `${part.nodes} x ${part.per_node} ${visible(part.device)}`).join(" + ")}
      />
      {plan.transformer && (
        <Card
          label="Degrees"
          value={degreesText(plan) || "one device"}
          note={`MFU ${percentText(plan.transformer.mfu)}, HFU ${percentText(plan.transformer.hfu)}`}
        />
      )}
      {plan.stages.length > 0 && (
        <Card
          label="Pipeline"
          value={plural(plan.stages.length, "stage")}
          note={`${plan.schedule}, ${plural(plan.micro_batches, "micro-batch", "micro-batches")}, bubble ${percentText(plan.bubble_share)}`}
        />
      )}
      {plan.stages.length === 0 && !plan.transformer && <Card label="Mesh" value={meshText(plan.mesh)} note={`cost model ${plan.cost_model}`} />}
      <DollarsCard plan={plan} />
      <GoodputCard plan={plan} />
    </div>
  );
}

export function Summary() {
  const { plan } = useShared();
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const parts = useMemo(() => timeParts(plan), [plan]);
  const memory = plan.transformer ? transformerMemory(plan) : memoryParts(plan.memory);
  return (
    <>
      <ul class="headline">
        {plan.headline.map((sentence, i) => (
          <li key={i} class="text">
            <Sentence text={sentence} />
          </li>
        ))}
      </ul>
      <Cards plan={plan} />
      <div class="columns">
        <section class="panel">
          <h2>Where the time goes</h2>
          <Stack parts={parts} text={time} label="Time of a step" />
          <p class="soft">
            {plan.transformer?.over_groups ? "Of the first stage; only exposed communication is counted." : plan.transformer ? "Of one step; only exposed communication is counted." : plan.stages.length > 0 ? "Of the stage that is busy longest." : plan.programs[0]?.step ? "Of one step; communication that is hidden behind computation is not counted." : "Without overlap."}
          </p>
        </section>
        <section class="panel">
          <h2>What fills memory at its peak</h2>
          <Stack parts={memory} text={bytesText} label="Peak memory of a device" capacity={plan.budget} />
          {plan.peak_at && (
            <p class="soft">
              Peak at <Name text={plan.peak_at} />
            </p>
          )}
        </section>
      </div>
      {plan.warnings.length > 0 && (
        <section class="panel">
          <h2>Warnings</h2>
          <ul>
            {plan.warnings.slice(0, 50).map((warning, i) => (
              <li key={i}>
                <Name text={warning} class="full" />
              </li>
            ))}
          </ul>
          {plan.warnings.length > 50 && <p>… and {countText(plan.warnings.length - 50)} more in the plan</p>}
        </section>
      )}
      <section class="panel">
        <h2>Made from</h2>
        {plan.inputs.length === 0 && <Nothing why="No file: the model and the cluster are built in." />}
        {plan.inputs.length > 0 && <Table
          caption="Files that the plan was made from"
          rows={plan.inputs}
          columns={[
            { title: "file", cell: (input) => <Name text={input.path} /> },
            { title: "kind", cell: (input) => input.kind.replaceAll("_", " ") },
            { title: "SHA-256", cell: (input) => <code title={input.sha256}>{input.sha256.slice(0, 16)}…</code> },
          ]}
        />}
        <dl class="facts">
          <dt>plan</dt>
          <dd>
            <Name text={plan.file} />
          </dd>
          <dt>planned in</dt>
          <dd>
            {secondsText(plan.planning_seconds)} by meshwright {plan.tool_version}, cost model {plan.cost_model}
          </dd>
          {plan.fixes.length > 0 && (
            <>
              <dt>{plan.transformer ? "search constrained to" : "shardings given"}</dt>
              <dd class="full">
                {plan.fixes.map((fix, i) => (
                  <div key={i}>
                    <Name class="mono" text={fix} />
                  </div>
                ))}
              </dd>
            </>
          )}
        </dl>
      </section>
    </>
  );
}

/** By what a model's framework keeps: of the pipeline group at peak. */
export function transformerMemory(plan: Plan): Part[] {
  const groups = plan.transformer?.memory ?? [];
  const total = (group: Record<string, number>) =>
    sum(Object.entries(group).map(([key, bytes]) => (key === "host" ? 0 : bytes)));
  // Stages may be on devices of different sizes.
  const fullness = (g: number) => shareOf(total(groups[g]), plan.stages[g]?.budget ?? plan.budget ?? 1);
  const peak = groups.reduce((best, _, g) => (fullness(g) > fullness(best) ? g : best), 0);
  return Object.entries(groups[peak] ?? {})
    .filter(([key]) => key !== "host")
    .map(([name, value]) => ({ name, value, colour: memoryPartColour(name) }));
}
