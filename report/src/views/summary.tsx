import { useShared } from "../context";
import { categories, deviceCount, type Plan, sum } from "../data";
import { bytesText, costText, countText, meshText, percentText, plural, secondsText } from "../format";
import { categoryColours, series } from "../palette";
import { Name, type Part, Stack, Table } from "../parts/basic";

function Card({ label, value, note }: { label: string; value: string; note: string }) {
  return (
    <div class="card">
      <div class="label">{label}</div>
      <div class="value">{value}</div>
      <div class="note">{note}</div>
    </div>
  );
}

/** What a step consists of: of a pipeline the share of all groups' time. */
export function timeParts(plan: Plan): Part[] {
  if (plan.transformer) {
    return Object.entries(plan.transformer.seconds).map(([name, value], i) => ({
      name: name.replaceAll("_", " "),
      value,
      colour: series(i),
    }));
  }
  const parts = [
    { name: "computation", value: plan.compute, colour: series(0) },
    { name: "communication", value: plan.communication, colour: series(3) },
  ];
  const idle = plan.objective - plan.compute - plan.communication;
  if (plan.stages.length > 1 && idle > 0) {
    parts.push({ name: "waiting, of the busiest stage", value: idle, colour: "var(--none)" });
  }
  return parts;
}

export function memoryParts(bytes: readonly number[]): Part[] {
  return categories.map((name, i) => ({ name, value: bytes[i], colour: categoryColours[i] }));
}

function Cards({ plan }: { plan: Plan }) {
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const one = plan.step !== plan.objective;
  return (
    <div class="cards">
      <Card
        label="One training step"
        value={time(plan.step)}
        note={one ? `${time(plan.objective)} one by one` : `computation ${time(plan.compute)}`}
      />
      <Card
        label="How close to optimal"
        value={`gap ${percentText(plan.gap, 2)}`}
        note={`bound ${time(plan.bound)} one by one`}
      />
      <Card
        label="Fullest device"
        value={bytesText(plan.peak)}
        note={plan.budget === null ? "no limit set" : `${percentText(plan.peak / (plan.budget || 1))} of ${bytesText(plan.budget)}`}
      />
      <Card
        label="Devices"
        value={countText(deviceCount(plan))}
        note={plan.cluster.parts.map((part) => `${part.nodes} x ${part.per_node} ${part.device}`).join(" + ")}
      />
      {plan.stages.length > 0 ? (
        <Card
          label="Pipeline"
          value={plural(plan.stages.length, "stage")}
          note={`${plan.schedule}, ${plural(plan.micro_batches, "micro-batch", "micro-batches")}, bubble ${percentText(plan.bubble_share)}`}
        />
      ) : (
        <Card
          label={plan.transformer ? "Degrees" : "Mesh"}
          value={plan.transformer ? plan.mesh.filter((a) => a.size > 1).map((a) => `${a.name} ${a.size}`).join(", ") || "one device" : meshText(plan.mesh)}
          note={plan.transformer ? `MFU ${percentText(plan.transformer.mfu)}, HFU ${percentText(plan.transformer.hfu)}` : `cost model ${plan.cost_model}`}
        />
      )}
    </div>
  );
}

export function Summary() {
  const { plan } = useShared();
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const memory = plan.transformer ? transformerMemory(plan) : memoryParts(plan.memory);
  return (
    <>
      <ul class="headline">
        {plan.headline.map((sentence, i) => (
          <li key={i} class="text">
            {sentence}
          </li>
        ))}
      </ul>
      <Cards plan={plan} />
      <div class="columns">
        <section class="panel">
          <h2>Where the time goes</h2>
          <Stack parts={timeParts(plan)} text={time} label="Time of a step" />
          <p class="soft">
            {plan.transformer ? "Of one step; communication is what computation does not hide." : plan.stages.length > 0 ? "Of the stage that is busy longest." : "As if nothing ran side by side."}
          </p>
        </section>
        <section class="panel">
          <h2>What fills the fullest device</h2>
          <Stack parts={memory} text={bytesText} label="Memory of the fullest device" />
          {plan.peak_at && (
            <p class="soft">
              Fullest at <Name text={plan.peak_at} />
            </p>
          )}
        </section>
      </div>
      {plan.warnings.length > 0 && (
        <section class="panel">
          <h2>Warnings</h2>
          <ul>
            {plan.warnings.slice(0, 50).map((warning, i) => (
              <li key={i} class="text">
                {warning}
              </li>
            ))}
          </ul>
          {plan.warnings.length > 50 && <p>… and {countText(plan.warnings.length - 50)} more in the plan</p>}
        </section>
      )}
      <section class="panel">
        <h2>Made from</h2>
        <Table
          caption="Files that the plan was made from"
          rows={plan.inputs}
          columns={[
            { title: "file", cell: (input) => <Name text={input.path} /> },
            { title: "kind", cell: (input) => input.kind.replaceAll("_", " ") },
            { title: "SHA-256", cell: (input) => <code title={input.sha256}>{input.sha256.slice(0, 16)}…</code> },
          ]}
        />
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
              <dt>shardings given</dt>
              <dd class="full">
                {plan.fixes.map((fix, i) => (
                  <div key={i}>
                    <bdi class="mono">{fix}</bdi>
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

/** By what a model's framework keeps: of the fullest pipeline group. */
export function transformerMemory(plan: Plan): Part[] {
  const groups = plan.transformer?.memory ?? [];
  const total = (group: Record<string, number>) =>
    sum(Object.entries(group).map(([key, bytes]) => (key === "host" ? 0 : bytes)));
  const fullest = groups.reduce((a, b) => (total(b) > total(a) ? b : a), groups[0] ?? {});
  return Object.entries(fullest)
    .filter(([key]) => key !== "host")
    .map(([name, value], i) => ({ name, value, colour: series(i) }));
}
