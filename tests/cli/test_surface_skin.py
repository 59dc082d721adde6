"""`marey surface skin`: 4D data from motion capture, on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey import MeshSequence, samples
from tests.cli.commands import refused, result


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    for name, speed in (("stroll", 0.9), ("stride", 1.6)):
        marey.save(samples.walk(seconds=0.6, speed=speed, stature=1.6), folder / f"{name}.bvh")
    return folder


def test_a_clip_becomes_a_mesh_sequence(
    capsys: pytest.CaptureFixture[str], clips: Path, tmp_path: Path
) -> None:
    out = tmp_path / "stroll.npz"
    told = result(capsys, "surface", "skin", clips / "stroll.bvh", "-o", out, "--vertices", 600)
    assert told["sequences"] == 1 and told["vertices"] == 600 and told["files"] == [str(out)]
    sequence = marey.load(out)
    assert isinstance(sequence, MeshSequence)
    assert sequence.frames == told["frames"] and sequence.frame_rate == 30
    assert abs(told["ground_cm"]) < 1.5


def test_clips_become_a_folder_of_one_subject(
    capsys: pytest.CaptureFixture[str], clips: Path, tmp_path: Path
) -> None:
    out = tmp_path / "subject"
    words = (clips / "stroll.bvh", clips / "stride.bvh", "-o", out, "--vertices", 500)
    told = result(capsys, "surface", "skin", *words, "--method", "dual_quaternion", "--frame-rate", 15)
    assert told["frame_rate"] == 15
    first, second = (marey.load(out / f"{name}.npz") for name in ("stroll", "stride"))
    np.testing.assert_array_equal(first.faces, second.faces)


def test_another_character_may_wear_them(
    capsys: pytest.CaptureFixture[str], clips: Path, tmp_path: Path
) -> None:
    person = tmp_path / "person.glb"
    marey.save(samples.human(samples.walk(seconds=0.1, frame_rate=10)), person)
    out = tmp_path / "worn.npz"
    told = result(
        capsys, "surface", "skin", clips / "stroll.bvh", "-o", out, "--character", person, "--vertices", 700
    )
    assert told["vertices"] == 700
    height = np.ptp(marey.load(out).vertices[0, :, 1])
    assert 1.6 < height < 1.9


def test_commands_on_surfaces_take_clips_too(clips: Path) -> None:
    from marey.cli._inputs import Given
    from marey.cli._inputs import library as load_library

    library = load_library([clips / "stroll.bvh", clips / "stride.bvh"], Given(vertices=500))
    assert library.names == ("stroll", "stride") and library.vertices(0).shape == (500, 3)


def test_meshes_and_clips_are_decimated_alike(clips: Path, tmp_path: Path) -> None:
    from marey.cli._inputs import Given
    from marey.cli._inputs import library as load_library

    meshes = tmp_path / "meshes.npz"
    marey.save(samples.mesh_sequence(samples.walk(seconds=0.2, frame_rate=30)), meshes)
    library = load_library([meshes, clips / "stride.bvh"], Given(vertices=500))
    assert library.names == ("meshes", "stride") and library.vertices(0).shape == (500, 3)


def test_bad_requests_are_one_line(capsys: pytest.CaptureFixture[str], clips: Path, tmp_path: Path) -> None:
    clip = clips / "stroll.bvh"
    command = ("surface", "skin")
    several = refused(capsys, *command, clip, clips / "stride.bvh", "-o", tmp_path / "x.npz")
    assert "2 clips go to a folder" in several
    assert "--vertices 2" in refused(capsys, *command, clip, "-o", tmp_path / "x.npz", "--vertices", 2)
    assert "--method cubic" in refused(capsys, *command, clip, "-o", tmp_path / "x.npz", "--method", "cubic")
    assert "no folder" in refused(capsys, *command, clip, "-o", tmp_path / "none" / "x.npz")
    assert "not a rigged mesh" in refused(
        capsys, *command, clip, "-o", tmp_path / "x.npz", "--character", clip
    )
    assert "no such file" in refused(
        capsys, *command, clip, "-o", tmp_path / "x.npz", "--character", tmp_path / "nobody.glb"
    )
    assert "--frame-rate 0" in refused(capsys, *command, clip, "-o", tmp_path / "x.npz", "--frame-rate", 0)
    assert "called stroll" in refused(capsys, *command, clip, clip, "-o", tmp_path / "folder")
    assert "write meshes as" in refused(capsys, *command, clip, "-o", tmp_path / "x.bvh")
    assert not list(tmp_path.iterdir())
