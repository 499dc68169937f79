// Tables as text to paste elsewhere, and the order of their rows.

export type Figure = number | string | null;

/** For a figure in base units: "s" of "6.11 ms", "bytes" of "512 MiB", "dollars" of "$4.20"; "" of plain counts and shares. */
export function unitOf(text: string): string {
  if (/\d (s|ms|us|ns|h|d)$/.test(text)) return "s";
  if (/\d ([KMGTPE]i)?B$/.test(text)) return "bytes";
  return /\$\d/.test(text) ? "dollars" : "";
}

/** Largest figures first, texts by their letters and numbers; what has none comes last either way. */
export function compareFigures(a: Figure, b: Figure, descending: boolean): number {
  const none = (one: Figure) => one === null || one === "";
  if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return descending ? -order : order;
}

/** Positions of rows by their figures. Equal ones stay in their order. */
export function orderOf(figures: readonly Figure[], descending: boolean): number[] {
  return [...figures.keys()].sort((a, b) => compareFigures(figures[a], figures[b], descending) || a - b);
}

/** A line for each row, tabs between cells: what spreadsheets take from the clipboard. */
export function tabSeparated(rows: readonly (readonly Figure[])[]): string {
  const cell = (figure: Figure) => String(figure ?? "").replace(/\s+/g, " ").trim();
  return rows.map((row) => `${row.map(cell).join("\t")}\n`).join("");
}
