"""Whole programs on many devices: the pipeline that is found against the grids that are set up by hand.

For each program and cluster, plans with `--pipeline auto`, then with sharding alone and with every uniform grid (stages
of one mesh each, `--mesh`) that has as many stages as the program has layers or fewer:

    python bench/pipeline/programs.py --meshwright build/release/meshwright ../shared/hlo/gpt2_345m.train.hlo.txt.gz

Prints the step of the plan found and of the best grid, their ratio (never above 1), the gap, and how long planning took.
With `--jobs`, grids are planned side by side; the plan found is always planned alone, as its planning time is printed.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile
import time


def plan(options, program, cluster, *arguments):
    """The plan as a dictionary and the seconds it took; None and the error's last line if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "plan.json"
        command = [
            options.meshwright,
            "plan",
            program,
            "--cluster",
            cluster,
            "-o",
            path,
            "--deadline",
            options.deadline,
            "--quiet",
            *arguments,
        ]
        start = time.monotonic()
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        seconds = time.monotonic() - start
        if result.returncode != 0:
            return None, (result.stderr.strip().splitlines() or ["no message"])[-1]
        return json.loads(path.read_text()), seconds


def grids(nodes, per_node):
    """Meshes of every part of the cluster that divides it: one axis, or an outer and an inner one inside a node."""
    parts = [n for n in range(1, per_node + 1) if per_node % n == 0]
    parts += [n * per_node for n in range(2, nodes + 1) if nodes % n == 0]
    for devices in parts:
        yield f"{devices}", nodes * per_node // devices
        for inner in (
            n
            for n in range(2, min(per_node, devices - 1) + 1)
            if per_node % n == 0 and devices % n == 0
        ):
            yield f"{devices // inner}x{inner}", nodes * per_node // devices


def best_grid(options, program, cluster, nodes):
    """Step of the fastest uniform grid and what it is; None and "-" if there is none."""
    tried = [] if options.no_grids else list(grids(nodes, 8))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        plans = pool.map(
            lambda grid: plan(options, program, cluster, "--pipeline", "auto", "--mesh", grid[0])[
                0
            ],
            tried,
        )
        steps = [
            (found["step_seconds"], f"{stages} x {mesh}")
            for (mesh, stages), found in zip(tried, plans)
            if found is not None
        ]
    return min(steps, default=(None, "-"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--meshwright", default="build/release/meshwright")
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=[1, 8, 32, 128], help="of 8 devices each"
    )
    parser.add_argument("--deadline", default="600s")
    parser.add_argument("--no-grids", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="grids planned side by side")
    options = parser.parse_args()
    print(
        f"{'program':<34} {'GPUs':>5} {'stages':>6} {'micro':>5} {'step ms':>9} {'grid ms':>9} {'ratio':>6} {'gap %':>6} "
        f"{'planned s':>9}  best grid"
    )
    for program in options.programs:
        for nodes in options.nodes:
            cluster = f"{nodes}x8x{options.device}"
            found, seconds = plan(options, program, cluster, "--pipeline", "auto")
            name = pathlib.Path(program).name.split(".hlo")[0]
            if found is None:
                print(f"{name:<34} {8 * nodes:>5} {seconds}", flush=True)
                continue
            best, which = best_grid(options, program, cluster, nodes)
            step = found["step_seconds"]
            print(
                f"{name:<34} {8 * nodes:>5} {len(found.get('stages') or [0]):>6} {found.get('micro_batches', 1):>5} {1e3 * step:>9.3f} "
                f"{1e3 * best if best else 0:>9.3f} {step / best if best else 0:>6.3f} {100 * found['gap']:>6.2f} {seconds:>9.1f}  {which}",
                flush=True,
            )


if __name__ == "__main__":
    main()
