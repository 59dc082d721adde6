"""Bytes changed at random: whatever the crowd's readers meet, only our own errors come out."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.spectrum import compress
from marey.crowd.tracks import Tracks
from marey.errors import MareyError, MareyWarning
from marey.io import agoraset, container, fields, flo, images, scenes, tilings, trajectories, video

INTERESTING = b"0123456789.eE+-,;# \t\r\n\"'\x00\xff/xyid"

ROWS = [(f, p, 0.05 * f + p, 0.02 * f - p) for p in (1, 2, 3) for f in range(10 * p, 10 * p + 8)]
SEEDS = {
    "obsmat.txt": "".join(f" {f * 6}e+00 {p}.0 {x:.3f} 0.0 {y:.3f} 0.8 0.0 0.3\r\n" for f, p, x, y in ROWS),
    "petrack.txt": "# framerate: 25 fps\n# id frame x/m y/m z/m\n"
    + "".join(f"{p}\t{f}\t{x:.4f}\t{y:.4f}\t1.76\n" for f, p, x, y in ROWS),
    "plain.txt": "".join(f"{p} {f} {100 * x:.2f} {100 * y:.2f}\n" for f, p, x, y in ROWS),
    "people.csv": "frame,id,x,y,time\n" + "".join(f"{f},{p},{x!r},{y!r},{f / 25}\n" for f, p, x, y in ROWS),
    "times.csv": "time;ped;x;y\n" + "".join(f"{f / 25:.2f};{p};{x:.3f};{y:.3f}\n" for f, p, x, y in ROWS),
    "words.csv": 'kind,t,id,x,y\n' + "".join(f'"a, b",{f / 25},{p},,\n' for f, p, x, y in ROWS[:9])
    + "".join(f"c,{f / 25},{p},{x:.3f},{y:.3f}\n" for f, p, x, y in ROWS),
}  # fmt: skip


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes replaced, dropped, repeated or moved; sometimes the end cut off."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, len(changed) + 1))
        length = int(rng.integers(1, 12))
        match rng.integers(0, 6):
            case 0:
                changed[at : at + 1] = bytes([INTERESTING[rng.integers(len(INTERESTING))]])
            case 1:
                changed[at : at + 1] = rng.bytes(1)
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[at : at + length] * int(rng.integers(1, 4))
            case 4:
                changed[at:at] = bytes(INTERESTING[i] for i in rng.integers(0, len(INTERESTING), length))
            case 5:
                del changed[max(at, 1) :]
    return bytes(changed)


def survives(read, path: Path, data: bytes):
    """What a reader makes of these bytes, None if it refuses them as it should: in one line."""
    path.unlink(missing_ok=True)  # truncating a file instead makes some file systems flush it
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MareyWarning)
        try:
            return read(path)
        except MareyError as error:
            assert str(path) in str(error)
            assert len(str(error).splitlines()) == 1
            return None


@pytest.mark.parametrize("name", SEEDS)
def test_trajectories_with_changed_bytes_are_tracks_or_our_error(tmp_path, name):
    rng = np.random.default_rng(1)
    seed = SEEDS[name].encode()
    assert survives(trajectories.read, tmp_path / name, seed) is not None
    read = [survives(trajectories.read, tmp_path / name, mutated(seed, rng)) for _ in range(1000)]
    understood = [tracks for tracks in read if tracks is not None]
    assert 0 < len(understood) < len(read)
    assert all(tracks.present.any() and np.isfinite(tracks.frame_rate) for tracks in understood)


@settings(max_examples=300)
@given(st.text(alphabet=INTERESTING.decode("latin-1"), max_size=80), st.sampled_from([".txt", ".csv"]))
def test_any_text_is_tracks_or_our_error(tmp_path_factory, text, ending):
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    survives(trajectories.read, path, text.encode("latin-1"))


@settings(max_examples=300)
@given(
    st.lists(
        st.lists(st.sampled_from(["0", "1", "2.5", "-3", "1e9", "nan", "", "a"]), max_size=9), max_size=6
    )
)
def test_any_table_is_tracks_or_our_error(tmp_path_factory, cells):
    folder = tmp_path_factory.getbasetemp()
    rows = "\n".join(",".join(row) for row in cells)
    survives(trajectories.read, folder / "table.csv", b"frame,id,x,y\n" + rows.encode())
    survives(trajectories.read, folder / "table.txt", rows.replace(",", " ").encode() or b" ")


def test_flow_files_with_changed_bytes_are_fields_or_our_error(tmp_path):
    rng = np.random.default_rng(2)
    flo.write(FieldSeries(rng.normal(size=(1, 4, 5, 2)).astype(np.float32), 25), tmp_path / "seed.flo")
    seed = (tmp_path / "seed.flo").read_bytes()
    read = [survives(flo.read, tmp_path / "a.flo", mutated(seed, rng)) for _ in range(1500)]
    sizes = (struct.pack("<ii", *rng.integers(-5, 2**31 - 1, 2)) for _ in range(300))
    read += [survives(flo.read, tmp_path / "a.flo", seed[:4] + size + seed[12:]) for size in sizes]
    assert 0 < sum(field is not None for field in read) < len(read)


def test_parquet_with_changed_bytes_is_tracks_or_our_error(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    tracks = Tracks(np.arange(40.0).reshape(10, 2, 2), 25)
    trajectories.write(tracks, tmp_path / "seed.parquet")
    seed = (tmp_path / "seed.parquet").read_bytes()
    for _ in range(400):
        survives(trajectories.read, tmp_path / "a.parquet", mutated(seed, rng))


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_pictures_with_changed_bytes_are_footage_or_our_error(tmp_path, ending):
    rng = np.random.default_rng(4)
    picture = np.linspace(0, 255, 20 * 30 * 3).reshape(20, 30, 3).astype(np.uint8)
    seed = images.encode_image(picture, ending)
    for _ in range(300):
        survives(lambda path: images.read(path).read(0), tmp_path / f"a{ending}", mutated(seed, rng))


@pytest.mark.parametrize("ending", [".mp4", ".gif", ".avi"])
def test_films_with_changed_bytes_are_footage_or_our_error(tmp_path, ending):
    pytest.importorskip("av")
    rng = np.random.default_rng(5)
    frames = [np.full((16, 16, 3), 20 * n, np.uint8) for n in range(6)]
    video.write_frames(frames, tmp_path / f"seed{ending}", frame_rate=25)
    seed = (tmp_path / f"seed{ending}").read_bytes()

    def play(path: Path) -> Footage:
        footage = video.read(path)
        assert sum(1 for _ in footage[:200]) == min(footage.frames, 200)
        return footage

    for _ in range(60):
        survives(play, tmp_path / f"a{ending}", mutated(seed, rng))


def test_stores_with_changed_headers_are_fields_or_our_error(tmp_path):
    rng = np.random.default_rng(6)
    path = tmp_path / "flow.zarr"
    fields.write(FieldSeries(rng.normal(size=(3, 4, 5, 2)), 25, np.ones((4, 5), bool)), path)
    for file in (path / "zarr.json", path / "velocities" / "zarr.json", path / "mask" / "zarr.json"):
        seed = file.read_bytes()
        for _ in range(40):
            file.write_bytes(mutated(seed, rng))
            try:
                fields.read(path)
            except MareyError as error:
                assert len(str(error).splitlines()) == 1
        file.write_bytes(seed)
    assert fields.read(path).frames == 3


ROOM = {
    "size": [9, 5],
    "obstacles": [[4, 0, 5, 2], [[4, 3], [5, 3], [5, 5]]],
    "goals": {"out": {"area": [8, 0, 9, 5], "wish": "reach", "vanish": True}},
    "groups": [{"people": 3, "start": [0, 0, 3, 5], "goal": "out", "speed": 1.5, "rate": 0.5}],
    "hold": 1,
    "name": "room",
}
WALKABLE = {
    **{key: ROOM[key] for key in ("goals", "groups")},
    "walkable": "POLYGON ((0 0, 9 0, 9 5, 0 5, 0 0))",
}
TILES = {
    "rows": 6,
    "columns": 12,
    "reach": 2,
    "patches": [
        {"field": "a.zarr", "at": [0, 1]},
        {"field": "a.zarr", "centre": [9, 3], "turn": 90, "scale": 1.5, "weight": 2, "start": 1},
    ],
    "walls": [[[4, 2], [6, 2], [6, 4]]],
    "frames": 1,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def places(value: object) -> list[tuple[object, ...]]:
    """Ways to everything inside of plain values."""
    inner = list(
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    )
    return [(key, *way) for key, part in inner for way in [(), *places(part)]]


def exchanged(value, way: tuple[object, ...], new: object):
    """Plain values with another one at one place."""
    changed = json.loads(json.dumps(value))
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = new
    return changed


@pytest.mark.parametrize("seed", [ROOM, WALKABLE], ids=["walls", "walkable"])
def test_scenes_with_changed_bytes_are_scenes_or_our_error(tmp_path, seed):
    rng = np.random.default_rng(7)
    text = json.dumps(seed).encode()
    read = [survives(scenes.read, tmp_path / "room.json", mutated(text, rng)) for _ in range(300)]
    assert 0 < sum(scene is not None for scene in read) < len(read)


@settings(max_examples=100, deadline=None)
@given(way=st.sampled_from(places(TILES)), value=VALUES)
def test_a_tiling_with_any_value_anywhere_is_a_tiling_or_our_error(tmp_path_factory, way, value):
    folder = tmp_path_factory.getbasetemp() / "tiles"
    if not folder.exists():
        folder.mkdir()
        fields.write(FieldSeries(np.ones((3, 4, 6, 2)), 25), folder / "a.zarr")
    path = folder / "place.json"
    path.write_text(json.dumps(exchanged(TILES, way, value)))
    try:
        tilings.read(path)
    except MareyError as error:
        assert len(str(error).splitlines()) == 1


def test_populations_with_changed_bytes_are_tracks_or_our_error(tmp_path):
    rng = np.random.default_rng(8)
    constant, temporal = tmp_path / "pop.constant.data", tmp_path / "pop.temporal.data"
    fixed = np.array([3, 2], "<u4").tobytes() + rng.uniform(0.2, 2, 8).astype("<f4").tobytes()
    moving = np.array([0, 0.04, 0.08], "<f4").tobytes() + rng.normal(size=36).astype("<f4").tobytes()
    for turn in range(400):
        constant.write_bytes(mutated(fixed, rng) if turn % 2 else fixed)
        temporal.write_bytes(moving if turn % 2 else mutated(moving, rng))
        try:
            agoraset.read(constant)
        except MareyError as error:
            assert len(str(error).splitlines()) == 1


def test_fourier_files_with_changed_bytes_are_fields_or_our_error(tmp_path):
    rng = np.random.default_rng(9)
    field = FieldSeries(rng.normal(size=(6, 4, 5, 2)).astype(np.float32), 25)
    container.write(compress(field, keep=0.5), tmp_path / "seed.mry")
    seed = (tmp_path / "seed.mry").read_bytes()
    for _ in range(200):
        survives(container.read, tmp_path / "a.mry", mutated(seed, rng))
