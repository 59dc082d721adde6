"""Mesh sequences in zarr stores: what goes in comes out, frames as they come, damage is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import FormatError, InputError, MareyError
from marey.io import zarr_store
from marey.surface import MeshSequence
from marey.surface.sequence import Texture

zarr = pytest.importorskip("zarr")


def blob(frames: int = 7, dtype: type = np.float32) -> MeshSequence:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (4, 4, 3), dtype=np.uint8)
    return MeshSequence(
        rng.normal(size=(frames, 9, 3)).astype(dtype),
        rng.integers(0, 9, (11, 3)),
        23.976,
        uv=rng.random((5, 2)),
        uv_faces=rng.integers(0, 5, (11, 3)),
        colours=rng.random((9, 3)),
        textures=(Texture.from_image(image),),
        name="blob",
    ).with_convention(unit="cm", up="z")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zarr_store, "CHUNK_BYTES", 3 * 9 * 3 * 4)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_stored_comes_back(tmp_path: Path, dtype: type) -> None:
    sequence = blob(dtype=dtype)
    marey.save(sequence, tmp_path / "a.zarr")
    back = marey.load(tmp_path / "a.zarr")
    assert back.vertices.dtype == dtype
    for name in ("vertices", "faces", "uv", "uv_faces", "colours"):
        np.testing.assert_array_equal(getattr(back, name), getattr(sequence, name))
    assert (back.frame_rate, back.name, back.convention) == (23.976, "blob", sequence.convention)
    assert back.textures[0].encoded() == sequence.textures[0].encoded()


@pytest.mark.usefixtures("small_chunks")
def test_blocks_make_up_the_sequence(tmp_path: Path) -> None:
    marey.save(blob(), tmp_path / "a.zarr")
    parts = list(zarr_store.mesh_blocks(tmp_path / "a.zarr"))
    assert [part.frames for part in parts] == [3, 3, 1]
    np.testing.assert_array_equal(np.concatenate([part.vertices for part in parts]), blob().vertices)


@pytest.mark.usefixtures("small_chunks")
def test_frames_are_stored_as_they_come(tmp_path: Path) -> None:
    frames = (blob().vertices[0] + i for i in range(8))
    assert zarr_store.write_frames(frames, tmp_path / "a.zarr", like=blob()[0]) == 8
    np.testing.assert_array_equal(marey.load(tmp_path / "a.zarr").vertices[7], blob().vertices[0] + 7)


def test_a_stream_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="frame 1: expected shape"):
        zarr_store.write_frames([blob().vertices[0], np.zeros((2, 3))], tmp_path / "a.zarr", like=blob()[0])
    with pytest.raises(InputError, match="no frame to write"):
        zarr_store.write_frames([], tmp_path / "a.zarr", like=blob()[0])
    assert not list(tmp_path.iterdir())


def test_fields_and_meshes_are_told_apart(tmp_path: Path) -> None:
    fields = marey.FieldSeries(np.ones((2, 3, 4, 2), np.float32), 25)
    marey.save(fields, tmp_path / "f.zarr")
    marey.save(blob(), tmp_path / "m.zarr")
    assert isinstance(marey.load(tmp_path / "f.zarr"), marey.FieldSeries)
    assert isinstance(marey.load(tmp_path / "m.zarr"), MeshSequence)


def test_stores_of_others_are_read(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "other.zarr", mode="w")
    group.create_array("vertices", data=np.arange(36, dtype=np.int32).reshape(4, 3, 3), chunks=(2, 2, 3))
    group.create_array("faces", data=np.array([[0, 1, 2]]))
    back = marey.load(tmp_path / "other.zarr")
    assert (back.frame_rate, back.name, back.vertices.dtype) == (30.0, "other", np.float64)
    np.testing.assert_array_equal(back.vertices.ravel(), np.arange(36))


@pytest.mark.usefixtures("small_chunks")
def test_damage_is_said(tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    marey.save(blob(), store)
    copy = tmp_path / "b.zarr"

    def broken(name: str) -> Path:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)
        return copy / name

    broken("vertices/c/1/0/0").unlink()
    with pytest.raises(FormatError, match="chunk of frame 3 is missing"):
        marey.load(copy)
    broken("vertices/c/1/0/0").write_bytes(b"nonsense")
    with pytest.raises(FormatError, match="frames 3 to 6 cannot be read"):
        marey.load(copy)
    header = broken("vertices/zarr.json")
    header.write_text(header.read_text().replace("9,", "8,"))
    with pytest.raises(FormatError):
        marey.load(copy)
    header = broken("zarr.json")
    header.write_text(header.read_text().replace('"version": 1', '"version": 9'))
    with pytest.raises(FormatError, match="install a newer one"):
        marey.load(copy)


def test_a_store_that_declares_far_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("vertices", shape=(10**9, 1000, 3), chunks=(1, 1000, 3), dtype="float32")
    with pytest.raises(FormatError, match="would unpack to"):
        marey.load(tmp_path / "a.zarr")


@pytest.mark.usefixtures("small_chunks")
def test_damaged_headers_give_a_mesh_or_one_clear_line(tmp_path: Path) -> None:
    marey.save(blob(), tmp_path / "a.zarr")
    rng = np.random.default_rng(3)
    refused = 0
    for header in (tmp_path / "a.zarr" / "zarr.json", tmp_path / "a.zarr" / "vertices" / "zarr.json"):
        good = header.read_text()
        for _ in range(60):
            text = list(good)
            text[rng.integers(len(text))] = "0-x9{"[rng.integers(5)]
            header.write_text("".join(text))
            try:
                marey.load(tmp_path / "a.zarr")
            except MareyError as error:
                assert "\n" not in str(error)
                refused += 1
        header.write_text(good)
    assert refused > 20
    assert json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())
