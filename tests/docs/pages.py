"""Documentation's fenced blocks, and how what they quote compares with what is printed."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass
class Block:
    page: Path
    line: int  # of its first line of text
    language: str
    title: str  # empty: it has none
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


_FENCE = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, m.start()) + 2, m["language"], m["title"] or "", m["text"])
        for m in _FENCE.finditer(text)
    ]


# What another machine or another JAX prints otherwise, and says nothing about a plan.
_VARIES = [
    (re.compile(r"\bin [\d.]+ [mu]?s\b"), "in *"),  # planning, searches
    (re.compile(r"jax [\d.]+"), "jax *"),
    (re.compile(r"[\d.]+e-\d+"), "*"),
    (re.compile(r"^(  (?:memory|step time) +shown +\S+ \S+).*"), r"\1 *"),
    (re.compile(r"[A-Za-z][\w-]*\.\d+(\[\d+\])?"), "*"),  # XLA's names of instructions
]


def _steady(line: str) -> str:
    for pattern, replacement in _VARIES:
        line = pattern.sub(replacement, line)
    return " ".join(line.split())


def matches(quoted: str, printed: str) -> bool:
    """Whether `printed` is what is quoted, where a line `...` stands for any lines."""
    pattern = "".join(
        "(?:.*\n)*" if line.strip() == "..." else re.escape(_steady(line)) + "\n"
        for line in quoted.strip("\n").splitlines()
    )
    steady = "".join(_steady(line) + "\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, steady) is not None
