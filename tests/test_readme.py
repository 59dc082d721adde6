"""What the README and the page of examples tell people to type works as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import MareyWarning
from tests.cli.commands import call
from tests.conftest import Shown

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(python)?\n(.*?)^```", re.M | re.S)
README = [block for block in BLOCK.findall((ROOT / "README.md").read_text()) if "make demo" not in block[1]]
EXAMPLES = BLOCK.findall((ROOT / "docs" / "examples.md").read_text())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    marey.save(marey.samples.walk(seconds=1), tmp_path / "walk.bvh")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAREY_DATA", "")
    return tmp_path


@pytest.mark.parametrize("number", range(len(README)))
def test_the_readme_runs_as_printed_in_an_empty_folder(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    _run(*README[number], tmp_path, request)
    if (tmp_path / "pose.png").exists():
        walk = marey.samples.walk()
        assert not np.array_equal(marey.load("variants/walk-01.bvh").rotations, walk.rotations)
    if (tmp_path / "walked.glb").exists():
        way = marey.load("walked.glb").vertices
        assert np.linalg.norm(way[-1].mean(axis=0) - way[0].mean(axis=0)) > 2.0
    if (tmp_path / "film").exists():
        people = marey.load("film/trajectories.csv")
        assert np.nanmedian(np.linalg.norm(np.diff(people.positions, axis=0), axis=-1)) > 0.005
        assert float(np.abs(marey.load("flow.zarr").velocities).max()) > 0.01


def test_the_readme_is_short_and_has_an_example_of_each_scale() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 500
    commands = "\n".join(block for _, block in README)
    assert all(f"marey {scale} " in commands for scale in ("body", "surface", "crowd"))


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
@pytest.mark.filterwarnings(f"ignore::{MareyWarning.__module__}.{MareyWarning.__name__}")
def test_example_runs_as_printed(number: int, folder: Path, request: pytest.FixtureRequest) -> None:
    language, text = EXAMPLES[number]
    if "11_01" in text:
        captured = request.getfixturevalue("data_dir") / "skeleton" / "cmu_asf_amc"
        for name in ("11.asf", "11_01.amc"):
            shutil.copy(captured / name, folder)
    _run(language, text, folder, request)


def _run(language: str, text: str, folder: Path, request: pytest.FixtureRequest) -> None:
    """Run a block: Python complete in itself, or commands line by line."""
    if language:
        exec(compile(text, "README.md", "exec"), {})
        return
    for line in text.splitlines():
        _type(line, folder, request)


def _type(line: str, folder: Path, request: pytest.FixtureRequest) -> None:
    """Run a line of a shell example: our commands in this process, the demo once for all tests."""
    words = shlex.split(line, comments=True)
    if words[:1] != ["marey"]:
        subprocess.run(["sh", "-ec", line], cwd=folder, check=True)
    elif words[1] == "demo":
        shown: Shown = request.getfixturevalue("demo")
        assert words[2] == "--out"
        (folder / words[3]).symlink_to(shown.folder)
    else:
        assert call(*words[1:]) == 0, line


def test_every_example_is_there_in_both_languages() -> None:
    assert [language for language, _ in EXAMPLES] == ["", "python"] * 9
