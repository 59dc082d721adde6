"""`marey surface animate`: files hold what was asked for, orders without sense are refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from tests.cli.commands import refused, result
from tests.statistics.graphs.test_path_search import subject


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "subject.mry"
    marey.save(subject(), path)
    return path


def test_an_animation_follows_a_path_and_says_how_well(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "way.csv").write_text("x,z\n0,0\n0,3\n1,4\n")
    told = result(
        capsys, "surface", "animate", graph, "-o", tmp_path / "made.npz", "--path", tmp_path / "way.csv",
        "--provenance", tmp_path / "origin.csv",
    )  # fmt: skip
    made = marey.load(tmp_path / "made.npz")
    assert told["frames"] == made.frames
    assert 0 < told["captured_frames"] <= told["frames"]
    assert told["path_error"] < 0.25 and told["label_violations"] == 0 and told["time_errors"] is None
    assert told["foot_slide_ratio"] < 1.5
    middles = made.vertices[:, :, 0::2].mean(axis=1)
    assert np.linalg.norm(middles[0]) < 0.1 and np.linalg.norm(middles[-1] - [1, 4]) < 0.6
    assert len((tmp_path / "origin.csv").read_text().splitlines()) == told["frames"] + 1


def test_poses_are_taken_at_their_times(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys.csv").write_text("pose,time\nwalk:20,0\nrun:20,2\nwalk:30,4\n")
    told = result(
        capsys, "surface", "animate", graph, "-o", tmp_path / "made.mry", "--poses", tmp_path / "keys.csv"
    )
    made = marey.load(tmp_path / "made.mry")
    rate = made.sequence.frame_rate
    library = marey.load(graph).library
    assert told["time_errors"] == [0, 0, 0] and told["frames"] == round(4 * rate) + 1
    keys = [library.frame(pose) for pose in ("walk:20", "run:20", "walk:30")]
    assert made.provenance.sources[[0, round(2 * rate), round(4 * rate)]].tolist() == keys


def test_from_frame_to_frame_in_the_time_asked_for(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = ("surface", "animate", graph, "--from", "walk:20", "--to", "run:30")
    shortest = result(capsys, *order, "-o", tmp_path / "a.npz")
    longer = result(capsys, *order, "-o", tmp_path / "b.npz", "--seconds", 4)
    assert longer["seconds"] == pytest.approx(4, abs=0.04)
    assert shortest["cost"] <= longer["cost"] + 1e-6


def test_a_body_is_steered_and_seen_from_above(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wishes.csv").write_text("time,x,z\n0,0,1\n1.5,1,0\n")
    told = result(
        capsys, "surface", "animate", graph, "-o", tmp_path / "way.png", "--steer", tmp_path / "wishes.csv",
        "--seconds", 3,
    )  # fmt: skip
    assert told["seconds"] >= 3
    assert (tmp_path / "way.png").read_bytes()[:4] == b"\x89PNG"


def test_a_body_wanders_the_same_way_for_the_same_seed(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("surface", "animate", graph, "--random", "--seconds", 3)
    told = [
        result(capsys, *words, "--seed", seed, "-o", tmp_path / f"{k}.npz") for k, seed in enumerate((3, 3))
    ]
    assert told[0]["frames"] >= 91
    names = {"files": [], "path": ""}
    assert {**told[0], **names} == {**told[1], **names}
    assert "--seconds" in refused(capsys, *words[:4], "-o", tmp_path / "x.npz")
    assert "--random" in refused(capsys, *words, "--to", "walk:3", "-o", tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "give one of --path"),
        (("--to", "walk:3"), "give one of --path"),
        (("--from", "walk:3", "--to", "fly:3"), "there is no sequence 'fly'"),
        (("--from", "walk:3", "--to", "walk:9999"), "there is no frame 9999"),
        (("--path", "missing.csv"), "missing.csv: no such file"),
        (("--from", "walk:3", "--to", "run:3", "--seconds", "-1"), "--seconds"),
        (("--from", "walk:3", "--to", "run:3", "--behaviour", "run=0:1"), "--behaviour"),
    ],
)
def test_orders_that_make_no_sense_are_refused_in_one_line(
    words: tuple[str, ...], told: str, graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "surface", "animate", graph, "-o", tmp_path / "made.npz", *words)
    assert told in line
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_graph_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marey.save(marey.samples.walk(1), tmp_path / "walk.bvh")
    line = refused(
        capsys,
        "surface",
        "animate",
        tmp_path / "walk.bvh",
        "-o",
        tmp_path / "a.glb",
        "--from",
        "a:1",
        "--to",
        "a:2",
    )
    assert "not a graph" in line
