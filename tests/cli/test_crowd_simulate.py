"""marey crowd simulate: scenes in, tracks out, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.scenes import SCENES
from marey.crowd.simulation.simulate import Simulation
from tests.cli.commands import refused, result, run

Console = pytest.CaptureFixture[str]
FEW = ("--people", 12, "--seconds", 4, "--frame-rate", 10)


@pytest.mark.parametrize("ending", ["csv", "txt", "parquet", "sqlite", "mry"])
def test_tracks_are_written_by_ending(capsys: Console, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"escape.{ending}"
    told = result(capsys, "crowd", "simulate", "escape", "-o", out, *FEW)
    assert told["people"] == 12 and told["steps"] == 200 and told["frames"] == 41
    assert told["microseconds_per_person_step"] > 0
    assert {"left", "collisions", "deepest_overlap", "mean_speed"} <= set(told)
    back = marey.load(out)
    tracks = back.tracks if ending == "mry" else back
    assert tracks.positions.shape == (41, 12, 2) and tracks.frame_rate == 10
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_pictures_and_clips_are_drawn(capsys: Console, tmp_path: Path) -> None:
    result(capsys, "crowd", "simulate", "crossing", "-o", tmp_path / "c.png", *FEW)
    assert (tmp_path / "c.png").read_bytes()[1:4] == b"PNG"
    marey.save(SCENES["rotation"](), tmp_path / "plan.json")
    result(capsys, "view", tmp_path / "plan.json", "-o", tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 5000
    assert "nothing moves in a scene" in refused(
        capsys, "view", tmp_path / "plan.json", "-o", tmp_path / "p.mp4"
    )


def test_info_tells_what_scenes_and_crowds_hold(capsys: Console, tmp_path: Path) -> None:
    marey.save(SCENES["escape"](), tmp_path / "escape.json")
    told = result(capsys, "info", tmp_path / "escape.json")
    assert told["kind"] == "scene" and told["people"] == 240 and told["goals"] == ["east"]
    result(capsys, "crowd", "simulate", "escape", "-o", tmp_path / "e.mry", *FEW)
    told = result(capsys, "info", tmp_path / "e.mry")
    assert told["kind"] == "simulated crowd" and told["agents"] == 12 and told["scene"] == "escape"


def test_speed_and_panic_make_people_faster(capsys: Console, tmp_path: Path) -> None:
    speeds = [
        result(capsys, "crowd", "simulate", "corridor", "-o", tmp_path / "c.csv", *FEW, *options)[
            "mean_speed"
        ]
        for options in ((), ("--speed", 2), ("--panic",))
    ]
    assert 1.7 * speeds[0] < speeds[1] < speeds[2] / 1.7


def test_a_scene_of_one_s_own_is_simulated(capsys: Console, tmp_path: Path) -> None:
    room = {
        "size": [12, 6],
        "goals": {"out": {"area": [11, 0, 12, 6]}},
        "groups": [{"people": 4, "start": [1, 1, 4, 5], "goal": "out"}],
        "hold": 0,
        "seconds": 12,
    }
    (tmp_path / "room.json").write_text(json.dumps(room))
    told = result(capsys, "crowd", "simulate", tmp_path / "room.json", "-o", tmp_path / "room.csv")
    assert told["people"] == told["left"] == 4


def test_a_longer_run_goes_on_from_a_shorter_one(capsys: Console, tmp_path: Path) -> None:
    short, whole = tmp_path / "short.mry", tmp_path / "whole.mry"
    options = ("--people", 12, "--frame-rate", 10, "--seed", 5)
    result(capsys, "crowd", "simulate", "escape", "-o", short, *options, "--seconds", 4)
    told = result(capsys, "crowd", "simulate", "escape", "-o", short, *options, "--seconds", 6, "--resume")
    result(capsys, "crowd", "simulate", "escape", "-o", whole, *options, "--seconds", 6)
    assert told["frames"] == 61
    np.testing.assert_array_equal(marey.load(short).positions, marey.load(whole).positions)


def test_a_crowd_does_not_go_on_in_another_place(capsys: Console, tmp_path: Path) -> None:
    out = tmp_path / "crowd.mry"
    result(capsys, "crowd", "simulate", "crossing", "-o", out, "--people", 4, "--seconds", 0.4)
    words = ("crowd", "simulate", "escape", "-o", out, "--people", 4, "--seconds", 1, "--resume")
    assert "the crowd to resume is in crossing" in refused(capsys, *words)
    assert marey.load(out).scene.name == "crossing"


def test_an_interrupted_run_is_kept_and_taken_up(
    capsys: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "escape.csv"
    words = ("crowd", "simulate", "escape", "-o", out, *FEW)
    whole = Simulation.advance

    def tired(self: Simulation) -> object:
        if len(self._frames) == 20:
            raise KeyboardInterrupt
        return whole(self)

    monkeypatch.setattr(Simulation, "advance", tired)
    code, _, err = run(capsys, *words)
    assert code == 130 and "go on with --resume" in err
    assert not out.exists() and (tmp_path / "escape.part.mry").exists()
    monkeypatch.setattr(Simulation, "advance", whole)
    assert "an interrupted simulation lies there" in refused(capsys, *words)
    told = result(capsys, *words, "--resume")
    assert told["frames"] == 41 and not (tmp_path / "escape.part.mry").exists()
    result(capsys, "crowd", "simulate", "escape", "-o", tmp_path / "again.csv", *FEW)
    assert out.read_bytes() == (tmp_path / "again.csv").read_bytes()


def test_scenes_are_listed(capsys: Console) -> None:
    _, listed, _ = run(capsys, "crowd", "simulate", "--list", "--json")
    assert list(json.loads(listed)) == list(SCENES)
    code, out, _ = run(capsys, "crowd", "simulate", "--list")
    assert code == 0 and "door 2 m wide" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere",), "there is no scene 'nowhere'; there are corridor, obstacle, baffles"),
        (("room.json",), "room.json: no such file"),
        (("escape", "--people", 0), "--people 0: a whole number, at least 1"),
        (("escape", "--people", 3000), "3000 people at least 0.6 m apart do not fit"),
        (("escape", "--speed", 0), "--speed 0: a number, above 0"),
        (("escape", "--seconds", -2), "seconds: from 0"),
        (("escape", "--frame-rate", 0), "--frame-rate 0: a number, from 0.1"),
        (("escape", "--seed", -1), "--seed -1: a whole number, at least 0"),
        ((), "give a scene (corridor"),
    ],
)
def test_mistakes_are_told_in_one_line(
    capsys: Console, tmp_path: Path, words: tuple[object, ...], told: str
) -> None:
    assert told in refused(capsys, "crowd", "simulate", *words, "-o", tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_results_that_cannot_be_written_are_told_before_the_work(capsys: Console, tmp_path: Path) -> None:
    assert "write people as" in refused(capsys, "crowd", "simulate", "escape", "-o", tmp_path / "x.bvh")
    assert "there is no folder" in refused(
        capsys, "crowd", "simulate", "escape", "-o", tmp_path / "no" / "x.csv"
    )
    marey.save(marey.samples.walk(1), tmp_path / "walk.mry")
    told = refused(capsys, "crowd", "simulate", "escape", "-o", tmp_path / "walk.mry", "--resume")
    assert "holds no simulated crowd" in told


ROOM = {
    "size": [12, 8],
    "goals": {"out": {"area": [11, 0, 12, 8]}},
    "groups": [{"people": 5, "start": [1, 1, 5, 7], "goal": "out"}],
    "hold": 0,
    "seconds": 1,
}


def with_group(**changes: object) -> dict[str, object]:
    return {**ROOM, "groups": [{**ROOM["groups"][0], **changes}]}  # type: ignore[index]


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (with_group(start=[20, 20, 30, 30]), "marey: group 0: its start lies in walls or outside the ground"),
        ({**ROOM, "obstacles": [[0, 0, 6, 8]]}, "marey: group 0: its start lies in walls"),
        ({**ROOM, "obstacles": [[8, 0, 9, 8]]}, "no path leads from all of its start to goal 'out'"),
        ({**ROOM, "obstacles": [[[6, 1], [9, 5], [9, 1], [6, 5]]]}, "its sides cross"),
        (with_group(people=10**8), "people: from 0 to 1,000,000, got 100,000,000"),
        (with_group(people=10**6), "do not fit"),
        (with_group(speed=1e8), "up to 100 times as fast"),
    ],
)
def test_places_nobody_can_walk_in_are_refused_at_once(
    capsys: Console, tmp_path: Path, room: dict[str, object], told: str
) -> None:
    (tmp_path / "room.json").write_text(json.dumps(room))
    assert told in refused(capsys, "crowd", "simulate", tmp_path / "room.json", "-o", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


def test_people_start_on_the_ground_even_if_their_area_reaches_beyond(
    capsys: Console, tmp_path: Path
) -> None:
    (tmp_path / "room.json").write_text(json.dumps(with_group(start=[-5, -5, 5, 5])))
    told = result(capsys, "crowd", "simulate", tmp_path / "room.json", "-o", tmp_path / "x.csv")
    assert told["people"] == 5 and told["left"] == 0


def test_people_leave_through_the_door_within_ten_seconds_unless_they_rest(
    capsys: Console, tmp_path: Path
) -> None:
    words = ("crowd", "simulate", "escape", "--seconds", 10, "--frame-rate", 5)
    result(capsys, *words, "-o", tmp_path / "walking.csv")
    result(capsys, *words, "-o", tmp_path / "resting.csv", "--hold", 10)
    walking, resting = (marey.load(tmp_path / f"{name}.csv").positions for name in ("walking", "resting"))
    behind_the_door = 33
    assert (walking[0, :, 0] < behind_the_door).all() and (walking[-1, :, 0] > behind_the_door).sum() >= 3
    assert np.allclose(resting[-1], resting[0])


def test_a_resumed_crowd_rests_as_long_as_it_was_asked_to(capsys: Console, tmp_path: Path) -> None:
    words = ("crowd", "simulate", "crossing", "--people", 8, "--frame-rate", 10)
    whole, parts = tmp_path / "whole.mry", tmp_path / "parts.mry"
    result(capsys, *words, "-o", whole, "--hold", 2, "--seconds", 3)
    result(capsys, *words, "-o", parts, "--hold", 2, "--seconds", 1)
    result(capsys, *words, "-o", parts, "--seconds", 3, "--resume")
    assert np.array_equal(marey.load(parts).positions, marey.load(whole).positions)
