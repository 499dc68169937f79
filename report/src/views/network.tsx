// The network as segments that repeat; each opens to its operators.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type ArrayReference, useShared } from "../context";
import { type Collective, layerName, type Program, type Segment } from "../data";
import { bytesText, costText, countText, meshText, plural } from "../format";
import { box, layoutOf } from "../network_layout";
import { membersOf } from "../operator_graph";
import { communicationColour, shardingColour, shardingName } from "../palette";
import { ArraySearch } from "../parts/array_search";
import { Legend, Scroll } from "../parts/basic";
import { OperatorDetails } from "../parts/operator_details";
import { collectiveText, OperatorPicture } from "../parts/operator_picture";
import { busiestProgram, ProgramChoice } from "../parts/program_choice";
import { operatorOf, parameterOperators } from "../search";

const lists: ArrayReference["list"][] = ["parameters", "outputs", "instructions"];
/** What a segment without a layer is. */
const outsideText = (segment: Segment): string => (segment.rounds > 1 ? `in a loop, ${countText(segment.rounds)} rounds` : "outside the layers");
const phaseTitles = ["Elsewhere", "Forward", "Backward", "Update"];

interface Share {
  name: string;
  colour: string;
  seconds: number;
}

/** How the time of each node is sharded: by the axes that shard the results. */
function sharesOf(program: Program): Share[][] {
  const result: Map<string, Share>[] = program.nodes.map(() => new Map());
  const { instructions } = program;
  instructions.node.forEach((node, i) => {
    if (node < 0) return;
    const spec = program.specs[instructions.spec[i]];
    const name = shardingName(spec, program.mesh);
    const share = result[node].get(name) ?? { name, colour: shardingColour(spec, program.mesh), seconds: 0 };
    share.seconds += instructions.seconds[i];
    result[node].set(name, share);
  });
  return result.map((shares) => [...shares.values()].filter((share) => share.seconds > 0).sort((a, b) => b.seconds - a.seconds));
}

function Segments({ program, current, onPick }: { program: Program; current: number; onPick(node: number): void }) {
  const { plan } = useShared();
  const layout = useMemo(() => layoutOf(program), [program]);
  const shares = useMemo(() => sharesOf(program), [program]);
  const legend = useMemo(() => {
    const all = new Map<string, string>();
    for (const share of shares.flat()) all.set(share.name, share.colour);
    return [...all].sort((a, b) => a[0].length - b[0].length);
  }, [shares]);
  const at = (node: number) => layout.nodes[node];
  return (
    <>
      <Scroll label="Segments" style={{ maxHeight: "44rem" }}>
        <div style={{ position: "relative", width: `${layout.width}px`, height: `${layout.height}px` }}>
          <svg width={layout.width} height={layout.height} style={{ position: "absolute", inset: "0" }} aria-hidden="true">
            <defs>
              <marker id="flow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 0L8 4L0 8z" style={{ fill: "var(--soft)" }} />
              </marker>
            </defs>
            {layout.columns.map((column) => (
              <text key={column.phase} x={column.x} y="18" style={{ fontWeight: 600, fontSize: "13px" }}>
                {phaseTitles[column.phase]}
              </text>
            ))}
            {layout.frames.map((frame, f) => (
              <g key={f}>
                <rect x={frame.x} y={frame.y} width={frame.width} height={frame.height} rx="10" style={{ fill: "none", stroke: "var(--line)", strokeDasharray: "5 4" }} />
                <text class="tick" x={frame.x + frame.width} y={frame.y - 4} text-anchor="end">
                  {frame.text}
                </text>
              </g>
            ))}
            {program.edges.map((edge, e) => (
              <Flow key={e} from={at(edge.from)} to={at(edge.to)} collectives={edge.collectives} inSeconds={plan.in_seconds} />
            ))}
          </svg>
          {layout.nodes.map(({ node, x, y }) => {
            const segment = program.segments[program.nodes[node].segment];
            const times = program.nodes[node].layers.length;
            const total = shares[node].reduce((t, share) => t + share.seconds, 0);
            const inside = segment.collectives;
            return (
              <button
                type="button"
                key={node}
                id={`node-${node}`}
                aria-expanded={node === current}
                class="segment"
                onClick={() => onPick(node)}
                style={{
                  position: "absolute",
                  left: `${x}px`,
                  top: `${y}px`,
                  width: `${box.width}px`,
                  height: `${box.height}px`,
                  display: "flex",
                  flexDirection: "column",
                  justifyContent: "flex-start",
                  textAlign: "left",
                  padding: "6px 10px",
                  overflow: "hidden",
                  borderColor: node === current ? "var(--accent)" : undefined,
                  borderWidth: node === current ? "2px" : undefined,
                  lineHeight: "1.35",
                }}
              >
                <span style={{ display: "flex", justifyContent: "space-between", gap: "6px", fontWeight: 600, whiteSpace: "nowrap" }}>
                  <bdi style={{ overflow: "hidden", textOverflow: "ellipsis" }} title={program.nodes[node].text || outsideText(segment)}>{program.nodes[node].text || outsideText(segment)}</bdi>
                  {times > 1 && <span>×{times}</span>}
                </span>
                <span class="soft" style={{ display: "block", fontSize: "12px", whiteSpace: "nowrap" }}>
                  {plural(segment.operators, "operator")}, {costText(segment.seconds + segment.communication_seconds, plan.in_seconds)}
                  {times > 1 ? " each" : ""}
                </span>
                <span class="stack" style={{ height: "7px", margin: "5px 0 4px" }}>
                  {shares[node].map((share) => (
                    <span key={share.name} title={`${share.name}: ${costText(share.seconds, plan.in_seconds)}`} style={{ background: share.colour, width: `${(100 * share.seconds) / (total || 1)}%` }} />
                  ))}
                </span>
                <span title={inside.map(collectiveText).join(", ")} style={{ display: "block", fontSize: "11.5px", color: communicationColour, whiteSpace: "nowrap", overflow: "hidden", textOverflow: "ellipsis" }}>
                  {inside.length > 0 ? inside.map(collectiveText).join(", ") : " "}
                </span>
              </button>
            );
          })}
        </div>
      </Scroll>
      <p class="soft" style={{ marginBottom: 0 }}>
        The bar shows which mesh axes shard what the segment computes, by time:
      </p>
      <Legend entries={legend} />
    </>
  );
}

function Flow({ from, to, collectives, inSeconds }: { from: { x: number; y: number }; to: { x: number; y: number }; collectives: Collective[]; inSeconds: boolean }) {
  const down = to.x === from.x;
  const forwards = to.x > from.x;
  let path: string;
  let label: { x: number; y: number };
  let upright = false; // beside the nodes that it passes
  if (down) {
    const below = to.y > from.y;
    const near = Math.abs(to.y - from.y) <= box.height + box.gapY + 1;
    const y1 = below ? from.y + box.height : from.y;
    const y2 = below ? to.y : to.y + box.height;
    const x = from.x + box.width / 2 + (below ? -14 : 14);
    const side = from.x - 40;
    const [middle1, middle2] = [from.y, to.y].map((y) => y + box.height / 2);
    path = near ? `M${x} ${y1}L${x} ${y2}` : `M${from.x} ${middle1}C${side} ${middle1} ${side} ${middle2} ${to.x} ${middle2}`;
    label = near ? { x: x + 8, y: (y1 + y2) / 2 + 4 } : { x: from.x - 34, y: (middle1 + middle2) / 2 };
    upright = !near;
  } else {
    const x1 = forwards ? from.x + box.width : from.x;
    const x2 = forwards ? to.x : to.x + box.width;
    const [y1, y2] = [from.y + box.height * 0.4, to.y + box.height * 0.4];
    const middle = (x1 + x2) / 2;
    path = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
    label = { x: Math.min(x1, x2) + 4, y: (y1 + y2) / 2 - 6 };
  }
  const communicates = collectives.length > 0;
  return (
    <g>
      <path d={path} marker-end="url(#flow)" style={{ fill: "none", stroke: communicates ? communicationColour : "var(--none)", strokeWidth: communicates ? 2 : 1.3, opacity: communicates || down ? 1 : 0.55 }} />
      {communicates && (
        <text
          x={label.x}
          y={label.y}
          text-anchor={upright ? "middle" : "start"}
          transform={upright ? `rotate(-90 ${label.x} ${label.y})` : undefined}
          style={{ fill: communicationColour, fontSize: "11px", fontWeight: 600, paintOrder: "stroke", stroke: "var(--panel)", strokeWidth: 3 }}>
          {collectiveText(collectives[0])}
          {collectives.length > 1 ? ` +${collectives.length - 1}` : ""}
          <title>{collectives.map((one) => `${collectiveText(one)}, ${bytesText(one.bytes)}, ${costText(one.seconds, inSeconds)}`).join("\n")}</title>
        </text>
      )}
    </g>
  );
}

function Opened({ program, number, node, layer, onLayer }: { program: Program; number: number; node: number; layer: number; onLayer(layer: number): void }) {
  const { plan, chosen, choose } = useShared();
  const { layers, segment: s } = program.nodes[node];
  const segment = program.segments[s];
  const members = useMemo(() => membersOf(program, node, layer), [program, node, layer]);
  const picked = chosen?.list === "instructions" && chosen.program === number ? chosen.index : -1;
  return (
    <section class="panel" id="opened" aria-label={`Segment: ${segment.label}`}>
      <h2>
        {[phaseTitles[segment.phase], program.nodes[node].text || outsideText(segment)].join(": ")}
      </h2>
      <div class="bar">
        {layers.length > 1 && (
          <label>
            Layer
            <select id="layer" value={String(layer)} onChange={(event) => onLayer(Number(event.currentTarget.value))}>
              {layers.map((one) => (
                <option key={one} value={String(one)}>
                  {layerName(program, one).replace(/^layer /, "")}
                </option>
              ))}
            </select>
          </label>
        )}
        <span>
          computation {costText(segment.seconds, plan.in_seconds)}, communication {costText(segment.communication_seconds, plan.in_seconds)}
          {layers.length > 1 ? ", each" : ""}
        </span>
      </div>
      <OperatorPicture
        program={program}
        members={members}
        chosen={picked}
        inSeconds={plan.in_seconds}
        onPick={(index) => choose({ program: number, list: "instructions", index })}
      />
    </section>
  );
}

export function Network() {
  const { plan, chosen, choose } = useShared();
  const [number, setNumber] = useState(() => chosen?.program ?? busiestProgram(plan));
  // What is chosen elsewhere, in the search say, may be in another program.
  useEffect(() => {
    if (chosen) setNumber(chosen.program);
  }, [chosen?.program]);
  const program = plan.programs[number];
  const [open, setOpen] = useState<{ node: number; layer: number } | null>(null);
  const operator = chosen && chosen.program === number && chosen.list === "instructions" ? chosen.index : -1;
  useEffect(() => {
    const { node, layer } = program.instructions;
    if (operator >= 0 && node[operator] >= 0) setOpen({ node: node[operator], layer: layer[operator] });
  }, [operator, program]);
  // Who comes for an operator sees it, and not the whole network first; App scrolls to the top before.
  useEffect(() => {
    if (operator >= 0) requestAnimationFrame(() => document.getElementById("opened")?.scrollIntoView({ block: "start" }));
  }, []);
  const names = useMemo(() => parameterOperators(program), [program]);
  const pick = (reference: ArrayReference) => {
    // A parameter is an operator too: its users are of interest here.
    const instruction = operatorOf(program, reference, names);
    choose(instruction === undefined ? reference : { program: number, list: "instructions", index: instruction });
  };
  return (
    <>
      <div class="bar">
        <ProgramChoice
          value={number}
          onChange={(next) => {
            choose(null);
            setOpen(null);
            setNumber(next);
          }}
        />
        <span class="soft">
          {plural(program.instructions.name.length, "operator")} in {plural(program.segments.length, "distinct segment")}, mesh {meshText(program.mesh)}
        </span>
      </div>
      <section class="panel">
        <Segments
          program={program}
          current={open?.node ?? -1}
          onPick={(node) => setOpen(open?.node === node ? null : { node, layer: program.nodes[node].layers[0] })}
        />
      </section>
      {open && program.nodes[open.node] && (
        <Opened program={program} number={number} node={open.node} layer={open.layer} onLayer={(layer) => setOpen({ node: open.node, layer })} />
      )}
      <div class="split">
        <section class="panel">
          <h2>Find a tensor or an operator</h2>
          <ArraySearch program={number} lists={lists} label="Name" height={272} onPick={pick} />
        </section>
        {operator >= 0 && <OperatorDetails program={program} number={number} index={operator} />}
      </div>
    </>
  );
}
