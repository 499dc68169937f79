import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Collective, Program } from "../data";
import { bytesText, costText, specText, typeText } from "../format";
import { graphOf, operatorBox } from "../operator_graph";
import { communicationColour, shardingColour } from "../palette";
import { shortened } from "../text";

const readable = 70;
const most = 600;

export function collectiveText(one: Collective): string {
  return `${one.kind} ${shortened(one.axes.join(","), 60)}`;
}

function pathOf(points: { x: number; y: number }[]): string {
  return points.map((p, i) => `${i === 0 ? "M" : "L"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("");
}

/** Operators as boxes in the colour of their result's sharding, collectives on the edges. */
export function OperatorPicture({
  program,
  members,
  chosen,
  inSeconds,
  onPick,
}: {
  program: Program;
  members: number[];
  chosen: number;
  inSeconds: boolean;
  onPick(instruction: number): void;
}) {
  const [all, setAll] = useState(false);
  const [zoom, setZoom] = useState(1);
  const graph = useMemo(() => graphOf(program, members, all ? most : readable), [program, members, all]);
  const { instructions } = program;
  const results = useMemo(() => {
    const inside = new Set(members);
    const found = new Map<number, Collective[]>();
    for (const move of program.moves) {
      if (!inside.has(move.instruction) || instructions.operands[move.instruction].includes(move.value)) continue;
      found.set(move.instruction, [...(found.get(move.instruction) ?? []), move.collective]);
    }
    return found;
  }, [program, members]);
  const view = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The chosen operator, else the first one, to the middle.
    const own = graph.nodes.filter((node) => node.text === "");
    const shown = own.find((node) => node.instruction === chosen) ?? own.reduce((a, b) => (b.y < a.y ? b : a), own[0]);
    if (shown) view.current?.scrollTo(shown.x * zoom - view.current.clientWidth / 2, shown.y * zoom - view.current.clientHeight / 2);
  }, [graph, zoom, chosen]);
  return (
    <div>
      <div class="bar">
        <span class="group" role="group" aria-label="Zoom">
          <button type="button" aria-label="Larger" onClick={() => setZoom(Math.min(2, zoom * 1.25))}>
            +
          </button>
          <button type="button" aria-label="Smaller" onClick={() => setZoom(Math.max(0.2, zoom / 1.25))}>
            −
          </button>
        </span>
        {(graph.hidden > 0 || all) && (
          <label>
            <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
            all operators
          </label>
        )}
        <span class="soft">{graph.hidden > 0 ? `${graph.hidden} cheap operators without communication are left out` : `${members.length} operators`}</span>
      </div>
      <div ref={view} class="scroll" style={{ maxHeight: "36rem", border: "1px solid var(--line)", borderRadius: "6px", background: "var(--raised)" }} tabIndex={0} role="group" aria-label="Operators">
        <svg width={graph.width * zoom} height={graph.height * zoom} viewBox={`0 0 ${graph.width} ${graph.height}`}>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0L8 4L0 8z" style={{ fill: "var(--soft)" }} />
            </marker>
          </defs>
          {graph.edges.map((edge, e) => (
            <path
              key={e}
              d={pathOf(edge.points)}
              marker-end="url(#arrow)"
              style={{ fill: "none", stroke: edge.collectives.length > 0 ? communicationColour : "var(--none)", strokeWidth: edge.collectives.length > 0 ? 2.2 : 1.2 }}
            />
          ))}
          {graph.edges
            .filter((edge) => edge.collectives.length > 0)
            .map((edge, e) => {
              const at = edge.points[Math.floor(edge.points.length / 2)];
              const first = edge.collectives[0];
              return (
                <text key={e} x={at.x + 5} y={at.y} style={{ fill: communicationColour, fontSize: "11px", fontWeight: 600 }}>
                  {collectiveText(first)}
                  {edge.collectives.length > 1 ? ` +${edge.collectives.length - 1}` : ""}
                  <title>{edge.collectives.map((one) => `${collectiveText(one)}, ${bytesText(one.bytes)}, ${costText(one.seconds, inSeconds)}`).join("\n")}</title>
                </text>
              );
            })}
          {graph.nodes.map((node, n) => {
            const i = node.instruction;
            const left = node.x - operatorBox.width / 2;
            if (node.text !== "") {
              return (
                <g key={n} transform={`translate(${left} ${node.y - 13})`}>
                  <rect width={operatorBox.width} height="26" rx="13" style={{ fill: "none", stroke: "var(--line)", strokeDasharray: "4 3" }} />
                  <text class="tick" x={operatorBox.width / 2} y="17" text-anchor="middle">
                    {shortened(node.text, 27)}
                    <title>{shortened(node.text, 400)}</title>
                  </text>
                </g>
              );
            }
            const spec = program.specs[instructions.spec[i]];
            const colour = shardingColour(spec, program.mesh);
            const made = results.get(i) ?? [];
            return (
              <g
                key={n}
                class={`node ${i === chosen ? "on" : ""}`}
                transform={`translate(${left} ${node.y - operatorBox.height / 2})`}
                tabindex={0}
                role="button"
                aria-label={`${shortened(instructions.name[i], 100)}, ${program.opcodes[instructions.opcode[i]]}, ${specText(spec)}${made.map((one) => `, ${collectiveText(one)}`).join("")}`}
                onClick={() => onPick(i)}
                onKeyDown={(event) => {
                  if (event.key !== "Enter" && event.key !== " ") return;
                  event.preventDefault();
                  onPick(i);
                }}
              >
                <rect class="face" width={operatorBox.width} height={operatorBox.height} rx="6" style={{ fill: "var(--panel)", stroke: "var(--line)" }} />
                <rect width="6" height={operatorBox.height} rx="3" style={{ fill: colour }} />
                <text x="14" y="19" style={{ fontWeight: 600 }}>
                  {shortened(program.opcodes[instructions.opcode[i]], 22)}
                </text>
                <text class="tick" x="14" y="33">
                  {shortened(`${typeText(program.types[instructions.type[i]])}`, 27)}
                </text>
                <text class="tick" x="14" y="45">
                  {shortened(specText(spec), 27)}
                </text>
                {made.length > 0 && (
                  <text x={operatorBox.width + 4} y={operatorBox.height - 3} style={{ fill: communicationColour, fontSize: "11px", fontWeight: 600 }}>
                    {collectiveText(made[0])}
                    {made.length > 1 ? ` +${made.length - 1}` : ""}
                  </text>
                )}
                <title>{shortened(instructions.name[i], 400)}</title>
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}
