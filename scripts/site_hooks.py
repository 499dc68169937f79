"""What mkdocs.yml calls while it builds the site.

Pages of commands are made from `meshwright help --json`, so that they say what the program says. Figures
are put into their pages as they are, for their titles and descriptions to be read and their colours to
follow the page's.
"""

import json
import os
import re
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
FIGURE = re.compile(r"^!\[[^\]]*\]\(([^)]*figures/[^)/]*\.svg)\)$", re.MULTILINE)


def reference():
    """What the program says of its commands."""
    program = os.environ.get("MESHWRIGHT_BINARY") or ROOT / "build" / "release" / "meshwright"
    try:
        done = subprocess.run([program, "help", "--json"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PluginError(
            f"the command reference needs the built program: {error}; run scripts/demo.sh first, or "
            "name another program in MESHWRIGHT_BINARY"
        ) from error
    return json.loads(done.stdout)


def escaped(text):
    """Text as Markdown that shows it."""
    return re.sub(r"([\\*_\[\]<>|])", r"\\\1", text)


def described(text):
    """Likewise, but what stands between backquotes is code."""
    parts = text.split("`")
    return "".join(f"`{part}`" if i % 2 else escaped(part) for i, part in enumerate(parts))


def option_text(option):
    names = ", ".join(f"`{name}`" for name in option["names"])
    if option["value"] and not option["argument"]:
        names += f" {option['value']}"
    notes = [
        option["limits"] and escaped(option["limits"]),
        option["required"] and not option["argument"] and "needed",
        option["repeatable"] and "repeatable",
        option["default"] and f"default: `{option['default']}`",
        option["needs"] and "with " + ", ".join(f"`{name}`" for name in option["needs"]),
        option["excludes"] and "not with " + ", ".join(f"`{name}`" for name in option["excludes"]),
    ]
    shown = "; ".join(filter(None, notes))
    return f"| {names} | {described(option['description'])} | {shown} |"


def option_tables(options):
    groups = {}
    for option in options:
        heading = "Arguments" if option["argument"] else option["group"]
        groups.setdefault(heading, []).append(option)
    for heading, members in sorted(groups.items(), key=lambda group: group[0] != "Arguments"):
        yield f"## {heading}\n"
        name = "argument" if heading == "Arguments" else "option"
        yield f"| {name} | | limits, default |\n| --- | --- | --- |"
        yield "\n".join(map(option_text, members)) + "\n"


def command_page(command):
    arguments = [option for option in command["options"] if option["argument"]]
    usage = ["meshwright", command["name"], "[OPTIONS]"]
    for option in arguments:
        name = option["names"][0] + ("..." if option["repeatable"] else "")
        usage.append(name if option["required"] else f"[{name}]")
    summary = command["summary"][0].upper() + command["summary"][1:]
    parts = [f"# meshwright {command['name']}\n", described(summary) + ".\n"]
    parts.append("```text\n" + " ".join(usage) + "\n```\n")
    parts += [described(paragraph) + "\n" for paragraph in command["details"].splitlines()]
    parts.append("## Examples\n\n```sh\n" + "\n".join(command["examples"]) + "\n```\n")
    parts += option_tables(command["options"])
    parts.append("## Exit codes\n")
    codes = re.split(r", (?=\d+ )", command["exit_codes"])
    rows = (code.split(" ", 1) for code in codes)
    parts.append(
        "| code | |\n| --- | --- |\n" + "\n".join(f"| {n} | {what} |" for n, what in rows) + "\n"
    )
    return "\n".join(parts)


def index_page(commands, version):
    rows = (f"| [{c['name']}]({c['name']}.md) | {described(c['summary'])} |" for c in commands)
    return "\n".join(
        [
            "# Commands\n",
            f"Of meshwright {version}. `meshwright help COMMAND` shows the same in a terminal.\n",
            "| command | |\n| --- | --- |",
            *rows,
            "",
        ]
    )


def command_pages():
    made = reference()
    pages = {"commands/index.md": index_page(made["commands"], made["version"])}
    for command in made["commands"]:
        pages[f"commands/{command['name']}.md"] = command_page(command)
    return pages


def on_config(config):
    config.meshwright_pages = command_pages()
    for entry in config.nav:
        if "Commands" in entry:
            entry["Commands"] = list(config.meshwright_pages)
    return config


def on_files(files, config):
    for path, text in config.meshwright_pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    def figure(match):
        path = (Path(config.docs_dir) / page.file.src_uri).parent / match[1]
        if not path.is_file():
            raise PluginError(f"{page.file.src_uri}: there is no figure {match[1]}")
        return f"<figure>\n{path.read_text()}</figure>"

    return FIGURE.sub(figure, markdown)
