"""Mesh animations in GLB move in three.js as they do here; skipped where Node or three is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import marey
from tests.browser import LONG

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / ".node/node_modules/three").is_dir(),
    reason="Node and three are needed (make .node/.ready)",
)
@pytest.mark.parametrize("max_error", [0.0, 1e-3])
def test_three_shows_every_vertex_where_it_is(tmp_path: Path, max_error: float) -> None:
    # Only long animations are stored in few shapes.
    walk = marey.samples.mesh_sequence()[: 24 if max_error == 0 else 140]
    file, expected = tmp_path / "walk.glb", tmp_path / "expected.json"
    marey.save(walk, file, max_error=max_error)
    frames = [0, 1, 11, 23]
    orders = {
        "times": [frame / walk.frame_rate for frame in frames],
        "positions": [walk.vertices[frame].ravel().tolist() for frame in frames],
    }
    expected.write_text(json.dumps(orders))
    command = ["node", str(ROOT / "tools/check_three.mjs"), str(file), str(expected)]
    told = subprocess.run(
        command, cwd=ROOT / ".node", capture_output=True, text=True, check=False, timeout=LONG
    )
    assert told.returncode == 0, told.stderr
    assert float(told.stdout) <= max_error + 1e-5
