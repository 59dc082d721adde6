"""People of tracks as whole bodies: feet stand, steps follow speed, nobody walks like anybody else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.human.gaits import run, stand

import marey
from marey.body.feet import contacts
from marey.errors import InputError
from marey.stage import WalkingCrowd, walk
from marey.stage.walk.figure import figure, heights, outfits
from marey.stage.walk.gait import cycle
from marey.stage.walk.walk import _Walkers
from tests.stage.playback import played

Array = NDArray[np.float64]
RATE = 20.0


def straight(speeds: list[float], seconds: float = 8.0) -> marey.Tracks:
    """People who go along x side by side, each at a speed."""
    times = np.arange(round(seconds * RATE) + 1) / RATE
    places = np.zeros((len(times), len(speeds), 2))
    places[..., 0] = times[:, None] * speeds
    places[..., 1] = 2.0 * np.arange(len(speeds))
    return marey.Tracks(places, RATE)


def wandering(seed: int, people: int = 10, seconds: float = 12.0) -> marey.Tracks:
    """People who turn, slow down, stop, and go on."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds * RATE) + 1) / RATE
    usual = np.clip(rng.normal(1.3, 0.3, people), 0.4, 1.9)
    pauses = 0.5 + 0.5 * np.tanh(3 * np.sin(0.5 * times[:, None] + rng.uniform(0, 6, people)) + 1.5)
    turning = np.cumsum(rng.normal(0, 0.35, (len(times), people)), axis=0) / np.sqrt(RATE)
    heading = rng.uniform(0, 6, people) + turning
    velocity = (usual * pauses)[..., None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    return marey.Tracks(np.cumsum(velocity, axis=0) / RATE, RATE)


@pytest.fixture(scope="module")
def same_way() -> WalkingCrowd:
    return walk(straight([1.3] * 6), rng=1)


def upper_bodies(crowd: WalkingCrowd) -> list[Array]:
    """Rotations of trunk, head and arms of everyone, `(frames, numbers)`, without the root's."""
    joints = crowd.skeleton.indices(["LowerBack", "Spine1", "Head", "LeftArm", "LeftForeArm", "RightArm"])
    turns = np.asarray(crowd.rotations[:, :, joints], float)
    return [turns[:, person].reshape(crowd.frames, -1) for person in range(crowd.people)]


def nearest(one: Array, other: Array, starts: range) -> float:
    """How far two seconds of one are from the other's at best, however shifted in time."""
    return float(min(np.sqrt(np.mean((one[20:60] - other[s : s + 40]) ** 2)) for s in starts))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_feet_hardly_slide_whoever_walks_turns_or_stops(seed: int) -> None:
    crowd = walk(wandering(seed), rng=seed)
    slide = crowd.foot_skate()
    assert 0 < slide < 0.02
    assert slide < 1.2 * crowd.source_skate
    # Nor do they in a file that keeps few keys.
    assert played(crowd).foot_skate() < 0.02


def test_feet_do_not_sink_nor_float(same_way: WalkingCrowd) -> None:
    toes = [leg.tip for leg in figure().legs]
    for person in range(same_way.people):
        lowest = same_way.person(person).positions()[:, toes, 1].min(axis=1) / same_way.sizes[person]
        at_rest = figure().positions[toes, 1].min()
        assert np.abs(lowest - at_rest).max() < 0.03


def test_everyone_walks_differently_in_every_cycle(same_way: WalkingCrowd) -> None:
    pairs = [(a, b) for a in range(6) for b in range(6) if a != b]
    drawn, clones = (upper_bodies(one) for one in (same_way, walk(straight([1.3] * 6), deviation=0, rng=1)))
    apart, alike = ([nearest(group[a], group[b], range(100)) for a, b in pairs] for group in (drawn, clones))
    # However they are shifted in time no two walk alike; without deviation they do, but for their tempo.
    assert min(apart) > max(alike) and np.median(apart) > 4 * np.median(alike)
    # Nor does anybody repeat himself.
    assert min(nearest(one, one, range(70, 120)) for one in drawn) > 2 * max(
        nearest(one, one, range(70, 120)) for one in clones
    )


def test_another_seed_gives_other_people_and_the_same_seed_the_same() -> None:
    tracks = straight([1.2, 1.4], seconds=3)
    first, again, other = walk(tracks, rng=3), walk(tracks, rng=3), walk(tracks, rng=4)
    assert np.array_equal(first.rotations, again.rotations)
    assert np.abs(first.rotations - other.rotations).max() > 0.05
    assert not np.allclose(first.sizes, other.sizes)


def test_a_person_who_is_posed_twice_walks_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    tracks = straight([1.2, 1.4], seconds=3)
    once, pose = walk(tracks, rng=3), _Walkers.pose
    monkeypatch.setattr(_Walkers, "pose", lambda self, person: (pose(self, person), pose(self, person)))
    assert np.array_equal(walk(tracks, rng=3).rotations, once.rotations)


def steps_of(crowd: WalkingCrowd, person: int) -> int:
    """Times the left foot is set down."""
    motion = crowd.person(person)
    down = contacts(motion)[:, :2].any(axis=1)
    return int((np.diff(down.astype(int)) == 1).sum())


def test_strides_and_cadence_both_grow_with_speed() -> None:
    speeds = [0.4, 0.8, 1.3, 1.8]
    crowd = walk(straight(speeds, seconds=15), rng=0)
    cadence = np.array([steps_of(crowd, p) / 15 for p in range(len(speeds))])
    stride = np.array(speeds) / cadence
    assert (np.diff(cadence) > 0).all() and (np.diff(stride) > 0).all()
    assert 0.8 < cadence[2] < 1.1 and 1.2 < stride[2] < 1.6
    assert stride[0] < 0.85
    went = np.linalg.norm(np.diff(crowd.roots[[20, -20]][..., ::2], axis=0), axis=-1)[0]
    assert np.allclose(went, np.array(speeds) * (crowd.frames - 40) / RATE, atol=0.12)
    assert crowd.path_error < 0.08


def test_who_stands_stands_and_does_not_march() -> None:
    crowd = walk(straight([0.0, 0.02], seconds=6), rng=0)
    legs = [joint for leg in figure().legs for joint in (leg.end, leg.tip)]
    places = crowd.person(0).positions()[:, legs]
    assert np.ptp(places[10:], axis=0).max() < 1e-3
    # The upper body lives on, and a slow drift makes a few small steps.
    assert 1e-4 < np.ptp(crowd.rotations[:, 0, crowd.skeleton.index("LeftArm")], axis=0).max() < 0.3
    assert steps_of(crowd, 1) <= 3


def test_a_stop_ends_with_both_feet_down() -> None:
    times = np.arange(201) / RATE
    x = 1.3 * np.minimum(times, 4.0)
    crowd = walk(marey.Tracks(np.stack([x, 0 * x], axis=1)[:, None], RATE), rng=2)
    motion = crowd.person(0)
    late = contacts(motion)[-40:]
    assert late.all()
    feet = motion.positions()[-1, [leg.end for leg in figure().legs]]
    assert abs(feet[0, 0] - feet[1, 0]) < 0.45


def test_bodies_face_where_they_go_and_turn_smoothly() -> None:
    angle = np.arange(301) / RATE * 0.3
    circle = 4 * np.stack([np.cos(angle), np.sin(angle)], axis=1)[:, None]
    crowd = walk(marey.Tracks(circle, RATE), rng=0)
    hips = np.asarray(crowd.rotations[:, 0, 0], float)
    ahead = marey.geometry.rotations.rotate(hips, np.array([0.0, 0.0, 1.0]))[:, [0, 2]]
    going = np.gradient(np.asarray(crowd.roots[:, 0, ::2], float), axis=0)
    cosine = (ahead * going).sum(axis=1) / np.linalg.norm(ahead, axis=1) / np.linalg.norm(going, axis=1)
    assert np.degrees(np.arccos(np.clip(cosine, -1, 1))).mean() < 15
    yaw = np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 1]))
    assert np.abs(np.diff(yaw)).max() * RATE < 4


def test_a_run_is_used_by_the_fast_and_leaves_the_ground() -> None:
    clips = [marey.samples.walk(seconds=4, speed=1.3), run(5)]
    crowd = walk(straight([1.3, 3.0], seconds=5), clips, rng=0)
    flying = [(~contacts(crowd.person(p))).all(axis=1).mean() for p in range(2)]
    assert flying[0] < 0.1 < flying[1]


def test_sizes_and_clothes_are_those_of_adults() -> None:
    drawn = heights(2000, np.random.default_rng(0))
    assert 1.55 <= drawn.min() < 1.6 and 1.9 < drawn.max() <= 1.95
    assert 1.7 < drawn.mean() < 1.78
    assert len(np.unique(outfits().reshape(48, -1), axis=0)) == 48


def test_people_come_and_go_with_their_tracks() -> None:
    tracks = straight([1.2, 1.2], seconds=6)
    places = np.array(tracks.positions)
    places[:40, 1], places[90:, 1] = np.nan, np.nan
    crowd = walk(marey.Tracks(places, RATE), rng=0)
    assert crowd.present[:, 0].all()
    assert np.flatnonzero(crowd.present[:, 1]).tolist() == list(range(40, 90))
    assert crowd.person(1).frames == 50
    # At the ends of a track steps are as long as within it.
    assert np.abs(np.diff(crowd.person(1).root[:, 0]) * RATE - 1.2).max() < 0.55


def test_captured_walks_of_two_people_are_shared_out(data_dir) -> None:
    clips = [marey.load(data_dir / "skeleton" / "cmu_bvh" / name) for name in ("02_01.bvh", "143_32.bvh")]
    crowd = walk(wandering(5, people=12), clips, rng=0)
    assert crowd.foot_skate() < 0.03 and crowd.foot_skate() < 0.5 * crowd.source_skate


def test_real_tracks_of_a_jam_keep_their_feet(data_dir) -> None:
    tracks = marey.load(data_dir / "crowd" / "juelich_bottleneck" / "040_c_56_h-.txt")
    crowd = walk(tracks[:250], rng=0)
    assert crowd.foot_skate() < 0.02 and crowd.path_error < 0.08


@pytest.mark.parametrize(
    ("clip", "said"),
    [
        (lambda: stand(3.0), "slower than 0.2 m/s"),
        (lambda: marey.samples.walk(seconds=0.3), "too short"),
        (lambda: marey.samples.walk(seconds=0.9), "whole cycle"),
        (
            lambda: marey.samples.walk(seconds=4).subtree("LeftArm"),
            "left leg, right leg, right arm, head not found",
        ),
    ],
)
def test_clips_that_are_no_walks_are_refused_in_words(clip, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cycle(figure(), clip())


def test_wrong_numbers_are_refused_in_words() -> None:
    tracks = straight([1.0], seconds=2)
    with pytest.raises(InputError, match="deviation"):
        walk(tracks, deviation=2)
    with pytest.raises(InputError, match="frame rate"):
        walk(tracks, frame_rate=1)
    with pytest.raises(InputError, match="at least one clip"):
        walk(tracks, [])
    with pytest.raises(InputError, match="too many"):
        walk(marey.Tracks(np.zeros((2000, 3000, 2)), RATE))
    with pytest.raises(InputError, match="hold no one"):
        walk(marey.Tracks(np.full((5, 1, 2), np.nan), RATE))
    with pytest.raises(InputError, match="person 3"):
        walk(tracks).person(3)


def test_a_track_of_one_frame_is_somebody_who_stands() -> None:
    crowd = walk(marey.Tracks([[[0.0, 0.0]], [[np.nan, np.nan]], [[np.nan, np.nan]]], RATE))
    assert crowd.person(0).frames == 1 and np.isfinite(crowd.rotations).all()


def test_arms_swing_against_the_legs_and_knees_never_bend_backwards(same_way: WalkingCrowd) -> None:
    for number in range(same_way.people):
        motion = same_way.person(number)
        places = motion.positions()
        away = places[..., 0] - motion.root[:, :1]
        ahead = dict(zip(motion.skeleton.names, away.T, strict=True))
        for side, other in (("Left", "Right"), ("Right", "Left")):
            arm, leg = ahead[f"{side}Hand"], ahead[f"{side}Foot"]
            assert np.corrcoef(arm, leg)[0, 1] < -0.5
            assert np.corrcoef(arm, ahead[f"{other}Foot"])[0, 1] > 0.5
            knee = ahead[f"{side}Leg"] - 0.5 * (ahead[f"{side}UpLeg"] + leg)
            assert knee.min() > 0.0


def test_who_is_suddenly_elsewhere_is_somebody_new_there() -> None:
    tracks = straight([1.3], seconds=4.0)
    places = np.array(tracks.positions)
    places[40:] += [30.0, 10.0]
    crowd = walk(marey.Tracks(places, RATE, [7]))
    assert crowd.ids.tolist() == [7, 8]
    assert not (crowd.present[:, 0] & crowd.present[:, 1]).any()
    assert crowd.foot_skate() < 0.02
    assert crowd.path_error < 0.06


def test_map_coordinates_are_no_less_exact() -> None:
    tracks = straight([1.3], seconds=4.0)
    near = walk(tracks)
    far = walk(marey.Tracks(np.array([4e5, 5.2e6]) + tracks.positions, RATE))
    assert near.origin == (0.0, 0.0)
    assert far.origin == (4e5, 5.2e6)
    np.testing.assert_allclose(far.roots, near.roots, atol=1e-4)


@pytest.mark.parametrize("rate", [2.5, 100.0])
def test_tracks_at_any_rate_walk_alike(rate: float) -> None:
    times = np.arange(round(6 * rate) + 1) / rate
    crowd = walk(marey.Tracks(np.stack([1.3 * times, 0 * times], axis=1)[:, None], rate))
    assert crowd.duration == pytest.approx(6.0, abs=0.5)
    assert crowd.foot_skate() < 0.02
    assert crowd.path_error < 0.06
