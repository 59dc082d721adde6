"""Variants of a clip: what is kept, what differs, and that they could be the example's."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import marey
from marey.body.feet import foot_joints, ground_heights
from marey.body.feet.contacts import foot_speeds
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.vary import vary
from marey.body.vary.draw import draw, retime, tempo
from marey.body.vary.vary import SETTINGS, VarySettings, _Learned, beyond_range, report_on
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.processes.example import ExampleProcess, autocovariances
from marey.statistics.processes.process import LinearConstraint

NOTHING = np.empty(0, dtype=np.intp)


@pytest.fixture(scope="module")
def walk() -> Motion:
    """A walk whose steps differ, as a person's do."""
    clean = marey.samples.walk(seconds=5)[::2]
    rng = np.random.default_rng(0)
    seconds = np.arange(clean.frames) / clean.frame_rate
    sway = np.zeros((clean.frames, clean.joints, 3))
    for frequency in (0.3, 0.7, 1.1, 1.7):
        phase = rng.uniform(0, 2 * np.pi, (clean.joints, 3))
        sway += 0.03 * np.sin(2 * np.pi * frequency * seconds[:, None, None] + phase)
    return Motion(clean.skeleton, so3.multiply(clean.rotations, so3.exp(sway)), clean.root, clean.frame_rate)


def series(frames: int = 240) -> np.ndarray:
    seconds = np.arange(frames) / 60
    one = np.sin(2 * np.pi * 0.9 * seconds) + 0.4 * np.sin(2 * np.pi * 2.1 * seconds + 1)
    other = 0.5 * np.sin(2 * np.pi * 0.9 * seconds + 0.8) + 0.2 * np.cos(2 * np.pi * 0.35 * seconds)
    found = np.stack([one, other], axis=1)
    return found - found.mean(axis=0)


def seeds(count: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(7).spawn(count)


def angle(a: Motion, b: Motion, frames: object) -> float:
    """Largest angle, degrees, between poses of two clips, wherever they stand."""
    return float(np.degrees(so3.distance(a.rotations[frames, 1:], b.rotations[frames, 1:]).max()))


def test_the_process_has_the_covariances_of_the_example_at_all_lags_and_across_components() -> None:
    process = ExampleProcess.of(series())
    drawn = process.sample(280, rngs=range(3000))
    for lag in (0, 3, 20, 60):
        found = np.einsum("ni,nj->ij", drawn[:, 200], drawn[:, 200 - lag]) / len(drawn)
        assert np.allclose(found, process.covariances(lag + 1)[lag], atol=0.05)


def test_the_process_keeps_the_spread_that_tapering_took() -> None:
    example = series()
    process = ExampleProcess.of(example)
    assert np.allclose(np.diag(process.covariances(1)[0]), (example**2).mean(axis=0))


def test_conditions_are_met_exactly_and_leave_the_rest_to_chance() -> None:
    process = ExampleProcess.of(series())
    conditions = [LinearConstraint([50], [1.0], [0.3, -0.2]), LinearConstraint([0, 99], [-1.0, 1.0], 0.0)]
    drawn = process.sample(100, rngs=range(8), constraints=conditions)
    assert np.abs(drawn[:, 50] - [0.3, -0.2]).max() < 1e-9
    assert np.abs(drawn[:, 0] - drawn[:, 99]).max() < 1e-9
    assert drawn[:, 75].std(axis=0).min() > 0.05


def test_conditional_draws_have_the_distribution_of_kriging() -> None:
    process = ExampleProcess.of(series())
    value = np.array([0.5, 0.1])
    drawn = process.sample(120, rngs=range(4000), constraints=[LinearConstraint([60], [1.0], value)])
    covariances = process.covariances(11)
    gain = covariances[10] @ np.linalg.inv(covariances[0])
    assert np.allclose(drawn[:, 70].mean(axis=0), gain @ value, atol=0.05)
    assert np.allclose(np.cov(drawn[:, 70].T), covariances[0] - gain @ covariances[10].T, atol=0.05)


def test_more_conditions_than_numbers_are_refused() -> None:
    process = ExampleProcess.of(series(20))
    with pytest.raises(InputError, match="constraints"):
        process.sample(10, rngs=[0], constraints=[LinearConstraint([i % 10], [1.0], 0.0) for i in range(16)])


@pytest.mark.parametrize("deviation", [0.3, 1.0])
def test_autocovariance_of_the_example_lies_in_the_band_of_the_variants_at_all_lags(deviation: float) -> None:
    rest = series(360)
    drawn = draw(rest, 60.0, seeds=seeds(200), deviation=deviation, kept_frames=NOTHING)
    own, found = autocovariances(rest, 120), autocovariances(drawn, 120)
    low, high = np.percentile(found, [2.5, 97.5], axis=0)
    assert ((low <= own) & (own <= high)).mean() > 0.95


def test_a_deviation_of_nothing_is_the_example() -> None:
    rest = series()
    assert np.array_equal(draw(rest, 60.0, seeds=seeds(2), deviation=0.0, kept_frames=NOTHING)[1], rest)


@pytest.mark.parametrize("kept_modes", [0, 1])
def test_kept_frames_and_modes_are_kept(kept_modes: int) -> None:
    rest = series()
    kept = np.array([40, 130])
    drawn = draw(rest, 60.0, seeds=seeds(3), deviation=0.8, kept_frames=kept, kept_modes=kept_modes)
    assert np.abs(drawn[:, kept] - rest[kept]).max() < 1e-9
    assert np.abs(drawn[:, :, :kept_modes] - rest[:, :kept_modes]).max(initial=0.0) < 1e-9
    # Beside a key frame the draw has not had time to leave.
    assert np.abs(drawn[:, 41] - rest[41]).max() < 0.5 * rest.std()
    assert np.abs(drawn - rest).max() > 0.2 * rest.std()


def test_variants_keep_pinned_poses_and_differ_elsewhere(walk: Motion) -> None:
    variants = vary(walk, count=3, pins=[1.0, 3.0], deviation=0.7, rng=0)
    pinned = [30, 90]
    assert all(angle(variant, walk, pinned) < 0.1 for variant in variants)
    assert angle(variants[0], variants[1], slice(None)) > 5


def test_a_variant_depends_on_the_seed_and_its_number_alone(walk: Motion) -> None:
    few, many = vary(walk, count=2, rng=5), vary(walk, count=3, rng=5)
    assert np.allclose(few[1].rotations, many[1].rotations)
    assert not np.allclose(few[1].rotations, vary(walk, count=2, rng=6)[1].rotations)


def test_the_dial_leads_away_from_the_example(walk: Motion) -> None:
    away = [vary(walk, count=2, deviation=dial, rng=0).report.deviation_cm for dial in (0.0, 0.2, 0.5, 1.0)]
    assert away[0] < 1e-3
    assert away == sorted(away)


def test_more_kept_modes_stay_nearer(walk: Motion) -> None:
    away = [
        vary(walk, count=2, keep_modes=kept, deviation=1, rng=0, timing=0).report.deviation_cm
        for kept in (0, 2, 6)
    ]
    assert away[0] > away[1] > away[2]


def test_a_loop_ends_in_the_pose_in_which_it_began(walk: Motion) -> None:
    for options in ({}, {"keep_modes": 2}, {"method": "gp"}):
        looped = vary(walk, count=1, loop=True, deviation=0.5, modes=4, rng=1, **options)[0]
        gap = so3.distance(looped.rotations[0, 1:], looped.rotations[-1, 1:])
        assert np.degrees(gap.max()) < 0.1
        assert abs(looped.root[0, 1] - looped.root[-1, 1]) < 1e-6


def test_joints_leave_their_range_by_a_tenth_at_most_unless_they_may(walk: Motion) -> None:
    held = vary(walk, count=2, deviation=1, rng=2)
    free = vary(walk, count=2, deviation=1, rng=2, timing=0, limits=False)
    assert held.report.beyond_range <= 0.1 + 1e-6
    assert free.report.beyond_range > held.report.beyond_range


@pytest.mark.parametrize("deviation", [0.3, 1.0])
def test_feet_of_variants_stand_as_still_as_the_examples(walk: Motion, deviation: float) -> None:
    held = vary(walk, count=2, deviation=deviation, rng=2).report
    free = vary(walk, count=2, deviation=deviation, rng=2, plant=False).report
    assert held.worst_foot_slide_ratio <= 1.2
    assert free.foot_slide_ratio > held.foot_slide_ratio


def test_variants_are_as_smooth_as_the_clip_or_nearer_to_it() -> None:
    """A hand that trembles now and then: what is drawn anew is calm in between, or less is drawn."""
    walk = marey.samples.walk(seconds=4)
    rng, hand = np.random.default_rng(0), walk.skeleton.index("RightHand")
    bursts = np.where(np.arange(walk.frames) % 60 < 6, 0.1, 0.001)
    turns = Rotation.from_rotvec(bursts[:, None] * rng.normal(size=(walk.frames, 3)))
    rotations = walk.rotations.copy()
    rotations[:, hand] = (Rotation.from_quat(rotations[:, hand], scalar_first=True) * turns).as_quat(
        scalar_first=True
    )
    trembling = replace(walk, rotations=rotations)

    def jerk(motion: Motion) -> np.ndarray:
        return np.linalg.norm(np.diff(motion.positions(), 3, axis=0), axis=-1)

    for clip in (walk, trembling):
        for deviation in (0.3, 1.0):
            found = vary(clip, count=2, deviation=deviation, rng=3)
            for variant in found:
                assert jerk(variant).mean() <= 1.25 * jerk(clip).mean()
                assert np.quantile(jerk(variant), 0.99) <= 1.25 * np.quantile(jerk(clip), 0.99)
            assert 0.2 < found.report.jerk_ratio <= 1.25


def test_what_cannot_be_drawn_as_smooth_is_refused() -> None:
    walk = marey.samples.walk(seconds=4)
    strict = VarySettings(rougher=1e-3)
    with pytest.raises(InputError, match="jerks .* times as much as the clip even at a deviation of"):
        vary(walk, count=1, rng=0, settings=strict)


def test_skate_is_the_speed_of_feet_near_the_ground_whatever_chose_the_variants(walk: Motion) -> None:
    def places(motion: Motion) -> np.ndarray:
        """Ankles and toes by kinematics of their own."""
        turned: list[Rotation] = []
        found = np.zeros((motion.frames, motion.joints, 3))
        for joint, parent in enumerate(motion.skeleton.parents):
            turn = Rotation.from_quat(motion.rotations[:, joint], scalar_first=True)
            turned.append(turn if parent < 0 else turned[parent] * turn)
            offset = motion.skeleton.offsets[joint].copy()
            found[:, joint] = motion.root if parent < 0 else found[:, parent] + turned[parent].apply(offset)
        return found[
            :, [j for j, name in enumerate(motion.skeleton.names) if "Foot" in name or "Toe" in name]
        ]

    def skate(motion: Motion, levels: np.ndarray) -> float:
        feet = places(motion)
        before, after = np.r_[0, : len(feet) - 1], np.r_[1 : len(feet), len(feet) - 1]
        step = np.hypot(*(feet[after] - feet[before])[..., [0, 2]].transpose(2, 0, 1))
        speed = step * motion.frame_rate / (after - before)[:, None]
        height = np.maximum(feet[..., 1] - levels, 0.0)
        weight = np.where(height < 0.025, 2 - 2 ** (height / 0.025), 0.0)
        return 100 * (weight * speed).sum() / weight.sum()

    variants = vary(walk, count=2, deviation=1, rng=2)
    levels = np.percentile(places(walk)[..., 1], 2, axis=0)
    own, found = skate(walk, levels), [skate(v, levels) for v in variants]
    report = variants.report
    assert report.example_foot_skate_cm_s == pytest.approx(own)
    assert report.foot_skate_cm_s == pytest.approx(np.mean(found))
    assert report.foot_slide_ratio == pytest.approx(np.mean(found) / own)
    assert report.worst_foot_slide_ratio == pytest.approx(max(found) / own)


def test_variants_of_an_example_that_does_not_skate_are_measured_too(walk: Motion) -> None:
    still = replace(walk, rotations=walk.rotations[:1].repeat(60, 0), root=walk.root[:1].repeat(60, 0))
    seconds = np.arange(60)[:, None] / walk.frame_rate
    slid = [replace(still, root=still.root + seconds * [speed, 0, 0]) for speed in (0.0, 0.05, 0.4)]
    reports = [report_on(still, [one], PoseModel.fit([walk], root="heading")) for one in slid]
    assert [r.foot_skate_cm_s for r in reports] == pytest.approx([0, 5, 40])
    ratios = [r.foot_slide_ratio for r in reports]
    assert ratios[0] == 0 and 1 < ratios[1] < ratios[2] < np.inf


@pytest.mark.parametrize("deviation", [0.3, 1.0])
def test_a_clip_too_short_for_a_tempo_is_refused(walk: Motion, deviation: float) -> None:
    short = walk[:12]
    with pytest.raises(InputError, match=r"0\.40 s is too short for a tempo .* --timing 0"):
        vary(short, deviation=deviation, rng=0)
    assert np.isfinite(vary(short, count=1, deviation=deviation, timing=0, rng=0)[0].rotations).all()


def test_tempo_is_finite_however_much_of_it_a_clip_shares() -> None:
    for seed in range(20):
        places = tempo(15, 30.0, 0.5, NOTHING, np.random.default_rng(seed))
        assert np.isfinite(places).all() and (np.diff(places) > 0).all()


@pytest.mark.parametrize("deviation", [0.5, 1.0])
def test_feet_of_variants_do_not_sink(walk: Motion, deviation: float) -> None:
    levels, joints = ground_heights(walk), list(foot_joints(walk.skeleton))
    deepest = (walk.positions()[:, joints, 1] - levels).min()
    for variant in vary(walk, count=2, deviation=deviation, rng=3):
        assert (variant.positions()[:, joints, 1] - levels).min() > min(deepest, 0.0) - 0.011


def test_feet_that_swing_are_lifted_as_the_examples(walk: Motion) -> None:
    """Feet near the ground are no faster than the example's: none drags over it."""
    levels, joints = ground_heights(walk), list(foot_joints(walk.skeleton))

    def dragging(clip: Motion) -> float:
        places = clip.positions()[:, joints]
        moving = foot_speeds(clip)
        return float(moving[places[..., 1] - levels < 0.02].mean())

    for variant in vary(walk, count=2, deviation=1.0, rng=4):
        assert dragging(variant) <= 1.2 * dragging(walk)


@pytest.mark.parametrize("frames", [30, 240])
def test_clips_of_any_length_are_smoothed_before_they_are_drawn_from(walk: Motion, frames: int) -> None:
    noise = 0.01 * np.random.default_rng(1).standard_normal((walk.frames, 3))
    noisy = replace(walk, root=walk.root + noise)[:frames]
    learned = _Learned(noisy, None, SETTINGS)
    both = learned.poses.encode(noisy), learned.coordinates
    rough, smooth = (np.diff(coordinates, 2, axis=0).std() for coordinates in both)
    assert smooth < 0.5 * rough


def test_noise_of_measured_motion_is_drawn_anew(walk: Motion) -> None:
    noise = 0.01 * np.random.default_rng(1).standard_normal((walk.frames, 3))
    noisy = replace(walk, root=walk.root + noise)
    variants = vary(noisy, count=4, deviation=1.0, plant=False, timing=0, rng=0)

    def fast(motion: Motion) -> np.ndarray:
        return np.diff(variants.poses.encode(motion), 2, axis=0).std(axis=0)

    shares = np.mean([fast(v) for v in variants], axis=0) / fast(noisy)
    assert (shares > 0.6).all() and (shares < 1.5).all()


def test_a_cartwheel_keeps_its_turn_and_its_joints_their_ranges(walk: Motion) -> None:
    turning = np.linspace(0, 2 * np.pi, walk.frames)[:, None] * [0.0, 0.0, 1.0]
    rotations = np.array(walk.rotations)
    rotations[:, 0] = so3.multiply(so3.exp(turning), rotations[:, 0])
    wheel = Motion(walk.skeleton, rotations, walk.root + np.array([0.0, 1.0, 0.0]), walk.frame_rate)
    variants = vary(wheel, count=1, deviation=1.0, timing=0, rng=0)
    assert so3.distance(variants[0].rotations[:, 0], wheel.rotations[:, 0]).max() < 1e-6
    assert variants.report.beyond_range <= 0.1 + 1e-6


def test_variants_begin_where_the_example_does(walk: Motion) -> None:
    for variant in vary(walk, count=2, deviation=0.5, rng=0):
        assert np.linalg.norm((variant.root[0] - walk.root[0])[[0, 2]]) < 0.1


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.floats(0.0, 0.5), st.lists(st.integers(0, 199), max_size=5))
def test_time_runs_on_and_keeps_its_fixed_frames(seed: int, amount: float, fixed: list[int]) -> None:
    kept = np.array(sorted(set(fixed)), dtype=np.intp)
    places = tempo(200, 60.0, amount, kept, np.random.default_rng(seed))
    assert (np.diff(places) > 0).all()
    assert np.allclose(places[kept], kept) and places[0] == 0 and places[-1] == 199


def test_a_change_of_tempo_keeps_poses_and_path(walk: Motion) -> None:
    same = retime(walk, np.arange(walk.frames, dtype=float))
    assert angle(same, walk, slice(None)) < 1e-4 and np.allclose(same.root, walk.root)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deviation": 1.5}, "deviation"),
        ({"count": 0}, "count"),
        ({"pins": [99.0]}, "pin at 99"),
        ({"method": "magic"}, "joint, gp"),
        ({"keep_modes": -1}, "keep_modes"),
        ({"timing": 2.0}, "timing"),
    ],
)
def test_options_that_cannot_be_met_are_refused(walk: Motion, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        vary(walk, **options)


def test_punches_share_the_blow_and_nothing_else(data_dir: Path) -> None:
    with pytest.warns(marey.errors.MareyWarning):
        punch = marey.load(data_dir / "skeleton" / "cmu_bvh" / "143_23.bvh", clean=True)[::2]
    blow = int(
        np.argmax(
            np.linalg.norm(punch.positions()[:, punch.skeleton.index("RightHand")] - punch.root, axis=1)
        )
    )
    variants = vary(punch, count=4, pins=[blow / punch.frame_rate], rng=1)
    hand = np.array([v.positions()[:, punch.skeleton.index("RightHand")] - v.root for v in variants])
    apart = [np.linalg.norm(a - b, axis=-1).mean() for i, a in enumerate(hand) for b in hand[:i]]
    assert all(angle(v, punch, [blow]) < 0.1 for v in variants)
    assert np.mean(apart) > 0.02
    assert variants.report.foot_slide_ratio <= 1.2
    assert max(beyond_range(punch, v, variants.poses.geodesics.mean) for v in variants) <= 0.12
