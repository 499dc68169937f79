// Which boxes of a long timeline are drawn, whatever the zoom.

export interface GanttRow {
  name: string;
  /** Rising, and without overlap. */
  start: Float64Array;
  end: Float64Array;
  /** Index into the chart's colours. */
  colour: Uint8Array;
  /** Short text inside the box. */
  label(i: number): string;
  /** A sentence about it. */
  describe(i: number): string;
  /** Drawn paler where it is 1. */
  pale?: Uint8Array;
}

export interface Span {
  from: number;
  to: number;
}

/** The first index whose `end` is above `time`. */
export function firstAfter(end: Float64Array, time: number): number {
  let low = 0;
  let high = end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Calls `draw(i)` for the boxes of a row within `span`, in order. Of those that share a stretch of
 * `resolution` only the longest is drawn, so the work is bounded by the width of the screen and
 * the search for the next stretch, not by the number of boxes drawn.
 */
export function forEachVisible(
  row: GanttRow,
  span: Span,
  resolution: number,
  draw: (i: number) => void,
): void {
  let i = firstAfter(row.end, span.from);
  while (i < row.start.length && row.start[i] < span.to) {
    const stretch = row.start[i] + resolution;
    let longest = i;
    let next = i + 1;
    while (next < row.start.length && row.end[next] <= stretch) {
      if (row.end[next] - row.start[next] > row.end[longest] - row.start[longest]) longest = next;
      next += 1;
    }
    draw(longest);
    i = next;
  }
}

/** `span` scaled by `factor` around `anchor`, kept within `whole` and above `least`. */
export function zoomed(span: Span, factor: number, anchor: number, whole: Span, least: number): Span {
  const length = Math.min(whole.to - whole.from, Math.max(least, (span.to - span.from) * factor));
  const share = (anchor - span.from) / (span.to - span.from);
  return within({ from: anchor - share * length, to: anchor + (1 - share) * length }, whole);
}

/** What stays in its place when no pointer says it: the picked box if it is seen, else the middle. */
export function anchorOf(span: Span, picked: Span | null): number {
  const middle = (one: Span) => one.from + (one.to - one.from) / 2;
  if (!picked || picked.to < span.from || picked.from > span.to) return middle(span);
  return middle({ from: Math.max(picked.from, span.from), to: Math.min(picked.to, span.to) });
}

/** `span` moved so that it lies within `whole`. */
export function within(span: Span, whole: Span): Span {
  const length = Math.min(span.to - span.from, whole.to - whole.from);
  const from = Math.min(Math.max(span.from, whole.from), whole.to - length);
  return { from, to: from + length };
}
