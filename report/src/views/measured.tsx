// What `meshwright verify` measured, beside what the plan said.

import { useShared } from "../context";
import type { Verification } from "../data";
import { percentText } from "../format";
import { series } from "../palette";
import { Legend, Name, Table } from "../parts/basic";

type Check = Verification["checks"][number];

const words: Record<string, string> = { ok: "ok", explained: "explained", differs: "differs", shown: "shown" };

function Pair({ check }: { check: Check }) {
  const { planned_value: planned, measured_value: measured } = check;
  if (planned === null || measured === null) return null;
  const most = Math.max(planned, measured) || 1;
  return (
    <div role="img" aria-label={`planned ${check.planned}, measured ${check.measured}`}>
      {[
        [planned, series(0)],
        [measured, series(1)],
      ].map(([value, colour], i) => (
        <div class="meter" key={i} style={{ marginTop: "3px" }}>
          <span style={{ width: `${(100 * Number(value)) / most}%`, background: String(colour) }} />
        </div>
      ))}
    </div>
  );
}

function one(verification: Verification) {
  return (
    <section class="panel" key={verification.file}>
      <h2>
        <Name text={verification.plan} />
      </h2>
      <p>
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
          { title: "planned", number: true, cell: (check) => check.planned },
          { title: "measured", number: true, cell: (check) => check.measured },
          { title: "difference", number: true, cell: (check) => (check.planned_value ? percentText((check.measured_value ?? 0) / check.planned_value - 1) : "") },
          { title: "", cell: (check) => <Pair check={check} /> },
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

export function Measured() {
  return <>{useShared().report.verifications.map(one)}</>;
}
