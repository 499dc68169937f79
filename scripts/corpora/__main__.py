"""Plans every program found among other projects' sources, and says how each ended.

Exits with 0 if every command ended with an answer or a refusal in words, else with 1: crashes, aborts,
hangs and exit code 1 are faults. Their modules are kept in the output folder."""

import argparse
import datetime
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import modules as corpus
import runs as running
import table
import xla

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- corpora: begin -->", "<!-- corpora: end -->"
MOST_FAULTS_SHOWN = 10  # on the terminal; faults.txt has all


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/corpora.sh", description=__doc__)
    add = parser.add_argument
    add("folder", metavar="DIR", help="folder with the sources of other projects")
    add(
        "-o",
        "--output",
        default=ROOT / "build" / "corpora",
        type=Path,
        help="folder for table.txt, faults.txt, failing.txt and the failing modules (default: build/corpora)",
    )
    add("-j", "--processes", type=int, default=os.cpu_count())
    add(
        "--program",
        default=ROOT / "build" / "release" / "meshwright",
        help="the meshwright to run (default: the release build)",
    )
    add(
        "--commands",
        default="plan",
        help="what to run on a module that plans, of " + ", ".join(running.COMMANDS) + "; or all",
    )
    add("--sample", type=int, default=1, metavar="K", help="take every K-th module")
    add("--also", metavar="FILE", help="and those whose names are in FILE, such as failing.txt")
    add("--only", metavar="GLOB", help="only modules of such names")
    add(
        "--limit",
        type=float,
        default=60,
        metavar="SECONDS",
        help="most processor time of one run (default: 60)",
    )
    add(
        "--memory",
        type=float,
        default=16,
        metavar="GIB",
        help="most address space of one run; 0: no limit, as sanitizers need (default: 16)",
    )
    add("--no-xla", action="store_true", help="do not ask XLA's parsers about refused modules")
    add("--markdown", metavar="FILE", help="put the tables into FILE between its two markers")
    return parser.parse_args()


def chosen(modules, options):
    also = set(Path(options.also).read_text().split("\n")) if options.also else set()
    for i, module in enumerate(modules):
        if options.only and not fnmatch.fnmatch(module.name, options.only):
            continue
        if i % options.sample == 0 or module.name in also:
            yield module


def show_progress(total):
    """A function that is told how many are done, and says so on a terminal."""

    def progress(done):
        if sys.stderr.isatty() and (done % 20 == 0 or done == total):
            print(f"\r{done} of {total}", end="" if done < total else "\n", file=sys.stderr)

    return progress


def keep_failing(outcomes, output):
    """Writes the modules with faults, what they did, and the list of their names, which --also takes."""
    folder = output / "failing"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names, faults = [], []
    for outcome in outcomes:
        if not outcome.faults:
            continue
        module = outcome.module
        names.append(module.name)
        path = folder / re.sub(r"[^\w.-]", "_", module.name)
        path.write_bytes(module.contents)
        for run in outcome.faults:
            words = " ".join(running.COMMANDS[run.command])
            words = words.format(module=path, plan="plan.json", out="out")
            faults.append(f"{run.fault}: {module.name}\n  {words}\n  {run.message[-500:]}\n")
    (output / "failing.txt").write_text("".join(name + "\n" for name in names))
    (output / "faults.txt").write_text("".join(faults))
    print("".join(faults[:MOST_FAULTS_SHOWN]), end="")
    return names


def source_conditions(folder):
    """Which sources these are: a sentence for every repository at or below `folder`."""
    for path in [Path(folder), *sorted(Path(folder).iterdir())]:
        if not (path / ".git").exists():
            continue
        git = ["git", "-C", str(path), "log", "-1", "--format=%h of %cs"]
        yield f"{path.resolve().name} {subprocess.check_output(git, text=True).strip()}"


def conditions(options, count):
    sampled = "" if options.sample == 1 else f" (every {options.sample}th)"
    version = subprocess.check_output([options.program, "--version"], text=True).strip()
    today = datetime.date.today().isoformat()
    words = running.COMMANDS["plan"][2:-2]
    sources = ", ".join(source_conditions(options.folder))
    return [
        f"{count:,} modules{sampled} of {sources}; {version}, `plan {' '.join(words)}`, {today}."
    ]


def write_markdown(path, generated):
    text = Path(path).read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: expected one {BEGIN} and one {END}")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    Path(path).write_text(f"{before}{BEGIN}\n{generated}{END}{after}")


def main():
    options = arguments()
    names = list(running.COMMANDS) if options.commands == "all" else options.commands.split(",")
    commands = ["plan", *(name for name in names if name != "plan")]
    if unknown := set(commands) - set(running.COMMANDS):
        sys.exit(f"--commands: there is no {', '.join(sorted(unknown))}")
    ask_xla = not options.no_xla and xla.available()
    if options.markdown and not ask_xla:
        sys.exit("--markdown: needs jaxlib, to know what XLA's own parsers take (pip install jax)")
    modules = list(chosen(corpus.find_modules(options.folder), options))
    if not modules:
        sys.exit(f"{options.folder}: no modules")
    options.output.mkdir(parents=True, exist_ok=True)

    with tempfile.TemporaryDirectory(dir=options.output) as folder:
        memory = int(options.memory * 2**30)
        runner = running.Runner(options.program, folder, commands, options.limit, memory)
        results = runner.run_all(modules, options.processes, show_progress(len(modules)))
    refused = [m for m, runs in zip(modules, results) if runs[0].code == 2]
    taken = {}
    if ask_xla:
        answers = xla.taken(refused, options.processes)
        taken = {module.name: answer for module, answer in zip(refused, answers)}
    outcomes = [table.Outcome(m, runs, taken.get(m.name)) for m, runs in zip(modules, results)]

    text = table.text(outcomes)
    (options.output / "table.txt").write_text(text)
    print(text)
    if options.markdown:
        write_markdown(
            options.markdown, table.markdown(outcomes, conditions(options, len(modules)))
        )
    failing = keep_failing(outcomes, options.output)
    print(f"{len(failing)} of {len(modules)} modules failed; see {options.output}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
