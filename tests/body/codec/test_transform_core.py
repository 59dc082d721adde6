"""The default codec: its parts undo themselves, and what it promises of a clip holds on the bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.codec import CompressedMotion, compress, joint_error, shell_error
from marey.body.codec.transform.channels import find_channels
from marey.body.codec.transform.limbs import limbs
from marey.body.codec.transform.range_coder import RangeCoder, _logistic_tables
from marey.body.codec.transform.wavelet import analyse, band_frames, band_sizes, synthesise
from marey.body.motion import Motion, concatenate
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(seconds=2, frame_rate=60)


@pytest.fixture(scope="module")
def small(walk: Motion) -> CompressedMotion:
    return compress(walk, max_error=0.01)


@pytest.mark.parametrize("frames", [*range(1, 34), 63, 64, 65, 343])
def test_wavelets_give_the_curve_back(frames: int) -> None:
    curve = np.random.default_rng(frames).normal(size=(frames, 2))
    for levels in range(int(np.log2(frames)) + 1):
        assert np.abs(synthesise(analyse(curve, levels), levels) - curve).max() < 1e-12
        assert sum(band_sizes(frames, levels)) == frames
        assert sorted(band_frames(frames, levels)) == list(range(frames))


def test_wavelets_are_nearly_orthonormal() -> None:
    curve = np.random.default_rng(1).normal(size=(512, 20))
    assert (analyse(curve, 6) ** 2).sum() / (curve**2).sum() == pytest.approx(1, abs=0.06)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-(2**40), 2**40), max_size=40))
def test_any_numbers_come_back(numbers: list[int]) -> None:
    writer = RangeCoder(room=1 << 16)
    writer.plain(np.array(numbers, dtype=np.int64))
    found = RangeCoder(writer.finish()).plain(np.zeros(len(numbers), dtype=np.int64))
    assert found.tolist() == numbers


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(0, 6), st.integers(0, 5), st.integers(0, 2**31))
def test_any_coefficients_come_back(frames: int, curves: int, levels: int, seed: int) -> None:
    levels = min(levels, int(np.log2(frames)))
    sizes = band_sizes(frames, levels)
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.standard_cauchy((frames, curves)) * 3).astype(np.int64)
    writer = RangeCoder(room=1 << 16)
    writer.bands(numbers, sizes)
    assert (RangeCoder(writer.finish()).bands(np.zeros_like(numbers), sizes) == numbers).all()


def test_tables_stay_clear_of_halves_so_that_every_machine_rounds_alike() -> None:
    logits = (np.arange(4096) - 2048) / 256
    chances = (np.arange(4096) + 0.5) / 4096
    for exact in (65536 / (1 + np.exp(-logits)), 256 * np.log(chances / (1 - chances))):
        assert np.abs(exact % 1 - 0.5).min() > 1e-9
    squash, stretch = _logistic_tables()
    assert (np.diff(squash) >= 0).all() and (np.diff(stretch) >= 0).all()


def test_spinning_joints_come_back_from_their_curves() -> None:
    turns = so3.exp(np.linspace(0, 30, 200)[:, None] * [0.3, 0.9, 0.1])
    still = np.broadcast_to(so3.exp([0.0, 0.0, np.pi]), (200, 4))
    rotations, root = np.stack([turns, still], axis=1), np.random.default_rng(0).normal(size=(200, 3))
    channels = find_channels(rotations, root)
    found, path = channels.motion(channels.curves(rotations, root))
    assert so3.distance(found, rotations).max() < 1e-7
    assert np.abs(path - root).max() < 1e-12


def test_limbs_of_a_figure() -> None:
    skeleton = marey.samples.walk(seconds=1).skeleton
    labels = dict(zip(skeleton.names, limbs(skeleton.parents).tolist(), strict=True))
    assert labels["Hips"] == 0
    assert labels["LeftUpLeg"] == labels["LeftToeBase"] != labels["RightUpLeg"]
    assert labels["LeftArm"] == labels["LeftThumb"] != labels["RightArm"]


@pytest.mark.parametrize("bound", [0.05, 0.01, 0.001, 0.0001])
def test_no_joint_end_site_or_shell_is_farther_off_than_allowed(walk: Motion, bound: float) -> None:
    decoded = CompressedMotion(compress(walk, max_error=bound).data).decode()
    assert joint_error(walk, decoded).maximum <= bound * (1 + 1e-9)
    assert shell_error(walk, decoded).max() <= bound * (1 + 1e-9)


def test_a_smaller_error_takes_more_bytes(walk: Motion, small: CompressedMotion) -> None:
    assert compress(walk, max_error=0.05).bytes < small.bytes < compress(walk, max_error=0.001).bytes


def test_the_mean_error_is_kept(walk: Motion) -> None:
    assert joint_error(walk, compress(walk, mean_error=0.005).decode()).mean <= 0.005 * (1 + 1e-9)


def test_the_same_clip_gives_the_same_bytes(walk: Motion, small: CompressedMotion) -> None:
    assert compress(walk, max_error=0.01).data == small.data


def test_a_stretch_decodes_as_in_the_whole(small: CompressedMotion) -> None:
    whole, part = small.decode(), small.decode(slice(37, 80))
    assert (part.rotations == whole.rotations[37:80]).all() or np.allclose(
        np.abs((part.rotations * whole.rotations[37:80]).sum(axis=-1)), 1, atol=1e-12
    )
    assert (part.root == whole.root[37:80]).all()


def test_long_clips_are_segments_that_blend_within_the_error() -> None:
    step = marey.samples.walk(seconds=3, frame_rate=20)
    clip = concatenate([step.transform(translation=np.array([0.0, 0.0, 3.6 * i])) for i in range(22)])
    small = compress(clip, max_error=0.02)
    assert len(small.segments) > 1
    decoded = concatenate(list(small.stream()))
    assert joint_error(clip, decoded).maximum <= 0.02 * (1 + 1e-9)
    assert np.abs(decoded.positions() - small.decode().positions()).max() < 1e-12


@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_the_shortest_clips(walk: Motion, frames: int) -> None:
    clip = walk[:frames]
    assert joint_error(clip, compress(clip, max_error=0.005).decode()).maximum <= 0.005


def test_a_single_joint_and_a_still_clip() -> None:
    one = Skeleton(("box",), [-1], [[0, 0, 0]])
    t = np.linspace(0, 3, 90)
    path = np.stack([np.sin(t), t, np.zeros(90)], axis=1)
    spin = so3.exp(np.stack([np.zeros(90), 5 * t, t], axis=1))[:, None]
    for motion in (Motion(one, spin, path, 30), Motion(one, spin[:1].repeat(90, axis=0), path * 0, 30)):
        assert joint_error(motion, compress(motion, max_error=0.003).decode()).maximum <= 0.003
