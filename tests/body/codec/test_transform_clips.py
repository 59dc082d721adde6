"""Clips of every kind through the default codec: bounds kept on the bytes, damage reported, none trusted."""

from __future__ import annotations

import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.codec import CompressedMotion, compress
from marey.body.compare import joint_error, joint_errors
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import MareyError, UnreachableError
from marey.geometry import rotations as so3

WALK = marey.samples.walk(seconds=2, frame_rate=30)


def within(motion: Motion, error: float) -> CompressedMotion:
    """The clip compressed; joints, end sites and shell are no more than `error` off in what is decoded."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clip = compress(motion, max_error=error)
        decoded = CompressedMotion(clip.data).decode()
    assert joint_errors(motion, decoded, shell=0.03).max() <= error
    return clip


def scaled(motion: Motion, factor: float) -> Motion:
    s = motion.skeleton
    figure = Skeleton(s.names, s.parents, s.offsets * factor, s.end_parents, s.end_offsets * factor)
    return replace(motion, skeleton=figure, root=motion.root * factor)


def spinning(motion: Motion, turns: dict[int, float]) -> Motion:
    rotations = motion.rotations.copy()
    for joint, count in turns.items():
        angle = np.linspace(0, 2 * np.pi * count, motion.frames)[:, None]
        rotations[:, joint] = so3.exp(angle * np.array([0.2, 0.9, 0.387]))
    return replace(motion, rotations=rotations)


def chain(joints: int, frames: int) -> Motion:
    rng = np.random.default_rng(0)
    parents = np.arange(-1, joints - 1)
    skeleton = Skeleton(tuple(f"j{i}" for i in range(joints)), parents, rng.normal(size=(joints, 3)) * 0.02)
    rotations = so3.exp(0.001 * np.cumsum(rng.normal(size=(frames, joints, 3)), axis=0))
    return Motion(skeleton, rotations, np.zeros((frames, 3)), 30)


def test_quaternion_signs_of_the_clip_do_not_matter() -> None:
    signs = np.where(np.random.default_rng(0).random(WALK.rotations.shape[:2]) < 0.5, -1.0, 1.0)
    flipped = replace(WALK, rotations=WALK.rotations * signs[..., None])
    clip = within(flipped, 0.01)
    decoded = clip.decode().rotations
    assert ((decoded[1:] * decoded[:-1]).sum(axis=-1) > 0).all()
    assert abs(clip.bytes - compress(WALK).bytes) < 0.1 * clip.bytes


def test_joints_half_a_turn_from_rest() -> None:
    rotations = WALK.rotations.copy()
    rotations[:, 1] = so3.multiply(rotations[:, 1], so3.exp([np.pi, 0.0, 0.0]))
    rotations[:, 4] = so3.multiply(rotations[:, 4], so3.exp([0.0, np.pi, 0.0]))
    within(replace(WALK, rotations=rotations), 0.01)


@pytest.mark.parametrize("turns", [0.7, 1.0, 4.0])
def test_joints_that_spin(turns: float) -> None:
    spun = spinning(WALK, {0: turns, 3: -turns})
    within(spun, 0.01)
    within(spun, 0.001)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_far_from_the_origin(offset: float) -> None:
    clip = within(replace(WALK, root=WALK.root + np.array([offset, 0.0, -offset])), 0.01)
    assert clip.bytes < 1.3 * compress(WALK).bytes


@pytest.mark.parametrize(("factor", "error"), [(6e-4, 1e-4), (60.0, 0.01), (60.0, 0.5)])
def test_insects_and_giants(factor: float, error: float) -> None:
    clip = within(scaled(WALK, factor), error)
    lengths = np.linalg.norm(scaled(WALK, factor).skeleton.offsets[1:], axis=1)
    stored = np.linalg.norm(clip.skeleton.offsets[1:], axis=1)
    assert np.abs(stored - lengths).max() < 0.01 * lengths.max()


def test_cuts_and_noise() -> None:
    rng = np.random.default_rng(1)
    rotations, root = WALK.rotations.copy(), WALK.root.copy()
    rotations[30:, 0] = so3.multiply(so3.exp([0.0, 3.0, 0.0]), rotations[30:, 0])
    root[30:] += 5.0
    within(replace(WALK, rotations=rotations, root=root), 0.01)
    noise = so3.normalise(rng.normal(size=(20, WALK.joints, 4)))
    within(replace(WALK[:20], rotations=noise, root=rng.normal(size=(20, 3))), 0.01)


@pytest.mark.parametrize("rate", [1.0, 24.0, 240.0])
def test_any_frame_rate(rate: float) -> None:
    within(replace(WALK, frame_rate=rate), 0.01)


def test_figures_without_end_sites() -> None:
    s = WALK.skeleton
    within(replace(WALK, skeleton=Skeleton(s.names, s.parents, s.offsets)), 0.01)


@pytest.mark.parametrize(("joints", "frames"), [(60, 40), (1200, 8)])
def test_long_chains_where_rounded_bones_add_up(joints: int, frames: int) -> None:
    within(chain(joints, frames), 0.01)


def test_both_bounds_are_kept_together() -> None:
    clip = compress(WALK, max_error=0.01, mean_error=0.001)
    error = joint_error(WALK, clip.decode())
    assert error.mean <= 0.001 and error.maximum <= 0.01


def test_smaller_bounds_never_leave_larger_errors() -> None:
    found = [
        joint_error(WALK, compress(WALK, max_error=e).decode()).maximum for e in (0.05, 0.01, 1e-3, 1e-4)
    ]
    assert found == sorted(found, reverse=True)


def test_a_bound_out_of_reach_is_told_with_what_was_reached() -> None:
    with pytest.raises(UnreachableError, match=r"max_error 0.01 mm.*nearest is \d"):
        compress(scaled(WALK[:8], 1e6), max_error=1e-5)


def test_segments_of_a_turning_walk_blend_within_the_bound_and_decode_alone() -> None:
    """Seventy seconds at a low rate, turning all the while: several segments, quaternions of both signs."""
    count = 35
    angle = np.linspace(0, 6 * np.pi, count * WALK.frames)
    turn = so3.exp(angle[:, None] * np.array([0.0, 1.0, 0.0]))
    rotations = np.tile(WALK.rotations, (count, 1, 1))
    rotations[:, 0] = so3.multiply(turn, rotations[:, 0])
    travel = WALK.root[-1] - WALK.root[0]
    root = np.concatenate([WALK.root + i * travel * [1, 0, 1] for i in range(count)])
    motion = replace(WALK, rotations=rotations, root=root)[::3]
    motion = replace(motion, frame_rate=10.0)
    clip = within(motion, 0.02)
    assert len(clip.segments) >= 3
    whole = clip.decode()
    assert ((whole.rotations[1:] * whole.rotations[:-1]).sum(axis=-1) > 0).all()
    streamed = list(clip.stream())
    np.testing.assert_array_equal(np.concatenate([m.rotations for m in streamed]), whole.rotations)
    np.testing.assert_array_equal(np.concatenate([m.root for m in streamed]), whole.root)
    edge = clip.segments[1].start
    for part in (slice(0, 1), slice(edge - 5, edge + 5), slice(edge, edge + 1), slice(150, 420)):
        np.testing.assert_array_equal(clip.decode(part).rotations, whole.rotations[part])
        np.testing.assert_array_equal(clip.decode(part).root, whole.root[part])


# Damage


def sealed(content: bytes | bytearray) -> bytes:
    """The content with a checksum that fits, so that damage is not found by that."""
    return bytes(content) + zlib.crc32(content).to_bytes(4, "little")


def decoded_or_refused(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            motion = CompressedMotion(data).decode()
        except MareyError:
            return False
    assert np.isfinite(motion.rotations).all() and np.isfinite(motion.root).all()
    return True


@pytest.fixture(scope="module")
def content() -> tuple[bytes, int]:
    """A file without its checksum, and where its payload begins."""
    clip = compress(WALK, max_error=0.03)
    return clip.data[:-4], len(clip.data) - 4 - len(clip.payload)


def test_flipped_bits_decode_or_are_refused(content: tuple[bytes, int]) -> None:
    data, start = content
    rng = np.random.default_rng(0)
    for _ in range(250):
        damaged = bytearray(data)
        damaged[rng.integers(start, len(data))] ^= 1 << rng.integers(8)
        decoded_or_refused(sealed(damaged))


def test_truncated_files_are_refused(content: tuple[bytes, int]) -> None:
    data, start = content
    for end in range(start, len(data), 7):
        assert not decoded_or_refused(sealed(data[:end]))


def test_random_segments_decode_or_are_refused(content: tuple[bytes, int]) -> None:
    data, start = content
    rng = np.random.default_rng(1)
    for number in range(120):
        size = int(rng.integers(2, 128))
        noise = rng.integers(0, 256, size) if number % 3 else rng.choice([0, 255], size)
        segment = bytearray(noise.astype(np.uint8))
        if number % 2:
            segment[0] = rng.integers(3) | rng.integers(6) << 4
        decoded_or_refused(sealed(data[:start] + bytes([1, WALK.frames, size]) + segment))


# Real clips


REAL = (
    "skeleton/cmu_bvh/49_06.bvh",
    "skeleton/cmu_corpus/88_06.bvh",
    "skeleton/bandai_bvh_NC/dataset-1_kick_normal_001.bvh",
    "skeleton/manipnet_hand_NC/mug1_rightHand.bvh",
    "skeleton/misc_bvh/pirouette_43joints.bvh",
    "skeleton/misc_bvh/test_freebvh.bvh",
    "skeleton/misc_bvh/test_mocapbank.bvh",
)


@pytest.mark.parametrize("name", REAL)
def test_real_clips_keep_their_bound(data_dir: Path, name: str) -> None:
    if not (data_dir / name).exists():
        pytest.skip(f"{name} is not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = marey.load(data_dir / name, clean=True)
    assert isinstance(motion, Motion)
    motion = motion[:150]
    clip = within(motion, 0.01)
    if motion.frames >= 100:
        assert clip.ratio > 10


@pytest.mark.parametrize("error", [0.05, 0.001, 0.0001])
def test_a_real_cartwheel_keeps_bounds_large_and_small(data_dir: Path, error: float) -> None:
    within(marey.load(data_dir / REAL[0], clean=True).resample(30), error)
