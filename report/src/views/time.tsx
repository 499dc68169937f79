// What a step's time consists of.

import { useMemo, useState } from "preact/hooks";
import { useShared } from "../context";
import { type Program, runsOf, sum } from "../data";
import { bytesText, costText, countText, percentText } from "../format";
import { collectiveColour, communicationColour, computeColour, taskColours } from "../palette";
import { Legend, Name, Stack } from "../parts/basic";
import { Bars } from "../parts/chart";
import { collectiveText } from "../parts/operator_picture";
import { busiestProgram, ProgramChoice, programName } from "../parts/program_choice";
import { byOpcode, stageTimes } from "../step_breakdown";
import { shortened, visible } from "../text";
import { serialSeconds, timeParts } from "./summary";
import { Table } from "../parts/table";

function OfProgram({ program, name, number }: { program: Program; name: string; number: number }) {
  const { plan, choose, go } = useShared();
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const opcodes = useMemo(() => byOpcode(program).slice(0, 12), [program]);
  return (
    <>
      <div class="columns">
        <div>
        <section class="panel">
          <h2>By phase</h2>
          <Bars
            label={`Time of ${name} by phase`}
            text={time}
            bars={program.phases.map((phase) => ({
              name: phase.phase || "elsewhere",
              value: phase.compute + phase.communication,
              colour: computeColour,
              parts: [
                { value: phase.compute, colour: computeColour },
                { value: phase.communication, colour: communicationColour },
              ],
            }))}
          />
          <Legend entries={[["computation", computeColour], ["communication", communicationColour]]} />
        </section>
        <section class="panel">
          <h2>Communication by collective</h2>
          {program.collectives.length === 0 ? (
            <p>None: nothing is communicated.</p>
          ) : (
            <>
              <Bars
                label={`Communication of ${name}`}
                text={time}
                bars={program.collectives.map((one) => ({ name: collectiveText(one), value: one.seconds, colour: collectiveColour(one.kind) }))}
              />
              <Table
                caption={`Collectives of ${name}`}
                rows={program.collectives}
                columns={[
                  { title: "collective", cell: (one) => one.kind },
                  { title: "axes", cell: (one) => <Name text={one.axes.join(", ")} /> },
                  { title: "count", number: (one) => one.count, cell: (one) => countText(one.count) },
                  { title: "bytes", number: (one) => one.bytes, cell: (one) => bytesText(one.bytes) },
                  { title: "time", number: (one) => one.seconds, cell: (one) => time(one.seconds) },
                ]}
              />
            </>
          )}
        </section>
        </div>
        <section class="panel">
          <h2>Computation by operator</h2>
          <Bars label={`Computation of ${name} by operator`} text={time} bars={opcodes.map((one) => ({ name: `${one.opcode} (${countText(one.count)})`, value: one.seconds, colour: computeColour }))} />
        </section>
      </div>
      {program.most_expensive.length > 0 && (
        <section class="panel">
          <h2>The most expensive collectives, and which operators cause them</h2>
          <Table
            caption="The most expensive collectives"
            rows={program.most_expensive}
            columns={[
              { title: "collective", cell: (one) => collectiveText(one.collective) },
              { title: "time", number: (one) => one.collective.seconds, cell: (one) => time(one.collective.seconds) },
              { title: "count", number: (one) => one.collective.count, cell: (one) => countText(one.collective.count) },
              { title: "bytes", number: (one) => one.collective.bytes, cell: (one) => bytesText(one.collective.bytes) },
              { title: "why", cell: (one) => <Name text={one.cause} /> },
              { title: "phase", cell: (one) => one.phase },
              { title: "source", cell: (one) => <bdi class="together" title={visible(one.source)}>{shortened(one.source, 36)}</bdi> },
              {
                title: "operator",
                cell: (one) => (
                  <>
                    <button
                      type="button"
                      class="plain"
                      onClick={() => {
                        choose({ program: number, list: "instructions", index: one.instruction });
                        go("network");
                      }}
                    >
                      <Name text={program.instructions.name[one.instruction]} />
                    </button>
                    {one.places > 1 && `, the first of ${countText(one.places)} places`}
                  </>
                ),
              },
            ]}
          />
        </section>
      )}
    </>
  );
}

/** Forward, backward and update of each stage, and what is left of the step. */
function ByStage() {
  const { plan } = useShared();
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const groups = plan.stages.length / plan.chunks;
  const times = stageTimes(plan);
  const colours = [taskColours[0], taskColours[1], taskColours[3]];
  const one = groups === plan.stages.length ? "stage" : "group";
  const bars = runsOf(times, (parts) => parts.join()).map(({ first, end }) => ({
    name: end - first === 1 ? `${one} ${first}` : `${one}s ${first}-${end - 1}, each`,
    value: sum(times[first]),
    colour: taskColours[0],
    parts: times[first].map((value, p) => ({ value, colour: colours[p] })),
  }));
  return (
    <section class="panel">
      <h2>By stage, all micro-batches of a step</h2>
      <Bars label="Busy time of each stage" text={time} bars={bars} />
      <Legend entries={[["forward", colours[0]], ["backward", colours[1]], ["update, once a step", colours[2]]]} />
      <p class="soft">
        The step takes {time(plan.objective)}; what is missing to it, stages wait: {percentText(plan.bubble_share)} of all their time.
      </p>
    </section>
  );
}

export function Time() {
  const { plan } = useShared();
  const [program, setProgram] = useState(() => busiestProgram(plan));
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const serial = serialSeconds(plan);
  return (
    <>
      <section class="panel">
        <h2>One step: {time(plan.step)}</h2>
        {plan.transformer?.over_groups ? <p>Stages differ; what each does is below.</p> : <Stack parts={timeParts(plan)} text={time} label="Time of a step" />}
        {plan.step !== serial && (
          <p class="soft">
            {plan.step < serial ? `Collectives overlap with computation: ${time(serial)} serial become ${time(plan.step)}.` : `With launch overhead ${time(plan.step)}; ${time(serial)} serial.`}
          </p>
        )}
      </section>
      {plan.transformer && (
        <section class="panel">
          <h2>{plan.transformer.over_groups ? "By part, of the first stage" : "By part"}</h2>
          <Bars label="Time of a step by part" text={time} bars={timeParts(plan).filter((part) => part.value > 1e-9 * plan.step)} />
        </section>
      )}
      {plan.stages.length > 0 && <ByStage />}
      {plan.programs.length > 1 && (
        <div class="bar">
          <ProgramChoice value={program} onChange={setProgram} />
          <span class="soft">What a device of these stages does in a step, all micro-batches</span>
        </div>
      )}
      {plan.programs[program] && <OfProgram program={plan.programs[program]} name={programName(plan, program)} number={program} />}
    </>
  );
}
