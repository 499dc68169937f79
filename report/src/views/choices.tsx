// What else was possible: the next best of a model's plans, or the front of time and cost.

import { useShared } from "../context";
import type { Plan } from "../data";
import { bytesText, countText, percentText, secondsText } from "../format";
import { shareOf } from "../numbers";
import { series } from "../palette";
import { Legend, Name, Table } from "../parts/basic";
import { Bars, binaryUnit, XyChart } from "../parts/chart";
import { Front } from "./front";

function NextBest({ plan }: { plan: Plan }) {
  const model = plan.transformer!;
  const all = [
    { degrees: model.degrees, seconds: plan.step, peak_bytes: plan.peak, mfu: model.mfu, slower_by: {} },
    ...model.alternatives,
  ];
  // What rounding leaves of a difference is none.
  const differs = (one: { slower_by: Record<string, number> }, part: string) => Math.abs(one.slower_by[part] ?? 0) > 1e-9 * plan.step;
  const parts = Object.keys(model.seconds).filter((part) => model.alternatives.some((one) => differs(one, part)));
  return (
    <section class="panel">
      <h2>The next best</h2>
      <p>
        {countText(model.search.legal)} configurations are legal, {countText(model.search.evaluated)} were costed, {countText(model.search.fitting)} of them fit; bounds rule out the other {countText(model.search.pruned)}.
      </p>
      <XyChart
        label={`Step time and memory of ${all.length} configurations`}
        x={{ title: "step", text: secondsText }}
        y={{ title: "peak memory of a GPU", text: bytesText, unit: binaryUnit }}
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
          { title: "slower", number: true, cell: (one) => (one.rank === 0 ? "" : percentText(shareOf(one.seconds, plan.step) - 1, 2)) },
          { title: "MFU", number: true, cell: (one) => percentText(one.mfu) },
          { title: "memory", number: true, cell: (one) => bytesText(one.peak_bytes) },
          ...parts.map((part) => ({
            title: part.replaceAll("_", " "),
            number: true,
            cell: (one: { rank: number; slower_by: Record<string, number> }) => (differs(one, part) ? `${one.slower_by[part] >= 0 ? "+" : "−"}${secondsText(Math.abs(one.slower_by[part]))}` : one.rank === 0 ? "" : "="),
          })),
        ]}
      />
    </section>
  );
}

function Sensitivity({ plan }: { plan: Plan }) {
  const changes = plan.transformer!.sensitivity;
  if (changes.length === 0) return null;
  return (
    <section class="panel">
      <h2>What the hardware does to the step</h2>
      <Bars
        label="Change of the step with the hardware"
        text={(value) => percentText(value, 2)}
        bars={changes.map((one) => ({ name: one.change, value: one.step_change, colour: series(0) }))}
      />
    </section>
  );
}

export function Choices() {
  const { plan } = useShared();
  const over = plan.transformer!.over_groups;
  return (
    <>
      {over && (
        <section class="panel">
          <h2>The front of time and cost</h2>
          <Front plan={plan} over={over} />
        </section>
      )}
      {!over && <NextBest plan={plan} />}
      <Sensitivity plan={plan} />
    </>
  );
}
