"""Point caches PC2 and MDD: points in the cache, all else in the mesh beside it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import FormatError, InputError, MareyError
from marey.io import obj, point_caches
from marey.surface import MeshSequence

TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0]], np.float32)


def rising(frames: int = 5, rate: float = 24.0) -> MeshSequence:
    up = np.array([0, 0.25, 0], np.float32) * np.arange(frames, dtype=np.float32)[:, None, None]
    return MeshSequence(TRIANGLE + up, [[0, 1, 2]], rate, uv=np.eye(3)[:, :2])


@pytest.mark.parametrize("ending", [".pc2", ".mdd"])
@pytest.mark.parametrize(("unit", "up"), [(None, None), ("cm", "z")])
def test_what_is_written_is_what_is_read(tmp_path: Path, ending: str, unit: str | None, up: str) -> None:
    marey.save(rising(), tmp_path / f"a{ending}", unit=unit, up=up)
    back = marey.load(tmp_path / f"a{ending}")
    np.testing.assert_allclose(back.vertices, rising().vertices, atol=1e-6)
    np.testing.assert_array_equal(back.faces, [[0, 1, 2]])
    np.testing.assert_array_equal(back.uv, np.eye(3)[:, :2])
    assert (back.frame_rate, back.name) == (24.0, "a")
    assert back.convention.up == (up or "y")


def test_pc2_is_laid_out_as_other_programs_do(tmp_path: Path) -> None:
    data = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 3, 0.0, 1.0, 2) + np.stack([TRIANGLE] * 2).tobytes()
    (tmp_path / "a.pc2").write_bytes(data)
    obj.write(rising(1), tmp_path / "mesh.obj")
    back = point_caches.read(tmp_path / "a.pc2", faces_from=tmp_path / "mesh.obj", frame_rate=50, unit="cm")
    assert (back.frames, back.frame_rate) == (2, 50)
    np.testing.assert_allclose(back.vertices[1], TRIANGLE / 100)
    marey.save(back, tmp_path / "b.pc2", unit="cm")
    assert (tmp_path / "b.pc2").read_bytes() == data


def test_mdd_is_laid_out_as_other_programs_do(tmp_path: Path) -> None:
    times = (np.arange(3) / 25).astype(">f4")
    points = np.stack([TRIANGLE] * 3).astype(">f4")
    data = struct.pack(">ii", 3, 3) + times.tobytes() + points.tobytes()
    (tmp_path / "a.mdd").write_bytes(data)
    obj.write(rising(1, rate=60.0), tmp_path / "a.obj")
    assert point_caches.read(tmp_path / "a.mdd").frame_rate == 25.0
    marey.save(point_caches.read(tmp_path / "a.mdd"), tmp_path / "b.mdd")
    assert (tmp_path / "b.mdd").read_bytes() == data


def test_mdd_times_that_count_frames_leave_the_rate_to_the_mesh(tmp_path: Path) -> None:
    points = np.stack([TRIANGLE] * 3).astype(">f4").tobytes()
    (tmp_path / "a.mdd").write_bytes(struct.pack(">iifff", 3, 3, 1, 2, 3) + points)
    obj.write(rising(1, rate=60.0), tmp_path / "a.obj")
    assert point_caches.read(tmp_path / "a.mdd").frame_rate == 60.0


def test_a_cache_without_a_mesh_says_what_to_do(tmp_path: Path) -> None:
    marey.save(rising(), tmp_path / "a.pc2")
    (tmp_path / "a.obj").unlink()
    with pytest.raises(FormatError, match=r"no a\.obj or a\.ply beside it; put the mesh .* faces_from"):
        marey.load(tmp_path / "a.pc2")
    obj.write(MeshSequence(np.zeros((1, 4, 3)), [[0, 1, 3]], 30.0), tmp_path / "a.obj")
    with pytest.raises(FormatError, match=r"moves 3 points, but a\.obj has 4 vertices"):
        marey.load(tmp_path / "a.pc2")
    with pytest.raises(InputError, match=r"from an \.obj or \.ply"):
        marey.load(tmp_path / "a.pc2", faces_from=tmp_path / "a.glb")


def test_a_mesh_of_the_users_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0\n")
    with pytest.raises(InputError, match="is not a file that marey made"):
        marey.save(rising(), tmp_path / "a.pc2")
    assert (tmp_path / "a.obj").read_text() == "v 0 0 0\n"
    assert not (tmp_path / "a.pc2").exists()


@pytest.mark.parametrize("ending", [".pc2", ".mdd"])
def test_damaged_caches_give_a_mesh_or_one_clear_line(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a{ending}"
    marey.save(rising(), file)
    good = np.frombuffer(file.read_bytes(), np.uint8)
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(300):
        bad = good.copy()
        bad[rng.integers(len(bad), size=2)] = rng.integers(256, size=2)
        if rng.random() < 0.5:
            bad[rng.integers(min(len(bad), 32))] = rng.integers(256)
        file.write_bytes(bad[: rng.integers(1, len(bad) + 1)] if rng.random() < 0.2 else bad)
        try:
            marey.load(file)
        except MareyError as error:
            assert "\n" not in str(error)
            refused += 1
    assert 100 < refused < 300
