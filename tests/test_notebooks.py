"""Data, models and results show themselves in notebooks; those of examples/ still run as kept."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import marey
from tests.browser import page_of

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    walk = marey.samples.walk(1)
    meshes = marey.samples.mesh_sequence()
    reach = marey.body.TimedReach("RightHand", 0.5, [0, 0.1, 0.1], relative=True)
    return {
        "clip": walk,
        "person": marey.samples.human(),
        "meshes": meshes,
        "tracks": marey.samples.crowd(),
        "fields": marey.samples.field(),
        "model": marey.body.PoseModel.fit([walk], modes=3),
        "compressed": marey.body.compress(walk, max_error=0.01),
        "result": marey.body.steer(walk, [reach]),
        "several": marey.body.vary(walk, count=1, rng=0),
    }


def test_everything_is_one_line(things: dict[str, Any]) -> None:
    for name, thing in things.items():
        text = repr(thing)
        assert len(text) < 400 and "\n" not in text, name
        assert type(thing).__name__ in text


def test_everything_shows_itself_as_a_page_or_as_an_image_where_that_is_large(
    things: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, thing in things.items():
        text = thing._repr_html_()
        assert text.startswith(("<iframe", "<img")) and len(text) < 5_000_000, name
    assert things["clip"]._repr_html_().startswith("<iframe")
    monkeypatch.setenv("MAREY_NOTEBOOK_BYTES", "100000")
    poster = things["clip"]._repr_html_()
    assert poster.startswith('<img src="data:image/jpeg') and len(poster) < 100_000
    assert "26 joints" in poster and "60 frames" in poster
    assert things["clip"].skeleton._repr_html_() is None


def test_the_page_plays_inside_a_notebook(things: dict[str, Any], tmp_path: Path, chromium: Any) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{things['clip']._repr_html_()}", encoding="utf-8")
    with page_of(chromium, path, offline=True) as tab:
        tab.page.frame_locator("iframe").locator("canvas").first.wait_for(timeout=30_000)
    assert tab.errors == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_is_kept_with(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebooks = runpy.run_path(str(EXAMPLES.parent / "tools" / "notebooks.py"))

    monkeypatch.setenv("MAREY_NOTEBOOK_BYTES", "0")
    kept, ran = json.loads(path.read_text(encoding="utf-8"))["cells"], notebooks["run"](path).cells
    assert path.stat().st_size < 300_000
    shown = [captions(cell.get("outputs", [])) for cell in ran]
    assert [captions(cell.get("outputs", [])) for cell in kept] == shown
    assert sum(map(bool, shown)) >= 3


def captions(outputs: list[Any]) -> list[str]:
    """The lines below what a cell shows; how many people a field carries may differ between processors."""
    texts = ("".join(one.get("data", {}).get("text/html", "")) for one in outputs)
    found = (line for text in texts for line in re.findall(r"<p>(.*?)</p>", text))
    return [re.sub(r"\d+ people", "people", line) for line in found]


def test_there_is_one_of_each_scale_in_the_docs() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["body", "crowd", "surface"]
    navigation = (EXAMPLES.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"notebooks/{path.stem}.md" in navigation for path in NOTEBOOKS)
