import type { ComponentType } from "preact";
import type { Plan, Report } from "../data";
import { Choices } from "./choices";
import { Cluster } from "./cluster";
import { Compare } from "./compare";
import { Measured } from "./measured";
import { Memory } from "./memory";
import { Network } from "./network";
import { Placement } from "./placement";
import { Scaling } from "./scaling";
import { Summary } from "./summary";
import { Time } from "./time";
import { Timeline } from "./timeline";

export interface View {
  id: string;
  title: string;
  /** It shows all plans of the report rather than one. */
  ofAll: boolean;
  Show: ComponentType;
  /** Whether there is anything to see. */
  has(report: Report, plan: Plan): boolean;
}

const hasPlan = (report: Report): boolean => report.plans.length > 0;
const hasProgram = (_: Report, plan: Plan): boolean => plan.programs.length > 0;

const views: View[] = [
  { id: "summary", title: "Summary", ofAll: false, Show: Summary, has: hasPlan },
  { id: "cluster", title: "Mesh and devices", ofAll: false, Show: Cluster, has: hasPlan },
  { id: "network", title: "Network", ofAll: false, Show: Network, has: hasProgram },
  { id: "placement", title: "Tensor placement", ofAll: false, Show: Placement, has: hasProgram },
  { id: "memory", title: "Memory", ofAll: false, Show: Memory, has: hasPlan },
  {
    id: "timeline",
    title: "Timeline",
    ofAll: false,
    Show: Timeline,
    has: (_, plan) => Boolean(plan.timeline) || plan.programs.length > 0,
  },
  { id: "time", title: "Time", ofAll: false, Show: Time, has: hasPlan },
  {
    id: "choices",
    title: "Alternatives",
    ofAll: true,
    Show: Choices,
    has: (report) =>
      report.mixed.length > 0 || report.plans.some((plan) => plan.transformer !== null),
  },
  {
    id: "scaling",
    title: "Scaling",
    ofAll: true,
    Show: Scaling,
    has: (report) => report.sweeps.length > 0,
  },
  {
    id: "measured",
    title: "Predicted and measured",
    ofAll: true,
    Show: Measured,
    has: (report) => report.verifications.length > 0,
  },
  {
    id: "compare",
    title: "Compare plans",
    ofAll: true,
    Show: Compare,
    has: (report) => report.plans.length > 1,
  },
];

/** The views that have something to show. */
export function viewsOf(report: Report, plan: Plan): View[] {
  return views.filter((view) => view.has(report, plan));
}
