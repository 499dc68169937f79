// The front of time and cost of a plan over groups of nodes, and every other choice of nodes.

import type { NodeChoice, OverGroups, Plan } from "../data";
import { countText, dollarsText, plural, runTimeText, runTimeUnit } from "../format";
import { none, series } from "../palette";
import { Legend, Name, Nothing } from "../parts/basic";
import { XyChart } from "../parts/chart";
import { Table } from "../parts/table";

/** "2 of fast, 4 of slow" */
export function nodesText(over: OverGroups, nodes: readonly number[]): string {
  return over.groups.flatMap((group, g) => (nodes[g] > 0 ? [`${countText(nodes[g])} of ${group.name}`] : [])).join(", ") || "none";
}

/** "45 on fast, 3 on slow": layers of stages in a row on one group, which may differ. */
export function layersByGroup(over: OverGroups, choice: NodeChoice): string {
  const parts: { group: number; layers: number; stages: number }[] = [];
  choice.groups.forEach((group, s) => {
    const last = parts[parts.length - 1];
    if (last && last.group === group) {
      last.layers += choice.layers[s];
      last.stages += 1;
    } else {
      parts.push({ group, layers: choice.layers[s], stages: 1 });
    }
  });
  return parts.map((part) => `${part.layers} on ${over.groups[part.group].name}${part.stages > 1 ? ` (${part.stages} stages)` : ""}`).join(", ");
}

function Chart({ over }: { over: OverGroups }) {
  const steps = over.steps ?? 1;
  const run = over.steps === null ? "a step" : "the whole run";
  const onFront = over.choices.filter((one) => one.on_front);
  // Choices far from the front would press it into a corner.
  const most = { seconds: 1.5 * Math.max(...onFront.map((one) => one.seconds)), dollars: 1.5 * Math.max(...onFront.map((one) => one.dollars ?? 0)) };
  // A bound on what a choice could be is no plan: it would look better than what can be had.
  const plans = over.choices.filter((one) => !one.is_bound);
  const bounds = over.choices.length - plans.length;
  const near = plans.filter((one) => one.on_front || (one.seconds <= most.seconds && (one.dollars ?? 0) <= most.dollars));
  const far = plans.length - near.length;
  const limits = [
    ...(over.most_seconds === null ? [] : [{ x: over.most_seconds, name: `at most ${runTimeText(over.most_seconds)}` }]),
    ...(over.most_dollars === null ? [] : [{ y: over.most_dollars, name: `at most ${dollarsText(over.most_dollars)}` }]),
  ];
  return (
    <>
      <XyChart
        label={`Time and cost of ${run}: ${plural(over.choices.length, "choice")} of nodes, ${onFront.length} of them on the front`}
        x={{ title: `time of ${run}`, text: runTimeText, unit: runTimeUnit }}
        y={{ title: `cost of ${run}`, text: dollarsText }}
        points={near.map((one) => ({
          x: one.seconds * steps,
          y: (one.dollars ?? 0) * steps,
          name: `${nodesText(over, one.nodes)}${one.degrees ? ` (${one.degrees})` : ""}`,
          colour: one.on_front ? series(0) : none,
        }))}
        lines={[{ points: onFront.map((one) => ({ x: one.seconds * steps, y: (one.dollars ?? 0) * steps })), colour: series(0) }]}
        limits={limits}
      />
      <Legend entries={[["on the front: nothing is both faster and cheaper", series(0)], ["other choices of nodes", none]]} />
      {bounds > 0 && <p class="soft">{plural(bounds, "choice")} of which only a bound is known {bounds === 1 ? "is" : "are"} in the table only.</p>}
      {far > 0 && <p class="soft">{plural(far, "choice")} that {far === 1 ? "takes" : "take"} half as long again, or {far === 1 ? "costs" : "cost"} half as much again, as any on the front {far === 1 ? "is" : "are"} in the table only.</p>}
    </>
  );
}

export function Front({ plan, over }: { plan: Plan; over: OverGroups }) {
  const steps = over.steps ?? 1;
  // Numbers are those that "no better than" names.
  const numbered = over.choices.map((one, number) => ({ one, number }));
  const taken = numbered.find(({ one }) => one.on_front && one.nodes.every((nodes, g) => nodes === over.groups[g].used_nodes));
  const priced = over.choices.some((one) => one.dollars !== null);
  if (over.choices.length === 0) {
    return (
      <Nothing
        why={`This plan was searched for ${plan.transformer!.objective === "cost" ? "the least cost" : "the least time"} only. All plans than which none is both faster and cheaper are found with`}
        command="meshwright plan MODEL --cluster CLUSTER --global-batch N --pareto -o plan.json"
      />
    );
  }
  return (
    <>
      <p>
        Time and cost of {over.steps === null ? "one step" : `all ${countText(over.steps)} steps`}.
        {taken && ` This plan is choice ${taken.number}${taken.number === 0 ? ", the fastest" : ""}.`}
      </p>
      {priced ? <Chart over={over} /> : <Nothing why="The groups of nodes have no prices, so there is nothing but time to choose by." />}
      <Table
        caption="Choices of nodes, those of the front first"
        rows={numbered}
        columns={[
          { title: "", number: ({ number }) => number, cell: ({ number }) => number },
          { title: "nodes", cell: ({ one }) => <Name text={nodesText(over, one.nodes)} /> },
          { title: "time", number: ({ one }) => one.seconds * steps, cell: ({ one }) => `${one.is_bound ? "≥ " : ""}${runTimeText(one.seconds * steps)}` },
          { title: "cost", number: ({ one }) => (one.dollars === null ? null : one.dollars * steps), cell: ({ one }) => (one.dollars === null ? "no price" : `${one.is_bound ? "≥ " : ""}${dollarsText(one.dollars * steps)}`) },
          { title: "", cell: ({ one }) => <span class="together">{one.on_front ? <strong>on the front</strong> : one.beaten_by !== null ? `no better than ${one.beaten_by}` : "as good as others"}</span> },
          { title: "degrees", cell: ({ one }) => <Name text={one.degrees} class="wide" /> },
          { title: "layers", cell: ({ one }) => <Name text={layersByGroup(over, one)} /> },
        ]}
      />
    </>
  );
}
