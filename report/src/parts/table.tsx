// Tables whose rows can be sorted and copied.

import { type ComponentChildren, isValidElement } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Figure, orderOf, tabSeparated, unitOf } from "../table_text";
import { visible } from "../text";
import { Name, Scroll } from "./basic";

export interface Column<Row> {
  title: string;
  /** Of a column of figures: in base units, as it is sorted and copied. */
  number?(row: Row): Figure;
  cell(row: Row): ComponentChildren;
}

/** What a cell shows, without pictures. */
function textOf(node: ComponentChildren): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (!isValidElement(node)) return "";
  const props = node.props as { text?: string; children?: ComponentChildren };
  return node.type === Name ? visible(props.text ?? "") : textOf(props.children);
}

const figureOf = <Row,>(column: Column<Row>, row: Row): Figure => (column.number ? column.number(row) : textOf(column.cell(row)));

/** The whole table, as it is sorted; titles with units, as figures have none. */
export function tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const filled = columns.filter((column) => column.title !== "" || rows.some((row) => textOf(column.cell(row)) !== ""));
  const titles = filled.map((column) => {
    const unit = column.number ? rows.map((row) => unitOf(textOf(column.cell(row)))).find((one) => one !== "") : undefined;
    return unit ? `${column.title} [${unit}]` : column.title;
  });
  return tabSeparated([titles, ...rows.map((row) => filled.map((column) => figureOf(column, row)))]);
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

interface Sorting {
  column: number;
  descending: boolean;
}

/** A click sorts figures from the largest and texts from the first, the next turns that round, the third undoes it. */
function nextSorting(now: Sorting | null, column: number, ofFigures: boolean): Sorting | null {
  if (now?.column !== column) return { column, descending: ofFigures };
  return now.descending === ofFigures ? { column, descending: !ofFigures } : null;
}

/** A table of few rows; of longer ones the first `most`, and all after a click. */
export function Table<Row>({
  caption,
  columns,
  rows,
  most = 40,
}: {
  caption: string;
  columns: Column<NoInfer<Row>>[];
  rows: Row[];
  most?: number;
}) {
  const [all, setAll] = useState(false);
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [told, setTold] = useState("");
  const column = sorting ? columns[sorting.column] : undefined;
  const sorted = useMemo(() => (sorting && column ? orderOf(rows.map((row) => figureOf(column, row)), sorting.descending).map((i) => rows[i]) : rows), [rows, sorting, column?.title]);
  const shown = all ? sorted : sorted.slice(0, most);
  const sorts = rows.length > 1;
  return (
    <>
      <Scroll label={caption}>
        <table>
          <caption class="hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ title, number }, c) =>
                title === "" ? (
                  <td key={c} />
                ) : (
                  <th key={c} scope="col" class={number ? "number" : ""} aria-sort={sorting?.column !== c ? undefined : sorting.descending ? "descending" : "ascending"}>
                    {sorts ? (
                      <button type="button" class="sort" title={`Sort by ${title}`} onClick={() => setSorting((now) => nextSorting(now, c, number !== undefined))}>
                        {title}
                      </button>
                    ) : (
                      title
                    )}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => (
              <tr key={i}>
                {columns.map((one, c) => (
                  <td key={c} class={one.number ? "number" : ""}>
                    {one.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {sorts && (
        <div class="tools">
          {shown.length < rows.length && (
            <button type="button" onClick={() => setAll(true)}>
              Show all {rows.length.toLocaleString("en-US")} rows
            </button>
          )}
          <button
            type="button"
            class="plain"
            title="Separated by tabs, figures in seconds and bytes, for a spreadsheet"
            onClick={() => {
              setTold("");
              void copy(tableText(columns, sorted)).then((done) => setTold(done ? "copied" : "this browser does not let the page copy"));
            }}
          >
            Copy table
          </button>
          <span role="status">{told}</span>
        </div>
      )}
    </>
  );
}
