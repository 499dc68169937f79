// Where each part of a chosen array lies.

import { useEffect, useState } from "preact/hooks";
import { type ArrayReference, useShared } from "../context";
import type { Program } from "../data";
import { bytesText, meshText, specText, typeText } from "../format";
import { Name } from "../parts/basic";
import { ArraySearch } from "../parts/array_search";
import { ProgramChoice, programName, stagesOf } from "../parts/program_choice";
import { TilePicture } from "../parts/tile_picture";
import { find } from "../search";
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
  const [program, setProgram] = useState(chosen?.program ?? 0);
  const data = plan.programs[program];
  useEffect(() => {
    if (!chosen && data.parameters.length > 0) choose({ program, list: "parameters", index: largest(data) });
  }, [program]);
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

function Chosen({ reference }: { reference: ArrayReference }) {
  const { plan } = useShared();
  const program = plan.programs[reference.program];
  const one = find(program, reference);
  const tensor = reference.list === "instructions" ? null : program[reference.list][reference.index];
  const first = stagesOf(plan, reference.program)[0];
  const device = first === undefined ? plan.cluster.parts[0].device : plan.stages[first].device;
  const part = plan.cluster.parts.find((p) => p.device === device) ?? plan.cluster.parts[0];
  return (
    <section class="panel" aria-label="The chosen array">
      <h2 class="full">
        <Name text={one.name} class="full" />
      </h2>
      <dl class="facts">
        <dt>what</dt>
        <dd>{tensor ? `${one.what}; its memory counts as ${tensor.category}` : one.what}</dd>
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
          name={one.name.slice(0, 200)}
          shape={one.type.shape}
          spec={one.spec}
          mesh={program.mesh}
          devices={devicesOf(plan, reference.program, meshSize(program.mesh))}
          perNode={part.per_node}
        />
      )}
    </section>
  );
}
