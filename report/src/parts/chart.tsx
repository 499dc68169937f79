// Charts as SVG: each is named for screen readers, and its view has the figures as a table too.

import { scaleLinear, scaleLog } from "d3-scale";
import { area, line, stack, curveStepAfter } from "d3-shape";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { finite, shareOf, sumOf } from "../numbers";
import { useWidth } from "./basic";
import { shortened } from "../text";

const margin = { top: 12, right: 16, bottom: 42, left: 74 };

/** Room for the longest of the ticks' texts. */
function leftOf(y: AxisOptions, domain: readonly [number, number]): number {
  const texts = [domain[0], domain[1]].map((value) => y.text(value).length);
  return Math.max(margin.left, 7 * Math.max(...texts) + 16);
}


interface Scale {
  (value: number): number;
  ticks(count?: number): number[];
}

interface AxisOptions {
  title: string;
  text(value: number): string;
  log?: boolean;
  /** What ticks are round numbers of, by the largest value: binaryUnit of bytes. */
  unit?(most: number): number;
  /** The values of a logarithmic axis of counts: ticks stand there, or at powers of 2 if they are many. */
  at?: readonly number[];
}

/** The largest power of 1024 that is not above `value`. */
export function binaryUnit(value: number): number {
  return 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10));
}

/** Texts of ticks, with as many digits as tell them apart, and of linear axes in one unit. */
export function tickTexts(ticks: readonly number[], text: (value: number) => string, log = false): string[] {
  const plain = ticks.map(text);
  const units = new Set(ticks.flatMap((tick, i) => (tick === 0 ? [] : [plain[i].replace(/^[^ ]* ?/, "")])));
  if (new Set(plain).size === plain.length && (log || units.size <= 1)) return plain;
  const last = ticks[ticks.length - 1];
  const [number, ...unit] = text(last).split(" ");
  const scale = last / Number(number);
  if (!Number.isFinite(scale) || scale <= 0 || unit.length !== 1) return plain;
  const magnitude = 10 ** Math.round(Math.log10(scale)); // the text is rounded, units are powers
  const exact = Math.abs(magnitude / scale - 1) < 0.05 ? magnitude : scale;
  const digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10((ticks[1] - ticks[0]) / exact) - 1e-9)));
  return ticks.map((tick) => `${(tick / exact).toFixed(digits)} ${unit[0]}`);
}

/** Of ticks of a logarithmic axis the powers of 2, if it has several. */
function powersOf2(ticks: number[]): number[] {
  const powers = ticks.filter((tick) => Number.isInteger(Math.log2(tick)));
  return powers.length > 1 ? powers : ticks;
}

/** Ticks of a decimal one: 1, 2 and 5 times powers of 10, or where it has not several of these a few that reach over all of it. */
export function decimalTicks(domain: [number, number]): number[] {
  const log = scaleLog().domain(domain);
  const round = log.ticks().filter((tick) => /^[125]e/.test(tick.toExponential()));
  return round.length > 1 ? round : log.ticks(5);
}

function scaleOf(options: AxisOptions, domain: [number, number], range: [number, number]): Scale {
  if (options.log) {
    const log = scaleLog().base(options.at ? 2 : 10).domain(domain).range(range);
    const ticks = options.at && options.at.length <= 8 ? [...new Set(options.at)].sort((a, b) => a - b) : null;
    return Object.assign((value: number) => placed(log(value), range), {
      ticks: (count?: number) => ticks ?? (options.at ? powersOf2(log.ticks(count)) : decimalTicks(domain)),
    });
  }
  const unit = options.unit?.(domain[1]) ?? 1;
  const scale = scaleLinear().domain([domain[0] / unit, domain[1] / unit]).nice().range(range);
  return Object.assign((value: number) => placed(scale(value / unit), range), {
    ticks: (count?: number) => scale.ticks(count).map((tick) => tick * unit),
  });
}

const hugest = 1e250; // above it, and below its inverse, scales leave the range of numbers

/** What an axis reaches over: all values and some room, or of logarithmic ones some factor. */
export function spread(values: readonly number[], options: { fromZero?: boolean; log?: boolean }): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (options.log && value <= 0) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [options.log ? 1 : 0, options.log ? 2 : 1];
  const within = (value: number, least: number) => Math.min(hugest, Math.max(least, value));
  [low, high] = [within(low, options.log ? 1 / hugest : -hugest), within(high, options.log ? 1 / hugest : -hugest)];
  if (options.log) return [low / 1.15, high * 1.15];
  if (options.fromZero) return [Math.min(0, low), Math.max(0, high) || 1];
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

/** A place on the screen: numbers beyond what scales can take stand at its edge. */
const placed = (at: number, range: readonly [number, number]): number =>
  Number.isFinite(at) ? at : range[0];

/** Below its tick, and within the picture. */
function tickPlace(x: number, text: string, width: number): { x: number; "text-anchor": "middle" | "end" } {
  const half = 3.5 * text.length;
  return x + half > width ? { x: width - 1, "text-anchor": "end" } : { x, "text-anchor": "middle" };
}

function Frame({
  label,
  width,
  height,
  x,
  y,
  xScale,
  yScale,
  left,
  children,
}: {
  label: string;
  width: number;
  height: number;
  left: number;
  x: AxisOptions;
  y: AxisOptions;
  xScale: Scale;
  yScale: Scale;
  children: ComponentChildren;
}) {
  const bottom = height - margin.bottom;
  const [xTicks, yTicks] = [xScale.ticks(Math.max(2, Math.floor(width / (x.log ? 50 : 130)))), yScale.ticks(5)];
  const [xTexts, yTexts] = [tickTexts(xTicks, x.text, x.log), tickTexts(yTicks, y.text, y.log)];
  return (
    <svg width={width} height={height} role="img" aria-label={label}>
      {yTicks.map((tick, i) => (
        <g key={tick}>
          <line class="grid" x1={left} x2={width - margin.right} y1={yScale(tick)} y2={yScale(tick)} />
          <text class="tick" x={left - 7} y={yScale(tick) + 4} text-anchor="end">
            {yTexts[i]}
          </text>
        </g>
      ))}
      {xTicks.map((tick, i) => (
        <text key={tick} class="tick" {...tickPlace(xScale(tick), xTexts[i], width)} y={bottom + 16}>
          {xTexts[i]}
        </text>
      ))}
      <line class="axis" x1={left} x2={width - margin.right} y1={bottom} y2={bottom} />
      <text class="tick" x={(left + width - margin.right) / 2} y={height - 6} text-anchor="middle">
        {x.title}
      </text>
      {children}
      <title>{`${label}. Vertical: ${y.title}.`}</title>
    </svg>
  );
}

export interface Point {
  x: number;
  y: number;
  name: string;
  colour: string;
  hollow?: boolean;
}

/** Points, and lines through those of `line`s in their order. */
export function XyChart({
  label,
  x,
  y,
  points,
  lines = [],
  limits = [],
  height = 300,
  fromZero = false,
}: {
  label: string;
  x: AxisOptions;
  y: AxisOptions;
  points: Point[];
  lines?: { points: { x: number; y: number }[]; colour: string; dashed?: boolean }[];
  /** Lines across at an x or a y. */
  limits?: { x?: number; y?: number; name: string }[];
  height?: number;
  fromZero?: boolean;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const all = [...points, ...lines.flatMap((one) => one.points)];
  const xs = [...all.map((p) => p.x), ...limits.flatMap((one) => one.x ?? [])];
  const ys = [...all.map((p) => p.y), ...limits.flatMap((one) => one.y ?? [])];
  const yDomain = spread(ys, { log: y.log, fromZero });
  const left = leftOf(y, yDomain);
  const xScale = scaleOf(x, spread(xs, { log: x.log }), [left, Math.max(left + 1, width - margin.right)]);
  const yScale = scaleOf(y, yDomain, [height - margin.bottom, margin.top]);
  const path = line<{ x: number; y: number }>((p) => xScale(p.x), (p) => yScale(p.y));
  return (
    <div ref={box}>
      <p class="soft" aria-hidden="true">
        {y.title}
      </p>
      {width > 0 && (
        <Frame {...{ label, width, height, x, y, xScale, yScale, left }}>
          {lines.map((one, i) => (
            <path
              key={i}
              d={path(one.points) ?? ""}
              stroke-width="2"
              stroke-dasharray={one.dashed ? "5 4" : undefined}
              style={{ stroke: one.colour, fill: "none" }}
            />
          ))}
          {limits.map((one, i) => {
            const at = one.x === undefined ? yScale(one.y ?? 0) : xScale(one.x);
            return (
              <g key={i}>
                {one.x === undefined ? (
                  <line x1={left} x2={width - margin.right} y1={at} y2={at} stroke-dasharray="6 4" style={{ stroke: "var(--bad)" }} />
                ) : (
                  <line x1={at} x2={at} y1={margin.top} y2={height - margin.bottom} stroke-dasharray="6 4" style={{ stroke: "var(--bad)" }} />
                )}
                <text class="tick" x={one.x === undefined ? width - margin.right : at - 5} y={one.x === undefined ? at - 5 : margin.top + 10} text-anchor="end">
                  {one.name}
                </text>
              </g>
            );
          })}
          {points.map((p, i) => (
            <circle
              key={i}
              cx={xScale(p.x)}
              cy={yScale(p.y)}
              r="5"
              stroke-width="2"
              style={{ stroke: p.colour, fill: p.hollow ? "var(--panel)" : p.colour }}
            >
              <title>{`${p.name}: ${x.text(p.x)}, ${y.text(p.y)}`}</title>
            </circle>
          ))}
        </Frame>
      )}
    </div>
  );
}

/** Layers on top of each other over time; each value holds until the next. */
export function AreaChart({
  label,
  x,
  y,
  times,
  layers,
  limit,
  height = 280,
}: {
  label: string;
  x: AxisOptions;
  y: AxisOptions;
  times: number[];
  layers: { name: string; colour: string; values: number[] }[];
  /** A line across: what there is. */
  limit?: { value: number; name: string };
  height?: number;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const peak = times.reduce((most, _, i) => Math.max(most, sumOf(layers.map((layer) => layer.values[i]))), 0);
  // A limit far above would press what there is into a line: it is said, not drawn.
  const drawn = limit !== undefined && limit.value < 4 * peak;
  const most = (drawn ? Math.max(peak, limit.value) : peak) || 1;
  const left = leftOf(y, [0, most]);
  const [at, setAt] = useState<number | null>(null);
  const xScale = scaleLinear().domain([times[0], times[times.length - 1]]).range([left, width - margin.right]) as unknown as Scale;
  const yScale = scaleOf(y, [0, most], [height - margin.bottom, margin.top]);
  const point = (event: PointerEvent) => {
    const across = event.clientX - (event.currentTarget as SVGElement).getBoundingClientRect().left;
    const share = shareOf(across, width - margin.right - left);
    const time = times[0] + Math.min(1, Math.max(0, share)) * (times[times.length - 1] - times[0]);
    const next = times.findIndex((one) => one > time);
    setAt(Math.max(0, (next < 0 ? times.length : next) - 1));
  };
  const read = (i: number): string => {
    const all = sumOf(layers.map((layer) => layer.values[i]));
    const parts = layers.filter((layer) => layer.values[i] > 0).map((layer) => `${layer.name} ${y.text(layer.values[i])}`);
    const free = limit && limit.value > all ? `, ${y.text(limit.value - all)} free` : "";
    return `${x.text(times[i])}: ${y.text(all)}${free} (${parts.join(", ")})`;
  };
  const stacked = stack<number, number>()
    .keys(layers.map((_, k) => k))
    .value((i, k) => layers[k].values[i])(times.map((_, i) => i));
  const shape = area<[number, number]>()
    .x((_, i) => xScale(times[i]))
    .y0((d) => yScale(d[0]))
    .y1((d) => yScale(d[1]))
    .curve(curveStepAfter);
  return (
    <div ref={box}>
      {width > 0 && (
        <Frame {...{ label, width, height, x, y, xScale, yScale, left }}>
          {stacked.map((layer, k) => (
            <path key={k} d={shape(layer as unknown as [number, number][]) ?? ""} style={{ fill: layers[k].colour, stroke: "var(--panel)", strokeWidth: 0.6 }}>
              <title>{layers[k].name}</title>
            </path>
          ))}
          {drawn && (
            <g>
              <line
                x1={left}
                x2={width - margin.right}
                y1={yScale(limit.value)}
                y2={yScale(limit.value)}
                stroke-dasharray="6 4"
                stroke-width="1.5"
                style={{ stroke: "var(--bad)" }}
              />
              <text class="tick" x={width - margin.right} y={yScale(limit.value) + 14} text-anchor="end">
                {limit.value > peak ? `${limit.name}, ${y.text(limit.value - peak)} free at the peak` : limit.name}
              </text>
            </g>
          )}
          {at !== null && at < times.length && (
            <line x1={xScale(times[at])} x2={xScale(times[at])} y1={margin.top} y2={height - margin.bottom} style={{ stroke: "var(--ink)" }} />
          )}
          <rect
            x={left}
            y={margin.top}
            width={Math.max(0, width - margin.right - left)}
            height={height - margin.bottom - margin.top}
            style={{ fill: "transparent" }}
            onPointerMove={point}
            onPointerLeave={() => setAt(null)}
          />
        </Frame>
      )}
      {limit !== undefined && !drawn && (
        <p class="soft">
          Far below the {limit.name}: {y.text(limit.value - peak)} free at the peak.
        </p>
      )}
      <p class="status soft" aria-hidden="true">
        {at !== null && at < times.length ? read(at) : "Point at the chart for the figures of a moment."}
      </p>
    </div>
  );
}

/** Bars to the right, and to the left for values below 0. */
export function Bars({
  label,
  bars,
  text,
}: {
  label: string;
  bars: { name: string; value: number; colour: string; parts?: { value: number; colour: string }[] }[];
  text(value: number): string;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const letters = (space: number) => Math.max(6, Math.floor(space / 7.8));
  const beside = Math.min(220, 0.34 * width);
  // In a narrow window names stand above their bars rather than lose what tells them apart.
  const above = width < 420 && bars.some((bar) => bar.name.length > letters(beside));
  const [names, down] = above ? [0, 18] : [beside, 0];
  const row = 26 + down;
  const values = bars.map((bar) => bar.value);
  const scale = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || (Math.min(...values) < 0 ? 0 : 1)])
    .range([names + 12 + (Math.min(...values) < 0 ? 70 : 0), Math.max(names + 40, width - 84)]);
  return (
    <div ref={box}>
      {width > 0 && (
        <svg width={width} height={row * bars.length + 4} role="img" aria-label={`${label}: ${bars.slice(0, 30).map((b) => `${shortened(b.name, 100)} ${text(b.value)}`).join(", ")}`}>
          {bars.map((bar, i) => {
            let from = 0;
            const parts = bar.parts ?? [{ value: bar.value, colour: bar.colour }];
            const end = bar.value < 0 ? scale(bar.value) - 6 : scale(bar.value) + 6;
            return (
              <g key={i} transform={`translate(0 ${i * row})`}>
                <text x={names} y={17} text-anchor={above ? "start" : "end"}>
                  {shortened(bar.name, letters(above ? width : beside))}
                  <title>{shortened(bar.name, 400)}</title>
                </text>
                {parts.map((part, p) => {
                  const a = scale(from);
                  from = finite(from + part.value);
                  const b = scale(from);
                  return (
                    <rect key={p} x={Math.min(a, b)} y={4 + down} width={Math.max(0.5, Math.abs(b - a))} height={17} rx="2" style={{ fill: part.colour }} />
                  );
                })}
                <text class="tick" x={end} y={17 + down} text-anchor={bar.value < 0 ? "end" : "start"}>
                  {text(bar.value)}
                </text>
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
