// One field that finds everything in the report, and goes there.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { plural } from "../format";
import type { Report } from "../data";
import { type Everything as All, Everything, type Hit } from "../search_all";
import { shortened } from "../text";

/** `onGo`: a hit was chosen. */
export function SearchBox({ report, plan, views, onGo }: { report: Report; plan: number; views: readonly { id: string; title: string }[]; onGo(hit: Hit): void }) {
  const [query, setQuery] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  // Large plans have much to look through: nobody who does not search waits for it.
  const all = useMemo<All | null>(() => (open ? new Everything(report, plan, views) : null), [report, plan, views.length, open]);
  const hits = useMemo(() => all?.search(query) ?? [], [all, query]);
  const shown = open && query.trim() !== "";

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const element = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName)) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
  useEffect(() => {
    document.getElementById(`everything-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);

  const go = (hit: Hit | undefined) => {
    if (!hit) return;
    setOpen(false);
    setQuery("");
    onGo(hit);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") setOpen(false);
    else if (event.key === "Enter") go(hits[at]);
    else if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else return;
    event.preventDefault();
  };
  return (
    <search class="everything">
      <input
        ref={field}
        type="text"
        id="everything"
        role="combobox"
        aria-label="Search the report"
        aria-autocomplete="list"
        aria-expanded={shown && hits.length > 0}
        aria-controls="everything-found"
        aria-activedescendant={shown && hits.length > 0 ? `everything-${at}` : undefined}
        placeholder="Search the report ( / )"
        autocomplete="off"
        value={query}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
          setOpen(true);
        }}
        onKeyDown={keys}
      />
      <span class="hidden" role="status">
        {shown ? plural(hits.length, "match", "matches") : ""}
      </span>
      <ul id="everything-found" role="listbox" aria-label="Found in the report" hidden={!shown || hits.length === 0}>
        {(shown ? hits : []).map((hit, i) => (
          <li
            key={i}
            id={`everything-${i}`}
            role="option"
            aria-selected={i === at}
            // The field keeps the focus, and with it the list.
            onPointerDown={(event) => event.preventDefault()}
            onPointerMove={() => setAt(i)}
            onClick={() => go(hit)}
          >
            <span class="chip">{hit.kind}</span> <bdi title={hit.name}>{shortened(hit.name, 90)}</bdi>
            {hit.detail !== "" && <span class="soft text"> {shortened(hit.detail, 120)}</span>}
          </li>
        ))}
      </ul>
      {shown && hits.length === 0 && <p class="nowhere">Nothing in this plan is called that.</p>}
    </search>
  );
}
