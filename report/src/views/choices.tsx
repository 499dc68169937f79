// What else was possible: the next best of a model's plans, or the front of time and cost.

import { useShared } from "../context";
import type { Plan } from "../data";
import { bytesText, countText, percentText, secondsText } from "../format";
import { shareOf } from "../numbers";
import { series, stepPartName } from "../palette";
import { Legend, Name } from "../parts/basic";
import { Bars, binaryUnit, XyChart } from "../parts/chart";
import { Front } from "./front";
import { Table } from "../parts/table";

function NextBest({ plan }: { plan: Plan }) {
  const model = plan.transformer!;
  const all = [
    { degrees: model.degrees, seconds: plan.step, peak_bytes: plan.peak, mfu: model.mfu, slower_by: {} },
    ...model.alternatives,
  ];
  // The largest first; what rounding leaves of a difference is none.
  const why = (one: { slower_by: Record<string, number> }) =>
    Object.entries(one.slower_by)
      .filter(([, seconds]) => Math.abs(seconds) > 1e-9 * plan.step)
      .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
      .map(([part, seconds]) => `${stepPartName(part)}\u00a0${seconds >= 0 ? "+" : "−"}${secondsText(Math.abs(seconds)).replace(" ", "\u00a0")}`)
      .join(", ");
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
          { title: "step", number: (one) => one.seconds, cell: (one) => secondsText(one.seconds) },
          { title: "slower", number: (one) => one.seconds / plan.step - 1, cell: (one) => (one.rank === 0 ? "" : percentText(shareOf(one.seconds, plan.step) - 1, 2)) },
          { title: "MFU", number: (one) => one.mfu, cell: (one) => percentText(one.mfu) },
          { title: "memory", number: (one) => one.peak_bytes, cell: (one) => bytesText(one.peak_bytes) },
          { title: "against the plan", cell: (one) => <span class="wide">{why(one)}</span> },
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
