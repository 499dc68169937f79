// What else was possible: the next best of a model's plans, and fronts of time and cost.

import { useShared } from "../context";
import type { Mixed, Plan } from "../data";
import { bytesText, countText, percentText, secondsText } from "../format";
import { none, series } from "../palette";
import { Legend, Name, Table } from "../parts/basic";
import { Bars, XyChart } from "../parts/chart";

function ofModel(plan: Plan) {
  const model = plan.transformer!;
  const all = [
    { degrees: model.degrees, seconds: plan.step, peak_bytes: plan.peak, mfu: model.mfu, slower_by: {} },
    ...model.alternatives,
  ];
  const parts = Object.keys(model.seconds).filter((part) => model.alternatives.some((one) => one.slower_by[part] !== 0));
  return (
    <section class="panel" key={plan.file}>
      <h2>
        <bdi>{model.model}</bdi>: the next best
      </h2>
      <p>
        {countText(model.search.legal)} configurations are legal, {countText(model.search.evaluated)} were costed, {countText(model.search.fitting)} of them fit; bounds rule out the other {countText(model.search.pruned)}.
      </p>
      <XyChart
        label={`Step time and memory of ${all.length} configurations`}
        x={{ title: "step", text: secondsText }}
        y={{ title: "memory of the fullest GPU", text: bytesText, binary: true }}
        points={all.map((one, i) => ({ x: one.seconds, y: one.peak_bytes, name: one.degrees, colour: i === 0 ? series(1) : series(0) }))}
      />
      <Legend entries={[["the plan", series(1)], ["alternatives", series(0)]]} />
      <Table
        caption="Configurations, the best first"
        rows={all.map((one, rank) => ({ ...one, rank }))}
        columns={[
          { title: "", cell: (one) => (one.rank === 0 ? "the plan" : one.rank) },
          { title: "degrees", cell: (one) => <Name text={one.degrees} class="wide" /> },
          { title: "step", number: true, cell: (one) => secondsText(one.seconds) },
          { title: "slower", number: true, cell: (one) => (one.rank === 0 ? "" : percentText(one.seconds / plan.step - 1)) },
          { title: "MFU", number: true, cell: (one) => percentText(one.mfu) },
          { title: "memory", number: true, cell: (one) => bytesText(one.peak_bytes) },
          ...parts.map((part) => ({
            title: part.replaceAll("_", " "),
            number: true,
            cell: (one: { rank: number; slower_by: Record<string, number> }) => (one.rank === 0 ? "" : `${(one.slower_by[part] ?? 0) >= 0 ? "+" : "−"}${secondsText(Math.abs(one.slower_by[part] ?? 0))}`),
          })),
        ]}
      />
      {model.sensitivity.length > 0 && (
        <>
          <h2>What the hardware does to the step</h2>
          <Bars
            label="Change of the step with the hardware"
            text={(value) => percentText(value, 2)}
            bars={model.sensitivity.map((one) => ({ name: one.change, value: one.step_change, colour: one.step_change <= 0 ? series(2) : series(3) }))}
          />
        </>
      )}
    </section>
  );
}

function front(mixed: Mixed) {
  const steps = mixed.steps ?? 1;
  const run = mixed.steps === null ? "step" : "run";
  const priced = mixed.plans.every((one) => one.dollars !== null);
  const money = (dollars: number) => (dollars >= 100 ? `$${countText(Math.round(dollars))}` : `$${dollars.toPrecision(3)}`);
  const time = (seconds: number) => (seconds >= 7200 ? `${(seconds / 3600).toFixed(1)} h` : secondsText(seconds));
  const rows = [...mixed.plans, ...mixed.others].map((one, i) => ({ ...one, of: one, on: i < mixed.plans.length }));
  return (
    <section class="panel" key={mixed.file}>
      <h2>
        <bdi>{mixed.model}</bdi> on <bdi>{mixed.cluster}</bdi>
      </h2>
      {priced && rows.length > 1 && (
        <>
          <XyChart
            label={`Time and cost of ${rows.length} choices of nodes; the front has ${mixed.plans.length}`}
            x={{ title: `${run}, time`, text: time }}
            y={{ title: `${run}, cost`, text: money }}
            points={rows.map((one) => ({
              x: one.seconds * steps,
              y: (one.dollars ?? 0) * steps,
              name: `${one.nodes} ${one.degrees}`,
              colour: one.on ? series(1) : none,
              hollow: one.is_bound,
            }))}
            lines={[{ points: [...mixed.plans].sort((a, b) => a.seconds - b.seconds).map((one) => ({ x: one.seconds * steps, y: (one.dollars ?? 0) * steps })), colour: series(1) }]}
          />
          <Legend entries={[["on the front", series(1)], ["dominated (hollow: by its bound)", none]]} />
        </>
      )}
      <Table
        caption="Choices of nodes, those of the front first"
        rows={rows}
        columns={[
          { title: "", cell: (one) => (one.on ? `front ${mixed.plans.indexOf(one.of)}` : one.dominated_by >= 0 ? `dominated by ${one.dominated_by}` : "") },
          { title: "nodes", cell: (one) => <Name text={one.nodes} /> },
          { title: "degrees", cell: (one) => <Name text={one.degrees} /> },
          { title: run, number: true, cell: (one) => `${one.is_bound ? "at least " : ""}${time(one.seconds * steps)}` },
          { title: "cost", number: true, cell: (one) => (one.dollars === null ? "not known" : money(one.dollars * steps)) },
          { title: "layers by stage", cell: (one) => one.stages.map((stage) => `${stage.layers} on ${stage.device}`).join(", ") },
        ]}
      />
    </section>
  );
}

export function Choices() {
  const { report } = useShared();
  return (
    <>
      {report.mixed.map(front)}
      {report.plans.filter((plan) => plan.transformer).map(ofModel)}
    </>
  );
}
