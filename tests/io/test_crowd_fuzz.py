"""Bytes changed at random: whatever the crowd's readers meet, only our own errors come out."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.tracks import Tracks
from marey.errors import MareyError, MareyWarning
from marey.io import agoraset, images, tiling_json, trajectories, video, zarr_store
from tests.io.mutation import changed

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


def test_parquet_with_changed_bytes_is_tracks_or_our_error(tmp_path):
    pytest.importorskip("pyarrow")
    rng = random.Random(3)
    tracks = Tracks(np.arange(40.0).reshape(10, 2, 2), 25)
    trajectories.write(tracks, tmp_path / "seed.parquet")
    seed = (tmp_path / "seed.parquet").read_bytes()
    for _ in range(400):
        survives(trajectories.read, tmp_path / "a.parquet", changed(seed, rng))


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_pictures_with_changed_bytes_are_footage_or_our_error(tmp_path, ending):
    rng = random.Random(4)
    picture = np.linspace(0, 255, 20 * 30 * 3).reshape(20, 30, 3).astype(np.uint8)
    seed = images.encode_image(picture, ending)
    for _ in range(300):
        survives(lambda path: images.read(path).read(0), tmp_path / f"a{ending}", changed(seed, rng))


@pytest.mark.parametrize("ending", [".mp4", ".gif", ".avi"])
def test_films_with_changed_bytes_are_footage_or_our_error(tmp_path, ending):
    pytest.importorskip("av")
    rng = random.Random(5)
    frames = [np.full((16, 16, 3), 20 * n, np.uint8) for n in range(6)]
    video.write_frames(frames, tmp_path / f"seed{ending}", frame_rate=25)
    seed = (tmp_path / f"seed{ending}").read_bytes()

    def play(path: Path) -> Footage:
        footage = video.read(path)
        assert sum(1 for _ in footage[:200]) == min(footage.frames, 200)
        return footage

    for _ in range(60):
        survives(play, tmp_path / f"a{ending}", changed(seed, rng))


ROOM = {
    "size": [9, 5],
    "obstacles": [[4, 0, 5, 2], [[4, 3], [5, 3], [5, 5]]],
    "goals": {"out": {"area": [8, 0, 9, 5], "kind": "reach", "vanish": True}},
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


@settings(max_examples=100, deadline=None)
@given(way=st.sampled_from(places(TILES)), value=VALUES)
def test_a_tiling_with_any_value_anywhere_is_a_tiling_or_our_error(tmp_path_factory, way, value):
    folder = tmp_path_factory.getbasetemp() / "tiles"
    if not folder.exists():
        folder.mkdir()
        zarr_store.write(FieldSeries(np.ones((3, 4, 6, 2)), 25), folder / "a.zarr")
    path = folder / "place.json"
    path.write_text(json.dumps(exchanged(TILES, way, value)))
    try:
        tiling_json.read(path)
    except MareyError as error:
        assert len(str(error).splitlines()) == 1


def test_populations_with_changed_bytes_are_tracks_or_our_error(tmp_path):
    rng, dice = np.random.default_rng(8), random.Random(8)
    constant, temporal = tmp_path / "pop.constant.data", tmp_path / "pop.temporal.data"
    fixed = np.array([3, 2], "<u4").tobytes() + rng.uniform(0.2, 2, 8).astype("<f4").tobytes()
    moving = np.array([0, 0.04, 0.08], "<f4").tobytes() + rng.normal(size=36).astype("<f4").tobytes()
    for turn in range(400):
        constant.write_bytes(changed(fixed, dice) if turn % 2 else fixed)
        temporal.write_bytes(moving if turn % 2 else changed(moving, dice))
        try:
            agoraset.read(constant)
        except MareyError as error:
            assert len(str(error).splitlines()) == 1
