// What is known of one operator: what it computes, where it stands in the program, what it takes and
// what is moved for it.

import { useShared } from "../context";
import { layerName, phases, type Program } from "../data";
import { bytesText, costText, countText, plural, specText, typeText } from "../format";
import { Name } from "./basic";
import { collectiveText } from "./operator_picture";
import { Table } from "./table";

/** `elsewhere`: it is not the network that shows it. */
export function OperatorDetails({ program, number, index, elsewhere = false }: { program: Program; number: number; index: number; elsewhere?: boolean }) {
  const { plan, choose, go } = useShared();
  const { instructions: all } = program;
  const moves = program.moves.filter((move) => move.instruction === index);
  const facts: [string, preact.ComponentChildren][] = [
    ["operator", <code>{program.opcodes[all.opcode[index]]}</code>],
    ["result", <code>{typeText(program.types[all.type[index]])}</code>],
    ["sharding", <bdi class="mono">{specText(program.specs[all.spec[index]])}</bdi>],
    ["strategy", <Name text={program.strategies[all.strategy[index]]} />],
    ["time", `${costText(all.seconds[index], plan.in_seconds)}, ${plural(all.executions[index], "execution")}`],
  ];
  const place = [phases[all.phase[index]], layerName(program, all.layer[index])].filter((text) => text !== "").join(", ");
  if (place !== "") facts.push(["phase", place]);
  if (all.op_name[index] >= 0) facts.push(["metadata", <Name text={program.op_names[all.op_name[index]]} class="full" />]);
  if (all.source[index] >= 0) facts.push(["source", <Name text={program.sources[all.source[index]]} />]);
  return (
    <section class="panel" id="details" aria-label="The chosen operator">
      <h2>
        <Name text={all.name[index]} class="full" />
      </h2>
      <dl class="facts">
        {facts.map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </>
        ))}
        <dt>takes</dt>
        <dd class="full">
          {all.operands[index].length === 0 && "nothing"}
          {[...new Set(all.operands[index])].map((operand) => (
            <div key={operand}>
              <button type="button" class="plain" onClick={() => choose({ program: number, list: "instructions", index: operand })}>
                <Name text={all.name[operand]} />
              </button>{" "}
              <bdi class="mono soft">{specText(program.specs[all.spec[operand]])}</bdi>
            </div>
          ))}
        </dd>
      </dl>
      {moves.length > 0 && (
        <Table
          caption="Collectives of the chosen operator"
          rows={moves}
          columns={[
            { title: "collective", cell: (move) => collectiveText(move.collective) },
            { title: "moves", cell: (move) => <Name text={all.name[move.value] ?? ""} /> },
            { title: "count", number: (move) => move.collective.count, cell: (move) => countText(move.collective.count) },
            { title: "bytes", number: (move) => move.collective.bytes, cell: (move) => bytesText(move.collective.bytes) },
            { title: "time", number: (move) => move.collective.seconds, cell: (move) => costText(move.collective.seconds, plan.in_seconds) },
          ]}
        />
      )}
      <div class="bar">
        {elsewhere && (
          <button type="button" onClick={() => go("network")}>
            Show in the network
          </button>
        )}
        <button type="button" onClick={() => go("placement")}>
          Where its parts lie
        </button>
      </div>
    </section>
  );
}
