// What was measured, beside what was planned: by `meshwright verify`, or by `meshwright profile` before
// the plan was made.

import { useShared } from "../context";
import type { Plan, Profile, Verification } from "../data";
import { costText, countText, percentText } from "../format";
import { shareOf } from "../numbers";
import { series } from "../palette";
import { Legend, Name } from "../parts/basic";
import { Table } from "../parts/table";

const words: Record<string, string> = { ok: "ok", explained: "explained", differs: "differs", shown: "shown" };

/** Two bars, one below the other. */
function Pair({ planned, measured, text }: { planned: number | null; measured: number | null; text: string }) {
  if (planned === null || measured === null) return null;
  const most = Math.max(planned, measured) || 1;
  return (
    <div role="img" aria-label={text}>
      {[
        [planned, series(0)],
        [measured, series(1)],
      ].map(([value, colour], i) => (
        <div class="meter" key={i} style={{ marginTop: "3px" }}>
          <span style={{ width: `${100 * shareOf(Number(value), most)}%`, background: String(colour) }} />
        </div>
      ))}
    </div>
  );
}

/** 0.29 of what is 29 % more; null: nothing was planned. */
function relative(planned: number | null, measured: number | null): number | null {
  return planned ? shareOf(measured ?? 0, planned) - 1 : null;
}

/** "+29.0 %"; what is many times as much is said so. */
function difference(planned: number | null, measured: number | null): string {
  const more = relative(planned, measured);
  if (more === null) return "";
  const times = more + 1;
  return times >= 10 ? `${countText(Number(times.toPrecision(3)))} times` : percentText(times - 1);
}

function one(verification: Verification, plans: readonly Plan[]) {
  const plan = verification.plan_index === null ? undefined : plans[verification.plan_index];
  return (
    <section class="panel" key={verification.file}>
      <h2>
        <Name text={verification.plan} />
      </h2>
      <p>
        {plan ? (
          <>
            The plan of <Name text={plan.file} class="inline" />.{" "}
          </>
        ) : (
          plans.length > 0 && <strong>Of none of the plans in this report. </strong>
        )}
        Run on <Name text={verification.devices} class="inline" />:{" "}
        <strong class={verification.passed ? "good" : "bad"}>{verification.passed ? "verified" : "not verified"}</strong>
      </p>
      <Legend entries={[["planned", series(0)], ["measured", series(1)]]} />
      <Table
        caption="Checks"
        most={100}
        rows={verification.checks}
        columns={[
          { title: "check", cell: (check) => <Name text={check.name} /> },
          { title: "", cell: (check) => <span class={check.outcome === "ok" ? "good" : check.outcome === "differs" ? "bad" : "soft"}>{words[check.outcome] ?? check.outcome}</span> },
          { title: "planned", number: (check) => check.planned_value ?? check.planned, cell: (check) => check.planned },
          { title: "measured", number: (check) => check.measured_value ?? check.measured, cell: (check) => check.measured },
          { title: "difference", number: (check) => relative(check.planned_value, check.measured_value), cell: (check) => difference(check.planned_value, check.measured_value) },
          { title: "", cell: (check) => <Pair planned={check.planned_value} measured={check.measured_value} text={`planned ${check.planned}, measured ${check.measured}`} /> },
          {
            title: "remark",
            cell: (check) => (
              <>
                <Name text={check.remark} />
                {check.notes.map((note, i) => (
                  <div key={i} class="soft">
                    <Name text={note} class="full" />
                  </div>
                ))}
              </>
            ),
          },
        ]}
      />
    </section>
  );
}

/** "[x] > m=x > -" in words: how values enter a segment, how its blocks run, how they leave. */
export function choiceText(choice: string): string {
  const parts = /^(.*?) > (.*?) ?> (.*)$/.exec(choice);
  if (!parts) return choice;
  const [, enters, runs, leaves] = parts;
  return [
    enters === "-" ? "nothing enters" : `enters as ${enters}`,
    ...(runs === "" ? [] : [`runs ${runs === "-" ? "replicated" : runs}`]),
    leaves === "-" ? "nothing leaves" : `leaves as ${leaves}`,
  ].join(", ");
}

/** What a plan with a profile database rests on. */
function Profiled({ plan, profile }: { plan: Plan; profile: Profile }) {
  const time = (seconds: number) => costText(seconds, plan.in_seconds);
  const { environment, step, segments } = profile;
  const rows = [
    ...(step ? [{ what: "the whole step", choice: "", times: 1, model: step.composed_seconds, seconds: step.seconds, spread: step.spread, samples: step.samples }] : []),
    ...segments.map((one, i) => ({ what: `segment ${i}`, choice: one.choice, times: one.occurrences, model: one.model_seconds, seconds: one.seconds, spread: one.spread, samples: one.samples })),
  ];
  return (
    <section class="panel">
      <h2>
        <Name text={plan.file} />
      </h2>
      {environment ? (
        <p>
          Measured on <Name text={environment.device} class="inline" /> with <Name text={environment.libraries} class="inline" />, before the plan was made.
        </p>
      ) : (
        <p>Nothing was measured: its times are the cost model's.</p>
      )}
      <Legend entries={[[step ? "by the cost model; the step by its segments" : "by the cost model", series(0)], ["measured, the median", series(1)]]} />
      <Table
        caption="Segments of the network, one execution"
        most={100}
        rows={rows}
        columns={[
          { title: "segment, and what was chosen for it", cell: (row) => (
              <>
                {row.what} {row.choice && <Name text={choiceText(row.choice)} class="soft" />}
              </>
            ) },
          { title: "times", number: (row) => row.times, cell: (row) => countText(row.times) },
          { title: "planned", number: (row) => row.model, cell: (row) => time(row.model) },
          { title: "measured", number: (row) => (row.samples > 0 ? row.seconds : null), cell: (row) => (row.samples > 0 ? time(row.seconds) : "not measured") },
          { title: "spread", number: (row) => (row.samples > 0 ? row.spread : null), cell: (row) => (row.samples > 0 ? time(row.spread) : "") },
          { title: "samples", number: (row) => (row.samples > 0 ? row.samples : null), cell: (row) => (row.samples > 0 ? countText(row.samples) : "") },
          { title: "difference", number: (row) => (row.samples > 0 ? relative(row.model, row.seconds) : null), cell: (row) => (row.samples > 0 ? difference(row.model, row.seconds) : "") },
          { title: "", cell: (row) => (row.samples > 0 ? <Pair planned={row.model} measured={row.seconds} text={`planned ${time(row.model)}, measured ${time(row.seconds)}`} /> : null) },
        ]}
      />
    </section>
  );
}

export function Measured() {
  const { report } = useShared();
  return (
    <>
      {report.plans.map((plan, i) => plan.profile && <Profiled key={i} plan={plan} profile={plan.profile} />)}
      {report.verifications.map((verification) => one(verification, report.plans))}
    </>
  );
}
