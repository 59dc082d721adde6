"""The source's codec: what it promises on the sample clip, and its table on real clips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body import Motion, Skeleton
from marey.body.codec import (
    SourceClip,
    bone_length_drift,
    choose_source,
    compress_source,
    decompress_source,
    foot_skate,
    joint_error,
    relative_distortion,
    source_ratio,
)
from marey.body.codec.source_encoder import Store
from marey.errors import InputError, UnreachableError
from marey.geometry import rotations as so3
from tests.body.trees import random_motion


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk()


STORES: list[Store] = ["end joints", "coordinates"]


def test_all_coordinates_and_samples_give_the_clip_back(walk: Motion) -> None:
    clip = compress_source(walk, modes=75, dropped_root=0, dropped_effectors=0, store="coordinates")
    # Single precision is all that is lost.
    assert joint_error(walk, decompress_source(clip)).maximum < 1e-5


def test_whole_paths_of_end_joints_give_nearly_the_clip_back(walk: Motion) -> None:
    clip = compress_source(walk, modes=8, dropped_root=0, dropped_effectors=0, improved=True)
    assert joint_error(walk, decompress_source(clip)).mean < 0.01


@pytest.mark.parametrize("store", STORES)
def test_improved_encoding_is_nearer_at_the_same_ratio(walk: Motion, store: Store) -> None:
    plain, improved = (
        compress_source(walk, modes=6, dropped_root=4, dropped_effectors=4, improved=better, store=store)
        for better in (False, True)
    )
    assert improved.ratio == plain.ratio
    errors = [relative_distortion(walk, decompress_source(clip)).squared for clip in (plain, improved)]
    assert errors[1] < 0.8 * errors[0]


def test_ratio_is_the_sources_count(walk: Motion) -> None:
    clip = compress_source(walk, modes=6, dropped_root=4, dropped_effectors=[5, 4, 4, 3, 3])
    expected = source_ratio(
        walk.frames, walk.joints, modes=6, dropped_root=4, dropped_effectors=[5, 4, 4, 3, 3]
    )
    assert clip.ratio == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("store", STORES)
def test_bones_keep_their_length(walk: Motion, store: Store) -> None:
    clip = compress_source(walk, modes=6, dropped_root=5, dropped_effectors=5, store=store)
    assert bone_length_drift(decompress_source(clip)) < 1e-12


@pytest.mark.parametrize("store", STORES)
def test_a_range_of_frames_equals_that_of_the_whole(walk: Motion, store: Store) -> None:
    clip = compress_source(walk, modes=6, store=store)
    whole, part = decompress_source(clip), decompress_source(clip, frames=slice(40, 90, 2))
    assert part.frame_rate == walk.frame_rate / 2
    assert np.abs(part.positions() - whole[40:90:2].positions()).max() < 1e-12
    assert decompress_source(clip, frames=-1).frames == 1


def test_the_decoded_clip_is_written_like_the_original(walk: Motion) -> None:
    named = replace(walk.with_convention(unit="cm", up="z"), name="stroll")
    decoded = decompress_source(compress_source(named, modes=4))
    assert (decoded.convention, decoded.channels, decoded.name) == (
        named.convention,
        named.channels,
        "stroll",
    )


@pytest.mark.parametrize("frames", [1, 2, 3, 5])
@pytest.mark.parametrize("improved", [False, True])
@pytest.mark.parametrize("store", STORES)
def test_very_short_clips_pass(walk: Motion, frames: int, improved: bool, store: Store) -> None:
    clip = compress_source(walk[:frames], improved=improved, store=store, dropped_root=1, dropped_effectors=1)
    decoded = decompress_source(SourceClip.from_bytes(clip.to_bytes()))
    assert decoded.frames == frames
    assert joint_error(walk[:frames], decoded).mean < 0.02


def test_no_modes_leave_the_mean_pose(walk: Motion) -> None:
    clip = compress_source(walk, modes=0)
    poses = decompress_source(clip).rotations[:, 1:]
    assert so3.distance(poses, poses[0]).max() < 1e-7


def test_more_modes_than_the_clip_has_are_held_still(walk: Motion) -> None:
    clip = compress_source(walk[:4], modes=40, improved=True)
    assert np.isfinite(decompress_source(clip).rotations).all()


def test_any_tree_can_be_stored() -> None:
    motion = random_motion(5, joints=9, frames=30)
    for joints in (1, 9):
        clip = motion if joints == 9 else motion.pick([motion.skeleton.names[0]])
        decoded = decompress_source(compress_source(clip, modes=2 if joints > 1 else 0))
        assert decoded.frames == 30


def test_the_root_may_turn_all_the_way_round() -> None:
    figure = Skeleton(("hips", "head"), [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    turns = so3.exp(np.linspace(0, 20, 200)[:, None] * [0.0, 1.0, 0.0])
    spin = Motion(figure, np.stack([turns, so3.identity(200)], axis=1), np.zeros((200, 3)), 30)
    decoded = decompress_source(compress_source(spin, modes=0, dropped_root=3))
    assert so3.distance(decoded.rotations[:, 0], turns).max() < 1e-5


def test_what_cannot_be_stored_is_said(walk: Motion) -> None:
    with pytest.raises(InputError, match="slide"):
        compress_source(random_motion(1, sliding=True))
    with pytest.raises(InputError, match="modes"):
        compress_source(walk, modes=76)
    with pytest.raises(InputError, match="dropped levels"):
        compress_source(walk, dropped_root=11)
    with pytest.raises(InputError, match="dropped levels"):
        compress_source(walk, dropped_effectors=[3, 3])
    with pytest.raises(InputError, match="store"):
        compress_source(walk, store="nothing")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean"):
        compress_source(walk, effectors=["LeftHond"])


def test_chosen_settings_keep_the_bound(walk: Motion) -> None:
    short = walk[:90]
    loose, tight = (choose_source(short, max_distortion=bound, store="coordinates") for bound in (8.0, 3.0))
    assert loose.ratio > 1.2 * tight.ratio
    assert relative_distortion(short, decompress_source(loose)).frobenius <= 8.0
    assert relative_distortion(short, decompress_source(tight)).frobenius <= 3.0
    ends = choose_source(short, max_error=0.02)
    assert joint_error(short, decompress_source(ends)).mean <= 0.02
    assert ends.ratio > compress_source(short, dropped_root=0, dropped_effectors=0).ratio


def test_bounds_out_of_reach_are_reported(walk: Motion) -> None:
    with pytest.raises(UnreachableError, match="name more"):
        choose_source(walk[:40], max_error=1e-6, effectors=["Head"])
    with pytest.raises(InputError):
        choose_source(walk)
    with pytest.raises(InputError):
        choose_source(walk, max_error=-1.0)


# Table 9.2 as replicated: modes, dropped levels, d_sq of the plain form and bound for the improved one.
TABLE = [("09_06", 6, 5, 5, 0.38, 0.21), ("17_10", 12, 5, 4, 0.95, 0.58), ("85_12", 15, 5, 5, 1.5, 1.0)]


@pytest.mark.parametrize(("name", "modes", "root", "ends", "plain_bound", "bound"), TABLE)
def test_distortion_of_the_sources_clips(
    data_dir: Path, name: str, modes: int, root: int, ends: int, plain_bound: float, bound: float
) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{name}.bvh", clean=True)
    plain, improved = (
        decompress_source(
            compress_source(motion, modes=modes, dropped_root=root, dropped_effectors=ends, improved=better)
        )
        for better in (False, True)
    )
    assert 0.32 < relative_distortion(motion, plain).squared < plain_bound
    assert relative_distortion(motion, improved).squared < bound


def test_end_joints_slide_less_than_coordinates_at_equal_size(data_dir: Path) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / "17_10.bvh", clean=True)
    skates = []
    for store in STORES:
        clip = compress_source(
            motion, modes=15, dropped_root=5, dropped_effectors=4, improved=True, store=store
        )
        skates.append((clip.ratio, foot_skate(motion, decompress_source(clip)).decoded))
    assert skates[0][0] == pytest.approx(skates[1][0])
    assert skates[0][1] < skates[1][1]
