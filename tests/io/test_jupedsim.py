"""JuPedSim recordings and PedPy: what we write they read, what they hold we read, damage is told."""

from __future__ import annotations

import sqlite3
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.crowd import scenes
from marey.crowd.polygons import contains, rectangle
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd, simulate
from marey.crowd.tracks import Tracks
from marey.errors import FormatError, InputError, MareyError
from marey.io import jupedsim
from marey.io.scene_json import walkable_wkt


@cache
def door() -> SimulatedCrowd:
    return simulate(scenes.preset("escape", panic=True).with_people(60), seconds=8)


def two() -> Tracks:
    positions = np.array([[[0.0, 0], [5, 1]], [[0.1, 0], [5, 1]], [[0.2, 0], [np.nan, np.nan]]])
    return Tracks(positions, 10, [7, 3], first_frame=40)


def test_a_recording_reads_back_as_it_was(tmp_path: Path) -> None:
    jupedsim.write(two(), tmp_path / "two.sqlite")
    back = marey.load(tmp_path / "two.sqlite")
    assert back.ids.tolist() == [3, 7] and back.first_frame == 40 and back.frame_rate == 10
    np.testing.assert_array_equal(back.positions[:, ::-1], two().positions)


def test_people_face_where_they_walk_and_keep_it_when_they_stand(tmp_path: Path) -> None:
    positions = np.array([[[0.0, 0]], [[0.0, 1]], [[0.0, 2]], [[0.0, 2]], [[0.0, 2]]])
    jupedsim.write(Tracks(positions, 10), tmp_path / "turn.sqlite")
    with sqlite3.connect(tmp_path / "turn.sqlite") as connection:
        rows = connection.execute("SELECT ori_x, ori_y FROM trajectory_data ORDER BY frame").fetchall()
    np.testing.assert_allclose(rows, [[0, 1]] * 5, atol=1e-12)


def test_frames_between_annotations_are_not_written_as_missing(tmp_path: Path) -> None:
    sparse = Tracks(np.arange(8.0).reshape(4, 1, 2), 2.5, first_frame=20, frame_step=10)
    jupedsim.write(sparse, tmp_path / "sparse.sqlite")
    back = jupedsim.read(tmp_path / "sparse.sqlite")
    assert (back.frame_rate, back.first_frame, back.frame_step, back.frames) == (2.5, 2, 1, 4)


def test_pedpy_measures_a_simulated_crowd_as_it_is(tmp_path: Path) -> None:
    pedpy = pytest.importorskip("pedpy")
    crowd = door()
    marey.save(crowd, tmp_path / "door.sqlite")
    marey.save(crowd, tmp_path / "door.txt")
    first = pedpy.load_trajectory_from_jupedsim_sqlite(trajectory_file=tmp_path / "door.sqlite")
    second = pedpy.load_trajectory(trajectory_file=tmp_path / "door.txt")
    ground = pedpy.load_walkable_area_from_jupedsim_sqlite(trajectory_file=tmp_path / "door.sqlite")
    assert ground.polygon.equals(pedpy.WalkableArea(walkable_wkt(crowd.scene)).polygon)
    assert ground.area == 64 * 14 - 2 * 2 * 6
    columns = ["id", "frame", "x", "y"]
    for trajectory in (first, second):
        assert trajectory.frame_rate == 25 and len(trajectory.data) == crowd.tracks.present.sum()
    a, b = (t.data[columns].sort_values(["frame", "id"]).to_numpy() for t in (first, second))
    np.testing.assert_allclose(a, b, atol=1e-12)

    area = rectangle(26, 3, 31, 13)
    density = pedpy.compute_classic_density(traj_data=first, measurement_area=pedpy.MeasurementArea(area))
    ours = contains(area, crowd.positions).sum(axis=1) / 50.0
    assert np.abs(density.density.to_numpy() - ours).max() < 1e-9

    frames = first.data[first.data.frame % 50 == 0]
    some = pedpy.TrajectoryData(frames, frame_rate=0.5)
    cells = pedpy.compute_individual_voronoi_polygons(traj_data=some, walkable_area=ground)
    assert len(cells) == len(frames) and (cells.density > 0).all()

    line = pedpy.MeasurementLine([(32, 7), (32, 9)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        passed, _ = pedpy.compute_n_t(traj_data=first, measurement_line=line)
    through = (crowd.positions[..., 0] > 32).any(axis=0).sum()
    assert passed.cumulative_pedestrians.max() == through > 3


def test_our_head_count_is_that_of_pedpy_s_reference(data_dir: Path) -> None:
    folder = data_dir / "peers" / "pedpy_corner"
    if not folder.is_dir():
        pytest.skip("PedPy's reference results are not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracks = marey.load(folder / "traj.txt", unit="m")
    results = folder / "results" / "Fundamental_Diagram" / "Classical_Voronoi"
    reference = np.loadtxt(results / "rho_v_Classic_traj.txt_id_1.dat", usecols=(0, 1))
    area = rectangle(-3, 0, 0, 2)
    count = contains(area, tracks.positions).sum(axis=1) / 6.0
    ours = count[reference[:, 0].astype(int) - tracks.first_frame]
    assert len(reference) > 800 and np.abs(ours - reference[:, 1]).max() < 5e-4


def recording(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE trajectory_data(frame, id, pos_x, pos_y, ori_x, ori_y)")
        connection.execute("CREATE TABLE metadata(key, value)")
        connection.execute("INSERT INTO metadata VALUES('version', '2'), ('fps', '25')")
        connection.execute("INSERT INTO trajectory_data VALUES(0, 1, 0.0, 0.0, 1, 0)")
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DELETE FROM trajectory_data"], "holds no positions"),
        (["DROP TABLE trajectory_data"], "has no table trajectory_data"),
        (["DROP TABLE metadata"], "has no table metadata"),
        (["DELETE FROM metadata WHERE key = 'fps'"], "have no fps"),
        (["UPDATE metadata SET value = 'many' WHERE key = 'fps'"], "fps is 'many'"),
        (["UPDATE metadata SET value = '-5' WHERE key = 'fps'"], "fps are -5"),
        (["UPDATE metadata SET value = '9' WHERE key = 'version'"], "version 9; versions 1 and 2"),
        (["UPDATE trajectory_data SET pos_x = 'here'"], "not all are numbers"),
        (["UPDATE trajectory_data SET pos_x = NULL"], "x is nan"),
        (["UPDATE trajectory_data SET frame = 0.5"], "frame is 0.5, not a whole number"),
        (["INSERT INTO trajectory_data VALUES(0, 1, 3, 3, 1, 0)"], "person 1 is at two places in frame 0"),
        (["INSERT INTO trajectory_data VALUES(1, 1, 3, 3, 1, 0), (4000000000, 1, 3, 3, 1, 0)"], "GB"),
        (["DROP TABLE trajectory_data", "CREATE VIEW trajectory_data AS SELECT 1 AS frame"], "has no table"),
        (["ALTER TABLE trajectory_data RENAME COLUMN pos_x TO x"], "has no column pos_x"),
    ],
)
def test_recordings_that_make_no_sense_are_refused(tmp_path: Path, statements: list[str], told: str) -> None:
    path = recording(tmp_path / "bad.sqlite", *statements)
    with pytest.raises(FormatError, match=told):
        jupedsim.read(path)


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("frame,id,x,y\n")
    with pytest.raises(FormatError, match="not an SQLite database"):
        marey.load(tmp_path / "text.sqlite")
    with pytest.raises(FormatError, match="no such file"):
        jupedsim.read(tmp_path / "none.sqlite")


def test_tracks_without_people_cannot_be_recorded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no one"):
        jupedsim.write(Tracks([[[np.nan, np.nan]]], 25), tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_recording_is_read_or_refused_in_words(tmp_path_factory: Any, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "d.sqlite"
    jupedsim.write(two(), path, scene=Scene((9, 9)))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    try:
        jupedsim.read(path)
    except MareyError as error:
        assert "\n" not in str(error)
