// A search field and the arrays that it finds.

import { useMemo, useState } from "preact/hooks";
import { type ArrayReference, useShared } from "../context";
import { plural, specText, typeText } from "../format";
import { shardingColour } from "../palette";
import { aliasesOf, find, Index } from "../search";
import { shortened } from "../text";
import { useWidth } from "./basic";
import { LongList } from "./list";

const same = (a: ArrayReference, b: ArrayReference | null): boolean =>
  b !== null && a.program === b.program && a.list === b.list && a.index === b.index;

export function ArraySearch({
  program,
  lists,
  label,
  height,
  onPick,
}: {
  program: number;
  lists: ArrayReference["list"][];
  label: string;
  height: number;
  onPick(reference: ArrayReference): void;
}) {
  const { plan, chosen } = useShared();
  const [query, setQuery] = useState("");
  const data = plan.programs[program];
  const index = useMemo(() => new Index(data, program, lists, aliasesOf(plan, program)), [data, lists.join()]);
  const found = useMemo(() => index.search(query), [index, query]);
  const selected = found.findIndex((one) => same(one, chosen));
  const [box, width] = useWidth<HTMLDivElement>();
  const narrow = width < 420;
  return (
    <search>
      <div ref={box} />
      <div class="bar">
        <label>
          {label}
          <input
            type="search"
            id="search"
            size={34}
            placeholder="part of a name, or a pattern: * ? {0..3}"
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
        </label>
        <span role="status" id="found">
          {plural(found.length, "match", "matches")}
        </span>
      </div>
      <LongList
        id="results"
        label={label}
        count={found.length}
        height={height}
        template={narrow ? "minmax(0, 2fr) minmax(0, 1fr)" : "minmax(0, 2.2fr) minmax(0, 1fr) minmax(0, 1.2fr) minmax(0, 1fr)"}
        of={query}
        titles={narrow ? ["name", "sharding"] : ["name", "what", "type", "sharding"]}
        selected={selected}
        onSelect={(i) => onPick(found[i])}
        row={(i) => {
          const one = find(data, found[i]);
          return (
            <>
              <bdi>{shortened(one.name, 90)}</bdi>
              {!narrow && <span class="soft">{one.what}</span>}
              {!narrow && <span class="mono">{typeText(one.type)}</span>}
              <span>
                <span class="swatch" style={{ display: "inline-block", background: shardingColour(one.spec, data.mesh), marginRight: "0.4rem" }} aria-hidden="true" />
                <bdi class="mono">{specText(one.spec)}</bdi>
              </span>
            </>
          );
        }}
      />
    </search>
  );
}
