"""Gaps of clips are filled close to the truth, without seeing it, and the radius says how close."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.fill import METHODS, FillResult, fill, find_frozen, gap_mask
from marey.body.fill.coordinates import gaps
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3

ARM = ["LeftArm", "LeftForeArm", "LeftHand"]


@pytest.fixture(scope="module")
def walk() -> Motion:
    clip = marey.samples.walk(seconds=5, frame_rate=60)
    fill(clip, [(10, 12)], method="gp")  # loads compiled kernels, which round differently from NumPy
    return clip


def error(filled: FillResult, truth: Motion) -> float:
    """Metres, mean over joints at the frames that were filled."""
    at = filled.gap_mask.any(axis=1)
    return float(np.linalg.norm(filled.motion.positions()[at] - truth.positions()[at], axis=-1).mean())


def spoiled(motion: Motion, mask: np.ndarray) -> Motion:
    """The clip with nonsense where it is missing."""
    rotations = np.where(mask[..., None], so3.random(mask.shape, rng=1), motion.rotations)
    return replace(motion, rotations=rotations, root=np.where(mask[:, :1], 7.0, motion.root))


def test_the_default_halves_the_error_of_slerp(walk: Motion) -> None:
    for gap in ((100, 106), (150, 170), (60, 100)):
        assert error(fill(walk, [gap]), walk) < 0.5 * error(fill(walk, [gap], method="slerp"), walk)


@pytest.mark.parametrize("method", METHODS)
def test_what_the_clip_has_in_the_gap_is_not_used(walk: Motion, method: str) -> None:
    for joints in (None, ARM, ["Hips"]):
        mask = gap_mask(walk, [(100, 120)], joints)
        honest, blind = (fill(clip, mask, method=method) for clip in (walk, spoiled(walk, mask)))
        assert np.abs(honest.motion.positions() - blind.motion.positions()).max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_known_frames_and_joints_stay_as_they_were(walk: Motion, method: str) -> None:
    mask = gap_mask(walk, [(100, 120), (200, 210)], ARM)
    filled = fill(walk, mask, samples=2 if method in ("joint", "gp") else 0, method=method, rng=0)
    for clip in (filled.motion, *filled.samples):
        assert so3.distance(clip.rotations, walk.rotations)[~mask].max() < 1e-7
        assert np.array_equal(clip.root, walk.root)


def test_slerp_is_slerp(walk: Motion) -> None:
    filled = fill(walk, [(100, 109)], method="slerp").motion
    middle = so3.slerp(walk.rotations[99], walk.rotations[109], 0.5)
    assert so3.distance(filled.rotations[104], middle).max() < 1e-7
    assert np.allclose(filled.root[104], 0.5 * (walk.root[99] + walk.root[109]))


def test_edges_do_not_jump(walk: Motion) -> None:
    for gap in ((100, 106), (80, 140)):
        filled = fill(walk, [gap], samples=3, rng=1)
        usual = np.quantile(np.linalg.norm(np.diff(walk.positions(), axis=0), axis=-1), 0.99, axis=0)
        for clip in (filled.motion, *filled.samples):
            steps = np.linalg.norm(np.diff(clip.positions(), axis=0), axis=-1)
            assert (steps[[gap[0] - 1, gap[1] - 1]] <= 1.5 * usual + 1e-4).all()


def test_a_gap_of_some_joints_is_filled_better_than_by_their_edges(walk: Motion) -> None:
    filled = fill(walk, [(60, 140)], ARM)
    assert error(filled, walk) < 0.5 * error(fill(walk, [(60, 140)], ARM, method="slerp"), walk)
    assert filled.confidence_radius[60:140, walk.skeleton.names.index("RightHand")].max() < 1e-9


def test_gaps_at_the_ends_are_continued_and_the_confidence_radius_grows(walk: Motion) -> None:
    filled = fill(walk, [(0, 20), (walk.frames - 20, walk.frames)])
    hand = walk.skeleton.names.index("LeftHand")
    assert filled.confidence_radius[-1, hand] > filled.confidence_radius[-20, hand] > 0
    assert filled.confidence_radius[0, hand] > filled.confidence_radius[19, hand] > 0
    assert error(filled, walk) < 0.1


def test_the_path_of_the_root_alone_can_be_filled(walk: Motion) -> None:
    filled = fill(walk, [(100, 130)], ["Hips"])
    assert np.linalg.norm(filled.motion.root - walk.root, axis=1).max() < 0.05
    assert so3.distance(filled.motion.rotations[:, 1:], walk.rotations[:, 1:]).max() < 1e-7


def test_any_pattern_of_gaps_is_filled(walk: Motion) -> None:
    mask = np.random.default_rng(0).random((walk.frames, walk.joints)) < 0.03
    mask[::10] = False
    filled = fill(spoiled(walk, mask), mask)
    assert error(filled, walk) < 0.02


def test_short_clips_and_single_known_frames_are_enough(walk: Motion) -> None:
    for clip, gap in ((walk[:30], (5, 25)), (walk[:3], (1, 2)), (walk[:2], (1, 2)), (walk[:12], (1, 12))):
        filled = fill(clip, [gap], samples=1, rng=0)
        assert np.isfinite(filled.motion.positions()).all() and np.isfinite(filled.confidence_radius).all()


def test_filling_turns_and_moves_with_the_clip(walk: Motion) -> None:
    moved = walk.transform(rotation=so3.exp([0.0, 2.0, 0.0]), translation=(3.0, 0.0, -5.0))
    first = fill(walk, [(100, 130)]).motion.transform(
        rotation=so3.exp([0.0, 2.0, 0.0]), translation=(3.0, 0.0, -5.0)
    )
    assert np.abs(fill(moved, [(100, 130)]).motion.positions() - first.positions()).max() < 1e-3


def test_samples_differ_and_follow_the_seed(walk: Motion) -> None:
    one, again, other = (fill(walk, [(100, 130)], samples=2, rng=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.samples[0].rotations, again.samples[0].rotations)
    assert not np.array_equal(one.samples[0].rotations, one.samples[1].rotations)
    assert not np.array_equal(one.samples[0].rotations, other.samples[0].rotations)


def test_nine_in_ten_samples_lie_within_the_confidence_radius(walk: Motion) -> None:
    for gap in ((100, 120), (60, 120)):
        filled = fill(walk, [gap], samples=40, rng=0)
        at = slice(*gap)
        middle = filled.motion.positions()[at]
        away = np.abs(np.stack([clip.positions()[at] for clip in filled.samples]) - middle)
        within = (np.linalg.norm(away, axis=-1) <= filled.confidence_radius[at]).mean()
        by_axis = (away <= filled.axis_radius[at] + 1e-12).mean()
        assert 0.78 < within < 0.97 and 0.78 < by_axis < 0.97
        assert (filled.axis_radius <= filled.confidence_radius[..., None] + 1e-12).all()


def test_examples_teach_a_clip_that_is_too_short_to_teach_itself(walk: Motion) -> None:
    short = walk[100:170]
    alone, taught = (fill(short, [(20, 50)], examples=clips) for clips in ((), (walk[170:], walk[:100])))
    assert error(taught, short) < 0.7 * error(alone, short)


def test_frozen_stretches_are_found(walk: Motion) -> None:
    rotations, root = walk.rotations.copy(), walk.root.copy()
    rotations[50:70], root[50:70] = rotations[49], root[49]
    assert find_frozen(replace(walk, rotations=rotations, root=root)) == [(50, 70)]


def test_joints_missing_in_the_same_frames_are_one_gap(walk: Motion) -> None:
    mask = gap_mask(walk, [(10, 20)], ARM) | gap_mask(walk, [(15, 30)], ["Head"])
    assert [(h.first, h.stop, len(h.joints)) for h in gaps(mask)] == [(10, 20, 3), (15, 30, 1)]


def test_invalid_input_is_refused(walk: Motion) -> None:
    for ranges, joints, options in (
        ([(20, 10)], None, {}),
        ([(0, walk.frames + 1)], None, {}),
        ([(0, walk.frames)], None, {}),
        ([(0, walk.frames)], ["Head"], {}),
        ([(0, 10)], ["Tail"], {}),
        ([(0, 10)], None, {"method": "magic"}),
        ([(0, 10)], None, {"samples": -1}),
        ([0, 10], None, {}),
    ):
        with pytest.raises(InputError):
            fill(walk, ranges, joints, **options)


def test_real_gaps_meet_the_bars(data_dir: Path) -> None:
    """Few gaps of few clips; the whole table is in reproduce/hole_filling.py."""
    rng = np.random.default_rng(5)
    ours, slerped, covered = [], [], []
    for name in ("02_01", "143_23", "143_32", "49_06", "85_01"):
        clip = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{name}.bvh", clean=True)
        for first in rng.integers(30, clip.frames - 70, 2):
            at = slice(int(first), int(first) + 40)
            filled = fill(clip, [(at.start, at.stop)])
            off = np.linalg.norm(filled.motion.positions()[at] - clip.positions()[at], axis=-1)
            ours.append(off.mean())
            slerped.append(error(fill(clip, [(at.start, at.stop)], method="slerp"), clip))
            covered.append((off <= filled.confidence_radius[at]).mean())
    assert np.mean(ours) < 0.5 * np.mean(slerped)
    assert 0.8 < np.mean(covered) <= 1.0
