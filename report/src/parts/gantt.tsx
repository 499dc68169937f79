// A timeline that can be zoomed: wheel or +/- zooms, dragging or the arrows move, a click or n and p
// pick a box, whose description is read out.

import { useEffect, useRef, useState } from "preact/hooks";
import { useShared } from "../context";
import { secondsText } from "../format";
import { anchorOf, firstAfter, forEachVisible, type GanttRow, type Span, within, zoomed } from "../gantt";
import { inkOn, resolved } from "../palette";
import { visible } from "../text";
import { useWidth } from "./basic";

const rowHeight = 26;
const top = 24;
const left = 112;
/** How much of their colour pale boxes keep. */
export const paleShare = 0.4;

interface Pick {
  row: number;
  box: number;
}

function tickStep(length: number, count: number): number {
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough)!;
}

function paint(
  canvas: HTMLCanvasElement,
  rows: GanttRow[],
  colours: string[],
  span: Span,
  pick: Pick | null,
  text: (seconds: number) => string,
): void {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(scale, scale);
  const colour = (name: string) => resolved(name, canvas);
  const fills = colours.map(colour);
  const [ink, soft, grid, raised] = ["var(--ink)", "var(--soft)", "var(--grid)", "var(--raised)"].map(colour);
  context.fillStyle = raised;
  context.fillRect(0, 0, width, height);
  const perSecond = (width - left) / (span.to - span.from);
  const at = (time: number) => left + (time - span.from) * perSecond;

  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const step = tickStep(span.to - span.from, Math.max(3, (width - left) / 110));
  context.textAlign = "center";
  for (let t = Math.ceil(span.from / step) * step; t <= span.to; t += step) {
    context.fillStyle = grid;
    context.fillRect(at(t), top - 6, 1, height);
    context.fillStyle = soft;
    if (at(t) > left + 20 && at(t) < width - 24) context.fillText(text(Math.abs(t) < step / 1e6 ? 0 : t), at(t), 9);
  }
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, height);
  context.clip();
  rows.forEach((row, r) => {
    const y = top + r * rowHeight;
    forEachVisible(row, span, 1 / perSecond, (i) => {
      const a = Math.max(at(row.start[i]), left - 2);
      const b = Math.min(at(row.end[i]), width + 2);
      const gap = b - a > 4 ? 1 : 0;
      const pale = row.pale?.[i] === 1;
      context.fillStyle = fills[row.colour[i]];
      context.globalAlpha = pale ? paleShare : 1;
      context.fillRect(a, y + 2, Math.max(0.8, b - a - gap), rowHeight - 4);
      context.globalAlpha = 1;
      if (b - a > 26) {
        const label = row.label(i);
        if (label && context.measureText(label).width < b - a - 6) {
          context.fillStyle = pale ? ink : inkOn(fills[row.colour[i]]);
          context.textAlign = "center";
          context.fillText(label, (a + b) / 2, y + rowHeight / 2);
        }
      }
      if (pick && pick.row === r && pick.box === i) {
        context.strokeStyle = ink;
        context.lineWidth = 2;
        context.strokeRect(a + 1, y + 3, Math.max(2, b - a - 2), rowHeight - 6);
      }
    });
  });
  context.restore();
  context.fillStyle = ink;
  context.textAlign = "left";
  rows.forEach((row, r) => context.fillText(visible(row.name), 4, top + (r + 0.5) * rowHeight, left - 10));
}

export function Gantt({
  label,
  rows,
  colours,
  seconds,
  text = secondsText,
  onPick,
}: {
  label: string;
  rows: GanttRow[];
  colours: string[];
  /** Length of the whole. */
  seconds: number;
  text?: (seconds: number) => string;
  /** A box was picked. */
  onPick?(row: number, box: number): void;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = { from: 0, to: seconds || 1 };
  const [span, setSpan] = useState<Span>(whole);
  const [pick, setPick] = useState<Pick | null>(null);
  const [hover, setHover] = useState<(Pick & { x: number; y: number }) | null>(null);
  const drag = useRef<{ x: number; span: Span; moved: boolean } | null>(null);
  const { theme } = useShared();
  const least = whole.to * 1e-6;
  const picked = pick && rows[pick.row] ? { from: rows[pick.row].start[pick.box], to: rows[pick.row].end[pick.box] } : null;
  useEffect(() => {
    setSpan(whole);
    setPick(null);
  }, [rows, seconds]);
  useEffect(() => {
    if (canvas.current && width > 0) paint(canvas.current, rows, colours, span, pick, text);
  }, [rows, span, pick, width, theme]);

  const timeAt = (x: number) => span.from + ((x - left) / (width - left)) * (span.to - span.from);
  const zoom = (factor: number, anchor?: number) => setSpan((now) => zoomed(now, factor, anchor ?? anchorOf(now, picked), whole, least));
  const shift = (share: number) =>
    setSpan((now) => {
      const by = share * (now.to - now.from);
      return within({ from: now.from + by, to: now.to + by }, whole);
    });

  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const x = event.clientX - element.getBoundingClientRect().left;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) shift(event.deltaX / 800);
      else zoom(Math.exp(event.deltaY / 400), timeAt(Math.max(left, x)));
    };
    // Not passive: the page must not scroll.
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  });

  const choose = (next: Pick | null) => {
    setPick(next);
    if (!next) return;
    onPick?.(next.row, next.box);
    const row = rows[next.row];
    const [a, b] = [row.start[next.box], row.end[next.box]];
    if (b < span.from || a > span.to) {
      const half = (span.to - span.from) / 2;
      setSpan(within({ from: (a + b) / 2 - half, to: (a + b) / 2 + half }, whole));
    }
  };
  const boxAt = (event: PointerEvent): Pick | null => {
    const area = canvas.current!.getBoundingClientRect();
    const r = Math.floor((event.clientY - area.top - top) / rowHeight);
    const row = rows[r];
    if (!row) return null;
    const slack = (2 * (span.to - span.from)) / Math.max(1, width - left);
    const time = timeAt(event.clientX - area.left);
    const i = firstAfter(row.end, time - slack);
    return i < row.start.length && row.start[i] <= time + slack ? { row: r, box: i } : null;
  };
  const keys = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      "+": () => zoom(0.6),
      "=": () => zoom(0.6),
      "-": () => zoom(1 / 0.6),
      "0": () => setSpan(whole),
      ArrowLeft: () => shift(-0.15),
      ArrowRight: () => shift(0.15),
      n: () => step(1),
      p: () => step(-1),
      ArrowDown: () => changeRow(1),
      ArrowUp: () => changeRow(-1),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  const step = (by: number) => {
    const row = pick?.row ?? rows.findIndex((one) => one.start.length > 0);
    if (row < 0) return;
    const next = pick ? pick.box + by : firstAfter(rows[row].end, span.from);
    if (next >= 0 && next < rows[row].start.length) choose({ row, box: next });
  };
  const changeRow = (by: number) => {
    const time = pick ? rows[pick.row].start[pick.box] : span.from;
    const row = Math.min(rows.length - 1, Math.max(0, (pick?.row ?? -by) + by));
    const box = Math.min(rows[row].start.length - 1, firstAfter(rows[row].end, time));
    if (box >= 0) choose({ row, box });
  };
  return (
    <div>
      <div class="bar">
        <span class="group" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom(2)}>
            −
          </button>
          <button type="button" onClick={() => setSpan(whole)}>
            Whole step
          </button>
        </span>
        <span class="soft" id="span">
          {text(span.from)} to {text(span.to)}
        </span>
        <span class="soft">Keys: + − zoom, ← → move, n p next and previous, ↑ ↓ rows, 0 all</span>
      </div>
      <div class="around">
      <div ref={box} class="scroll" style={{ maxHeight: "70vh" }}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-roledescription="timeline"
          aria-label={label}
          aria-describedby="picked"
          style={{ width: "100%", height: `${top + rows.length * rowHeight + 4}px`, cursor: "grab" }}
          onKeyDown={keys}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, span, moved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const start = drag.current;
            if (!start) {
              const under = boxAt(event);
              const area = box.current!.parentElement!.getBoundingClientRect();
              return setHover(under && { ...under, x: event.clientX - area.left, y: event.clientY - area.top });
            }
            setHover(null);
            const by = ((start.x - event.clientX) / (width - left)) * (start.span.to - start.span.from);
            start.moved ||= Math.abs(start.x - event.clientX) > 3;
            if (start.moved) setSpan(within({ from: start.span.from + by, to: start.span.to + by }, whole));
          }}
          onPointerUp={(event) => {
            if (drag.current && !drag.current.moved) choose(boxAt(event));
            drag.current = null;
          }}
          onPointerLeave={() => setHover(null)}
        />
      </div>
        {hover && rows[hover.row]?.start[hover.box] !== undefined && (
          <div class="tip text" aria-hidden="true" style={{ top: `${hover.y + 18}px`, ...(hover.x > width / 2 ? { right: `${Math.max(0, width - hover.x)}px` } : { left: `${hover.x + 12}px` }) }}>
            {visible(rows[hover.row].describe(hover.box))}
          </div>
        )}
      </div>
      <p class="status text" id="picked" role="status">
        {pick && picked ? visible(rows[pick.row].describe(pick.box)) : "Click a box, or press n, to see what it is."}
      </p>
    </div>
  );
}
