// The cluster's nodes and devices, coloured by stage or by where they stand on the mesh.

import { useState } from "preact/hooks";
import { useShared } from "../context";
import { type Axis, deviceCount, type OverGroups, type Plan, type Program, type Stage } from "../data";
import { bytesText, costText, countText, dollarsText, meshText, ordinal, plural, rangesText } from "../format";
import { spectrum } from "../palette";
import { Legend, Name, Nothing, Scroll } from "../parts/basic";
import { Table } from "../parts/table";
import { shortened, visible } from "../text";
import { coordinates, placedCoordinates } from "../tiles";

const mostNodes = 512;

interface Place {
  stage: number;
  group: number;
  at: Record<string, number>;
}

/** What every device of the cluster does. */
export function places(plan: Plan): Map<number, Place> {
  const result = new Map<number, Place>();
  const placement = plan.transformer?.placement ?? null;
  const add = (devices: readonly number[] | null, mesh: readonly Axis[], stage: number, group: number) => {
    const count = devices?.length ?? Math.min(deviceCount(plan), 1 << 16);
    for (let i = 0; i < count; i += 1) {
      const where = devices === null && placement ? placedCoordinates(mesh, placement, i) : coordinates(mesh, i);
      const at = Object.fromEntries(mesh.map((axis, a) => [axis.name, where[a]]));
      const device = devices?.[i] ?? i;
      if (!result.has(device)) result.set(device, { stage, group, at });
    }
  };
  if (plan.stages.length === 0) add(null, plan.mesh, 0, 0);
  const groups = plan.stages.length / plan.chunks;
  plan.stages.forEach((stage, s) => add(stage.devices, stage.mesh, s, s % groups));
  return result;
}

/** "links between nodes", for the sentence about the mesh. */
function orderText(plan: Plan): string {
  if (plan.transformer?.placement) {
    return "Devices are placed: of every group that shares a node as many as fit it stand next to each other.";
  }
  return `Devices are laid over the mesh ${meshText(plan.mesh)} row-major, the last axis within reach of the fastest links.`;
}

export function Cluster() {
  const { plan } = useShared();
  const pipeline = plan.stages.length > 0;
  const meshes = pipeline ? plan.stages.map((stage) => stage.mesh) : [plan.mesh];
  const axes = [...new Set(meshes.flatMap((mesh) => mesh.filter((a) => a.size > 1).map((a) => a.name)))];
  const choices = [...(pipeline ? ["group"] : []), ...axes];
  const [by, setBy] = useState(choices[0] ?? "");
  const where = places(plan);
  const groups = pipeline ? plan.stages.length / plan.chunks : 1;
  const count =
    by === "group" ? groups : Math.max(1, ...meshes.flatMap((mesh) => mesh.filter((a) => a.name === by).map((a) => a.size)));
  const valueOf = (device: number): number | undefined => {
    const place = where.get(device);
    return by === "group" ? place?.group : place?.at[by];
  };
  let first = 0;
  return (
    <>
      <p>
        {plural(deviceCount(plan), "device")}: {plan.cluster.parts.map((part) => `${plural(part.nodes, "node")} of ${part.per_node} ${visible(part.device)} with ${bytesText(part.memory)} each`).join(", ")}.{" "}
        {pipeline
          ? `Every group of devices runs ${plan.chunks === 1 ? "a stage" : plural(plan.chunks, "stage")} of the pipeline; within it a mesh shards the arrays.`
          : orderText(plan)}
      </p>
      <section class="panel">
        {choices.length === 0 && <Nothing why="One device does everything, so there is no axis to colour by." />}
        {choices.length > 0 && <div class="bar">
          <label>
            Colour by
            <select id="by" value={by} onChange={(event) => setBy(event.currentTarget.value)}>
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {choice === "group" ? "pipeline group" : `mesh axis ${shortened(choice, 30)}`}
                </option>
              ))}
            </select>
          </label>
        </div>}
        {plan.cluster.parts.map((part, p) => {
          const start = first;
          first += part.nodes * part.per_node;
          return <Nodes key={p} start={start} nodes={part.nodes} perNode={part.per_node} device={part.device} valueOf={valueOf} count={count} by={by} />;
        })}
        {count <= 24 ? (
          <Legend entries={Array.from({ length: count }, (_, i) => [by === "group" ? `group ${i}` : by === "" ? "used" : `${by} = ${i}`, spectrum(i, count)])} />
        ) : (
          <p class="soft">{plural(count, "colour")}, in order of the hue.</p>
        )}
      </section>
      {plan.transformer?.over_groups && (
        <section class="panel">
          <h2>Groups of nodes</h2>
          <NodeGroups over={plan.transformer.over_groups} />
        </section>
      )}
      <section class="panel">
        <h2>{pipeline ? "Stages" : "Mesh"}</h2>
        {pipeline && <p>Forward and backward of each of {plural(plan.micro_batches, "micro-batch", "micro-batches")}, and the update of a step.</p>}
        {pipeline ? <Stages plan={plan} /> : <MeshTable plan={plan} />}
        {plan.transformer && <Experts sizes={plan.transformer.sizes} />}
      </section>
    </>
  );
}

function Nodes({
  start,
  nodes,
  perNode,
  device,
  valueOf,
  count,
  by,
}: {
  start: number;
  nodes: number;
  perNode: number;
  device: string;
  valueOf(device: number): number | undefined;
  count: number;
  by: string;
}) {
  const shown = Math.min(nodes, mostNodes);
  const across = Math.min(perNode, 8);
  const down = Math.ceil(Math.min(perNode, 72) / across);
  const size = shown > 64 ? 9 : 18;
  const width = across * size + 8;
  const height = down * size + 8;
  const columns = Math.max(1, Math.min(shown, Math.floor(900 / (width + 8))));
  return (
    <Scroll label={`${plural(nodes, "node")} of ${device}`}>
      <h2>
        {plural(nodes, "node")} of {perNode} <Name text={device} />
      </h2>
      <svg
        width={columns * (width + 8)}
        height={Math.ceil(shown / columns) * (height + 8)}
        role="img"
        aria-label={`${plural(nodes, "node")} of ${plural(perNode, "device")}; the table below says the same in numbers`}
      >
        {Array.from({ length: shown }, (_, n) => {
          const x = (n % columns) * (width + 8);
          const y = Math.floor(n / columns) * (height + 8);
          return (
            <g key={n} transform={`translate(${x} ${y})`}>
              <rect width={width} height={height} rx="5" style={{ fill: "var(--raised)", stroke: "var(--line)" }}>
                <title>{`node ${n}: devices ${start + n * perNode} to ${start + (n + 1) * perNode - 1}`}</title>
              </rect>
              {Array.from({ length: Math.min(perNode, 72) }, (_, i) => {
                const number = start + n * perNode + i;
                const value = valueOf(number);
                return (
                  <rect
                    key={i}
                    x={4 + (i % across) * size + 1}
                    y={4 + Math.floor(i / across) * size + 1}
                    width={size - 2}
                    height={size - 2}
                    rx={size > 10 ? 3 : 1}
                    style={{ fill: value === undefined ? "var(--none)" : spectrum(value, count) }}
                  >
                    <title>{`device ${number}: ${value === undefined ? "not used" : `${by} ${value}`}`}</title>
                  </rect>
                );
              })}
            </g>
          );
        })}
      </svg>
      {shown < nodes && <p class="soft">The first {countText(shown)} nodes are drawn.</p>}
    </Scroll>
  );
}

function MeshTable({ plan }: { plan: Plan }) {
  const strides = plan.mesh.map((_, a) => plan.mesh.slice(a + 1).reduce((product, axis) => product * axis.size, 1));
  const perNode = plan.cluster.parts[0].per_node;
  const placement = plan.transformer?.placement ?? null;
  const linkText = (axis: Axis, stride: number): string => {
    if (placement) return (placement[axis.name as "tp"] ?? 0) >= axis.size ? "within a node" : "between nodes";
    return axis.size * stride <= perNode ? "within a node" : "between nodes";
  };
  const uses: Record<string, string> = {
    pp: "pipeline: each has layers of its own",
    dp: "data: each has sequences of its own",
    cp: "context: each has tokens of its own",
    tp: "tensor: each has a part of every matmul",
  };
  return (
    <Table
      caption="Axes of the mesh"
      rows={plan.mesh.map((axis, a) => ({ axis, stride: strides[a] }))}
      columns={[
        { title: "axis", cell: ({ axis }) => <Name text={axis.name} /> },
        { title: "size", number: ({ axis }) => axis.size, cell: ({ axis }) => axis.size },
        ...(placement
          ? [{ title: "of a group in a node", number: ({ axis }: { axis: Axis }) => placement[axis.name as "tp"] ?? null, cell: ({ axis }: { axis: Axis }) => placement[axis.name as "tp"] ?? "" }]
          : [{ title: "devices of a group", cell: ({ axis, stride }: { axis: Axis; stride: number }) => (axis.size === 1 ? "one" : stride === 1 ? "next to each other" : `every ${ordinal(stride)}`) }]),
        { title: "used for", cell: ({ axis }) => plan.programs[0]?.axes.find((one) => one.name === axis.name)?.use ?? (plan.transformer ? uses[axis.name] ?? "" : "") },
        { title: "links", cell: ({ axis, stride }) => (axis.size === 1 ? "none" : linkText(axis, stride)) },
      ]}
    />
  );
}

function usesOf(program: Program): string {
  return program.axes.map((one) => (program.axes.length === 1 ? one.use : `${visible(one.name)}: ${one.use}`)).join("; ");
}

/** Experts lie on devices that other axes number. */
function Experts({ sizes }: { sizes: Record<string, number> }) {
  if (sizes.ep < 2) return null;
  return (
    <p>
      Experts lie on the same devices: each group of {countText(sizes.ep)} (ep) shares them out{sizes.etp > 1 ? `, and ${countText(sizes.etp)} (etp) cut each` : ""}.
    </p>
  );
}

/** Of a group's stages; 0 where they differ. */
function degreeText(group: OverGroups["groups"][number], degree: number): string {
  if (group.stages === 0) return "";
  return degree === 0 ? "by stage" : countText(degree);
}

/** What the groups of nodes are used for. */
function NodeGroups({ over }: { over: OverGroups }) {
  return (
    <Table
      caption="Groups of nodes"
      rows={over.groups}
      columns={[
        { title: "group", cell: (group) => <Name text={group.name} /> },
        { title: "nodes", cell: (group) => `${countText(group.used_nodes)} of ${countText(group.nodes)}` },
        { title: "each", cell: (group) => <>{countText(group.per_node)} <Name text={group.device} /></> },
        { title: "stages", number: (group) => group.stages, cell: (group) => (group.stages === 0 ? "none" : countText(group.stages)) },
        { title: "tensor", number: (group) => group.tp, cell: (group) => degreeText(group, group.tp) },
        { title: "data", number: (group) => group.dp, cell: (group) => degreeText(group, group.dp) },
        { title: "micro-batch", number: (group) => group.micro_batch, cell: (group) => (group.micro_batch === 0 ? degreeText(group, 0) : plural(group.micro_batch, "sequence")) },
        { title: "cost", number: (group) => group.dollars_per_hour, cell: (group) => (group.dollars_per_hour === null ? "no price" : `${dollarsText(group.dollars_per_hour)} an hour`) },
      ]}
    />
  );
}

function Stages({ plan }: { plan: Plan }) {
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const over = plan.transformer?.over_groups;
  return (
    <Table
      caption="Stages of the pipeline"
      most={12}
      rows={plan.stages.map((stage, number) => ({ stage, number }))}
      columns={[
        { title: "stage", cell: ({ number }) => number },
        ...(over ? [{ title: "nodes of", cell: ({ number }: { number: number }) => <Name text={over.groups[over.stage_groups[number]].name} /> }] : []),
        { title: "layers", cell: ({ stage }) => <span class="together">{stage.layers.replaceAll(/\blayers? /g, "")}</span> },
        { title: "devices", cell: ({ stage }) => <><span class="together">{rangesText([...stage.devices].sort((a, b) => a - b))}</span> <Name class="soft" text={stage.device} /></> },
        { title: "mesh", cell: ({ stage }) => <bdi class="together">{shortened(meshText(stage.mesh), 40)}</bdi> },
        ...(plan.programs.some((program) => program.axes.length > 0) ? [{ title: "used for", cell: ({ stage }: { stage: Stage }) => usesOf(plan.programs[stage.program]) }] : []),
        { title: "forward, each", number: ({ stage }) => stage.forward, cell: ({ stage }) => time(stage.forward) },
        { title: "backward, each", number: ({ stage }) => stage.backward, cell: ({ stage }) => time(stage.backward) },
        { title: "update, once", number: ({ stage }) => stage.update, cell: ({ stage }) => time(stage.update) },
        { title: "memory", number: ({ stage }) => stage.peak_of_group, cell: ({ stage }) => bytesText(stage.peak_of_group) },
        { title: "recomputes", cell: ({ stage }) => (stage.recompute ? "yes" : "no") },
      ]}
    />
  );
}
