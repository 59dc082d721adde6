"""Files damaged at random: whatever the bytes, a result or one clear line comes out, in little memory."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import sqlite3
import struct
import tracemalloc
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.errors import FormatError
from marey.io import bvh, cameras
from marey.surface.sequence import Texture
from tests.io.mutation import Format, Mutations
from tests.io.seeds import CAMERA, FIELD, FORMATS, MOVING, TRACKS, WALK, others_store

# `tools/mutate.py` makes more of them.
COUNT = 500


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_a_damaged_file_is_read_or_refused(kind: Format, tmp_path: Path) -> None:
    mutations = Mutations(kind, tmp_path)
    tracemalloc.start()
    try:
        outcomes = [mutations.trial(index) for index in range(COUNT)]
    finally:
        tracemalloc.stop()
    failed = [(i, o) for i, o in enumerate(outcomes) if o.kind not in ("read", "refused")]
    assert not failed, f"{len(failed)} of {COUNT}, first {failed[0]}"
    assert {outcome.kind for outcome in outcomes} == {"read", "refused"}


@pytest.mark.parametrize(
    ("old", "new"),
    [(rb"Time: \S+", b"Time: 1e-8"), (rb"Time: \S+", b"Time: 1e6"), (rb"OFFSET \S+", b"OFFSET 9e20")],
    ids=["fast", "slow", "large"],
)
def test_a_clip_no_recording_could_be_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    bvh.write(WALK, tmp_path / "walk.bvh")
    text, changes = re.subn(old, new, (tmp_path / "walk.bvh").read_bytes(), count=1)
    assert changes
    (tmp_path / "walk.bvh").write_bytes(text)
    with pytest.raises(FormatError, match=r"frames per second|km"):
        marey.load(tmp_path / "walk.bvh")


def test_the_frame_count_of_a_clip_has_plain_digits(tmp_path: Path) -> None:
    bvh.write(WALK, tmp_path / "walk.bvh")
    text = (tmp_path / "walk.bvh").read_bytes().replace(b"Frames: 20", b"Frames: \xb3")
    (tmp_path / "walk.bvh").write_bytes(text)
    with pytest.raises(FormatError, match="Frames"):
        marey.load(tmp_path / "walk.bvh")


def test_a_recording_whose_index_disagrees_with_its_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    marey.save(TRACKS, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, '(frame, id)', '(id, frame)')")
        connection.commit()
    with pytest.raises(FormatError, match="damaged SQLite database"):
        marey.load(path)


@pytest.mark.parametrize("place", [("size", 0), ("intrinsics", 0), ("distortion", 0), ("translation", 1)])
def test_a_camera_of_immense_numbers_is_refused(tmp_path: Path, place: tuple[str, int]) -> None:
    path = tmp_path / "camera.json"
    cameras.write(CAMERA, path)
    document = json.loads(path.read_text())
    document[place[0]][place[1]] = 10**400
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"camera\.json"):
        cameras.read(path)


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("thing", [FIELD, MOVING], ids=["fields", "meshes"])
def test_a_chunk_that_says_it_is_immense_is_refused_before_it_is_unpacked(tmp_path: Path, thing: Any) -> None:
    path = tmp_path / "a.zarr"
    marey.save(thing, path)
    chunk = next(
        file
        for name in ("velocities", "vertices")
        for file in (path / name).rglob("c/0/**/0")
        if file.is_file()
    )
    # A zstd frame of one segment that declares 4 GB in eight bytes.
    chunk.write_bytes(b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 4 << 30) + chunk.read_bytes()[-40:])
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="chunks of its"):
            marey.load(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_store_of_others_with_more_chunks_than_anybody_wrote_is_refused(tmp_path: Path) -> None:
    others_store(tmp_path / "a.zarr")
    edited(tmp_path / "a.zarr" / "vertices" / ".zarray", shape=[600_000, 1, 3], chunks=[1, 1, 1])
    with pytest.raises(FormatError, match="missing"):
        marey.load(tmp_path / "a.zarr")


def test_nothing_in_a_store_is_unpickled(tmp_path: Path) -> None:
    others_store(tmp_path / "a.zarr")
    edited(tmp_path / "a.zarr" / "vertices" / ".zarray", compressor={"id": "pickle"}, filters=None)
    for chunk in (tmp_path / "a.zarr" / "vertices").glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    with pytest.raises(FormatError):
        marey.load(tmp_path / "a.zarr")
    assert not (tmp_path / "ran").exists()


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_an_archive_cannot_declare_more_than_deflate_could_pack_into_it(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    header = io.BytesIO()
    shape = (1, 8_000_000, 3)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vertices.npy", header.getvalue())
    size, declared = len(header.getvalue()), len(header.getvalue()) + 192_000_000
    path.write_bytes(
        path.read_bytes().replace(struct.pack("<II", size, size), struct.pack("<II", size, declared))
    )
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="zip bomb"):
            marey.load(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_an_archive_cannot_declare_more_packed_bytes_than_it_has(tmp_path: Path) -> None:
    path = tmp_path / "a.mry"
    textured = replace(MOVING, textures=(Texture.from_image(np.zeros((4, 4, 3), np.uint8)),))
    marey.save(textured, path)
    with zipfile.ZipFile(path) as archive:
        entry = next(entry for entry in archive.infolist() if entry.filename.endswith(".bin"))
    sizes = struct.pack("<II", entry.compress_size, entry.file_size)
    path.write_bytes(path.read_bytes().replace(sizes, struct.pack("<II", 1 << 30, entry.file_size)))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"a\.mry"):
            marey.load(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_name_that_is_too_long_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        marey.load(tmp_path / f"{'x' * 600}.zarr")


def test_even_flow_of_large_images_is_no_bomb(tmp_path: Path) -> None:
    """It packs ten thousand to one."""
    still = marey.FieldSeries(np.ones((3, 1200, 1600, 2), np.float32), 25)
    marey.save(still, tmp_path / "a.zarr")
    assert np.array_equal(marey.load(tmp_path / "a.zarr").velocities, still.velocities)
