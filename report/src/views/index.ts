import type { ComponentType } from "preact";
import { type Plan, type Report, sweepsOf } from "../data";
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

/** Why a view has nothing to show, and what would change that. */
export interface Missing {
  why: string;
  command?: string;
}

export interface View {
  id: string;
  title: string;
  /** It shows all plans of the report rather than one. */
  ofAll: boolean;
  Show: ComponentType;
  /** Null where there is something to see. */
  missing(report: Report, plan: Plan): Missing | null;
}

const noPlans: Missing = { why: "This report was made without a plan.", command: "meshwright report plan.json -o report.html" };

function ofPlan(of: (plan: Plan) => Missing | null): View["missing"] {
  return (report, plan) => (report.plans.length === 0 ? noPlans : of(plan));
}

function withoutProgram(plan: Plan, what: string): Missing | null {
  if (plan.programs.length > 0) return null;
  if (plan.transformer) {
    return {
      why: `This is the plan of a model: it has degrees of parallelism, but no program, and so no ${what}. The plan of a program (HLO or StableHLO) has them:`,
      command: "meshwright plan program.hlo.txt --cluster 8xh100-sxm -o plan.json",
    };
  }
  return { why: `The plan lists no operators, and so no ${what}.` };
}

const always = ofPlan(() => null);

const views: View[] = [
  { id: "summary", title: "Summary", ofAll: false, Show: Summary, missing: always },
  { id: "cluster", title: "Mesh and devices", ofAll: false, Show: Cluster, missing: always },
  { id: "network", title: "Network", ofAll: false, Show: Network, missing: ofPlan((plan) => withoutProgram(plan, "operators to draw")) },
  { id: "placement", title: "Tensor placement", ofAll: false, Show: Placement, missing: ofPlan((plan) => withoutProgram(plan, "tensors to place")) },
  { id: "memory", title: "Memory", ofAll: false, Show: Memory, missing: always },
  {
    id: "timeline",
    title: "Timeline",
    ofAll: false,
    Show: Timeline,
    missing: ofPlan((plan) => (plan.timeline || plan.transformer ? null : withoutProgram(plan, "operators to follow in time"))),
  },
  { id: "time", title: "Time", ofAll: false, Show: Time, missing: always },
  {
    id: "choices",
    title: "Alternatives",
    ofAll: false,
    Show: Choices,
    missing: ofPlan((plan) =>
      plan.transformer
        ? null
        : {
            why: "The plan of a program is the best that was found, and the search keeps no others. What a sharding of your own would cost is told by",
            command: "meshwright explain plan.json --why-not 'NAME=SPEC'",
          },
    ),
  },
  {
    id: "scaling",
    title: "Scaling",
    ofAll: true,
    Show: Scaling,
    missing: (report) =>
      sweepsOf(report).length > 0
        ? null
        : {
            why: "No plan of this report was swept over numbers of devices, batches (batch=64..512) or lengths of sequences (seq=2048..16384). Models can be:",
            command: "meshwright plan MODEL --cluster CLUSTER --global-batch N --sweep gpus=8..512 -o plan.json",
          },
  },
  {
    id: "measured",
    title: "Predicted and measured",
    ofAll: true,
    Show: Measured,
    missing: (report) =>
      report.verifications.length > 0 || report.plans.some((plan) => plan.profile !== null)
        ? null
        : {
            why: "No plan of this report was run, or made with measured segments. What a run finds goes to the report beside its plan:",
            command: "meshwright verify plan.json --json > verified.json",
          },
  },
  {
    id: "compare",
    title: "Compare plans",
    ofAll: true,
    Show: Compare,
    missing: (report) =>
      report.plans.length > 1
        ? null
        : { why: "There is nothing to compare with: a report of several plans compares them.", command: "meshwright report plan.json other.json -o report.html" },
  },
];

/** All views: those that have nothing to show say why. */
export function allViews(): readonly View[] {
  return views;
}
