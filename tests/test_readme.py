"""What the README tells people to type works as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import marey

README = Path(__file__).resolve().parents[1] / "README.md"
EXAMPLES = re.findall(r"^```(python)?\n(.*?)^```", README.read_text().split("## Examples")[1], re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    marey.save(marey.samples.walk(seconds=1), tmp_path / "walk.bvh")
    return tmp_path


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs_as_printed(number: int, folder: Path, request: pytest.FixtureRequest) -> None:
    language, text = EXAMPLES[number]
    if "11_01" in text:
        captured = request.getfixturevalue("data_dir") / "skeleton" / "cmu_asf_amc"
        for name in ("11.asf", "11_01.amc"):
            shutil.copy(captured / name, folder)
    if language:
        program = [sys.executable, "-c", text if "import marey\n" in text else f"import marey\n{text}"]
    else:
        (folder / "marey").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m marey.cli.main "$@"\n')
        (folder / "marey").chmod(0o755)
        program = ["sh", "-ec", text]
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "MAREY_DATA": ""}
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if "marey demo" in text:
        page = (folder / "gallery" / "index.html").read_text()
        shown = re.findall(r'(?:href|src)="([^"]+)"', page)
        assert {"walk.mp4", "walk.glb", "human.png", "human.glb", "crowd.mp4", "captured.png"} <= set(shown)
        assert {"modes.png", "handles.mp4", "rebuilt.mp4", "walk-1cm.mp4"} <= set(shown)
        assert {"variants.mp4", "hole.png", "steered.mp4", "stream.mp4"} <= set(shown)
        assert {"graph.png", "eight.mp4", "eight.glb"} <= set(shown)
        assert all((folder / "gallery" / name).exists() for name in shown)


def test_every_example_is_there_in_both_languages() -> None:
    assert [language for language, _ in EXAMPLES] == ["", "python"] * 9
