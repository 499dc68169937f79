// Stages that run the same share a program; this picks one.

import { useShared } from "../context";
import type { Plan } from "../data";
import { rangesText } from "../format";

export function stagesOf(plan: Plan, program: number): number[] {
  return plan.stages.flatMap((stage, i) => (stage.program === program ? [i] : []));
}

/** That of the stage which works longest in a step, the first of equals: what is shown until another is chosen. */
export function busiestProgram(plan: Plan): number {
  const seconds = plan.stages.map((stage) => plan.micro_batches * (stage.forward + stage.backward) + stage.update);
  const busiest = plan.stages[seconds.indexOf(Math.max(...seconds))];
  return Math.max(0, busiest?.program ?? 0);
}

export function programName(plan: Plan, program: number): string {
  const stages = stagesOf(plan, program);
  if (stages.length === 0) return "the program";
  return `${stages.length === 1 ? "stage" : "stages"} ${rangesText(stages)}`;
}

export function ProgramChoice({ value, onChange }: { value: number; onChange(program: number): void }) {
  const { plan } = useShared();
  if (plan.programs.length < 2) return null;
  return (
    <label>
      Stages
      <select id="program" value={String(value)} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {plan.programs.map((_, i) => (
          <option key={i} value={String(i)}>
            {rangesText(stagesOf(plan, i))}
          </option>
        ))}
      </select>
    </label>
  );
}
