"""What the pages of docs/ tell people to type works, page by page, from top to bottom."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.cli.main import app
from marey.errors import MareyWarning

DOCS = Path(__file__).resolve().parents[1] / "docs"
TUTORIALS = ("tutorial-body", "tutorial-surface", "tutorial-crowd")
METHODS = (
    "pose-models",
    "inverse-kinematics",
    "monte-carlo-ik",
    "compression",
    "filtering",
    "hole-filling",
    "style",
    "steering",
    "dynamics",
    "variation",
    "crowd-capture",
    "crowd-animation",
    "crowd-editing",
    "crowd-simulation",
    "crowd-direction",
    "crowd-density",
    "crowd-dataset",
    "surface-sequences",
    "surface-distances",
    "surface-interpolation",
    "surface-graphs",
    "surface-animation",
)
PAGES = (*TUTORIALS, *METHODS, "crowd-bodies", "views")
SECTIONS = ("What it computes", "Cost", "Limits", "Source")
LARGEST_PICTURE = 150_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "walks").mkdir()
    for speed in (1.0, 1.3):
        marey.save(marey.samples.walk(2, speed=speed), tmp_path / "walks" / f"walk_{speed}.bvh")
    marey.save(marey.samples.walk(2), tmp_path / "walk.bvh")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(page: str) -> list[tuple[str, str]]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text_of(page), re.M | re.S)
    return [(language, text) for language, text in found if language in ("", "python")]


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings(f"ignore::{MareyWarning.__module__}.{MareyWarning.__name__}")
def test_every_line_of_a_page_works(page: str, folder: Path) -> None:
    names: dict[str, object] = {}
    found = blocks(page)
    assert {language for language, _ in found} == {"", "python"}
    for language, text in found:
        if language:
            exec(compile(text, f"{page}.md", "exec"), names)
            continue
        for line in text.splitlines():
            command, *arguments = shlex.split(line, comments=True)
            assert command == "marey"
            assert app(arguments, standalone_mode=False) in (None, 0), line
    assert len(os.listdir(folder)) > 4  # noqa: PTH208 - only how many


def test_the_programs_of_the_page_on_processes_run(folder: Path) -> None:
    names: dict[str, object] = {}
    programs = [text for language, text in blocks("processes") if language]
    for text in programs:
        exec(compile(text, "processes.md", "exec"), names)
    assert len(programs) > 2


@pytest.mark.parametrize("page", [*PAGES, "processes", "formats", "architecture"])
def test_links_and_pictures_of_a_page_are_there(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", text_of(page)):
        name, _, section = target.partition("#")
        if "://" in name:
            continue
        assert (DOCS / name).exists(), target
        if section:
            headings = re.findall(r"^#+ (.+)$", text_of(Path(name).stem if name else page), re.M)
            assert section in [
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            ]


@pytest.mark.parametrize("page", [*METHODS, "processes"])
def test_a_page_on_a_method_says_what_it_computes_at_which_cost_and_what_it_cannot(page: str) -> None:
    text = text_of(page)
    headings = [heading for heading in re.findall(r"^## (.+)$", text, re.M) if heading in SECTIONS]
    assert headings == list(SECTIONS)
    introduction, _, rest = text.partition("\n## ")
    assert re.search(r"^!\[.+\]\(images/", introduction, re.M), "a picture before the first section"
    computed = rest.partition("What it computes\n")[2].partition("\n## ")[0]
    assert re.search(r"^\$\$.+?\$\$$", computed, re.M | re.S), "an equation"
    assert re.search(r"\d", rest.partition("Cost\n")[2].partition("\n## ")[0]), "a figure"


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_goes_step_by_step_and_knows_mishaps(page: str) -> None:
    headings = re.findall(r"^## (.+)$", text_of(page), re.M)
    steps = [heading for heading in headings if re.match(r"\d+\. ", heading)]
    assert [int(step.split(".")[0]) for step in steps] == list(range(1, len(steps) + 1))
    assert 8 <= len(steps) <= 12 and "When something looks wrong" in headings
    assert "marey studio " in text_of(page)


@pytest.mark.parametrize("page", [*PAGES, "processes"])
def test_pictures_of_a_page_are_small(page: str) -> None:
    for name in re.findall(r"\]\((images/[^)]+)\)", text_of(page)):
        assert (DOCS / name).stat().st_size < (3 if name.endswith(".gif") else 1) * LARGEST_PICTURE, name


def test_the_page_on_compression_says_the_source_s_distortion_rightly() -> None:
    from marey.body.compare import relative_distortion

    walk = marey.samples.walk(1)
    off = marey.body.compress(walk, max_error=0.05).decode()
    positions = [motion.positions().reshape(motion.frames, -1) for motion in (walk, off)]
    spread = np.linalg.norm(positions[0] - positions[0].mean(axis=0))
    d_f = 100 * np.linalg.norm(positions[0] - positions[1]) / spread
    told = relative_distortion(walk, off)
    assert told.frobenius == pytest.approx(d_f) and told.squared == pytest.approx(d_f**2 / 100)


@pytest.mark.parametrize("script", sorted(path.name for path in (DOCS.parent / "examples").glob("*.py")))
def test_an_example_to_copy_runs_without_real_data(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [script])
    runpy.run_path(str(DOCS.parent / "examples" / script), run_name="__main__")
    assert capsys.readouterr().out.strip()
