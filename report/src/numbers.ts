// Arithmetic that stays within finite numbers: a file may hold any, up to 1e308.

const most = Number.MAX_VALUE;

/** `value`, or the nearest finite number; 0 for what is none. */
export function finite(value: number): number {
  return Number.isNaN(value) ? 0 : Math.min(most, Math.max(-most, value));
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => finite(total + value), 0);
}

/** `part / whole`; 0 where nothing is the whole. */
export function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : finite(part / whole);
}
