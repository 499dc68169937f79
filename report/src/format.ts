// Figures as the command line prints them: three significant digits and a unit.

import type { Axis, Spec, TensorType } from "./data";
import { finite } from "./numbers";
import { visible } from "./text";

const tooLong = 1e7; // from here on a power of ten is read faster than digits are counted

function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= tooLong) return finite(value).toPrecision(3);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

export function bytesText(bytes: number): string {
  bytes = finite(bytes);
  if (Math.abs(bytes) < 1024) return `${Math.round(bytes)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${threeDigits(value)} ${units[unit]}`;
}

export function secondsText(seconds: number): string {
  seconds = finite(seconds);
  if (seconds === 0) return "0 s";
  for (const [scale, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]] as const) {
    if (Math.abs(seconds) >= 0.9995 * scale) return `${threeDigits(seconds / scale)} ${unit}`;
  }
  return `${seconds.toPrecision(3)} s`;
}

/** The time of a whole run. */
export function runTimeText(seconds: number): string {
  seconds = finite(seconds);
  const hour = 3600;
  if (seconds >= 48 * hour) return `${threeDigits(seconds / (24 * hour))} d`;
  return seconds >= 2 * hour ? `${threeDigits(seconds / hour)} h` : secondsText(seconds);
}

/** What ticks of times of runs are multiples of. */
export function runTimeUnit(seconds: number): number {
  const hour = 3600;
  return seconds >= 48 * hour ? 24 * hour : seconds >= 2 * hour ? hour : 1;
}

export function dollarsText(dollars: number): string {
  dollars = finite(dollars);
  if (dollars >= tooLong) return `$${dollars.toPrecision(4)}`;
  const cents = dollars < 1000 ? 2 : 0;
  return dollars >= 1 ? `$${dollars.toLocaleString("en-US", { minimumFractionDigits: cents, maximumFractionDigits: cents })}` : `$${dollars.toPrecision(3)}`;
}

/** A cost in seconds, or a plain number where the plan's cost model has no unit. */
export function costText(cost: number, inSeconds: boolean): string {
  return inSeconds ? secondsText(cost) : String(Number(finite(cost).toPrecision(6)));
}

export function percentText(share: number, digits = 1): string {
  const percent = finite(100 * share);
  return `${Math.abs(percent) >= tooLong ? percent.toPrecision(3) : percent.toFixed(digits)} %`;
}

export function countText(count: number): string {
  count = finite(count);
  return Math.abs(count) < 1e15 ? count.toLocaleString("en-US") : count.toPrecision(4);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

export function meshText(mesh: readonly Axis[]): string {
  return mesh.map((axis) => `${visible(axis.name)}=${axis.size}`).join(", ") || "one device";
}

export function specText(spec: Spec): string {
  const entries = spec.map((axes) =>
    axes.length === 0 ? "_" : axes.length === 1 ? axes[0] : `(${axes.join(",")})`,
  );
  return visible(`[${entries.join(",")}]`);
}

export function typeText(type: TensorType): string {
  return `${type.dtype}[${type.shape.join(",")}]`;
}

/** "1st", "2nd", "113th" */
export function ordinal(number: number): string {
  const last = number % 100;
  const ending = last > 10 && last < 14 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${countText(number)}${ending}`;
}

/** "0-7, 16, 24-31" of numbers in rising order. */
export function rangesText(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < numbers.length; ) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) end += 1;
    parts.push(end === i ? `${numbers[i]}` : `${numbers[i]}-${numbers[end]}`);
    i = end + 1;
  }
  return parts.join(", ");
}
