// How a step scales with the number of devices, the batch or the length of sequences: the engine's plans for each.

import { useShared } from "../context";
import { type Sweep, type SweepAxis, type SweepRow, sweepsOf } from "../data";
import { bytesText, countText, percentText, secondsText } from "../format";
import { none, series } from "../palette";
import { Legend, Name } from "../parts/basic";
import { XyChart } from "../parts/chart";
import { Table } from "../parts/table";

/** What a sweep goes over: as the title of an axis and of a column, and of a row. */
const axes: Record<SweepAxis, { title: string; column: string; of: (row: SweepRow) => number }> = {
  gpus: { title: "GPUs", column: "GPUs", of: (row) => row.gpus },
  batch: { title: "sequences of a step", column: "batch", of: (row) => row.global_batch },
  seq: { title: "tokens of a sequence", column: "sequence", of: (row) => row.sequence },
};

function one(sweep: Sweep) {
  const swept = axes[sweep.axis];
  const first = sweep.rows[0];
  const perSecond = (value: number) => (value >= 1e6 ? `${(value / 1e6).toPrecision(3)} M/s` : value >= 1e3 ? `${(value / 1e3).toPrecision(3)} k/s` : `${value.toPrecision(3)} /s`);
  const points = sweep.rows.map((row) => ({ x: swept.of(row), y: row.tokens_per_second, name: row.degrees, colour: series(0) }));
  const at = sweep.rows.map(swept.of);
  const ideal = sweep.rows.map((row) => ({ x: swept.of(row), y: (first.tokens_per_second / first.gpus) * row.gpus }));
  return (
    <section class="panel" key={sweep.file}>
      <h2>
        <Name text={sweep.file} />
      </h2>
      <div class="columns">
        <XyChart
          label={`Tokens a second by ${swept.title}`}
          x={{ title: swept.title, text: countText, log: true, at }}
          y={{ title: "tokens a second", text: perSecond, log: true }}
          points={points}
          lines={[{ points, colour: series(0) }, { points: ideal, colour: none, dashed: true }]}
        />
        <XyChart
          label={`Efficiency by ${swept.title}`}
          x={{ title: swept.title, text: countText, log: true, at }}
          y={{ title: "tokens/s/GPU, relative to the first", text: (value) => percentText(value, 0) }}
          points={sweep.rows.map((row) => ({ x: swept.of(row), y: row.efficiency, name: row.degrees, colour: series(0) }))}
          lines={[{ points: sweep.rows.map((row) => ({ x: swept.of(row), y: row.efficiency })), colour: series(0) }]}
          fromZero
        />
      </div>
      <Legend entries={[["planned", series(0)], ["as the first, per GPU", none]]} />
      <Table
        caption="The sweep's plans"
        rows={sweep.rows}
        columns={[
          ...Object.values(axes)
            .filter((axis) => axis === swept || sweep.rows.some((row) => axis.of(row) !== axis.of(sweep.rows[0])))
            .map((axis) => ({ title: axis.column, number: axis.of, cell: (row: SweepRow) => countText(axis.of(row)) })),
          { title: "degrees", cell: (row) => <Name text={row.degrees} /> },
          { title: "step", number: (row) => row.seconds, cell: (row) => secondsText(row.seconds) },
          { title: "tokens a second", number: (row) => row.tokens_per_second, cell: (row) => countText(Math.round(row.tokens_per_second)) },
          { title: "MFU", number: (row) => row.mfu, cell: (row) => percentText(row.mfu) },
          { title: "efficiency", number: (row) => row.efficiency, cell: (row) => percentText(row.efficiency) },
          { title: "memory", number: (row) => row.peak_bytes, cell: (row) => bytesText(row.peak_bytes) },
        ]}
      />
    </section>
  );
}

export function Scaling() {
  return <>{sweepsOf(useShared().report).map(one)}</>;
}
