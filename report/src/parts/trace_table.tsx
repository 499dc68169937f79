// A measured trace that the user opens, beside what the plan predicts. The file stays in the browser.

import { useState } from "preact/hooks";
import { useShared } from "../context";
import type { Program } from "../data";
import { costText, countText, percentText, plural } from "../format";
import { type Matched, type MeasuredTrace, readTrace, traceText } from "../measured_trace";
import { shareOf, sumOf } from "../numbers";
import { shortened } from "../text";
import { Name } from "./basic";
import { Table } from "./table";

/** The trace that is open; `onRead` with null: none. */
export function TraceTable({ program, number, trace, onRead }: { program: Program; number: number; trace: MeasuredTrace | null; onRead(trace: MeasuredTrace | null): void }) {
  const { plan, choose } = useShared();
  const [error, setError] = useState("");
  const text = (seconds: number) => costText(seconds, plan.in_seconds);
  const open = async (file: File | undefined) => {
    if (!file) return;
    try {
      onRead(readTrace(await traceText(file), program));
      setError("");
    } catch (problem) {
      onRead(null);
      setError(`${shortened(file.name, 60)} cannot be laid beside the plan: ${(problem as Error).message}.`);
    }
  };
  const [predicted, measured] = [sumOf((trace?.rows ?? []).map((row) => row.predicted)), sumOf((trace?.rows ?? []).map((row) => row.measured))];
  return (
    <section class="panel">
      <h2>Beside a measured trace</h2>
      <p>
        A trace of the running step, as JAX's profiler (<code>*.trace.json.gz</code>) or PyTorch's writes it, is drawn under the lanes above,
        and its events are matched with the plan's operators by name. The file is not sent anywhere.
      </p>
      <div class="bar">
        <label>
          Trace
          <input type="file" id="trace" accept=".json,.gz" onChange={(event) => void open(event.currentTarget.files?.[0])} />
        </label>
      </div>
      {error !== "" && (
        <p class="bad text" role="alert">
          {error}
        </p>
      )}
      {trace && (
        <>
          <p role="status" id="trace-summary">
            {plural(trace.steps, "step")} measured, matched by {trace.by}: {text(measured)} a step where the plan has {text(predicted)}.{" "}
            {trace.unmatched > 0 && (
              <>
                Another {text(trace.unmatched)} a step have no operator of the plan: <Name text={trace.unmatchedNames.map((name) => shortened(name, 40)).join(", ")} />.{" "}
              </>
            )}
            {trace.unmeasured > 0 && `Operators that take ${text(trace.unmeasured)} in the plan were not seen by these names: XLA fuses, and renames.`}
          </p>
          <Table
            caption="Measured beside predicted, by operator"
            most={20}
            rows={trace.rows}
            columns={[
              {
                title: trace.by,
                cell: (row: Matched) => (
                  <button type="button" class="plain" onClick={() => choose({ program: number, list: "instructions", index: row.operators[0] })}>
                    <Name text={row.name} />
                  </button>
                ),
              },
              { title: "operators", number: (row: Matched) => row.operators.length, cell: (row: Matched) => countText(row.operators.length) },
              { title: "predicted", number: (row: Matched) => row.predicted, cell: (row: Matched) => text(row.predicted) },
              { title: "measured", number: (row: Matched) => row.measured, cell: (row: Matched) => text(row.measured) },
              { title: "difference", number: (row: Matched) => shareOf(row.measured - row.predicted, row.predicted), cell: (row: Matched) => percentText(shareOf(row.measured - row.predicted, row.predicted)) },
            ]}
          />
        </>
      )}
    </section>
  );
}
