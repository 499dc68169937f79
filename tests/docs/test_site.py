"""The site builds without a broken link or anchor, is whole, and needs no network to be read."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from pages import ROOT

pytest.importorskip("mkdocs")
pytest.importorskip("material")

FIGURES = sorted((ROOT / "docs" / "figures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def site(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: warnings that are not shown do not fail it.
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "MESHWRIGHT_BINARY": str(program), "NO_MKDOCS_2_WARNING": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Fetched(HTMLParser):
    """What a browser would load beside a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(values.get("src"))
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preconnect", "preload"):
            self.addresses.append(values.get("href"))


def test_nothing_is_fetched_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        parser = Fetched()
        parser.feed(page.read_text())
        for address in filter(None, parser.addresses):
            assert not re.match(r"(\w+:)?//", address), f"{page.name} loads {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text()), sheet.name


def test_search_needs_no_server(site):
    assert (site / "search" / "search_index.js").exists()
    for name in ("index.html", "concepts/index.html"):
        assert "assets/iframe-worker.js" in (site / name).read_text()


def test_every_command_has_its_page(site, program):
    done = subprocess.run([program, "help", "--json"], capture_output=True, check=True)
    for command in json.loads(done.stdout)["commands"]:
        page = (site / "commands" / f"{command['name']}.html").read_text()
        for option in command["options"]:
            assert f"<code>{option['names'][-1]}</code>" in page, option["names"]


def test_figures_are_in_the_pages_and_can_be_read_aloud(site):
    html = "".join(page.read_text() for page in site.rglob("*.html"))
    assert FIGURES
    for path in FIGURES:
        assert f'aria-labelledby="{path.stem}-title {path.stem}-desc"' in html, (
            f"{path.stem} is in no page"
        )
        root = ElementTree.parse(path).getroot()
        assert root.get("role") == "img"
        for part in ("title", "desc"):
            element = root.find(SVG + part)
            assert element.get("id") == f"{path.stem}-{part}"
            assert len(element.text) > 10


def colours(text):
    return re.findall(r"--\w+: #[0-9a-f]{6}", text)


def test_figures_have_the_colours_of_the_site_in_light_and_dark():
    shared = colours((ROOT / "docs" / "assets" / "site.css").read_text())
    assert len(shared) == 20  # ten in light, ten in dark
    for path in FIGURES:
        assert colours(path.read_text()) == shared, path.name


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []
