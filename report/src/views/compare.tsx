// Several plans side by side.

import { useMemo } from "preact/hooks";
import { differences } from "../comparison";
import { useShared } from "../context";
import { categories, deviceCount, planNames, type Plan } from "../data";
import { bytesText, costText, countText, meshText, percentText, plural } from "../format";
import { categoryColours, series } from "../palette";
import { Legend, Name, Scroll, Table } from "../parts/basic";
import { Bars, XyChart } from "../parts/chart";

interface Row {
  title: string;
  cell(plan: Plan): string;
}

const rows: Row[] = [
  { title: "program", cell: (plan) => plan.program_name },
  { title: "cluster", cell: (plan) => plan.cluster.name },
  { title: "devices", cell: (plan) => countText(deviceCount(plan)) },
  { title: "mesh", cell: (plan) => (plan.stages.length > 0 ? [...new Set(plan.programs.map((p) => meshText(p.mesh)))].join("; ") : meshText(plan.mesh)) },
  { title: "pipeline", cell: (plan) => (plan.stages.length > 0 ? `${plural(plan.stages.length, "stage")}, ${plural(plan.micro_batches, "micro-batch", "micro-batches")}, ${plan.schedule}` : "none") },
  { title: "bubble", cell: (plan) => (plan.stages.length > 0 ? percentText(plan.bubble_share) : "") },
  { title: "step", cell: (plan) => costText(plan.step, plan.in_seconds) },
  { title: "one by one", cell: (plan) => costText(plan.objective, plan.in_seconds) },
  { title: "computation", cell: (plan) => (plan.transformer ? costText(plan.transformer.seconds.compute, true) : costText(plan.compute, plan.in_seconds)) },
  { title: "communication", cell: (plan) => (plan.transformer ? "" : costText(plan.communication, plan.in_seconds)) },
  { title: "bound", cell: (plan) => costText(plan.bound, plan.in_seconds) },
  { title: "memory", cell: (plan) => bytesText(plan.peak) },
  { title: "degrees", cell: (plan) => plan.transformer?.degrees ?? "" },
  { title: "cost model", cell: (plan) => plan.cost_model },
];

function slower(ratio: number): string {
  return ratio < 2 ? `+${percentText(ratio - 1)}` : `${ratio >= 1000 ? countText(Math.round(ratio)) : ratio.toPrecision(3)} times`;
}

export function Compare() {
  const { report } = useShared();
  const { plans } = report;
  const names = planNames(plans);
  const changed = useMemo(() => differences(plans.filter((plan) => plan.programs.length > 0)), [plans]);
  const withPrograms = names.filter((_, i) => plans[i].programs.length > 0);
  const counts = new Set(plans.map(deviceCount));
  const best = plans.reduce((a, b) => (b.step < a.step ? b : a));
  return (
    <>
      <section class="panel">
        <h2>Figures</h2>
        <Scroll label="Figures of each plan">
          <table>
            <caption class="hidden">Figures of each plan</caption>
            <thead>
              <tr>
                <td />
                {names.map((name, i) => (
                  <th scope="col" key={i}>
                    <Name text={name} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows
                .filter((row) => plans.some((plan) => row.cell(plan) !== ""))
                .map((row) => (
                  <tr key={row.title}>
                    <th scope="row" class="soft">
                      {row.title}
                    </th>
                    {plans.map((plan, i) => (
                      <td key={i}>
                        <Name text={row.cell(plan)} />
                        {row.title === "step" && plan !== best && <span class="soft"> ({slower(plan.step / best.step)})</span>}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </Scroll>
      </section>
      <div class="columns">
        <section class="panel">
          <h2>Step</h2>
          <Bars label="Step of each plan" text={(value) => costText(value, plans[0].in_seconds)} bars={plans.map((plan, i) => ({ name: names[i], value: plan.step, colour: series(0) }))} />
        </section>
        <section class="panel">
          <h2>Memory of the fullest device</h2>
          <Bars
            label="Memory of each plan"
            text={bytesText}
            bars={plans.map((plan, i) => ({
              name: names[i],
              value: plan.peak,
              colour: series(0),
              parts: plan.transformer ? undefined : plan.memory.map((value, c) => ({ value, colour: categoryColours[c] })),
            }))}
          />
          <Legend entries={categories.map((name, c) => [name, categoryColours[c]])} />
        </section>
        {counts.size > 1 && (
          <section class="panel">
            <h2>Step by number of devices</h2>
            <XyChart
              label="Step of each plan by number of devices"
              x={{ title: "devices", text: countText, log: true }}
              y={{ title: "step", text: (value) => costText(value, plans[0].in_seconds) }}
              points={plans.map((plan, i) => ({ x: deviceCount(plan), y: plan.step, name: names[i], colour: series(i) }))}
              fromZero
            />
            <Legend entries={names.map((name, i) => [name, series(i)])} />
          </section>
        )}
      </div>
      {withPrograms.length > 1 && (
        <section class="panel">
          <h2>Parameters that are kept differently</h2>
          {changed.length === 0 ? (
            <p>None.</p>
          ) : (
            <Table
              caption="Parameters that are kept differently"
              rows={changed}
              columns={[
                { title: "parameter", cell: (one) => <Name text={one.name} /> },
                { title: "type", cell: (one) => <code>{one.type}</code> },
                ...withPrograms.map((name, i) => ({
                  title: name,
                  cell: (one: (typeof changed)[number]) =>
                    one.specs[i] === "" ? <span class="soft">not there</span> : <><bdi class="mono">{one.specs[i]}</bdi> <span class="soft">{bytesText(one.bytes[i])}</span></>,
                })),
              ]}
            />
          )}
        </section>
      )}
    </>
  );
}
