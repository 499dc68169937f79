// Charts as SVG: each is named for screen readers, and its view has the figures as a table too.

import { scaleLinear, scaleLog } from "d3-scale";
import { area, line, stack, curveStepAfter } from "d3-shape";
import type { ComponentChildren } from "preact";
import { useWidth } from "./basic";

const margin = { top: 12, right: 16, bottom: 42, left: 74 };

interface Scale {
  (value: number): number;
  ticks(count?: number): number[];
}

interface AxisOptions {
  title: string;
  text(value: number): string;
  log?: boolean;
  /** Of bytes: ticks at round numbers of KiB, MiB, ... */
  binary?: boolean;
}

/** The largest power of 1024 that is not above `value`. */
export function binaryUnit(value: number): number {
  return 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10));
}

/** Texts of ticks, with as many digits as tell them apart. */
export function tickTexts(ticks: readonly number[], text: (value: number) => string): string[] {
  const plain = ticks.map(text);
  if (new Set(plain).size === plain.length) return plain;
  const last = ticks[ticks.length - 1];
  const [number, ...unit] = text(last).split(" ");
  const scale = last / Number(number);
  if (!Number.isFinite(scale) || scale <= 0 || unit.length !== 1) return plain;
  const magnitude = 10 ** Math.round(Math.log10(scale)); // the text is rounded, units are powers
  const exact = Math.abs(magnitude / scale - 1) < 0.05 ? magnitude : scale;
  const digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10((ticks[1] - ticks[0]) / exact) - 1e-9)));
  return ticks.map((tick) => `${(tick / exact).toFixed(digits)} ${unit[0]}`);
}

function scaleOf(options: AxisOptions, domain: [number, number], range: [number, number]): Scale {
  if (options.log) return scaleLog().base(2).domain(domain).range(range) as unknown as Scale;
  const unit = options.binary ? binaryUnit(domain[1]) : 1;
  const scale = scaleLinear().domain([domain[0] / unit, domain[1] / unit]).nice().range(range);
  return Object.assign((value: number) => scale(value / unit), {
    ticks: (count?: number) => scale.ticks(count).map((tick) => tick * unit),
  });
}

function spread(values: number[], fromZero: boolean): [number, number] {
  const low = fromZero ? 0 : Math.min(...values);
  const high = Math.max(...values, fromZero ? 0 : -Infinity);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const room = fromZero ? 0 : 0.06 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room || 1];
}

function Frame({
  label,
  width,
  height,
  x,
  y,
  xScale,
  yScale,
  children,
}: {
  label: string;
  width: number;
  height: number;
  x: AxisOptions;
  y: AxisOptions;
  xScale: Scale;
  yScale: Scale;
  children: ComponentChildren;
}) {
  const bottom = height - margin.bottom;
  const [xTicks, yTicks] = [xScale.ticks(Math.max(2, Math.floor(width / 130))), yScale.ticks(5)];
  const [xTexts, yTexts] = [tickTexts(xTicks, x.text), tickTexts(yTicks, y.text)];
  return (
    <svg width={width} height={height} role="img" aria-label={label}>
      {yTicks.map((tick, i) => (
        <g key={tick}>
          <line class="grid" x1={margin.left} x2={width - margin.right} y1={yScale(tick)} y2={yScale(tick)} />
          <text class="tick" x={margin.left - 7} y={yScale(tick) + 4} text-anchor="end">
            {yTexts[i]}
          </text>
        </g>
      ))}
      {xTicks.map((tick, i) => (
        <text key={tick} class="tick" x={xScale(tick)} y={bottom + 16} text-anchor="middle">
          {xTexts[i]}
        </text>
      ))}
      <line class="axis" x1={margin.left} x2={width - margin.right} y1={bottom} y2={bottom} />
      <text class="tick" x={(margin.left + width - margin.right) / 2} y={height - 6} text-anchor="middle">
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
  height = 300,
  fromZero = false,
}: {
  label: string;
  x: AxisOptions;
  y: AxisOptions;
  points: Point[];
  lines?: { points: { x: number; y: number }[]; colour: string; dashed?: boolean }[];
  height?: number;
  fromZero?: boolean;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const all = [...points, ...lines.flatMap((one) => one.points)];
  const xs = all.map((p) => p.x);
  const xDomain: [number, number] = x.log ? [Math.min(...xs) / 1.15, Math.max(...xs) * 1.15] : spread(xs, false);
  const xScale = scaleOf(x, xDomain, [margin.left, width - margin.right]);
  const yScale = scaleOf(y, spread(all.map((p) => p.y), fromZero), [height - margin.bottom, margin.top]);
  const path = line<{ x: number; y: number }>((p) => xScale(p.x), (p) => yScale(p.y));
  return (
    <div ref={box}>
      <p class="soft" aria-hidden="true">
        {y.title}
      </p>
      {width > 0 && (
        <Frame {...{ label, width, height, x, y, xScale, yScale }}>
          {lines.map((one, i) => (
            <path
              key={i}
              d={path(one.points) ?? ""}
              stroke-width="2"
              stroke-dasharray={one.dashed ? "5 4" : undefined}
              style={{ stroke: one.colour, fill: "none" }}
            />
          ))}
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
  const totals = times.map((_, i) => layers.reduce((total, layer) => total + layer.values[i], 0));
  const peak = Math.max(0, ...totals);
  const showLimit = limit !== undefined && limit.value < 2.5 * peak;
  const xScale = scaleLinear().domain([times[0], times[times.length - 1]]).range([margin.left, width - margin.right]) as unknown as Scale;
  const yScale = scaleOf(y, [0, showLimit ? Math.max(peak, limit.value) : peak || 1], [height - margin.bottom, margin.top]);
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
        <Frame {...{ label, width, height, x, y, xScale, yScale }}>
          {stacked.map((layer, k) => (
            <path key={k} d={shape(layer as unknown as [number, number][]) ?? ""} style={{ fill: layers[k].colour }}>
              <title>{layers[k].name}</title>
            </path>
          ))}
          {showLimit && (
            <g>
              <line
                x1={margin.left}
                x2={width - margin.right}
                y1={yScale(limit.value)}
                y2={yScale(limit.value)}
                stroke-dasharray="6 4"
                stroke-width="1.5"
                style={{ stroke: "var(--bad)" }}
              />
              <text class="tick" x={width - margin.right} y={yScale(limit.value) + 14} text-anchor="end">
                {limit.name}
              </text>
            </g>
          )}
        </Frame>
      )}
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
  const row = 26;
  const names = Math.min(220, 0.34 * width);
  const values = bars.map((bar) => bar.value);
  const scale = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || (Math.min(...values) < 0 ? 0 : 1)])
    .range([names + 12 + (Math.min(...values) < 0 ? 70 : 0), Math.max(names + 40, width - 84)]);
  return (
    <div ref={box}>
      {width > 0 && (
        <svg width={width} height={row * bars.length + 4} role="img" aria-label={`${label}: ${bars.slice(0, 30).map((b) => `${b.name} ${text(b.value)}`).join(", ")}`}>
          {bars.map((bar, i) => {
            let from = 0;
            const parts = bar.parts ?? [{ value: bar.value, colour: bar.colour }];
            const end = bar.value < 0 ? scale(bar.value) - 6 : scale(bar.value) + 6;
            return (
              <g key={i} transform={`translate(0 ${i * row})`}>
                <text x={names} y={17} text-anchor="end">
                  {bar.name.length > names / 6.6 ? `${bar.name.slice(0, Math.floor(names / 6.6) - 1)}…` : bar.name}
                  <title>{bar.name}</title>
                </text>
                {parts.map((part, p) => {
                  const a = scale(from);
                  from += part.value;
                  const b = scale(from);
                  return (
                    <rect key={p} x={Math.min(a, b)} y={4} width={Math.max(0.5, Math.abs(b - a))} height={row - 9} rx="2" style={{ fill: part.colour }} />
                  );
                })}
                <text class="tick" x={end} y={17} text-anchor={bar.value < 0 ? "end" : "start"}>
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
