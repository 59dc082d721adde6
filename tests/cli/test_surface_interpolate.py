"""`marey surface interpolate`, as a user types it."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import marey
from marey import samples
from marey.cli._options import parse_frame_reference
from tests.cli.commands import refused, result

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    marey.save(samples.mesh_sequence()[:20], tmp_path / "walk.npz")
    return tmp_path / "walk.npz"


def test_two_frames_give_a_mesh_between_with_smaller_errors_than_straight_lines(
    walk: Path, tmp_path: Path, capsys: Capture
) -> None:
    told = result(capsys, "surface", "interpolate", f"{walk}:0", f"{walk}:-1", tmp_path / "half.obj")
    assert told["volume_error"] < told["linear_volume_error"]
    assert told["edge_error"] < told["linear_edge_error"]
    assert told["milliseconds"] > 0
    assert marey.load(tmp_path / "half.obj").vertices.shape[1] == samples.mesh_sequence().vertices.shape[1]


def test_frames_run_from_one_end_to_the_other(walk: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ("surface", "interpolate", f"{walk}:2", f"{walk}:12", tmp_path / "way.npz", "--count", 5)
    assert result(capsys, *words)["frames"] == 5
    found, source = marey.load(tmp_path / "way.npz"), marey.load(walk)
    np.testing.assert_allclose(found.vertices[[0, -1]], source.vertices[[2, 12]], atol=1e-6)


def test_a_picture_shows_a_row_of_weights_beside_straight_lines(
    walk: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = ("surface", "interpolate", f"{walk}:0", f"{walk}:9")
    assert result(capsys, *words, tmp_path / "both.png")["frames"] == 5
    some = ("--at", "0.2,0.8", "--method", "linear")
    assert result(capsys, *words, tmp_path / "one.png", *some)["frames"] == 2
    both, one = (cv2.imread(str(tmp_path / name)) for name in ("both.png", "one.png"))
    assert both.shape[0] > 1.5 * one.shape[0]


def test_a_clip_shows_both_side_by_side(walk: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ("surface", "interpolate", f"{walk}:0", f"{walk}:9", tmp_path / "both.mp4", "--count", 3)
    assert result(capsys, *words)["frames"] == 3
    clip = marey.load(tmp_path / "both.mp4")
    assert clip.frames == 3
    pictures = list(clip)
    rows, columns = pictures[1].shape[:2]
    left, right = pictures[1][rows // 8 :, : columns // 2], pictures[1][rows // 8 :, columns // 2 :]
    assert np.abs(left.astype(int) - right).max() > 20


def test_mistakes_are_told_in_one_line(walk: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "x.obj"

    def told(*words: object) -> str:
        return refused(capsys, "surface", "interpolate", *words)

    assert "numbers from 0 to 1" in told(f"{walk}:0", f"{walk}:1", out, "--at", "0.5,2")
    assert "write numbers" in told(f"{walk}:0", f"{walk}:1", out, "--at", "half")
    assert "not both" in told(f"{walk}:0", f"{walk}:1", out, "--at", "0.5", "--count", "3")
    assert "there is no frame 99" in told(f"{walk}:0", f"{walk}:99", out)
    assert "20 frames" in told(walk, f"{walk}:1", out)
    assert "one of poisson" in told(f"{walk}:0", f"{walk}:1", out, "--method", "cubic")
    assert "write meshes as" in told(f"{walk}:0", f"{walk}:1", tmp_path / "x.bvh")
    (tmp_path / "triangle.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert "connectivity" in told(f"{walk}:0", tmp_path / "triangle.obj", out)
    np.savez(tmp_path / "points.npz", vertices=np.ones((2, 4, 3)), faces=np.zeros((0, 3), int))
    assert "no faces" in told(f"{tmp_path}/points.npz:0", f"{tmp_path}/points.npz:1", out)
    assert "too many at once" in told(f"{walk}:0", f"{walk}:1", out, "--count", "9999")
    assert "from 2 to" in told(f"{walk}:0", f"{walk}:1", out, "--count", "1000000000")
    assert "write numbers" in told(f"{walk}:0", f"{walk}:1", out, "--at", "nan")
    assert "no folder" in told(f"{walk}:0", f"{walk}:1", tmp_path / "nowhere" / "x.obj")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["points.npz", "triangle.obj", "walk.npz"]


def test_a_mesh_without_extent_is_drawn_as_nothing(tmp_path: Path, capsys: Capture) -> None:
    flat = {"vertices": np.zeros((2, 4, 3)), "faces": np.array([[0, 1, 2], [0, 2, 3]])}
    np.savez(tmp_path / "nothing.npz", **flat)
    ends = f"{tmp_path}/nothing.npz:0", f"{tmp_path}/nothing.npz:1"
    assert result(capsys, "surface", "interpolate", *ends, tmp_path / "nothing.png")["edge_error"] == 0


def test_a_clip_of_a_character_is_named_between_file_and_frame(tmp_path: Path, capsys: Capture) -> None:
    human = samples.human()
    marey.save(human, tmp_path / "human.glb")
    words = ("surface", "interpolate", f"{tmp_path}/human.glb:0", f"{tmp_path}/human.glb:20")
    assert result(capsys, *words, tmp_path / "between.ply")["frames"] == 1


def test_a_path_with_colons_is_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "take:3"
    odd.write_text("")
    assert parse_frame_reference(str(odd)).file == odd
    assert parse_frame_reference(f"{odd}:7").frame == 7
    assert parse_frame_reference(f"{odd}:7").file == odd
    assert parse_frame_reference(f"{odd}:Run:-1").clip == "Run"
    assert parse_frame_reference("C:\\takes\\walk.npz:4").frame == 4
    assert str(parse_frame_reference("C:\\takes\\walk.npz").file) == "C:\\takes\\walk.npz"
