import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Address, addressText, isThere, readAddress } from "./address";
import { type ArrayReference, SharedContext } from "./context";
import { planNames, type Plan, type Report } from "./data";
import { Nothing } from "./parts/basic";
import { SearchBox } from "./parts/search_box";
import { shortened } from "./text";
import { allViews, type View } from "./views";

type Theme = "light" | "dark";

function preferredTheme(): Theme {
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Of the page itself: links that are nothing but "#..." pass for ones that skip to a part of it. */
const ownAddress = (): string => window.location.href.split("#")[0];

const initialAddress = (): Address => readAddress(window.location.hash);

class Guard extends Component<{ children: ComponentChildren }, { message: string | null }> {
  state = { message: null as string | null };

  componentDidCatch(error: Error): void {
    this.setState({ message: error.message });
    console.error(error);
  }

  render() {
    if (this.state.message === null) return this.props.children;
    return (
      <p class="error" role="alert">
        This view cannot be shown: {this.state.message}
      </p>
    );
  }
}

function Brand() {
  return (
    <div class="brand">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        {[0, 1, 2].flatMap((i) =>
          [0, 1, 2].map((j) => (
            <rect
              key={`${i}${j}`}
              x={1 + 8 * i}
              y={1 + 8 * j}
              width="6"
              height="6"
              rx="1.3"
              fill={`var(--c${(i + j) % 3})`}
            />
          )),
        )}
      </svg>
      Meshwright
    </div>
  );
}

function Navigation({ views, current, to }: { views: readonly View[]; current: View; to(view: string): string }) {
  return (
    <nav aria-label="Views">
      <ul>
        {views.map((view) => (
          <li key={view.id}>
            <a href={to(view.id)} aria-current={view.id === current.id ? "page" : undefined}>
              {view.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** `plan` is undefined in a report of sweeps or verifications alone. */
function noPlan(report: Report): Plan {
  return { file: "", programs: [], stages: [], tool_version: report.tool_version } as unknown as Plan;
}

export function App({ report }: { report: Report }) {
  const [address, setAddress] = useState(initialAddress);
  const [theme, setTheme] = useState<Theme>(preferredTheme);
  const heading = useRef<HTMLHeadingElement>(null);
  const moved = useRef(false);

  useEffect(() => {
    const listen = () => {
      moved.current = true;
      setAddress(initialAddress());
    };
    window.addEventListener("hashchange", listen);
    return () => window.removeEventListener("hashchange", listen);
  }, []);
  // Before views draw: canvases take the colours of the moment.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);

  const number = report.plans[address.plan] ? address.plan : 0;
  const plan = report.plans[number] ?? noPlan(report);
  // What is chosen is no step in the browser's history, and a view is.
  const change = (next: Address, asStep: boolean) => {
    const text = addressText(next);
    if (asStep) window.location.hash = text;
    else window.history.replaceState(null, "", text);
    setAddress(next);
  };
  const chosen = isThere(plan, address.chosen) ? address.chosen : null;
  const empty = (view: View): boolean => view.missing(report, plan) !== null;
  const views = allViews();
  // A report of sweeps or measurements alone begins with these.
  const current = views.find((view) => view.id === address.view) ?? views.find((view) => !empty(view)) ?? views[0];
  const missing = current.missing(report, plan);
  useEffect(() => {
    document.title = `${current.title} - Meshwright report`;
    if (moved.current) {
      heading.current?.focus();
      window.scrollTo(0, 0);
    }
  }, [current.id]);

  const shared = useMemo(
    () => ({
      report,
      plan,
      theme,
      chosen,
      choose(reference: ArrayReference | null) {
        change({ ...initialAddress(), view: current.id, plan: number, chosen: reference }, false);
      },
      go(view: string) {
        change({ ...initialAddress(), view }, true);
      },
    }),
    [report, plan, theme, address],
  );
  const names = planNames(report.plans);
  return (
    <SharedContext.Provider value={shared}>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        heading.current?.focus();
      }}>
        Skip to the content
      </a>
      <div class="shell">
        <header class="side">
          <Brand />
          <Navigation
            views={views.filter((view) => !empty(view) || view === current)}
            current={current}
            to={(view) => ownAddress() + addressText({ ...address, view })}
          />
          <div class="foot">
            <button type="button" id="theme" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>
              {theme === "dark" ? "Light theme" : "Dark theme"}
            </button>
            <p>meshwright {report.tool_version}</p>
          </div>
        </header>
        <main class="main" id="main">
          <div class="bar">
            {names.length > 1 && !current.ofAll && (
              <label>
                Plan
                <select
                  id="plan"
                  value={String(number)}
                  onChange={(event) => {
                    change({ view: current.id, plan: Number(event.currentTarget.value), chosen: null }, false);
                  }}
                >
                  {names.map((name, i) => (
                    <option key={i} value={String(i)}>
                      {shortened(name, 60)}
                    </option>
                  ))}
                </select>
              </label>
            )}
            <SearchBox
              report={report}
              plan={number}
              views={views.filter((view) => !empty(view))}
              onGo={(hit) => {
                change({ view: hit.view, plan: hit.plan, chosen: hit.array }, true);
                if (hit.view === current.id) requestAnimationFrame(() => document.querySelector("#opened, #chosen")?.scrollIntoView({ block: "start" }));
              }}
            />
          </div>
          <h1 tabIndex={-1} ref={heading}>
            {current.title}
          </h1>
          {missing ? (
            <Nothing {...missing} />
          ) : (
            <Guard key={`${current.id} ${number}`}>
              <current.Show />
            </Guard>
          )}
        </main>
      </div>
    </SharedContext.Provider>
  );
}
