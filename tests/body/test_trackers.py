"""Full bodies from a few trackers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body import Markers, Motion, PoseModel
from marey.body.reconstruct import (
    BodyFromTrackers,
    ReconstructSettings,
    reconstruct,
    swing,
    travel_direction,
)
from marey.body.trackers import Trackers
from marey.errors import FormatError, InputError
from marey.geometry import rotations as so3
from marey.io import trackers_csv

FEET_AND_HEAD = ["LeftToeBase", "RightToeBase", "Head_end"]


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk()


@pytest.fixture(scope="module")
def model(walk: Motion) -> PoseModel:
    return PoseModel.fit([walk], modes=6)


def apart(a: Motion, b: Motion) -> np.ndarray:
    return np.linalg.norm(a.positions() - b.positions(), axis=2)


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("directions", [(), ("Head_end",)])
def test_arms_swing_though_only_feet_and_head_are_seen(
    walk: Motion, model: PoseModel, online: bool, directions: tuple[str, ...]
) -> None:
    seen = Trackers.of_motion(walk, FEET_AND_HEAD, directions=directions)
    found = reconstruct(model, seen, online=online)
    assert apart(found, walk).mean() < 0.03
    along = travel_direction(walk)
    for hand in ("LeftHand", "RightHand"):
        ours, real = swing(found, hand, along), swing(walk, hand, along)
        assert np.corrcoef(ours, real)[0, 1] > 0.95
        assert np.ptp(ours) == pytest.approx(np.ptp(real), rel=0.2)


def test_it_works_anywhere_and_in_any_direction(walk: Motion, model: PoseModel) -> None:
    away = walk.transform(rotation=so3.exp([0.0, 2.5, 0.0]), translation=[30.0, 0.5, -70.0])
    found = reconstruct(model, Trackers.of_motion(away, FEET_AND_HEAD))
    assert apart(found, away).mean() < 0.03


def test_missing_samples_are_left_to_the_model(walk: Motion, model: PoseModel) -> None:
    seen = Trackers.of_motion(walk, [*FEET_AND_HEAD, "LeftHand"], directions=["Head_end"])
    positions, rotations = np.array(seen.positions), np.array(seen.rotations)
    positions[40:70, 1] = np.nan
    positions[:, 3] = np.nan
    rotations[100:130] = np.nan
    positions[150:156] = np.nan
    rotations[150:156] = np.nan
    holed = replace(seen, positions=positions, rotations=rotations)
    for online in (False, True):
        found = reconstruct(model, holed, online=online)
        assert apart(found, walk).mean() < 0.05
        assert apart(found, walk)[150:156].mean() < 0.15


def test_nothing_seen_gives_the_mean_pose(walk: Motion, model: PoseModel) -> None:
    nothing = Trackers(("Head",), np.full((5, 1, 3), np.nan), 30.0)
    for online in (False, True):
        found = reconstruct(model, nothing, online=online)
        np.testing.assert_allclose(
            so3.distance(found.rotations[:, 1:], model.decode(np.zeros(6))[1:]), 0, atol=1e-6
        )


def test_what_is_seen_late_tells_the_beginning(walk: Motion, model: PoseModel) -> None:
    seen = Trackers.of_motion(walk[:60], FEET_AND_HEAD, directions=["Head_end"])
    positions = np.array(seen.positions)
    positions[:5] = np.nan
    late = replace(seen, positions=positions, rotations=None)
    found = apart(reconstruct(model, late), walk[:60])
    # Five frames before the first that is seen, as good as a hole within; nothing worse after it.
    assert found[:5].mean() < 0.15 and found[10:].mean() < 0.03
    nothing = reconstruct(model, replace(late, positions=np.full_like(positions, np.nan)))
    assert found[:5].mean() < 0.5 * apart(nothing, walk[:60])[:5].mean()


def test_a_stream_knows_only_the_past(walk: Motion, model: PoseModel) -> None:
    seen = Trackers.of_motion(walk, FEET_AND_HEAD, directions=["Head_end"])
    whole, half = (reconstruct(model, seen[:n], online=True) for n in (100, 50))
    np.testing.assert_array_equal(whole.root[:50], half.root)
    np.testing.assert_allclose(whole.rotations[:50], half.rotations, atol=1e-12)
    live = BodyFromTrackers(model, seen, frame_rate=seen.frame_rate)
    for t in range(3):
        pose = live.update(seen.positions[t], seen.rotations[t])
    np.testing.assert_array_equal(pose.root[0], whole.root[2])


def test_one_frame_and_two_are_enough(walk: Motion, model: PoseModel) -> None:
    for frames in (1, 2):
        seen = Trackers.of_motion(
            walk[:frames], [*FEET_AND_HEAD, "LeftHand", "RightHand"], directions=["Head_end"]
        )
        found = reconstruct(model, seen)
        assert found.frames == frames and apart(found, walk[:frames]).mean() < 0.1


def test_markers_are_trackers_of_the_joints_they_are_mapped_to(walk: Motion, model: PoseModel) -> None:
    names = ("LTOE", "RTOE", "C7", "HEAD")
    rows = walk.skeleton.indices(["LeftToeBase", "RightToeBase", "Neck", "Head"])
    markers = Markers(names, walk.positions()[:, rows], walk.frame_rate)
    mapping = {"LTOE": "LeftToeBase", "RTOE": "RightToeBase", "HEAD": "Head"}
    seen = Trackers.of_markers(markers, mapping)
    assert seen.names == ("LeftToeBase", "RightToeBase", "Head")
    assert apart(reconstruct(model, seen), walk).mean() < 0.04
    with pytest.raises(InputError, match="no marker 'LTO'"):
        Trackers.of_markers(markers, {"LTO": "LeftToeBase"})


def test_a_tracker_may_sit_beside_its_joint(walk: Motion, model: PoseModel) -> None:
    seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head"], directions=["Head"])
    pose = walk.forward_kinematics()
    head, beside = walk.skeleton.index("Head"), np.array([0.0, 0.12, 0.1])
    positions = np.array(seen.positions)
    positions[:, 2] += so3.rotate(pose.rotations[:, head], beside)
    mounted = replace(seen, positions=positions, points=np.array([[0, 0, 0], [0, 0, 0], beside]))
    assert apart(reconstruct(model, mounted), walk).mean() < 0.03


def test_wrong_trackers_are_told(walk: Motion, model: PoseModel) -> None:
    with pytest.raises(InputError, match="did you mean"):
        reconstruct(model, Trackers(("Hed",), np.zeros((2, 1, 3)), 30.0))
    with pytest.raises(InputError, match="no frame or no tracker"):
        Trackers((), np.zeros((2, 0, 3)), 30.0)
    with pytest.raises(InputError, match="no tracker 'LeftHand'; there are Head"):
        Trackers.of_motion(walk, ["Head"], directions=["LeftHand"])
    seen = Trackers.of_motion(walk, ["Head"])
    with pytest.raises(InputError, match="noise"):
        reconstruct(model, seen, settings=ReconstructSettings(noise=0.0))
    with pytest.raises(InputError, match="no tracker 'x'"):
        seen.renamed({"x": "Head"})
    with pytest.raises(InputError, match="no tracker 'x'"):
        seen.only(["x"])


def test_tables_are_written_and_read_back(walk: Motion, tmp_path: Path) -> None:
    seen = Trackers.of_motion(walk, FEET_AND_HEAD, directions=["Head_end"])
    positions = np.array(seen.positions)
    positions[3, 0] = np.nan
    seen = replace(seen, positions=positions)
    path = tmp_path / "seen.csv"
    trackers_csv.write(seen, path)
    again = trackers_csv.read(path)
    assert again.names == seen.names and again.frame_rate == pytest.approx(60.0)
    np.testing.assert_allclose(again.positions, seen.positions, atol=1e-8)
    np.testing.assert_allclose(again.rotations[:, 2], seen.rotations[:, 2], atol=1e-8)
    assert np.isnan(again.rotations[:, 0]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "no rows"),
        ("a,b,c\n1,2,3\n", "NAME_x, NAME_y, NAME_z"),
        ("time,h_x,h_y,h_z\n", "no rows"),
        ("time,h_x,h_y,h_z\n0,1,2,cow\n", "'cow' in column 'h_z' is not a number"),
        ("time,h_x,h_y,h_z\n0,1,2\n", "3 cells for 4 columns"),
        ("h_x,h_y,h_z\n1,2,3\n1,2,3\n", "frame rate"),
        ("time,h_x,h_y,h_z\n1,1,2,3\n0,1,2,3\n", "must rise"),
        ("time,h_x,h_y,h_z\n0,1,2,3\n1,1,2,3\n2,1,2,3\n9,1,2,3\n", "not evenly spaced"),
        ("h_x,h_x,h_y,h_z\n1,2,3,4\n", "two columns are called"),
    ],
)
def test_wrong_tables_say_where(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        trackers_csv.read(path)


def test_walks_of_real_people_swing_their_arms(data_dir: Path) -> None:
    """Wrists within 6 cm and swings that correlate above 0.9, from feet and head with six modes."""
    clip = marey.load(data_dir / "skeleton" / "cmu_bvh" / "02_01.bvh", clean=True)
    model = PoseModel.fit([clip], modes=6)
    seen = Trackers.of_motion(clip, FEET_AND_HEAD, directions=["Head_end"])
    along = travel_direction(clip)
    for online in (False, True):
        found = reconstruct(model, seen, online=online)
        errors = apart(found, clip)
        for hand in ("LeftHand", "RightHand"):
            wrist = errors[:, clip.skeleton.index(hand)]
            assert np.sqrt((wrist**2).mean()) < 0.06
            assert np.corrcoef(swing(found, hand, along), swing(clip, hand, along))[0, 1] > 0.9
        assert np.sqrt((errors**2).mean()) < 0.03
