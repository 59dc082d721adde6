"""The documentation as a site: complete, linked, offline. The pages' own commands are run by test_docs.py."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
needs_site = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("material", "mkdocstrings", "latex2mathml")),
    reason="the extra `docs` is not installed",
)
SHOWN = ("marey.geometry", "marey.statistics.coding")


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "docs"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with the reference of few packages: all of them take half a minute."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    config.extra["packages"] = SHOWN
    build(config)
    return folder


def navigation() -> list[str]:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return re.findall(r"^ +- .*: (\S+\.md)$", text.partition("\nnav:")[2], re.M)


def test_the_navigation_names_every_page_once() -> None:
    named = navigation()
    notebooks = [f"notebooks/{file.stem}.md" for file in (ROOT / "examples").glob("*.ipynb")]
    assert sorted(named) == sorted([page.name for page in DOCS.glob("*.md")] + notebooks)


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        if "://" not in target and not target.startswith("#"):
            assert (DOCS / target.partition("#")[0]).exists(), target


def test_every_script_of_published_results_is_on_the_page() -> None:
    page = (DOCS / "reproduced.md").read_text(encoding="utf-8")
    scripts = [path.name for path in (ROOT / "reproduce").glob("[a-z]*.py")]
    assert [name for name in scripts if f"`{name}`" not in page] == []


def test_every_benchmark_has_its_place_in_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import bench_table

    rows = bench_table.known()
    page = (DOCS / "comparison.md").read_text(encoding="utf-8")
    assert bench_table.with_tables(page, rows) == page, "run tools/bench_table.py --table"
    listed = sorted(name for names in bench_table.SECTIONS.values() for name in names)
    assert listed == sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    for name in listed:
        text = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        assert re.search(r"^ +record(_limit)?\(", text, re.M), f"{name} leaves no figures"


def test_a_benchmark_leaves_what_it_measured_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import bench_table
    from _ledger import record, record_limit

    monkeypatch.setattr(bench_table, "MEASURED", tmp_path / "measured.json")
    monkeypatch.setenv("MAREY_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setattr(sys, "argv", ["benchmarks/bvh.py"])
    record("reading", 0.002, 0.01, peer="A", bar=4.0)
    record("reading", 0.002, 0.006, peer="B", bar=4.0)
    record("reading", 0.002, float("nan"), peer="not installed")
    record_limit("size", 44.4, 50.0, unit="MB")
    rows = [bench_table.json.loads(line) for line in (tmp_path / "ledger").read_text().splitlines()]
    assert [row["met"] for row in rows] == [True, False, True]
    bench_table.keep("bvh", rows)
    bench_table.keep("bvh", rows[:1])
    assert len(bench_table.known()) == 1
    told = bench_table.tables([{**row, "date": "", "machine": ""} for row in rows])
    lines = told.replace(bench_table.SPACE, " ").splitlines()
    assert "| reading | 2 ms | A 10 ms · B 6 ms | 5 · 3 | 4: met · 4: **missed** |" in lines
    assert "| size | 44.4 MB | – | | at most 50 MB: met |" in lines


def test_the_reference_of_commands_covers_every_command(tools: None) -> None:
    import command_pages

    text = "".join(page for _, page in command_pages.pages().values())
    calls = [path for path, _ in command_pages.commands()]
    assert len(calls) > 30
    for path, command in command_pages.commands():
        section = text.partition(f"## marey {path} {{")[2].partition("\n## ")[0]
        for parameter in command.params:
            shown = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
            told = [command_pages._code(name) for name in shown if name]
            assert any(name in section for name in told), (path, parameter.name)
    assert "with at least modes, variance, frames" in text


def test_the_reference_of_python_covers_every_public_package_and_module(tools: None) -> None:
    import api_pages

    found = api_pages.packages()
    names = {package.name for package in found}
    for folder in sorted((ROOT / "src" / "marey").rglob("__init__.py")):
        name = ".".join(folder.parent.relative_to(ROOT / "src").parts)
        hidden = name.startswith(api_pages.HIDDEN) or "._" in name
        assert hidden or name in names, name
    modules = {module for package in found for module in package.modules}
    assert {
        "marey.body.motion",
        "marey.surface.sequence",
        "marey.crowd.fields",
        "marey.io.formats",
    } <= modules
    homes = api_pages.homes(found)
    pages = {package.page for package in found}
    for package in found:
        text = api_pages.page(package, homes)
        assert set(re.findall(r"\]\(([\w-]+)\.md", text)) <= pages


@needs_site
def test_equations_are_drawn_by_the_browser_itself(tools: None) -> None:
    from equations import mathml

    drawn = mathml(r"\min_x \lVert Ax - b \rVert^2", display="block")
    assert drawn.startswith('<div class="equation"><math') and "<munder>" in drawn and "Vert" not in drawn
    spaced = mathml(r"N \log N + \log(a)")
    assert spaced.count("<mspace") == 2 and "<mi>log</mi><mo" in spaced
    with pytest.raises(ValueError, match="notacommand"):
        mathml(r"x + \notacommand")


@needs_site
def test_the_site_builds_strictly_and_has_every_page(site: Path) -> None:
    for page in DOCS.glob("*.md"):
        assert (site / f"{page.stem}.html").is_file()
    for name in ("cli/body", "cli/common", "api/marey-geometry"):
        assert (site / "reference" / f"{name}.html").is_file()
    text = (site / "reference" / "api" / "marey-geometry.html").read_text(encoding="utf-8")
    assert "swing_twist" in text and "&gt;&gt;&gt; " in text


@needs_site
def test_equations_of_pages_become_mathml(site: Path) -> None:
    sources = [
        page for page in DOCS.glob("*.md") if re.search(r"^\$\$", page.read_text(encoding="utf-8"), re.M)
    ]
    assert sources
    for page in sources:
        built = (site / f"{page.stem}.html").read_text(encoding="utf-8")
        assert "<math" in built and "arithmatex" not in built, page.name


@needs_site
def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for tag, address in loaded(page.read_text(encoding="utf-8")):
            assert not re.match(r"(https?:)?//", address), (page.name, tag, address)
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\(\s*['\"]?(https?:)?//", styles)


def loaded(page: str) -> Iterator[tuple[str, str]]:
    """What a browser fetches for a page, unasked."""

    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[tuple[str, str]] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, Any]]) -> None:
            given = dict(attributes)
            if tag in ("script", "img", "iframe", "source", "video") and given.get("src"):
                self.found.append((tag, given["src"]))
            if tag == "link" and given.get("rel") != "canonical":
                self.found.append((tag, given.get("href") or ""))

    tags = Tags()
    tags.feed(page)
    yield from tags.found
