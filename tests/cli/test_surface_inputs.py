"""What the surface commands are fed: skeleton clips, characters with several clips, meshes, as they come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.surface.sequence import Library
from tests.cli.commands import refused, result, run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def clips(tmp_path: Path) -> list[Path]:
    walk = marey.samples.walk()
    files = [tmp_path / "walk one.bvh", tmp_path / "läufer:2.bvh"]
    for file, frames in zip(files, (slice(0, 90), slice(60, 160)), strict=True):
        marey.save(walk[frames], file)
    return files


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A character with two clips, of 24 and of 30 frames a second."""
    human = marey.samples.human()
    walk = marey.samples.walk()
    slow = replace(walk[:80].resample(24.0), name="slow")
    fast = replace(walk[40:120].resample(30.0), name="fast")
    file = tmp_path / "hero.glb"
    dressed = [marey.stage.skin_clip(human, clip).motion for clip in (slow, fast)]
    motions = tuple(replace(m, name=clip.name) for m, clip in zip(dressed, (slow, fast), strict=True))
    marey.save(replace(human, motions=motions), file)
    return file


def test_skeleton_clips_go_from_graph_to_animation(
    clips: list[Path], tmp_path: Path, capsys: Capture
) -> None:
    graph, out = tmp_path / "subject.mry", tmp_path / "over.npz"
    told = result(capsys, "surface", "graph", *clips, "-o", graph, "--vertices", 300, "--windows", "5:20")
    assert told["sequences"] == 2
    assert told["transitions"] > 0
    facts = result(capsys, "surface", "info", graph)
    assert [one["name"] for one in facts["sequences"]] == ["walk one", "läufer:2"]
    assert facts["vertices"] <= 300
    made = result(
        capsys, "surface", "animate", graph, "-o", out, "--from", "walk one:2", "--to", "läufer:2:-3"
    )
    assert marey.load(out).frames == made["frames"]


def test_skeleton_clips_are_compared_and_joined_as_meshes(
    clips: list[Path], tmp_path: Path, capsys: Capture
) -> None:
    apart, out = tmp_path / "apart.npz", tmp_path / "over.npz"
    told = result(capsys, "surface", "distance", *clips, "-o", apart, "--vertices", 300)
    assert told["metric"] == "surface"
    words = ("surface", "transition", f"{clips[0]}:4", f"{clips[1]}:-4", out, "--vertices", 300)
    joined = result(capsys, *words, "--length", 12)
    meshes = marey.load(out)
    assert meshes.frames == joined["frames"]
    assert meshes.vertices.shape[1] <= 300
    assert "skeleton metric" in refused(
        capsys, "surface", "distance", *clips, "-o", apart, "--metric", "skeleton", "--vertices", 300
    )


def test_clips_of_a_character_are_brought_to_one_frame_rate(
    several: Path, tmp_path: Path, capsys: Capture
) -> None:
    graph = tmp_path / "hero.mry"
    code, _, err = run(capsys, "surface", "graph", several, "-o", graph, "--vertices", 300, "--json")
    assert code == 0
    assert "slow: 24 frames per second resampled to 30" in err
    library = marey.load(graph).library
    assert isinstance(library, Library)
    assert library.frame_rate == 30
    assert library.names == ("hero-slow", "hero-fast")
    told = result(
        capsys, "surface", "transition", f"{several}:slow:2", f"{several}:fast:-2", tmp_path / "x.npz",
        "--vertices", 300, "--length", 10,
    )  # fmt: skip
    assert told["length"] >= 2


def test_clips_take_the_frame_rate_of_the_meshes_beside_them(
    clips: list[Path], tmp_path: Path, capsys: Capture
) -> None:
    mesh = tmp_path / "mesh.npz"
    result(capsys, "surface", "skin", clips[0], "-o", mesh, "--frame-rate", 20)
    told = result(capsys, "surface", "distance", mesh, clips[0], "-o", tmp_path / "d.npz", "--triangles", 200)
    values = marey.load(tmp_path / "d.npz").values
    frames = told["frames"] // 2
    np.testing.assert_allclose(np.diagonal(values[:frames, frames:]), 0, atol=1e-3)


def test_options_without_effect_are_refused(clips: list[Path], tmp_path: Path, capsys: Capture) -> None:
    graph, apart = tmp_path / "subject.mry", tmp_path / "d.npz"
    few = ("--vertices", 200, "--windows", "4:8")
    run(capsys, "surface", "graph", clips[0], "-o", graph, *few)
    assert "is a graph" in refused(
        capsys, "surface", "graph", graph, "-o", tmp_path / "b.mry", "--vertices", 9
    )
    run(capsys, "surface", "distance", clips[0], "-o", apart, "--vertices", 200)
    words = ("surface", "graph", clips[0], "-o", graph, *few, "--distances", apart, "--triangles", 5)
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "--triangles" in err.splitlines()[-1]


def test_what_is_too_short_for_transitions_is_named(tmp_path: Path, capsys: Capture) -> None:
    walk = marey.samples.mesh_sequence()
    files = [tmp_path / name for name in ("long.npz", "brief.npz")]
    for file, frames in zip(files, (slice(0, 40), slice(3, 7)), strict=True):
        marey.save(walk[frames], file)
    words = ("surface", "graph", *files, "-o", tmp_path / "g.mry", "--triangles", 100)
    code, _, err = run(capsys, *words, "--windows", "5:12")
    assert code == 0
    assert "no transition enters or leaves brief" in err
    reference = f"{files[0]}:39"
    told = refused(capsys, "surface", "transition", reference, f"{files[0]}:30", tmp_path / "t.npz")
    assert f"{reference}: there are 1 frames from it on" in told
    told = refused(capsys, "surface", "transition", f"{files[0]}:3", f"{files[0]}:2", tmp_path / "t.npz")
    assert "long.npz:2: there are 3 frames up to it" in told


def test_meshes_of_absurd_size_or_rate_are_told(tmp_path: Path, capsys: Capture) -> None:
    walk = marey.samples.mesh_sequence()[:6]
    file = tmp_path / "huge.npz"
    np.savez(file, vertices=walk.vertices.astype(np.float64) * 1e200, faces=walk.faces)
    out = tmp_path / "d.npz"
    assert "check the unit" in refused(capsys, "surface", "distance", file, "-o", out)
    assert "no skeleton clip" in refused(
        capsys, "surface", "distance", file, "-o", out, "--character", "human"
    )
    words = ("surface", "graph", file, "-o", tmp_path / "g.mry", "--from-frame-rate", "1e300")
    assert "--windows" not in refused(capsys, *words)


def test_orders_beyond_an_hour_are_refused(tmp_path: Path, capsys: Capture) -> None:
    graph, keys = tmp_path / "g.mry", tmp_path / "keys.csv"
    file = tmp_path / "walk.npz"
    marey.save(marey.samples.mesh_sequence()[:40], file)
    run(capsys, "surface", "graph", file, "-o", graph, "--triangles", 100, "--windows", "5:12")
    keys.write_text("pose,time\nwalk:12,0\nwalk:20,1e9\n")
    words = ("surface", "animate", graph, "-o", tmp_path / "x.npz")
    assert "keys.csv:3: time 1e+09" in refused(capsys, *words, "--poses", keys)
    ends = ("--from", "walk:12", "--to", "walk:20")
    assert "write meshes" in refused(capsys, *words[:3], "-o", tmp_path / "x.csv", *ends)
    assert "--seconds" in refused(capsys, *words, *ends, "--seconds", "1e12")
    assert "--tolerance" in refused(capsys, *words, "--poses", keys, "--tolerance", "nan")
