import assert from "node:assert/strict";
import { test } from "node:test";
import { anchorOf, firstAfter, forEachVisible, type GanttRow, within, zoomed } from "../../src/gantt";

function rowOf(boxes: [number, number][]): GanttRow {
  return {
    name: "",
    start: Float64Array.from(boxes, (box) => box[0]),
    end: Float64Array.from(boxes, (box) => box[1]),
    colour: new Uint8Array(boxes.length),
    label: () => "",
    describe: () => "",
  };
}

function visible(row: GanttRow, from: number, to: number, resolution: number): number[] {
  const result: number[] = [];
  forEachVisible(row, { from, to }, resolution, (i) => result.push(i));
  return result;
}

test("boxes outside the span are left out", () => {
  const row = rowOf([[0, 1], [1, 2], [2, 3], [5, 6]]);
  assert.deepEqual(visible(row, 1.5, 5, 0.01), [1, 2]);
  assert.equal(firstAfter(row.end, 6), 4);
});

test("of boxes too small to be seen the longest of each stretch is drawn", () => {
  const row = rowOf([[0, 0.1], [0.1, 0.5], [0.5, 0.6], [2, 3]]);
  assert.deepEqual(visible(row, 0, 10, 1), [1, 3]);
});

test("a step of a million boxes costs as many boxes as there are pixels", () => {
  const row = rowOf(Array.from({ length: 1_000_000 }, (_, i) => [i, i + 1]));
  assert.ok(visible(row, 0, 1_000_000, 1000).length <= 1001);
});

test("zooming keeps the anchor and stays within the whole", () => {
  const whole = { from: 0, to: 100 };
  assert.deepEqual(zoomed(whole, 0.5, 25, whole, 1), { from: 12.5, to: 62.5 });
  assert.deepEqual(zoomed({ from: 0, to: 50 }, 4, 10, whole, 1), whole);
  const least = zoomed({ from: 10, to: 12 }, 0.01, 11, whole, 1);
  assert.ok(Math.abs(least.to - least.from - 1) < 1e-12);
  assert.deepEqual(within({ from: -20, to: 10 }, whole), { from: 0, to: 30 });
});

test("keys zoom about the middle of what is seen, or about the box that is picked", () => {
  const span = { from: 20, to: 40 };
  assert.equal(anchorOf(span, null), 30);
  assert.equal(anchorOf(span, { from: 24, to: 26 }), 25);
  assert.equal(anchorOf(span, { from: 0, to: 24 }), 22); // its part that is seen
  assert.equal(anchorOf(span, { from: 50, to: 60 }), 30);
  // However often, what is picked stays in sight.
  let now = { from: 0, to: 100 };
  const picked = { from: 90, to: 91 };
  for (let i = 0; i < 20; i += 1) now = zoomed(now, 0.6, anchorOf(now, picked), { from: 0, to: 100 }, 1e-4);
  assert.ok(now.from >= 90 && now.to <= 91, JSON.stringify(now));
});
