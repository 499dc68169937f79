// Small pieces that every view uses.

import type { ComponentChildren, CSSProperties, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { shareOf, sumOf } from "../numbers";
import { partsOf, piecesOf, together, visible } from "../text";

/** A name from outside: shown as it is, whatever it holds, and without effect on what is around it. */
export function Name({ text, class: style = "" }: { text: string; class?: string }) {
  return (
    <bdi class={`name ${style}`} title={text.length > 60 && text.length < 400 ? visible(text) : undefined}>
      <Characters text={text} />
    </bdi>
  );
}

/** All characters of a text, those too that are not seen by themselves. */
function Characters({ text }: { text: string }) {
  return (
    <>
      {piecesOf(text).map((piece, i) =>
        piece.code === "" ? (
          piece.text
        ) : (
          <span key={i} class="unseen" data-code={piece.code}>
            {piece.text}
          </span>
        ),
      )}
    </>
  );
}

/** A sentence from src/meshwright/report: names in it are kept apart from the words around them. */
export function Sentence({ text }: { text: string }) {
  return <>{partsOf(text).map((part, i) => (i % 2 === 1 ? <Name key={i} text={part} class="inline" /> : <Characters key={i} text={together(part)} />))}</>;
}

/** Why a view, or a part of one, has nothing to show, and what would change that. */
export function Nothing({ why, command }: { why: string; command?: string }) {
  return (
    <p class="nothing">
      {why}
      {command && (
        <>
          {" "}
          <code>{command}</code>
        </>
      )}
    </p>
  );
}

export function Legend({ entries }: { entries: [name: string, colour: string][] }) {
  return (
    <ul class="legend">
      {entries.map(([name, colour]) => (
        <li key={name}>
          <span class="swatch" style={{ background: colour }} aria-hidden="true" />
          <bdi>{visible(name)}</bdi>
        </li>
      ))}
    </ul>
  );
}

/** What may be larger than its place: scrolled by the keyboard too, where there is something to scroll. */
export function Scroll({ label, style, children }: { label: string; style?: CSSProperties; children: ComponentChildren }) {
  const reference = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  // Before the first paint: nobody is to meet, even for one frame, a part that scrolls and takes no focus.
  useLayoutEffect(() => {
    const element = reference.current!;
    const measure = () =>
      setScrolls(element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
    measure();
    // What is inside may grow by itself: charts are drawn when their width is known.
    const observer = new ResizeObserver(measure);
    for (const one of [element, ...element.children]) observer.observe(one);
    return () => observer.disconnect();
  });
  return (
    <div ref={reference} class="scroll" style={style} {...(scrolls ? { tabIndex: 0, role: "group", "aria-label": label } : {})}>
      {children}
    </div>
  );
}

/** The width that an element has on the screen. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const reference = useRef<T>(null);
  const [width, setWidth] = useState(0);
  // Before the first paint: nobody is to meet, even for one frame, a part that scrolls and takes no focus.
  useLayoutEffect(() => {
    const element = reference.current!;
    const measure = () => setWidth(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [reference, width];
}

export interface Part {
  name: string;
  value: number;
  colour: string;
}

/** Parts of a whole, side by side, with their figures below. */
export function Stack({
  parts,
  text,
  label,
  capacity = null,
}: {
  parts: Part[];
  text(value: number): string;
  label: string;
  /** What there is for the parts; the rest of the bar is free. */
  capacity?: number | null;
}) {
  const all = sumOf(parts.map((part) => part.value));
  // What rounding leaves of a difference is no part.
  const shown = parts.filter((part) => part.value > 1e-9 * all);
  const used = sumOf(shown.map((part) => part.value));
  const whole = Math.max(used, capacity ?? 0);
  const free = whole > used ? ` free ${text(whole - used)} of ${text(whole)}` : "";
  return (
    <div>
      <div class="stack" role="img" aria-label={`${label}: ${shown.map((p) => `${p.name} ${text(p.value)}`).join(", ")}${free && `,${free}`}`}>
        {shown.map((part) => (
          <span
            key={part.name}
            title={`${part.name}: ${text(part.value)}`}
            style={{ background: part.colour, width: `${100 * shareOf(part.value, whole)}%` }}
          />
        ))}
      </div>
      <Legend entries={[...shown.map((p): [string, string] => [`${p.name} ${text(p.value)}`, p.colour]), ...(free ? ([[free.trim(), "var(--grid)"]] as [string, string][]) : [])]} />
    </div>
  );
}
