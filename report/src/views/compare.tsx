// Several plans side by side.

import { useMemo } from "preact/hooks";
import { differences } from "../comparison";
import { useShared } from "../context";
import { categories, deviceCount, planNames, type Plan } from "../data";
import { bytesText, costText, countText, dollarsText, meshText, percentText, plural } from "../format";
import { shareOf } from "../numbers";
import { categoryColours, none, series } from "../palette";
import { Legend, Name, Nothing, Scroll } from "../parts/basic";
import { Bars, XyChart } from "../parts/chart";
import { shortened } from "../text";
import { degreesText, serialSeconds, timeParts } from "./summary";
import { Table } from "../parts/table";

interface Row {
  title: string;
  cell(plan: Plan): string;
}

const rows: Row[] = [
  { title: "program", cell: (plan) => plan.program_name },
  { title: "cluster", cell: (plan) => plan.cluster.name },
  { title: "devices", cell: (plan) => countText(deviceCount(plan)) },
  { title: "mesh", cell: (plan) => (plan.stages.length > 0 ? [...new Set(plan.stages.map((stage) => meshText(stage.mesh)))].join("; ") : meshText(plan.mesh)) },
  { title: "pipeline", cell: (plan) => (plan.stages.length > 0 ? `${plural(plan.stages.length, "stage")}, ${plural(plan.micro_batches, "micro-batch", "micro-batches")}, ${plan.schedule}` : "none") },
  { title: "bubble", cell: (plan) => (plan.stages.length > 0 ? percentText(plan.bubble_share) : "") },
  { title: "step", cell: (plan) => costText(plan.step, plan.in_seconds) },
  { title: "serial", cell: (plan) => costText(serialSeconds(plan), plan.in_seconds) },
  { title: "computation", cell: (plan) => (plan.transformer ? costText(plan.transformer.seconds.compute, true) : costText(plan.compute, plan.in_seconds)) },
  { title: "communication", cell: (plan) => (plan.transformer ? "" : costText(plan.communication, plan.in_seconds)) },
  { title: "bound", cell: (plan) => costText(plan.bound, plan.in_seconds) },
  { title: "memory", cell: (plan) => bytesText(plan.peak) },
  { title: "degrees", cell: (plan) => (plan.transformer ? (plan.transformer.over_groups ? degreesText(plan) : plan.transformer.degrees) : "") },
  { title: "MFU", cell: (plan) => (plan.transformer ? percentText(plan.transformer.mfu) : "") },
  { title: "cost of a step", cell: (plan) => { const dollars = plan.transformer?.over_groups?.dollars ?? null; return dollars === null ? "" : dollarsText(dollars); } },
  { title: "goodput", cell: (plan) => (plan.transformer?.goodput ? percentText(plan.transformer.goodput.share) : "") },
  { title: "cost model", cell: (plan) => plan.cost_model },
];

/** How much longer than the best. */
function slower(ratio: number): string {
  return ratio < 2 ? `+${percentText(ratio - 1)}` : `${ratio >= 1000 ? countText(Math.round(ratio)) : ratio.toPrecision(3)} times`;
}

export function Compare() {
  const { report } = useShared();
  const { plans } = report;
  const names = planNames(plans);
  const changed = useMemo(() => differences(plans.filter((plan) => plan.programs.length > 0)), [plans]);
  const withPrograms = names.filter((_, i) => plans[i].programs.length > 0);
  // Where they add up to the step.
  const parts = useMemo(() => plans.map((plan) => (plan.stages.length === 0 ? timeParts(plan).filter((part) => part.value > 1e-9 * plan.step) : undefined)), [plans]);
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
                  <th scope="col" key={i} class="roomy">
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
                      <td key={i} class="roomy">
                        <Name text={row.cell(plan)} />
                        {row.title === "step" && plan !== best && <span class="soft"> ({slower(shareOf(plan.step, best.step))})</span>}
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
          <Bars label="Step of each plan" text={(value) => costText(value, plans[0].in_seconds)} bars={plans.map((plan, i) => ({ name: names[i], value: plan.step, colour: none, parts: parts[i] }))} />
          <Legend entries={[...new Map(parts.flatMap((list) => list ?? []).map((part) => [part.name, part.colour]))]} />
        </section>
        <section class="panel">
          <h2>Peak memory of a device</h2>
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
              x={{ title: "devices", text: countText, log: true, at: [...counts] }}
              y={{ title: "step", text: (value) => costText(value, plans[0].in_seconds) }}
              points={plans.map((plan, i) => ({ x: deviceCount(plan), y: plan.step, name: names[i], colour: series(i) }))}
              fromZero
            />
            <Legend entries={names.map((name, i) => [name, series(i)])} />
          </section>
        )}
      </div>
      {withPrograms.length < 2 && <Nothing why="Plans of models place no tensors, so there is nothing more to compare: tensors that are kept differently are shown of plans of programs." />}
      {withPrograms.length > 1 && (
        <section class="panel">
          <h2>Parameters that are kept differently</h2>
          {new Set(plans.filter((plan) => plan.programs.length > 0).map((plan) => plan.inputs[0]?.sha256)).size > 1 && (
            <p>The plans are of different files; parameters of the same name are taken for the same.</p>
          )}
          {changed.length === 0 ? (
            <p>None.</p>
          ) : (
            <Table
              caption="Parameters that are kept differently"
              rows={changed}
              columns={[
                { title: "parameter", cell: (one) => <Name text={one.name} /> },
                { title: "", number: (one) => one.count, cell: (one) => (one.count === 1 ? "" : `×${countText(one.count)}`) },
                { title: "type", cell: (one) => <code>{one.type}</code> },
                ...withPrograms.map((name, i) => ({
                  title: shortened(name, 40),
                  cell: (one: (typeof changed)[number]) =>
                    one.specs[i] === "" ? <span class="soft">not there</span> : <><Name class="mono" text={one.specs[i]} /> <span class="soft">{bytesText(one.bytes[i])}</span></>,
                })),
              ]}
            />
          )}
        </section>
      )}
    </>
  );
}
