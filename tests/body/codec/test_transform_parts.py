"""Parts of the default clip codec: wavelets, curves, limbs, directions, what errors do to a body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.clip_header import Header
from marey.body.codec.transform.channels import (
    CURVES,
    LIMBS,
    SHELL,
    Channels,
    Columns,
    find_channels,
    lever_arms,
    limbs,
    principal_directions,
    single_columns,
)
from marey.body.codec.transform.encoder import SETTINGS, SegmentData, encode_segment, prepare_segments
from marey.body.codec.transform.segment import read_segment, write_segment
from marey.body.compare import joint_errors
from marey.body.kinematics import global_frames, points_on
from marey.geometry import rotations as so3
from marey.geometry.rotations import continuous
from marey.statistics.coding.wavelet import analyse, band_frames, band_sizes, synthesise

WALK = marey.samples.walk(seconds=2, frame_rate=30)
STEP = 60


def data_of(motion: marey.Motion) -> SegmentData:
    return prepare_segments(motion, Header.of(motion), [range(motion.frames)])[0]


@pytest.fixture(scope="module")
def data() -> SegmentData:
    return data_of(WALK)


# Wavelets


def test_wavelets_give_back_curves_of_any_length() -> None:
    rng = np.random.default_rng(0)
    for frames in range(1, 71):
        curves = rng.normal(size=(frames, 2))
        for levels in range(int(np.log2(frames)) + 1):
            there = analyse(curves, levels)
            assert there.shape == curves.shape
            np.testing.assert_allclose(synthesise(there, levels), curves, atol=1e-11)


@pytest.mark.parametrize("degree", range(4))
def test_fine_bands_are_empty_where_curves_are_polynomials(degree: int) -> None:
    curve = (np.linspace(-1, 1, 128) ** degree)[:, None]
    coefficients = analyse(curve, 2)
    details, middles = coefficients[32:], band_frames(128, 2)[32:]
    inside = (middles > 16) & (middles < 112)
    assert np.abs(details[inside]).max() < 1e-9


def test_wavelets_nearly_keep_lengths() -> None:
    noise = np.random.default_rng(1).normal(size=(256, 20))
    there = analyse(noise, 5)
    assert 0.9 < np.linalg.norm(there) / np.linalg.norm(noise) < 1.1


def test_bands_cover_every_frame_once() -> None:
    for frames in (1, 2, 7, 64, 65):
        for levels in range(int(np.log2(frames)) + 1):
            assert sum(band_sizes(frames, levels)) == frames
            assert sorted(band_frames(frames, levels)) == list(range(frames))


# Curves


def turns(angle: float, axis: tuple[float, float, float], frames: int = 90) -> np.ndarray:
    rotation_vector = np.array(axis) / np.linalg.norm(axis)
    return so3.exp(np.linspace(0, angle, frames)[:, None] * rotation_vector)


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.0, np.pi, 5.0, 2 * np.pi, 8.0, 40.0])
def test_curves_give_back_any_turn(angle: float) -> None:
    rotations = np.stack([turns(angle, (0.2, 1.0, 0.3)), turns(0.5, (1, 0, 0))], axis=1)
    root = np.random.default_rng(0).normal(size=(90, 3))
    channels = find_channels(rotations, root[:, None])
    back, path = channels.motion(channels.curves(rotations, root[:, None]))
    np.testing.assert_allclose(back, rotations, atol=1e-9)
    np.testing.assert_allclose(path[:, 0], root, atol=1e-12)


def test_a_full_turn_is_followed_and_many_are_quaternions() -> None:
    root = np.zeros((90, 3))
    rotations = np.stack([turns(2 * np.pi, (0, 1, 0)), turns(30.0, (0, 1, 0))], axis=1)
    assert find_channels(rotations, root[:, None]).columns.quaternion_columns.tolist() == [False, True]


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_curves_give_back_noise_with_its_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rotations = continuous(so3.normalise(rng.normal(size=(12, 3, 4))))
    root = rng.normal(size=(12, 3)) * 1000
    channels = find_channels(rotations, root[:, None])
    back, path = channels.motion(channels.curves(rotations, root[:, None]))
    assert so3.distance(back, rotations).max() < 1e-6
    np.testing.assert_allclose(path[:, 0], root, atol=1e-9)


def test_signs_of_a_clip_come_back_wherever_it_begins() -> None:
    rotations = turns(2.5 * np.pi, (0, 1, 0))[:, None]
    for part in (slice(0, 30), slice(30, 60), slice(60, 90)):
        channels = find_channels(rotations[part], np.zeros((30, 1, 3)))
        back, _ = channels.motion(channels.curves(rotations[part], np.zeros((30, 1, 3))))
        assert (back * rotations[part]).sum(axis=-1).min() > 0.999


def test_a_uniform_spin_has_arms_though_it_has_no_mean() -> None:
    rotations = np.stack([turns(8 * np.pi, (0, 0, 1), 801)[:800]] * WALK.joints, axis=1)
    channels = find_channels(rotations, np.zeros((800, 1, 3)))
    assert np.linalg.norm(channels.mean_quaternions(), axis=1).max() < 0.01
    arms = lever_arms(WALK.skeleton, channels)
    assert np.isfinite(arms).all() and (arms > 0).all()


def test_lever_arms_are_displacements_by_a_small_turn(data: SegmentData) -> None:
    skeleton, channels = WALK.skeleton, data.channels
    means = channels.mean_quaternions()
    rest = global_frames(skeleton.parents, skeleton.offsets, means, np.zeros(3))
    joint = int(skeleton.parents[skeleton.parents >= 0][5])
    squared = 0.0
    for axis in np.eye(3):
        turned = means.copy()
        turned[joint] = so3.multiply(means[joint], so3.exp(1e-5 * axis))
        pose = global_frames(skeleton.parents, skeleton.offsets, turned, np.zeros(3))
        squared += ((pose.positions - rest.positions) ** 2).sum() / 1e-10 / 3
    below = sum(joint in skeleton.ancestors(j) for j in range(skeleton.joints))
    expected = np.sqrt((squared + below * 0.03**2) / skeleton.joints)
    assert lever_arms(skeleton, channels)[channels.columns.of(joint)][0] == pytest.approx(expected, rel=1e-4)
    assert (lever_arms(skeleton, channels, straight=True) >= lever_arms(skeleton, channels) - 1e-12).all()


# Limbs


def test_limbs_of_a_human_are_its_legs_trunk_and_arms() -> None:
    labels = limbs(WALK.skeleton.parents)
    assert labels[0] == 0 and 5 <= labels.max() <= 8
    for joint, parent in enumerate(WALK.skeleton.parents):
        chain = labels == labels[joint]
        assert parent < 0 or labels[parent] == labels[joint] or joint == np.flatnonzero(chain)[0]


def test_limbs_of_hands_chains_and_stars() -> None:
    hand = [-1, *(f for k in range(5) for f in (0, 3 * k + 1, 3 * k + 2))]
    assert limbs(np.array(hand)).max() == 5
    assert limbs(np.array([-1])).tolist() == [0]
    assert limbs(np.arange(-1, 30)).max() == 1
    assert limbs(np.array([-1] + [0] * 40)).max() == 0


# Directions and metric


@pytest.mark.parametrize("layout", [CURVES, LIMBS])
def test_directions_rebuild_curves_to_the_step(data: SegmentData, layout: int) -> None:
    channels = data.channels
    curves = channels.curves(data.rotations, data.positions)
    arms = lever_arms(WALK.skeleton, channels)
    step = 1e-4
    if layout == CURVES:
        basis = single_columns(curves, arms, step)
        modes = curves[:, basis.first_columns()] * arms[basis.first_columns()]
    else:
        basis = principal_directions(data.spectrum, curves, arms, step)
        modes = np.linalg.lstsq(basis.directions(arms), curves.T, rcond=None)[0].T
    again = basis.expand(modes, arms)
    np.testing.assert_allclose(again, modes @ basis.directions(arms).T, atol=1e-12)
    assert np.sqrt((((again - curves) * arms) ** 2).sum(axis=1)).mean() < 20 * step


def test_metric_is_the_displacement_by_small_errors(data: SegmentData) -> None:
    """Of a single curve: the mean squared displacement of joints and end sites, and a little for turns."""
    assert data.metric is not None
    skeleton, channels = WALK.skeleton, data.channels
    curves = channels.curves(data.rotations, data.positions)
    frames = np.unique(np.linspace(0, len(curves) - 1, SETTINGS.metric_poses).astype(int))
    for column in (0, 4, 10, 25):
        error = np.zeros(curves.shape[1])
        error[column] = 1e-5
        moved, path = channels.motion(curves[frames] + error)
        pose = global_frames(skeleton.parents, skeleton.offsets, moved, path[:, 0])
        squared = ((pose.positions - data.truth.positions[frames]) ** 2).sum(axis=(1, 2)).mean() / 1e-10
        if column >= 3:
            ends = points_on(pose, skeleton.end_parents, skeleton.end_offsets)
            squared += ((ends - data.ends[frames]) ** 2).sum(axis=(1, 2)).mean() / 1e-10
            turned = so3.distance(pose.rotations, data.truth.rotations[frames]) / 1e-5
            squared += SETTINGS.gyration**2 * (turned**2).sum(axis=1).mean()
        assert data.metric[column, column] == pytest.approx(squared / skeleton.joints, rel=1e-3)
    assert np.linalg.eigvalsh(data.metric).min() > 0


# Segments


@pytest.mark.parametrize("layout", [CURVES, LIMBS])
def test_segments_read_back_as_written(data: SegmentData, layout: int) -> None:
    trial = encode_segment(data, layout, STEP, 0.01)
    segment = trial.segment
    again = read_segment(trial.data, WALK.frames, data.header)
    assert (again.layout, again.step, again.levels) == (segment.layout, segment.step, segment.levels)
    np.testing.assert_array_equal(again.columns.quaternion_columns, segment.columns.quaternion_columns)
    for name in ("centre", "refinement", "coefficients"):
        np.testing.assert_array_equal(getattr(again, name), getattr(segment, name))
    assert segment.refinement.any()
    assert write_segment(again, WALK.skeleton) == trial.data


@pytest.mark.parametrize("layout", [CURVES, LIMBS])
def test_what_was_measured_is_what_is_decoded(data: SegmentData, layout: int) -> None:
    """The compiled measure against plain kinematics of the decoded bytes."""
    for patient, bound in ((False, 0.01), (False, 0.03), (True, 0.02), (False, None)):
        trial = encode_segment(data, layout, STEP, bound, patient=patient)
        again = read_segment(trial.data, WALK.frames, data.header)
        rotations, positions = again.motion(data.header)
        decoded = data.header.motion(rotations, positions)
        assert joint_errors(WALK, decoded, shell=SHELL).max() == pytest.approx(trial.worst, abs=1e-9)
        pose = global_frames(WALK.skeleton.parents, WALK.skeleton.offsets, rotations, positions[:, 0])
        off = np.linalg.norm(pose.positions - data.truth.positions, axis=-1)
        ends = len(WALK.skeleton.end_parents)
        assert trial.mean * (WALK.joints + ends) >= off.mean() * WALK.joints - 1e-12


def test_refinement_keeps_the_bound_that_the_step_alone_does_not(data: SegmentData) -> None:
    loose = encode_segment(data, LIMBS, 66, None)
    bound = 0.7 * loose.worst
    for patient in (False, True):
        trial = encode_segment(data, LIMBS, 66, bound, patient=patient)
        assert trial.worst <= bound


def test_channels_without_motion_are_only_a_mean() -> None:
    mean = Channels(Columns((0,), np.array([False])), np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0]))
    rotations, root = mean.motion(np.zeros((2, 6)))
    assert rotations.tolist() == [[[1, 0, 0, 0]]] * 2 and root.tolist() == [[[1, 2, 3]]] * 2


def test_a_shaking_clip_reads_back_though_fewer_columns_move_than_there_are_modes() -> None:
    shake = so3.exp(np.random.default_rng(0).normal(0, 0.015, (*WALK.rotations.shape[:2], 3)))
    noisy = data_of(replace(WALK, rotations=so3.multiply(WALK.rotations, shake)))
    for step in (68, 74, 80):
        trial = encode_segment(noisy, LIMBS, step, None)
        basis = trial.segment.basis
        of_mode = basis.parts[basis.first_columns()]
        assert any((of_mode == part).sum() > (basis.parts == part).sum() for part in of_mode)
        again = read_segment(trial.data, trial.segment.frames, noisy.header)
        np.testing.assert_array_equal(again.coefficients, trial.segment.coefficients)
