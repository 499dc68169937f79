"""What is printed and documented says what the field says, and none of the words that stood there before."""

import re

from pages import PAGES, ROOT

# Each names something for which the field has a word, and has no other use. "Side by side" may be said of
# tables and plans, and not of what runs at the same time.
INSTEAD = {
    r"one by one|one (?:operator )?after the other": "serial, without overlap, or in turn",
    r"(?:collectives?|communication|[\d.]+ [mu]?s|runs?) side by side": "overlapped",
    r"beside (?:kernels|computation)": "overlapped",
    r"host's share": "launch overhead",
    r"nobody waits": "hidden",
    r"by these prices": "under this cost model",
    r"dearest|\bdearer|\bdear\b": "most expensive",
    r"fullest": "peak",
    r"\bput(?:s|ting)? together|cuts? anew": "all-gathers, reshards",
    r"adds? up partial": "reduces partial sums",
    r"(?:kept|keeps?) (?:to:|otherwise)|search (?:was )?kept to": "constrained to, sharded differently",
    r"a second and GPU": "tokens/s/GPU",
    r"matrix products?": "matmul",
    r"comput\w+ (?:\w+ )?again": "recomputed",
    r"(?:stays?|kept|keeps?|lies?) whole\b": "replicated",
    r"prices? of (?:a |the )?rows?|\bregrets?\b": "Lagrange multiplier, reduced cost",
    r"\bwaver(?:s|ed|ing)?\b": "perturb the multipliers",
    r"\bat hand\b": "current, available",
    r"\bdeals? out\b": "layer partition",
}
PATTERN = re.compile("|".join(f"({one})" for one in INSTEAD), re.IGNORECASE)
LITERALS = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')


def _texts():
    """File, and what is read of it: of the engine its string literals, as they are joined."""
    for file in sorted((ROOT / "src" / "meshwright").rglob("*.cc")):
        code = re.sub(r"^\s*//.*", "", file.read_text(), flags=re.MULTILINE)
        yield file, "\n".join(re.sub(r'"\s*"', "", m[0]) for m in LITERALS.finditer(code))
    pages = [*PAGES, ROOT / "HACKING.md", *(ROOT / "docs").rglob("*.svg")]
    for folder, kind in (("report/src", "ts*"), ("python/meshwright", "py"), ("examples", "py")):
        pages += (ROOT / folder).rglob(f"*.{kind}")
    for file in pages:
        yield file, " ".join(file.read_text().split())


def test_the_fields_words_are_used():
    found = [
        f"{file.relative_to(ROOT)}: {m[0]!r}; say: {list(INSTEAD.values())[m.lastindex - 1]}"
        for file, text in _texts()
        for m in PATTERN.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_the_words_would_be_found():
    for text in (
        "one by\none",
        "communication 163 us side by side",
        "kept to: nothing",
        "The fullest GPU",
        "k stays whole",
    ):
        assert PATTERN.search(" ".join(text.split())), text
    assert not PATTERN.search("several plans side by side")
