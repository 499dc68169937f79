// The cluster's nodes and devices, coloured by stage or by where they stand on the mesh.

import { useState } from "preact/hooks";
import { useShared } from "../context";
import { deviceCount, type Plan } from "../data";
import { bytesText, costText, countText, meshText, plural, rangesText } from "../format";
import { series } from "../palette";
import { Legend, Scroll, Table } from "../parts/basic";
import { coordinates } from "../tiles";

const mostNodes = 512;

interface Place {
  stage: number;
  group: number;
  at: Record<string, number>;
}

/** What every device of the cluster does. */
export function places(plan: Plan): Map<number, Place> {
  const result = new Map<number, Place>();
  const add = (devices: readonly number[] | null, mesh: Plan["mesh"], stage: number, group: number) => {
    const count = devices?.length ?? Math.min(deviceCount(plan), 1 << 16);
    for (let i = 0; i < count; i += 1) {
      const where = coordinates(mesh, i);
      const at = Object.fromEntries(mesh.map((axis, a) => [axis.name, where[a]]));
      const device = devices?.[i] ?? i;
      if (!result.has(device)) result.set(device, { stage, group, at });
    }
  };
  if (plan.stages.length === 0) add(null, plan.mesh, 0, 0);
  const groups = plan.stages.length / plan.chunks;
  plan.stages.forEach((stage, s) => add(stage.devices, plan.programs[stage.program].mesh, s, s % groups));
  return result;
}

function spectrum(i: number, count: number): string {
  return count <= 8 ? series(i) : `hsl(${((360 * i) / count).toFixed(1)} 52% ${i % 2 ? 52 : 63}%)`;
}

export function Cluster() {
  const { plan } = useShared();
  const pipeline = plan.stages.length > 0;
  const meshes = pipeline ? plan.programs.map((program) => program.mesh) : [plan.mesh];
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
        {plural(deviceCount(plan), "device")}: {plan.cluster.parts.map((part) => `${plural(part.nodes, "node")} of ${part.per_node} ${part.device} with ${bytesText(part.memory)} each`).join(", ")}.{" "}
        {pipeline
          ? `Every group of devices runs ${plan.chunks === 1 ? "a stage" : plural(plan.chunks, "stage")} of the pipeline; within it a mesh shards the arrays.`
          : `Devices are laid over the mesh ${meshText(plan.mesh)} row-major, the last axis within reach of the fastest links.`}
      </p>
      <section class="panel">
        <div class="bar">
          <label>
            Colour by
            <select id="by" value={by} onChange={(event) => setBy(event.currentTarget.value)}>
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {choice === "group" ? "pipeline group" : `mesh axis ${choice}`}
                </option>
              ))}
            </select>
          </label>
        </div>
        {plan.cluster.parts.map((part, p) => {
          const start = first;
          first += part.nodes * part.per_node;
          return <Nodes key={p} start={start} nodes={part.nodes} perNode={part.per_node} device={part.device} valueOf={valueOf} count={count} by={by} />;
        })}
        {count <= 24 ? (
          <Legend entries={Array.from({ length: count }, (_, i) => [by === "group" ? `group ${i}` : `${by} = ${i}`, spectrum(i, count)])} />
        ) : (
          <p class="soft">{plural(count, "colour")}, in order of the hue.</p>
        )}
      </section>
      <section class="panel">
        <h2>{pipeline ? "Stages" : "Mesh"}</h2>
        {pipeline ? <Stages plan={plan} /> : <MeshTable plan={plan} />}
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
        {plural(nodes, "node")} of {perNode} <bdi>{device}</bdi>
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
  return (
    <Table
      caption="Axes of the mesh"
      rows={plan.mesh.map((axis, a) => ({ axis, stride: strides[a] }))}
      columns={[
        { title: "axis", cell: ({ axis }) => <bdi>{axis.name}</bdi> },
        { title: "size", number: true, cell: ({ axis }) => axis.size },
        { title: "devices of a group", cell: ({ axis, stride }) => (axis.size === 1 ? "one" : stride === 1 ? "next to each other" : `every ${countText(stride)}th`) },
        { title: "used for", cell: ({ axis }) => plan.programs[0]?.axes.find((one) => one.name === axis.name)?.use ?? "" },
        { title: "links", cell: ({ axis, stride }) => (axis.size === 1 ? "none" : axis.size * stride <= perNode ? "within a node" : "between nodes") },
      ]}
    />
  );
}

function Stages({ plan }: { plan: Plan }) {
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  return (
    <Table
      caption="Stages of the pipeline"
      most={12}
      rows={plan.stages.map((stage, number) => ({ stage, number }))}
      columns={[
        { title: "stage", cell: ({ number }) => number },
        { title: "layers", cell: ({ stage }) => (stage.end_layer - stage.first_layer === 1 ? stage.first_layer : `${stage.first_layer}-${stage.end_layer - 1}`) },
        { title: "devices", cell: ({ stage }) => `${rangesText([...stage.devices].sort((a, b) => a - b))} (${stage.device})` },
        { title: "mesh", cell: ({ stage }) => <bdi>{meshText(plan.programs[stage.program].mesh)}</bdi> },
        { title: "used for", cell: ({ stage }) => plan.programs[stage.program].axes.map((one) => (plan.programs[stage.program].axes.length === 1 ? one.use : `${one.name}: ${one.use}`)).join("; ") },
        { title: "forward", number: true, cell: ({ stage }) => time(stage.forward) },
        { title: "backward", number: true, cell: ({ stage }) => time(stage.backward) },
        { title: "update", number: true, cell: ({ stage }) => time(stage.update) },
        { title: "memory", number: true, cell: ({ stage }) => bytesText(stage.peak_of_group) },
        { title: "recomputes", cell: ({ stage }) => (stage.recompute ? "yes" : "no") },
      ]}
    />
  );
}
