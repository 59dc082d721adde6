"""Trajectory tables: every layout we know, what is guessed, and what is refused."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.crowd.tracks import Tracks
from marey.errors import FormatError, InputError, MareyWarning
from marey.io import trajectories


def read_quietly(path, **options) -> Tracks:
    """Read, and fail on any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return trajectories.read(path, **options)


def written(folder: Path, text: str, name: str = "people.txt") -> Path:
    path = folder / name
    path.write_text(text, newline="")
    return path


def crossing(frames=40, frame_rate=16.0, step=1, first_frame=43) -> Tracks:
    """Six people who walk across each other at 1 to 1.5 m/s, each for part of the time."""
    rng = np.random.default_rng(4)
    t = np.arange(frames)[:, None, None] / frame_rate
    speed = rng.uniform(1.0, 1.5, (6, 1)) * np.array([[1, 0.1], [-1, 0.2], [0.1, 1]] * 2)
    positions = rng.uniform(-4, 4, (6, 2)) + t * speed + rng.normal(0, 0.005, (frames, 6, 2))
    for person in range(6):
        positions[: 2 * person, person] = np.nan
        positions[frames - person :, person] = np.nan
    return Tracks(positions, frame_rate, np.arange(1, 7), first_frame, step)


def same(a: Tracks, b: Tracks) -> bool:
    return (
        np.array_equal(a.positions, b.positions, equal_nan=True)
        and np.array_equal(a.ids, b.ids)
        and (a.frame_rate, a.first_frame, a.frame_step) == (b.frame_rate, b.first_frame, b.frame_step)
    )


def test_a_table_without_a_column_of_persons_is_of_one(tmp_path):
    """As VRU and CITR have them: a file for each person."""
    path = written(tmp_path, ",timestamp,x,y\n0,0.0,1,2\n1,0.5,1.5,2\n2,1.0,2,2\n", "walker.csv")
    with pytest.warns(MareyWarning, match="names no column of persons"):
        tracks = trajectories.read(path)
    assert tracks.frame_rate == 2
    assert tracks.positions.tolist() == [[[1, 2]], [[1.5, 2]], [[2, 2]]]
    several = written(tmp_path, "frame,x_est,y_est\n0,1,2\n1,2,3\n0,1,2\n", "several.csv")
    with pytest.raises(FormatError, match="do not grow as those of one person") as error:
        trajectories.read(several, frame_rate=25.0)
    assert error.value.line == 4


def test_rows_to_be_predicted_are_left_out(tmp_path):
    """As the test sets of TrajNet have them."""
    path = written(tmp_path, "0 1 1.0 2.0\n12 1 1.4 2.0\n24 1 ? ?\n12 2 5.0 5.0\n24 2 5.5 5.0\n36 2 ? ?\n")
    tracks = trajectories.read(path, frame_rate=30.0, unit=1.0)
    assert (tracks.frames, tracks.frame_rate, np.isfinite(tracks.positions).all(-1).sum()) == (3, 2.5, 4)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".txt"])
@pytest.mark.parametrize(("rate", "step", "first"), [(16.0, 1, 43), (2.5, 10, 1), (29.97, 1, 0)])
def test_tracks_come_back_bit_for_bit(tmp_path, ending, rate, step, first):
    tracks = crossing(frame_rate=rate, step=step, first_frame=first)
    path = tmp_path / f"people{ending}"
    trajectories.write(tracks, path)
    back = read_quietly(path)
    assert np.array_equal(back.positions, tracks.positions, equal_nan=True)
    assert (back.first_frame, back.frame_step) == (first, step)
    assert back.frame_rate == pytest.approx(rate, rel=1e-14)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            *(st.integers(-100, 2000), st.integers(0, 2**40)),
            *[st.floats(-1e6, 1e6, allow_subnormal=False)] * 2,
        ),
        min_size=2,
        max_size=12,
        unique_by=(lambda row: row[0], lambda row: row[1]),
    )
)
def test_any_table_survives_csv(tmp_path_factory, rows):
    frame, person, x, y = zip(*rows, strict=True)
    tracks = Tracks.from_rows(frame, person, x, y, 25)
    path = tmp_path_factory.mktemp("csv") / "any.csv"
    trajectories.write(tracks, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        assert same(trajectories.read(path), tracks)


def test_the_csv_module_reads_what_we_write(tmp_path):
    tracks = crossing()
    trajectories.write(tracks, tmp_path / "people.csv")
    with (tmp_path / "people.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    frame, person, x, y = tracks.to_rows()
    assert [int(r["frame"]) for r in rows] == frame.tolist()
    assert [int(r["id"]) for r in rows] == person.tolist()
    assert [float(r["x"]) for r in rows] == x.tolist()
    assert [float(r["y"]) for r in rows] == y.tolist()
    assert [float(r["time"]) for r in rows] == (frame / 16).tolist()


def test_pyarrow_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    tracks = crossing()
    trajectories.write(tracks, tmp_path / "ours.parquet")
    table = parquet.read_table(tmp_path / "ours.parquet")
    frame, person, x, y = tracks.to_rows()
    assert table.column_names == ["frame", "id", "x", "y", "time"]
    assert table["x"].to_pylist() == x.tolist()
    theirs = arrow.table({"ped_id": person, "t": frame / 16, "pos_y": y, "pos_x": x, "kind": ["p"] * len(x)})
    parquet.write_table(theirs, tmp_path / "theirs.parquet")
    back = read_quietly(tmp_path / "theirs.parquet")
    assert np.array_equal(back.positions, tracks.positions, equal_nan=True)
    assert back.frame_rate == 16


OBSMAT = """\
 7.80e+02 1.0e+00 8.40 0.0 3.50 1.60 0.0 0.20\r
 7.86e+02 1.0e+00 9.04 0.0 3.58 1.60 0.0 0.20\r
 7.86e+02 2.0e+00 1.00 0.0 1.00 -1.00 0.0 0.0\r
 7.92e+02 1.0e+00 9.68 0.0 3.66 1.60 0.0 0.20\r
 7.92e+02 2.0e+00 0.60 0.0 1.00 -1.00 0.0 0.0\r
"""


def test_obsmat_has_its_rate_from_positions_and_velocities(tmp_path):
    tracks = read_quietly(written(tmp_path, OBSMAT))
    assert (tracks.frame_rate, tracks.first_frame, tracks.frame_step) == (2.5, 780, 6)
    assert tracks.ids.tolist() == [1, 2]
    assert tracks.positions[0, 0].tolist() == [8.4, 3.5]
    assert np.isnan(tracks.positions[0, 1]).all()
    assert read_quietly(tmp_path / "people.txt", frame_rate=25).frame_rate == pytest.approx(25 / 6)


PETRACK = """\
# PeTrack project: crossing.pet
# framerate: {rate} fps
# id frame {columns}
1\t7\t{a}\t2.5\t1.76
1\t8\t{b}\t2.5\t1.76

2\t8\t0.5\t0.5\t1.8
"""


@pytest.mark.parametrize(
    ("columns", "size"),
    [("x/m y/m z/m", 1), ("x/cm y/cm z/cm", 0.01), ("x [cm] y [cm] z [cm]", 0.01), ("x(mm) y(mm) z", 0.001)],
)
def test_petrack_states_rate_and_unit(tmp_path, columns, size):
    text = PETRACK.format(rate="25.00", columns=columns, a=2.0, b=2.25)
    tracks = read_quietly(written(tmp_path, text))
    assert (tracks.frame_rate, tracks.first_frame, tracks.ids.tolist()) == (25.0, 7, [1, 2])
    assert np.allclose(tracks.positions[:, 0], np.array([[2.0, 2.5], [2.25, 2.5]]) * size)


def test_options_win_over_the_file(tmp_path):
    text = PETRACK.format(rate="25", columns="x/m y/m z/m", a=2.0, b=2.25)
    tracks = read_quietly(written(tmp_path, text), frame_rate=50, unit="cm")
    assert tracks.frame_rate == 50
    assert np.allclose(tracks.positions[0, 0], [0.02, 0.025])


def plain(tracks: Tracks, layout: str, size: float = 1.0) -> str:
    frame, person, x, y = tracks.to_rows()
    order = np.lexsort((frame, person))
    named = {"frame": frame, "id": person, "x": x * size, "y": y * size, "z": np.full(len(x), 1.75 * size)}
    columns = [named[name][order].tolist() for name in layout.split()]
    return "".join(" ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


@pytest.mark.parametrize("layout", ["id frame x y", "frame id x y", "id frame x y z", "frame id x y z"])
@pytest.mark.parametrize(("rate", "step"), [(16.0, 1), (2.5, 10)])
def test_who_is_who_is_seen_from_the_paths(tmp_path, layout, rate, step):
    tracks = crossing(frame_rate=rate, step=step)
    back = read_quietly(written(tmp_path, plain(tracks, layout)), frame_rate=rate * step)
    assert same(back, tracks)


@pytest.mark.parametrize(("unit", "size"), [("cm", 100.0), ("mm", 1000.0)])
@pytest.mark.parametrize("layout", ["id frame x y", "id frame x y z"])
def test_units_left_out_are_seen_from_how_people_walk_and_reported(tmp_path, unit, size, layout):
    tracks = crossing()
    path = written(tmp_path, plain(tracks, layout, size))
    with pytest.warns(MareyWarning, match=f"how people walk says {unit}"):
        back = trajectories.read(path, frame_rate=16)
    assert np.allclose(back.positions, tracks.positions, equal_nan=True)
    assert np.allclose(
        read_quietly(path, frame_rate=16, unit="m").positions, back.positions * size, equal_nan=True
    )


def test_metres_need_no_report(tmp_path):
    assert read_quietly(written(tmp_path, plain(crossing(), "id frame x y z")), frame_rate=16).frames == 40


@pytest.mark.parametrize(
    ("step", "size", "rate"), [(1, 1.0, 25.0), (1, 100.0, 16.0), (10, 1.0, 25.0), (6, 1.0, 15.0)]
)
def test_a_rate_that_is_assumed_is_reported(tmp_path, step, size, rate):
    path = written(tmp_path, plain(crossing(frame_rate=rate / step, step=step), "id frame x y", size))
    with pytest.warns(MareyWarning, match=f"states no frame rate; {rate:g} per second is assumed"):
        tracks = trajectories.read(path, unit="cm" if size == 100 else "m")
    assert tracks.frame_rate == rate / step


def test_an_annotation_off_its_raster_is_reported(tmp_path):
    rows = [f"{f} {p} {f * 0.1:.2f} 0" for p, start in ((1, 0), (2, 50)) for f in range(start, start + 30, 6)]
    path = written(tmp_path, "\n".join(["# frame id x/m y/m", *rows]))
    with pytest.warns(MareyWarning, match="up to 2 frames"):
        tracks = trajectories.read(path, frame_rate=15)
    assert (tracks.frame_rate, tracks.frame_step, int(tracks.present.sum())) == (2.5, 6, 10)


@pytest.mark.parametrize(
    "text",
    [
        "frame,id,x,y,time\n0,4,1,2,0\n1,4,1.05,2,0.04\n",
        "time,agent,x,y\n0.0,4,1,2\n0.04,4,1.05,2\n",
        '"ped","Frame","y","x","t"\r\n4,0,2,1,0\r\n4,1,2,1.05,0.04\r\n',
        "\ufeffperson_id;time;x;y\n4;0;1;2\n4;0.04;1.05;2\n",
        "Time\tID\tX\tY\n0\t4\t1\t2\n0.04\t4\t1.05\t2\n",
        "type,frame,id,x,y,time\nwalker,0,4,1,2,0\nrunner,1,4,1.05,2,0.04\n",
        "frame,id,x/cm,y/cm,time\n0,4,100,200,0\n1,4,105,200,0.04\n",
        "frame,id,x_cm,y_cm,time\n0,4,100,200,0\n1,4,105,200,0.04\n",
        "frame,id,x,y,time\n0,4,1,2,0\n0,9,,,0\n1,4,1.05,2,0.04\n1,9,nan,nan,0.04\n",
    ],
)
def test_csv_headers_in_the_wild(tmp_path, text):
    (tmp_path / "people.csv").write_text(text, newline="", encoding="utf-8")
    tracks = read_quietly(tmp_path / "people.csv")
    assert tracks.frame_rate == 25
    assert tracks.ids.tolist() == [4]
    assert np.allclose(tracks.positions[:, 0], [[1, 2], [1.05, 2]])


def test_rounded_times_do_not_drift(tmp_path):
    rows = "".join(f"{f / 30:.2f},1,{f * 0.04:.3f},0\n" for f in range(2000))
    tracks = read_quietly(written(tmp_path, "time,id,x,y\n" + rows, "people.csv"))
    assert (tracks.frames, tracks.frame_rate) == (2000, 30)


def test_csv_faster_than_any_runner_is_reported_but_kept(tmp_path):
    path = written(tmp_path, "frame,id,x,y,time\n0,1,0,0,0\n1,1,40,0,1\n", "cars.csv")
    with pytest.warns(MareyWarning, match="people move at 40 m/s"):
        assert trajectories.read(path).positions[1, 0, 0] == 40


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1 2 3\n", 1, "3 columns and no header"),
        ("1 2 3 4\n1 3 4\n", 2, "expected 4 numbers, found 3"),
        ("1 2 3 4\n\n# pause\n1 3 oops 4\n", 4, "oops"),
        ("1 2 3 4\n1.5 2 3 4\n", 2, "frame is 1.5|id is 1.5"),
        ("# frame id x y\n1 2 3 4\n\n1 2 4 4\n", 4, "person 2 is at two places in frame 1"),
        ("# id frame x y z\n1 2 3 4\n", 2, "expected 5 columns"),
        ("frame,id,x,y\n1,2,3,4\n1,3,3,inf\n", 3, "y is inf"),
        ("frame,id,x,y\n1,2,3,4\n1,bob,3,4\n", 3, "id is 'bob'"),
        ("frame,id,x,y\n1,2,3,4\n,2,3,4\n", 3, "frame is ''"),
        ("frame,id,x,y\n1,2,3,4\n1,2\n", 3, "expected 4 cells, found 2"),
        ("frame,id,x,y\n1,2,3,4\n2,2,,4\n", 3, "x is nan"),
        ("frame,id,x,y\n1,2,3,4\n2,2,1e300,4\n", 3, r"x is 1e\+300"),
        ("frame;id;x;y\n1;2;3,5;4\n", 2, "'3,5'"),
        ("time,id,x,y\n" + "".join(f"0.{t},1,0,0\n" for t in range(10)) + "1.05,1,0,0\n", 12, "raster"),
        ("who,when\n1,2\n", 1, "neither numbers nor column names"),
        ("\x00\x01\x02\x03", 1, "neither numbers nor column names"),
        ("frame,id,x,y\n", None, "no row"),
        ("# id frame x/m y/m\n", None, "no row"),
        ("frame,id,x,y\n1,2,,\n", None, "no row with a position"),
        ("time,id,x,y\n1,2,3,4\n", None, "pass frame_rate="),
        ("0 1 0 0\n1 1 0 0\n90000000000 2 0 0\n", None, "GB"),
    ],
)
def test_bad_files_give_one_line_that_names_file_and_line(tmp_path, text, line, message):
    path = written(tmp_path, text, "people.csv" if "," in text or ";" in text else "people.txt")
    with pytest.raises(FormatError, match=message) as error:
        trajectories.read(path)
    assert error.value.line == line
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_numbers_count_any_line_ending(tmp_path, newline):
    text = newline.join(["# framerate: 25", "# id frame x/m y/m", "1 0 0 0", "", "1 1 0.1 0", "1 1 0.2 0"])
    with pytest.raises(FormatError) as error:
        trajectories.read(written(tmp_path, text))
    assert error.value.line == 6


def test_damaged_parquet_and_missing_columns_are_refused(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    trajectories.write(crossing(), path)
    data = path.read_bytes()
    for damaged in (data[:100], data[100:], b"PAR1", data[:50] + b"\xff" * 40 + data[90:]):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="Parquet"):
            trajectories.read(path)
    parquet.write_table(arrow.table({"a": [1.0]}), path)
    with pytest.raises(FormatError, match="has columns 'a'"):
        trajectories.read(path)
    parquet.write_table(arrow.table({"frame": ["x"], "id": [1], "x": [0.0], "y": [0.0]}), path)
    with pytest.raises(FormatError, match="'frame' holds string"):
        trajectories.read(path)


def test_missing_empty_and_unwritable_files_say_so(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        trajectories.read(tmp_path / "none.txt")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(FormatError, match="empty"):
        trajectories.read(tmp_path / "empty.csv")
    with pytest.raises(InputError, match="no folder"):
        trajectories.write(crossing(), tmp_path / "missing" / "people.csv")
    with pytest.raises(InputError, match="frame rate"):
        trajectories.read(tmp_path / "none.txt", frame_rate=-1)
    with pytest.raises(InputError, match="nobody"):
        trajectories.write(Tracks(np.full((2, 1, 2), np.nan), 25), tmp_path / "nobody.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["empty.csv"]


def test_load_and_save_find_this_format(tmp_path):
    tracks = crossing()
    for name in ("a.csv", "a.txt", "a.parquet"):
        marey.save(tracks, tmp_path / name)
        assert same(marey.load(tmp_path / name), tracks)


@pytest.mark.parametrize(
    ("file", "people", "rows", "rate", "first", "step"),
    [
        ("crowd/ucy_zara01/obsmat.txt", 148, 5024, 2.5, 1, 10),
        ("crowd/juelich_bottleneck/040_c_56_h-.txt", 75, 63110, 25.0, 0, 1),
        ("peers/pedpy_corner/traj.txt", 137, 18704, 16.0, 53, 1),
    ],
)
def test_real_recordings_are_understood_without_a_hint(data_dir, file, people, rows, rate, first, step):
    tracks = read_quietly(data_dir / file)
    assert (tracks.agents, int(tracks.present.sum()), tracks.frame_rate) == (people, rows, rate)
    assert (tracks.first_frame, tracks.frame_step) == (first, step)
    plain = np.loadtxt(data_dir / file)
    row = plain[len(plain) // 2]
    frame, person, x, y = (row[[0, 1, 2, 4]]) if plain.shape[1] == 8 else row[[1, 0, 2, 3]]
    index = int(frame - first) // step, tracks.ids.tolist().index(int(person))
    assert tracks.positions[index].tolist() == [x, y]


def test_obsmat_velocities_agree_with_ours(data_dir):
    tracks = read_quietly(data_dir / "crowd/ucy_zara01/obsmat.txt")
    plain = np.loadtxt(data_dir / "crowd/ucy_zara01/obsmat.txt")
    index = ((plain[:, 0] - 1) / 10).astype(int), np.searchsorted(tracks.ids, plain[:, 1])
    ours = tracks.velocities()[index]
    assert np.median(np.linalg.norm(ours - plain[:, [5, 7]], axis=-1)) < 0.02


def test_seq_eth_resumes_off_its_raster(data_dir):
    with pytest.warns(MareyWarning, match="raster of 6 frames"):
        tracks = trajectories.read(data_dir / "crowd/eth_seq_eth/obsmat.txt")
    assert (tracks.agents, int(tracks.present.sum()), tracks.frame_rate) == (360, 8908, 2.5)
    # Nobody is torn: everyone walks in one stretch, as in the file.
    assert (np.diff(tracks.present.astype(int), axis=0, prepend=0) == 1).sum() == 360


@pytest.mark.parametrize(
    ("name", "people", "speed"), [("uo-050-180-180", 61, 1.38), ("uo-180-180-120", 170, 0.65)]
)
def test_headerless_centimetres_are_recognised(data_dir, name, people, speed):
    with pytest.warns(MareyWarning, match="says cm"), pytest.warns(MareyWarning, match="16 per second"):
        tracks = trajectories.read(data_dir / f"crowd/juelich_unidirectional/{name}.txt")
    assert (tracks.agents, tracks.frame_rate) == (people, 16)
    assert np.nanmedian(np.linalg.norm(tracks.velocities(), axis=-1)) == pytest.approx(speed, abs=0.01)


def test_densities_of_the_corner_are_those_of_jpsreport(data_dir):
    """A head count in x∈[-3,0], y∈[0,2] over 6 m² gives the published classical densities."""
    tracks = trajectories.read(data_dir / "peers/pedpy_corner/traj.txt")
    results = data_dir / "peers/pedpy_corner/results/Fundamental_Diagram/Classical_Voronoi"
    published = np.loadtxt(results / "rho_v_Classic_traj.txt_id_1.dat")
    x, y = np.moveaxis(tracks.positions, -1, 0)
    density = ((x > -3) & (x < 0) & (y > 0) & (y < 2)).sum(axis=1) / 6
    frames = published[:, 0].astype(int) - tracks.first_frame
    assert np.abs(density[frames] - published[:, 1]).max() < 4e-4


def test_a_row_of_units_below_the_names_is_understood(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("t,id,name,x,y\ns,,,cm,cm\n0,1,a,0,0\n0.5,1,a,60,0\n1,1,a,120,0\n")
    tracks = marey.load(path)
    assert tracks.frame_rate == 2 and tracks.positions[-1, 0].tolist() == [1.2, 0.0]


def test_drone_annotations_are_middles_of_boxes_in_metres(tmp_path: Path) -> None:
    def box(person: int, frame: int, x: float, lost: int, label: str) -> str:
        return f'{person} {x - 10:.0f} 80 {x + 10:.0f} 120 {frame} {lost} 0 1 "{label}"\n'

    # 1.2 m/s at 0.04 m a pixel are 30 pixels a second, 30 frames a second.
    rows = [box(0, frame, 100 + frame, int(frame == 90), "Pedestrian") for frame in range(121)]
    rows += [box(1, frame, 100 + 4 * frame, 0, "Biker") for frame in range(121)]
    rows += [box(2, frame, 500, 0, "Car") for frame in range(121)]
    (tmp_path / "annotations.txt").write_text("".join(rows))
    with pytest.warns(MareyWarning, match=r"positions are pixels; 0\.04 m each"):
        tracks = marey.load(tmp_path / "annotations.txt")
    assert (tracks.frames, tracks.frame_rate, tracks.ids.tolist()) == (121, 30, [0, 1])
    np.testing.assert_allclose(tracks.positions[30, :, 0], [0.04 * 130, 0.04 * 220])
    np.testing.assert_allclose(tracks.positions[30, 0, 1], -4.0)
    assert not tracks.present[90, 0]
    assert marey.load(tmp_path / "annotations.txt", unit=1.0).positions[0, 0].tolist() == [100, -100]


def test_splines_of_the_ucy_annotations_are_followed(tmp_path: Path) -> None:
    text = "2 - the number of splines\n2 - Num of control points\n"
    text += "0.0 10.0 0 90.0 - (2D point, m_id)\n100.0 10.0 50 90.0 - (2D point, m_id)\n"
    text += "1\n-50.0 20.0 10 0.0\n7 - number of line obstacles\n"
    (tmp_path / "a.vsp").write_text(text)
    tracks = marey.load(tmp_path / "a.vsp", unit="m")
    assert (tracks.frames, tracks.frame_rate) == (51, 25)
    np.testing.assert_allclose(tracks.positions[25, 0], [50, 10])
    np.testing.assert_allclose(tracks.positions[10, 1], [-50, 20])
    assert tracks.present.sum() == 52
    (tmp_path / "a.vsp").write_text(text.replace("2 - Num", "9 - Num"))
    with pytest.raises(FormatError, match=r"a\.vsp:2: needs 9 rows"):
        marey.load(tmp_path / "a.vsp")


def test_lines_of_json_are_tracks_at_the_rate_of_their_scenes(tmp_path: Path) -> None:
    lines = ['{"scene": {"id": 0, "p": 7, "s": 0, "e": 20, "fps": 2.5, "tag": 2}}']
    for frame in range(0, 30, 10):
        lines.append(f'{{"track": {{"f": {frame}, "p": 7, "x": {frame / 10}, "y": 1.5}}}}')
    lines.append(lines[-1])  # scenes that overlap repeat rows
    (tmp_path / "a.ndjson").write_text("\n".join(lines))
    tracks = marey.load(tmp_path / "a.ndjson")
    assert (tracks.frame_rate, tracks.frame_step, tracks.ids.tolist()) == (2.5, 10, [7])
    assert tracks.positions[:, 0].tolist() == [[0, 1.5], [1, 1.5], [2, 1.5]]
    (tmp_path / "a.ndjson").write_text('{"track": {"f": 1, "p": 7, "x": "far", "y": 1}}\n')
    with pytest.raises(FormatError, match=r"a\.ndjson:1: track\.x: expected a number"):
        marey.load(tmp_path / "a.ndjson")
