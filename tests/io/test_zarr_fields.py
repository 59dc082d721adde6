"""Field series on disk: round trips, growth block by block, resuming, and stores that are not ours."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.fields import FieldSeries
from marey.describe import info
from marey.errors import FormatError, InputError
from marey.io import LIMITS, zarr_store
from marey.io.zarr_store import FieldWriter, field_blocks, write
from marey.io.zarr_store import read_fields as read

zarr = pytest.importorskip("zarr")

HOMOGRAPHY = [[0.02, 0.0, -3.0], [0.0, 0.03, -2.0], [0.0, 0.0001, 1.0]]


def random_series(frames=9, rows=6, columns=8, dtype=np.float32, seed=0) -> FieldSeries:
    rng = np.random.default_rng(seed)
    mask = rng.random((rows, columns)) > 0.3
    velocities = rng.normal(size=(frames, rows, columns, 2)).astype(dtype)
    return FieldSeries(velocities, 29.97, mask, HOMOGRAPHY, "strike")


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of four frames of the small series below."""
    monkeypatch.setattr(zarr_store, "CHUNK_BYTES", 4 * 6 * 8 * 2 * 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_series_comes_back_bit_for_bit(tmp_path, dtype, small_chunks):
    series = random_series(dtype=dtype)
    marey.save(series, tmp_path / "flow.zarr")
    back = marey.load(tmp_path / "flow.zarr")
    assert back.velocities.dtype == dtype
    assert np.array_equal(back.velocities, series.velocities)
    assert np.array_equal(back.mask, series.mask)
    assert np.array_equal(back.homography, series.homography)
    assert (back.frame_rate, back.name) == (29.97, "strike")
    assert [p.name for p in tmp_path.iterdir()] == ["flow.zarr"]


def test_zarr_itself_reads_what_we_write(tmp_path):
    series = random_series()
    write(series, tmp_path / "flow.zarr")
    group = zarr.open_group(tmp_path / "flow.zarr", mode="r")
    assert np.array_equal(group["velocities"][:], series.velocities)
    assert np.array_equal(group["mask"][:], series.mask)
    assert group.attrs["marey"]["frame_rate"] == 29.97


def test_half_precision_halves_the_numbers_and_says_how_wrong_it_is(tmp_path):
    series = random_series()
    with FieldWriter.like(tmp_path / "flow.zarr", series, precision="float16") as writer:
        writer.append(series.velocities, series.foreground)
    back = read(tmp_path / "flow.zarr")
    assert back.velocities.dtype == np.float32
    assert np.allclose(back.velocities, series.velocities, rtol=5e-4, atol=1e-6)
    assert zarr.open_group(tmp_path / "flow.zarr", mode="r")["velocities"].dtype == np.float16
    with pytest.raises(InputError, match="too large for float16"):
        FieldWriter(tmp_path / "b.zarr", 2, 2, 25, precision="float16").append(np.full((1, 2, 2, 2), 1e6))


def test_a_series_needs_no_folder(small_chunks):
    store = zarr.storage.MemoryStore()
    series = random_series(frames=9)
    write(series, store)
    assert np.array_equal(read(store).velocities, series.velocities)
    assert [part.frames for part in field_blocks(store)] == [4, 4, 1]
    with FieldWriter.resume(store) as writer:
        writer.append(series.velocities[:2])
    assert read(store).frames == 11


def test_a_store_may_lie_at_an_address(tmp_path):
    series = random_series(frames=9)
    marey.save(series, f"file://{tmp_path}/flow.zarr")
    assert np.array_equal(marey.load(f"file://{tmp_path}/flow.zarr").velocities, series.velocities)
    marey.save(series, "memory://captures/flow.zarr")
    assert np.array_equal(marey.load("memory://captures/flow.zarr").velocities, series.velocities)
    assert marey.io.header("memory://captures/flow.zarr")["frames"] == 9
    mesh = marey.surface.MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25)
    marey.save(mesh, "memory://captures/walk.zarr")
    assert marey.load("memory://captures/walk.zarr", marey.surface.MeshSequence).frames == 2
    with pytest.raises(FormatError, match=r"^memory://captures/none\.zarr: is not a zarr store"):
        marey.load("memory://captures/none.zarr")


def test_a_series_may_grow_by_blocks_of_any_length(tmp_path, small_chunks):
    series = random_series(frames=23)
    with FieldWriter(tmp_path / "flow.zarr", 6, 8, 29.97, mask=series.mask) as writer:
        assert writer.chunk == 4
        for start, stop in ((0, 1), (1, 3), (3, 14), (14, 14), (14, 23)):
            writer.append(series.velocities[start:stop])
    assert np.array_equal(read(tmp_path / "flow.zarr").velocities, series.velocities)


def test_blocks_of_a_series_are_the_series(tmp_path, small_chunks):
    series = random_series(frames=10)
    write(series, tmp_path / "flow.zarr")
    parts = list(field_blocks(tmp_path / "flow.zarr"))
    assert [part.frames for part in parts] == [4, 4, 2]
    assert np.array_equal(np.concatenate([part.velocities for part in parts]), series.velocities)


def test_an_interrupted_capture_is_valid_and_goes_on(tmp_path, small_chunks):
    series = random_series(frames=20)
    path = tmp_path / "flow.zarr"
    with pytest.raises(KeyboardInterrupt), FieldWriter(path, 6, 8, 29.97) as writer:
        writer.append(series.velocities[:10])
        raise KeyboardInterrupt
    assert np.array_equal(read(path).velocities, series.velocities[:8])
    with FieldWriter.resume(path) as writer:
        assert writer.frames == 8
        writer.append(series.velocities[8:13])
    assert read(path).frames == 13
    with FieldWriter.resume(path) as writer:
        writer.append(series.velocities[writer.frames :])
    assert np.array_equal(read(path).velocities, series.velocities)


def test_frames_written_but_not_counted_do_not_count(tmp_path, small_chunks):
    series = random_series(frames=8)
    path = tmp_path / "flow.zarr"
    write(series, path)
    group = zarr.open_group(path, mode="r+")
    group.attrs["marey"] = {**group.attrs["marey"], "frames": 4}
    assert read(path).frames == 4
    with FieldWriter.resume(path) as writer:
        writer.append(series.velocities[4:7])
    assert np.array_equal(read(path).velocities, series.velocities[:7])


def test_still_fields_are_stored_too(tmp_path, small_chunks):
    write(FieldSeries(np.zeros((9, 6, 8, 2), np.float32), 25), tmp_path / "still.zarr")
    assert not read(tmp_path / "still.zarr").velocities.any()


def test_writing_over_a_series_replaces_it_and_nothing_else(tmp_path):
    write(random_series(), tmp_path / "flow.zarr")
    write(random_series(frames=2), tmp_path / "flow.zarr")
    assert read(tmp_path / "flow.zarr").frames == 2
    (tmp_path / "holiday.zarr").mkdir()
    (tmp_path / "holiday.zarr" / "beach.jpg").write_text("sand")
    with pytest.raises(InputError, match="other things"):
        write(random_series(), tmp_path / "holiday.zarr")
    assert (tmp_path / "holiday.zarr" / "beach.jpg").read_text() == "sand"
    with pytest.raises(InputError, match="resume"):
        FieldWriter(tmp_path / "flow.zarr", 6, 8, 25)


def test_blocks_that_do_not_fit_are_refused(tmp_path):
    with FieldWriter(tmp_path / "flow.zarr", 6, 8, 25) as writer:
        with pytest.raises(InputError, match="expected shape"):
            writer.append(np.zeros((2, 8, 6, 2)))
        with pytest.raises(InputError, match="not finite"):
            writer.append(np.full((1, 6, 8, 2), np.nan))
    with pytest.raises(InputError, match="precision"):
        FieldWriter(tmp_path / "b.zarr", 6, 8, 25, precision="int8")
    with pytest.raises(InputError, match="mask"):
        FieldWriter(tmp_path / "b.zarr", 6, 8, 25, mask=np.ones((2, 2), bool))


def test_foreign_stores_are_refused_with_one_clear_line(tmp_path):
    with pytest.raises(FormatError, match="no such folder"):
        read(tmp_path / "none.zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(FormatError, match=r"no zarr\.json"):
        read(tmp_path / "empty.zarr")
    zarr.open_group(tmp_path / "theirs.zarr", mode="w").create_array("temperature", data=np.zeros(3))
    with pytest.raises(FormatError, match="not a field series written by marey"):
        read(tmp_path / "theirs.zarr")
    zarr.create_array(tmp_path / "array.zarr", data=np.zeros(3))
    with pytest.raises(FormatError, match="damaged|not a field series"):
        read(tmp_path / "array.zarr")
    with FieldWriter(tmp_path / "none_yet.zarr", 6, 8, 25):
        pass
    with pytest.raises(FormatError, match="counts 0 frames"):
        read(tmp_path / "none_yet.zarr")


def edit(path, change) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def note(path, **changes) -> None:
    edit(path / "zarr.json", lambda j: j["attributes"]["marey"].update(changes))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: note(p, version=99), "newer"),
        (lambda p: note(p, frames=99), "room for 9"),
        (lambda p: note(p, frames="x"), "damaged"),
        (
            lambda p: note(p, frame_rate=-1),
            "frame rate",
        ),
        (lambda p: edit(p / "zarr.json", lambda j: j["attributes"]["marey"].pop("homography")), "damaged"),
        (lambda p: edit(p / "zarr.json", lambda j: j["attributes"].pop("marey")), "not a field series"),
        (lambda p: (p / "zarr.json").write_text("{"), "damaged"),
        (lambda p: (p / "zarr.json").write_bytes(b"\xff\x00"), "damaged"),
        (lambda p: (p / "velocities" / "zarr.json").write_text("[]"), "damaged"),
        (
            lambda p: edit(p / "velocities" / "zarr.json", lambda j: j.update(shape=[10**9, 6, 8, 2])),
            None,
        ),
        (
            lambda p: edit(p / "velocities" / "zarr.json", lambda j: j.update(shape=[9, 10**6, 10**6, 2])),
            "its velocities are",
        ),
        (lambda p: shutil.rmtree(p / "velocities" / "c" / "1"), "chunk of frame 4 is missing"),
        (lambda p: (p / "velocities/c/1/0/0/0").write_bytes(b"junk"), "frames 0 to 9 are damaged"),
        (lambda p: (p / "mask/c/0/0").write_bytes(b""), "damaged"),
    ],
)
def test_damaged_stores_give_one_clear_line(tmp_path, small_chunks, damage, message):
    path = tmp_path / "flow.zarr"
    series = random_series()
    write(series, path)
    damage(path)
    if message is None:
        assert np.array_equal(read(path).velocities, series.velocities)
        return
    with pytest.raises(FormatError, match=message) as error:
        read(path)
    assert "\n" not in str(error.value)


def test_a_giant_series_is_read_in_blocks_only(tmp_path, small_chunks, monkeypatch):
    series = random_series(frames=20)
    write(series, tmp_path / "flow.zarr")
    monkeypatch.setattr(zarr_store, "LIMITS", replace(LIMITS, series=series.velocities.nbytes - 1))
    with pytest.raises(FormatError, match="blocks"):
        read(tmp_path / "flow.zarr")
    assert sum(part.frames for part in field_blocks(tmp_path / "flow.zarr")) == 20
    monkeypatch.setattr(zarr_store, "LIMITS", replace(LIMITS, series=series.velocities[:4].nbytes))
    with pytest.raises(FormatError, match="chunks of 4 frames are too large"):
        read(tmp_path / "flow.zarr")


def test_unwritable_places_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "missing" / "flow.zarr", tmp_path / "file" / "flow.zarr"):
        with pytest.raises(InputError, match="cannot be written"):
            write(random_series(), path)
    with pytest.raises(InputError, match="is a file"):
        write(random_series(), tmp_path / "file")


def test_who_is_where_is_kept_through_interruption(tmp_path):
    rng = np.random.default_rng(0)
    fields = rng.normal(size=(7, 4, 6, 2)).astype(np.float32)
    foreground = rng.integers(0, 256, (7, 4, 6)).astype(np.uint8)
    path = tmp_path / "flow.zarr"
    with FieldWriter(path, rows=4, columns=6, frame_rate=25, with_foreground=True) as writer:
        writer.append(fields[:3], foreground[:3])
    with FieldWriter.resume(path) as writer:
        writer.append(fields[3:], foreground[3:])
        with pytest.raises(InputError, match="foreground"):
            writer.append(fields[:1])
    back = marey.load(path)
    np.testing.assert_array_equal(back.foreground, foreground)
    marey.save(back[2:], tmp_path / "part.zarr")
    np.testing.assert_array_equal(marey.load(tmp_path / "part.zarr").foreground, foreground[2:])


def test_facts_of_a_store_are_read_from_its_header_whatever_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = marey.samples.field(6, 8, seconds=0.4)
    marey.save(series, tmp_path / "flow.zarr")
    monkeypatch.setattr(zarr_store, "LIMITS", replace(LIMITS, series=100_000))
    monkeypatch.setattr(zarr_store._FieldStore, "bytes_of", lambda self, frames: 1000 * frames)
    assert info(tmp_path / "flow.zarr") == info(series)
    marey.save(marey.samples.mesh_sequence()[:3], tmp_path / "walk.zarr")
    assert info(tmp_path / "walk.zarr")["frames"] == 3
