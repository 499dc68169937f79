// A list of any length, of which only the rows on the screen exist.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const rowHeight = 30;
const extra = 8; // rows before and after those that are seen

export function LongList({
  id,
  label,
  count,
  height,
  template,
  titles,
  of,
  selected,
  onSelect,
  row,
}: {
  id: string;
  label: string;
  count: number;
  height: number;
  /** grid-template-columns */
  template: string;
  titles: string[];
  /** What the rows are of: another list begins at its top. */
  of: string;
  /** -1: none */
  selected: number;
  onSelect(index: number): void;
  row(index: number): ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const show = (index: number) => {
    const element = box.current;
    if (!element || index < 0) return;
    const above = index * rowHeight;
    if (above < element.scrollTop) element.scrollTop = above;
    else if (above + rowHeight > element.scrollTop + height) element.scrollTop = above + rowHeight - height;
  };
  useEffect(() => show(selected), [selected, count]);
  const untouched = useRef(true);
  useEffect(() => {
    if (!untouched.current && box.current) box.current.scrollTop = 0;
    untouched.current = false;
  }, [of]);
  const first = Math.max(0, Math.floor(top / rowHeight) - extra);
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + extra);
  const move = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
    const step = steps[event.key];
    if (step === undefined || count === 0) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, selected < 0 ? (step > 0 ? 0 : count - 1) : selected + step));
    onSelect(next);
  };
  return (
    <div>
      <div class="listhead" style={{ gridTemplateColumns: template }} aria-hidden="true">
        {titles.map((title) => (
          <span key={title}>{title}</span>
        ))}
      </div>
      <div
        class="list"
        id={id}
        ref={box}
        role="listbox"
        aria-label={`${label}: ${titles.join(", ")}`}
        aria-activedescendant={selected >= first && selected < end ? `${id}-${selected}` : undefined}
        tabIndex={0}
        style={{ height: `${Math.min(height, Math.max(1, count) * rowHeight + 2)}px` }}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={move}
      >
        <div role="presentation" style={{ height: `${count * rowHeight}px` }}>
          {Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i).map((index) => (
            <div
              class="row"
              key={index}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === selected}
              aria-posinset={index + 1}
              aria-setsize={count}
              style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px`, gridTemplateColumns: template }}
              onClick={() => onSelect(index)}
            >
              {row(index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
