// Where each part of a chosen array lies.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type ArrayReference, useShared } from "../context";
import type { Program } from "../data";
import { bytesText, costText, countText, meshText, plural, specText, typeText } from "../format";
import { Name } from "../parts/basic";
import { ArraySearch } from "../parts/array_search";
import { busiestProgram, ProgramChoice, programName, stagesOf } from "../parts/program_choice";
import { TilePicture } from "../parts/tile_picture";
import { collectiveText } from "../parts/operator_picture";
import { Table } from "../parts/table";
import { aliasesOf, type ArrayMove, find, operatorOf, parameterOperators, usesOf } from "../search";
import { shortened } from "../text";
import { meshSize } from "../tiles";

const lists: ArrayReference["list"][] = ["parameters", "outputs", "instructions"];

/** The devices that run a program: of several equal stages those of the first. */
function devicesOf(plan: ReturnType<typeof useShared>["plan"], program: number, count: number): number[] {
  const stage = stagesOf(plan, program)[0];
  return stage === undefined ? Array.from({ length: count }, (_, i) => i) : plan.stages[stage].devices;
}

function largest(program: Program): number {
  return program.parameters.reduce((best, tensor, i, all) => (tensor.bytes > all[best].bytes ? i : best), 0);
}

export function Placement() {
  const { plan, chosen, choose } = useShared();
  const [program, setProgram] = useState(() => chosen?.program ?? busiestProgram(plan));
  const data = plan.programs[program];
  useEffect(() => {
    if (!chosen && data.parameters.length > 0) choose({ program, list: "parameters", index: largest(data) });
  }, [program]);
  // What is chosen elsewhere, in the search say, may be in another program.
  useEffect(() => {
    if (chosen) setProgram(chosen.program);
  }, [chosen?.program]);
  const reference = chosen && chosen.program === program ? chosen : null;
  const stages = stagesOf(plan, program);
  return (
    <>
      <div class="bar">
        <ProgramChoice
          value={program}
          onChange={(next) => {
            choose(null);
            setProgram(next);
          }}
        />
        <span class="soft">mesh {meshText(data.mesh)}</span>
      </div>
      <section class="panel">
        <ArraySearch program={program} lists={lists} label="Array" height={272} onPick={choose} />
      </section>
      {reference && <Chosen reference={reference} />}
      {stages.length > 1 && (
        <p class="soft">
          {programName(plan, program)} are equal; the picture shows the devices of stage {stages[0]}.
        </p>
      )}
    </>
  );
}

/** Who makes the array, who reads it, and which collectives move it on the way. */
function Uses({ reference }: { reference: ArrayReference }) {
  const { plan, choose } = useShared();
  const program = plan.programs[reference.program];
  const names = useMemo(() => parameterOperators(program), [program]);
  const operator = operatorOf(program, reference, names);
  const uses = useMemo(() => (operator === undefined ? null : usesOf(program, operator)), [program, operator]);
  if (operator === undefined || uses === null) return null;
  const { name, operands, opcode } = program.instructions;
  const link = (index: number) => (
    <button type="button" class="plain" onClick={() => choose({ program: reference.program, list: "instructions", index })}>
      <Name text={name[index]} />
    </button>
  );
  const most = 8;
  const throughViews = uses.moves.some((move) => move.through >= 0);
  return (
    <>
      <dl class="facts">
        <dt>made from</dt>
        <dd>
          {operands[operator].length === 0 && (program.opcodes[opcode[operator]] === "parameter" ? "nothing: the program is given it" : "nothing")}
          {[...new Set(operands[operator])].slice(0, most).map((index) => (
            <div key={index}>{link(index)}</div>
          ))}
        </dd>
        <dt>read by</dt>
        <dd>
          {uses.users.length === 0 && "nobody"}
          {uses.users.slice(0, most).map((index) => (
            <div key={index}>{link(index)}</div>
          ))}
          {uses.users.length > most && `and ${countText(uses.users.length - most)} more`}
        </dd>
      </dl>
      <h3>What moves it</h3>
      {uses.moves.length === 0 ? (
        <p>No collective: whoever reads it, or a view of it, takes it as it lies.</p>
      ) : (
        <Table
          caption={`Collectives that move it, ${plural(uses.moves.length, "place")}`}
          most={most}
          rows={[...uses.moves].sort((a, b) => b.collective.seconds - a.collective.seconds)}
          columns={[
            { title: "collective", cell: (move) => collectiveText(move.collective) },
            { title: "for", cell: (move) => link(move.instruction) },
            ...(throughViews ? [{ title: "through", cell: (move: ArrayMove) => (move.through < 0 ? "" : link(move.through)) }] : []),
            { title: "count", number: (move) => move.collective.count, cell: (move) => countText(move.collective.count) },
            { title: "bytes", number: (move) => move.collective.bytes, cell: (move) => bytesText(move.collective.bytes) },
            { title: "time", number: (move) => move.collective.seconds, cell: (move) => costText(move.collective.seconds, plan.in_seconds) },
          ]}
        />
      )}
    </>
  );
}

function Chosen({ reference }: { reference: ArrayReference }) {
  const { plan } = useShared();
  const program = plan.programs[reference.program];
  const one = find(program, reference);
  const tensor = reference.list === "instructions" ? null : program[reference.list][reference.index];
  const others = reference.list === "parameters" ? [...new Set(aliasesOf(plan, reference.program)[reference.index])].filter((name) => name !== one.name) : [];
  const first = stagesOf(plan, reference.program)[0];
  const device = first === undefined ? plan.cluster.parts[0].device : plan.stages[first].device;
  const part = plan.cluster.parts.find((p) => p.device === device) ?? plan.cluster.parts[0];
  return (
    <section class="panel" id="chosen" aria-label="The chosen array">
      <h2 class="full">
        <Name text={one.name} class="full" />
      </h2>
      <dl class="facts">
        <dt>what</dt>
        <dd>{tensor ? `${one.what}; its memory counts as ${tensor.category}` : one.what}</dd>
        {others.length > 0 && (
          <>
            <dt>in equal stages</dt>
            <dd class="full">
              {others.map((name, i) => (
                <div key={i}>
                  <Name text={name} />
                </div>
              ))}
            </dd>
          </>
        )}
        <dt>type</dt>
        <dd class="mono">{typeText(one.type)}</dd>
        <dt>sharding</dt>
        <dd class="mono">
          <bdi>{specText(one.spec)}</bdi>
        </dd>
        {tensor?.kind && (
          <>
            <dt>parallelism</dt>
            <dd>{tensor.kind}</dd>
          </>
        )}
        {tensor && (
          <>
            <dt>on a device</dt>
            <dd>{bytesText(tensor.bytes)}</dd>
          </>
        )}
      </dl>
      {one.type.shape.length !== one.spec.length ? (
        <p>The plan does not say how it is laid out.</p>
      ) : (
        <TilePicture
          key={`${reference.list} ${reference.index}`}
          name={shortened(one.name, 200)}
          shape={one.type.shape}
          spec={one.spec}
          mesh={program.mesh}
          devices={devicesOf(plan, reference.program, meshSize(program.mesh))}
          perNode={part.per_node}
        />
      )}
      <Uses reference={reference} />
    </section>
  );
}
