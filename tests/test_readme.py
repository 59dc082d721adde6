"""What the README tells people to type works as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import marey
from marey.errors import MareyWarning
from tests.cli.commands import call
from tests.conftest import Shown

README = Path(__file__).resolve().parents[1] / "README.md"
EXAMPLES = re.findall(r"^```(python)?\n(.*?)^```", README.read_text().split("## Examples")[1], re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    marey.save(marey.samples.walk(seconds=1), tmp_path / "walk.bvh")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAREY_DATA", "")
    return tmp_path


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
@pytest.mark.filterwarnings(f"ignore::{MareyWarning.__module__}.{MareyWarning.__name__}")
def test_example_runs_as_printed(number: int, folder: Path, request: pytest.FixtureRequest) -> None:
    language, text = EXAMPLES[number]
    if "11_01" in text:
        captured = request.getfixturevalue("data_dir") / "skeleton" / "cmu_asf_amc"
        for name in ("11.asf", "11_01.amc"):
            shutil.copy(captured / name, folder)
    if language:
        exec(compile(text, "README.md", "exec"), {"marey": marey})
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
