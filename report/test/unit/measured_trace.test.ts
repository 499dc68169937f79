import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { readTrace, traceText } from "../../src/measured_trace";
import { sampleProgram } from "../sample";

const program = sampleProgram(2, 2); // op.1.0.0 (dot, 2 ms, all-reduce before it of 1 ms), op.1.0.1, ...
const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
const event = (name: string, ts: number, dur: number, more: object = {}) => ({ ph: "X", pid: 1, tid: 7, name, ts, dur, ...more });

test("events are matched with operators by XLA's names, a step by each run", () => {
  const step = (run: string, at: number) => [
    event("call", at, 9000, { tid: 8 }), // of the host: what runs is on other threads
    event("dot", at, 3000, { args: { hlo_op: "op.1.0.0", run_id: run } }),
    event("all-reduce.3", at + 3000, 500, { args: { run_id: run } }),
    event("copy.9", at + 4000, 250, { args: { run_id: run } }),
  ];
  const trace = readTrace(JSON.stringify({ traceEvents: [{ ph: "M", pid: 1, tid: 7, name: "thread_name", args: { name: "Stream" } }, ...step("a", 100), ...step("b", 20_000)] }), program);
  assert.deepEqual([trace.by, trace.steps, trace.unmatchedNames], ["operator", 2, ["copy.9"]]);
  assert.deepEqual(trace.rows.map((row) => [row.name, row.operators.length, row.count]), [["all-reduce", 4, 1], ["op.1.0.0", 1, 1]]);
  near(trace.rows[0].predicted, 4e-3);
  near(trace.rows[1].measured, 3e-3);
  near(trace.unmatched, 250e-6);
  const all = program.instructions.seconds.reduce((a, b) => a + b, 0);
  near(trace.unmeasured, all - program.instructions.seconds[program.instructions.name.indexOf("op.1.0.0")]);
  assert.equal(trace.lanes.length, 1);
  assert.match(trace.lanes[0].describe(0), /^Measured on Stream: dot, op\.1\.0\.0 of the plan, 3\.00 ms\.$/);
  near(trace.seconds, 4.25e-3);
});

test("where XLA renamed, the metadata's names match, else the kind of operator", () => {
  const byPath = readTrace(JSON.stringify([event("fusion.1", 0, 10, { args: { tf_op: "jit(step)/layer0/dot:" } })]), program);
  assert.deepEqual([byPath.by, byPath.rows[0].name], ["metadata's name", "jit(step)/layer0/dot"]);
  const byKind = readTrace(JSON.stringify([event("aten::mm", 0, 10), event("void cutlass::gemm", 20, 10), event("ncclDevKernel_AllReduce_Sum", 40, 5)]), program);
  assert.deepEqual(byKind.rows.map((row) => row.name).sort(), ["all-reduce", "dot"]);
  assert.equal(byKind.by, "kind of operator");
});

test("what is no trace is told", () => {
  assert.throws(() => readTrace("{", program), /no JSON/);
  assert.throws(() => readTrace("{}", program), /no list traceEvents/);
  assert.throws(() => readTrace("[1, null]", program), /no events with a duration/);
  assert.throws(() => readTrace(JSON.stringify([event("sleep", 0, 1)]), program), /no event has the name/);
});

test("a packed trace is unpacked", async () => {
  for (const bytes of [Buffer.from("[]"), gzipSync("[]")]) assert.equal(await traceText(new Blob([new Uint8Array(bytes)])), "[]");
});
