// Plans of every kind that a report shows.

import { type Folder, meshwright, readJson } from "./support";

export const verified = JSON.stringify({
  plan: "8xh100-sxm, mesh x=2,y=4", devices: "8 x host devices", passed: false,
  checks: [
    { name: "all-reduce y", outcome: "ok", planned: "1 x, 8.00 MiB", measured: "1 x, 8.00 MiB", remark: "", notes: [], figures: { planned_bytes: 8, compiled_bytes: 8 } },
    { name: "step time", outcome: "differs", planned: "1.18 ms", measured: "2.00 ms", remark: "+69 %", notes: ["a note"], figures: { planned: 0.00118, measured: 0.002 } },
  ],
});

export const mixedCluster = `groups:
  - {name: fast, device: a100-80g, devices_per_node: 4, nodes: 2, price_per_hour: 4}
  - {name: slow, device: a10g, devices_per_node: 4, nodes: 3, price_per_hour: 1}
between_groups: {bandwidth: 5GB/s, latency: 20us}
`;

/** The plan in `file` as if it had been made with measured segments. */
export function profiled(folder: Folder, file: string): string {
  const plan = readJson(file);
  const segment = { fingerprint: "b".repeat(64), occurrences: 3, choice: "[x] > m=x > [_]", basis: "measured", seconds: 0.01, spread: 0.001, samples: 12, model_seconds: 0.02, peak_bytes: 4096, known_choices: 7 };
  plan.segments = [segment, { ...segment, choice: "- > n=y > -", basis: "predicted", samples: 0, spread: 0 }];
  plan.profile = {
    environment: { device: "NVIDIA H100", device_type: "h100-sxm", driver: "cuda 12080", libraries: "jax 0.6.0", hosts: 1 },
    segment_seconds: 0.03, bound_seconds: 0.03, exact: true, choices: 9, other_seconds: 0.001, moves: [],
    step: { seconds: 0.04, spread: 0.001, samples: 5, composed_seconds: 0.031, peak_bytes: 4096 },
  };
  plan.options.database = "p.sqlite";
  return folder.write("profiled.json", JSON.stringify(plan));
}

/** A report with a program, one that loops, a pipeline, models with and without one, a mixed cluster, sweeps, a profile and a verification. */
export function reportOfAllKinds(folder: Folder): string {
  const model = (name: string, ...options: string[]): string => {
    meshwright("plan", "gpt3-1.3b", "--global-batch", "64", "--seq", "2048", "-o", folder.file(name), ...options);
    return folder.file(name);
  };
  const sweep = (name: string, range: string): string => {
    model("last.json", "--cluster", "8xh100-sxm", "--sweep", range, "--csv", folder.file(name));
    return folder.file(name);
  };
  const program = folder.plan("program.json", "hlo/gpt_tensor.train.hlo.txt.gz", "--cluster", "2x4xh100-sxm", "--mesh", "x=2,y=4");
  return folder.report(
    "kinds.html",
    program,
    folder.plan("scanned.json", "hlo/llama_accumulated.scan.train.hlo.txt.gz", "--cluster", "4xh100-sxm", "--mesh", "4", "--memory", "unlimited"),
    folder.plan("pipeline.json", "hlo/pipeline/tied_clip.train.hlo.txt.gz", "--cluster", "2xh100-sxm", "--pipeline", "2", "--micro-batches", "4"),
    model("model.json", "--cluster", "2x8xh100-sxm"),
    model("stages.json", "--cluster", "2x8xh100-sxm", "--fix", "pp=4"),
    model("swept.json", "--cluster", "2x8xh100-sxm", "--sweep", "gpus=4..16"),
    sweep("batches.csv", "batch=16..64"),
    sweep("lengths.csv", "seq=512..2048"),
    model("front.json", "--cluster", folder.write("mixed.yaml", mixedCluster), "--tokens", "1B", "--pareto"),
    profiled(folder, program),
    folder.write("verified.json", verified),
  );
}
