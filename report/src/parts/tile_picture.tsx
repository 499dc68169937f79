// Devices and the parts of an array that they keep, drawn side by side in the same colours.

import { useState } from "preact/hooks";
import type { Axis, Spec } from "../data";
import { countText, plural, rangesText } from "../format";
import { none, spectrum } from "../palette";
import { sliceText, tilingOf } from "../tiles";
import { Scroll } from "./basic";
import { Table } from "./table";

const mostDrawn = 4096;

/** As many colours as tiles, neighbours well apart. */
export function tileColour(tile: number, count: number): string {
  return count === 1 ? none : spectrum(tile, count);
}

interface Cell {
  row: number;
  column: number;
}

/** Tiles as a grid: the last dimension to the right, all others down. */
function grid(parts: number[], index: number[]): Cell {
  return {
    row: index.slice(0, -1).reduce((total, i, d) => total * parts[d] + i, 0),
    column: index[index.length - 1] ?? 0,
  };
}

export function TilePicture({
  name,
  shape,
  spec,
  mesh,
  devices,
  perNode,
}: {
  name: string;
  shape: number[];
  spec: Spec;
  mesh: Axis[];
  /** Numbers in the cluster, by position in the mesh. */
  devices: number[];
  /** Devices of a node. */
  perNode: number;
}) {
  const [chosen, choose] = useState(0);
  if (devices.length > 65536) return <p>A mesh of {countText(devices.length)} devices is not drawn.</p>;
  const tiling = tilingOf(shape, spec, mesh);
  const count = tiling.tiles.length;
  const current = Math.min(chosen, count - 1);
  const tile = tiling.tiles[current];
  const copies = tile.devices.length;
  const cells = tiling.tiles.map((one) => grid(tiling.parts, one.index));
  const columns = 1 + Math.max(...cells.map((cell) => cell.column));
  const rows = 1 + Math.max(...cells.map((cell) => cell.row));
  const size = Math.max(4, Math.min(rows === 1 ? 110 : 60, Math.floor(260 / rows)));
  const wide = Math.max(4, Math.min(columns === 1 ? 260 : 110, Math.floor(420 / columns)));
  const drawn = Math.min(devices.length, mostDrawn);
  const line = Math.min(perNode, 64) || 8;
  const box = drawn > 1024 ? 7 : drawn > 256 ? 11 : 20;
  const sets = drawn > 64 ? Math.max(1, Math.floor(460 / (line * box + 8))) : 1;
  const place = (i: number) => {
    const node = Math.floor(i / line);
    return {
      x: (node % sets) * (line * box + 8) + (i % line) * box,
      y: Math.floor(node / sets) * (box + 4),
    };
  };
  return (
    <div>
      <p>
        {count === 1
          ? `Every one of ${plural(devices.length, "device")} keeps the full array.`
          : `Cut into ${plural(count, "part")}; ${copies === 1 ? "each on one device" : `each kept by ${plural(copies, "device")}`}.`}
      </p>
      <div class="columns">
        <div>
          <h3>The array</h3>
          <Scroll label="The array" style={{ maxHeight: "32rem" }}>
            <svg
              width={columns * wide + 2}
              height={rows * size + 2}
              // Parts that are wide enough give way to a narrow window.
              viewBox={`0 0 ${columns * wide + 2} ${rows * size + 2}`}
              preserveAspectRatio="none"
              style={{ maxWidth: columns <= 24 ? "100%" : "none" }}
              class="pick"
              role="img"
              aria-label={`${name}: ${plural(count, "part")}`}
            >
              {cells.map((cell, t) => (
                <rect
                  key={t}
                  x={1 + cell.column * wide}
                  y={1 + cell.row * size}
                  width={wide - (wide > 6 ? 1 : 0)}
                  height={size - (size > 6 ? 1 : 0)}
                  style={{ fill: tileColour(t, count), stroke: t === current ? "var(--ink)" : "none", strokeWidth: 2, cursor: "pointer" }}
                  onClick={() => choose(t)}
                >
                  <title>{sliceText(tiling.tiles[t].ranges)}</title>
                </rect>
              ))}
            </svg>
          </Scroll>
          <p class="soft">{arrangement(shape, tiling.parts)}</p>
        </div>
        <div>
          <h3>The devices</h3>
          <Scroll label="The devices" style={{ maxHeight: "32rem" }}>
            <svg
              width={Math.min(drawn, line) * box * sets + 8 * sets}
              height={(Math.ceil(Math.ceil(drawn / line) / sets) || 1) * (box + 4)}
              role="img"
              aria-label={`${plural(devices.length, "device")}, a row for every node; those with the chosen part are outlined`}
            >
              {Array.from({ length: drawn }, (_, i) => {
                const at = place(i);
                const own = tiling.tileOf[i];
                return (
                  <rect
                    key={i}
                    x={at.x + 1}
                    y={at.y + 1}
                    width={box - 2}
                    height={box - 2}
                    rx={box > 10 ? 2 : 0}
                    style={{ fill: tileColour(own, count), stroke: own === current ? "var(--ink)" : "none", strokeWidth: box > 10 ? 2 : 1, cursor: "pointer" }}
                    onClick={() => choose(own)}
                  >
                    <title>{`device ${devices[i]}: ${sliceText(tiling.tiles[own].ranges)}`}</title>
                  </rect>
                );
              })}
            </svg>
          </Scroll>
          {drawn < devices.length && <p class="soft">The first {countText(drawn)} devices are drawn.</p>}
        </div>
      </div>
      <div class="bar">
        <label>
          Part
          <select id="tile" value={String(current)} onChange={(event) => choose(Number(event.currentTarget.value))}>
            {tiling.tiles.map((one, t) => (
              <option key={t} value={String(t)}>
                {sliceText(one.ranges)}
              </option>
            ))}
          </select>
        </label>
        <span role="status">
          on {plural(copies, "device")}: {rangesText(tile.devices.map((i) => devices[i]).sort((a, b) => a - b))}
        </span>
      </div>
      <details>
        <summary>All parts as a table</summary>
        <Table
          caption={`Parts of ${name}`}
          rows={tiling.tiles}
          columns={[
            { title: "part", cell: (one) => <code>{sliceText(one.ranges)}</code> },
            { title: "devices", cell: (one) => rangesText(one.devices.map((i) => devices[i]).sort((a, b) => a - b)) },
          ]}
        />
      </details>
    </div>
  );
}

function arrangement(shape: number[], parts: number[]): string {
  const cut = parts.flatMap((count, d) => (count > 1 ? [`dimension ${d} (${shape[d]}) into ${count}`] : []));
  if (cut.length === 0) return "No dimension is cut.";
  const last = parts[parts.length - 1] > 1;
  const where = !last ? "downwards" : cut.length === 1 ? "to the right" : "the last one to the right";
  return `${cut.join(", ")}; ${where}`;
}
