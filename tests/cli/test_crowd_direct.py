"""`marey crowd direct` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import marey
from tests.cli.commands import refused, result, run


def test_a_preset_is_written_changed_and_directed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked, out = tmp_path / "asked.json", tmp_path / "tracks.mry"
    code, printed, _ = run(capsys, "crowd", "direct", "rendezvous", "--write", asked)
    assert code == 0 and "asked.json" in printed
    changed = json.loads(asked.read_text()) | {"horizon": 20.0}
    asked.write_text(json.dumps(changed))
    picture = tmp_path / "picture.png"
    told = result(
        capsys, "crowd", "direct", "rendezvous", asked, "-o", out, "--iterations", 12, "--figure", picture
    )
    assert told["method"] in ("shooting", "collocation") and told["iterations"] > 0
    only = told["constraints"][0]
    assert only["type"] == "state" and only["error"] < only["free"] and told["overlap_max_m"] < 0.02
    tracks = marey.load(out)
    assert tracks.positions.shape == (401, 38, 2) and np.isfinite(tracks.positions).all()
    assert picture.stat().st_size > 10_000
    again = tmp_path / "again.csv"
    more = result(
        capsys, "crowd", "direct", "rendezvous", asked, "-o", again, "--start", out, "--iterations", 8
    )
    assert more["constraints"][0]["error"] <= 1.05 * only["error"]


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, asked = tmp_path / "tracks.csv", tmp_path / "asked.json"
    assert "presets: rendezvous" in refused(capsys, "crowd", "direct", "nowhere", "-o", out)
    assert "constraints" in refused(capsys, "crowd", "direct", "corridor", "-o", out)
    assert "--write goes with a preset" in refused(capsys, "crowd", "direct", "corridor", "--write", asked)
    assert "-o TRACKS" in refused(capsys, "crowd", "direct", "letters")
    assert "--people" in refused(capsys, "crowd", "direct", "letters", "-o", out, "--people", 5)
    runs = refused(capsys, "crowd", "direct", "rendezvous", "-o", out, "--runs", 3)
    assert "shooting" in runs
    asked.write_text('{"horizon": 5, "constraints": [{"type": "formation", "who": "all", "t": 5}]}')
    one = refused(capsys, "crowd", "direct", "corridor", asked, "-o", out, "--people", 9)
    assert "constraint 0 (formation): formation: give one of glyph, image, region and points" in one
    assert not out.exists()
