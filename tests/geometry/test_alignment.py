"""Rigid alignment recovers known motions and cannot be improved upon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry.rigid import align

from .strategies import rotations, vectors

RNG = np.random.default_rng(0)
CLOUD = RNG.standard_normal((12, 3))


def rms(source, target, weights):
    return np.sqrt((weights * ((source - target) ** 2).sum(axis=-1)).sum(axis=-1) / weights.sum(axis=-1))


@given(rotations, vectors())
def test_alignment_recovers_a_known_motion(q, t):
    fit = align(CLOUD, rot.rotate(q, CLOUD) + t)
    assert rot.distance(fit.rotation, q) < 1e-14
    assert np.abs(fit.translation - t).max() < 1e-13
    assert fit.rms < 1e-13


def test_alignment_is_batched_and_weighted():
    rng = np.random.default_rng(1)
    source = rng.standard_normal((5, 1, 20, 3))
    target = rng.standard_normal((3, 20, 3))
    weights = rng.uniform(0.0, 1.0, 20)
    fit = align(source, target, weights)
    assert fit.rotation.shape == (5, 3, 4)
    assert np.allclose(fit.rms, rms(fit.apply(source), target, weights), atol=1e-14)
    single = align(source[3, 0], target[1], weights)
    assert rot.distance(single.rotation, fit.rotation[3, 1]) < 1e-13
    weights[7] = 0.0
    without = np.delete(np.arange(20), 7)
    a, b = (
        align(source[0, 0], target[0], weights),
        align(source[0, 0, without], target[0, without], weights[without]),
    )
    assert rot.distance(a.rotation, b.rotation) < 1e-13
    assert np.allclose([a.rms], [b.rms], atol=1e-14)


def test_no_nearby_motion_fits_better():
    rng = np.random.default_rng(2)
    source, target = rng.standard_normal((2, 15, 3))
    weights = rng.uniform(0.1, 1.0, 15)
    fit = align(source, target, weights)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            turn, shift = size * rng.standard_normal((2, 3))
            moved = rot.rotate(rot.multiply(rot.exp(turn), fit.rotation), source) + fit.translation + shift
            assert rms(moved, target, weights) > fit.rms


def test_a_mirror_image_is_met_by_a_rotation_not_a_reflection():
    mirrored = CLOUD * [-1.0, 1.0, 1.0]
    fit = align(CLOUD, mirrored)
    assert np.isclose(np.linalg.det(rot.to_matrix(fit.rotation)), 1.0)
    assert fit.rms > 0.1
    best = min(
        rms(rot.rotate(q, CLOUD - CLOUD.mean(0)), mirrored - mirrored.mean(0), np.ones(12))
        for q in rot.random(2_000, rng=4)
    )
    assert fit.rms <= best


@settings(max_examples=50)
@given(rotations, vectors())
def test_flat_points_are_aligned_without_reflection(q, t):
    flat = CLOUD * [1.0, 1.0, 0.0]
    fit = align(flat, rot.rotate(q, flat) + t)
    assert rot.distance(fit.rotation, q) < 1e-13


def test_points_on_a_line_and_single_points_still_fit():
    line = np.linspace(-1.0, 1.0, 5)[:, None] * [0.6, 0.0, 0.8]
    fit = align(line, rot.rotate(rot.exp([0.3, 0.2, 0.9]), line) + 1.0)
    assert fit.rms < 1e-14
    single = align([[1.0, 2.0, 3.0]], [[4.0, 4.0, 4.0]])
    assert np.array_equal(single.rotation, rot.identity())
    assert np.array_equal(single.translation, [3.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("source", "target", "weights", "message"),
    [
        (np.zeros((4, 2)), np.zeros((4, 3)), None, r"source must have shape \(\.\.\., points, 3\)"),
        (np.zeros((4, 3)), np.zeros((5, 3)), None, "source has 4 points and target 5"),
        (np.zeros((0, 3)), np.zeros((0, 3)), None, "source must have shape"),
        (np.zeros((4, 3)), np.full((4, 3), np.nan), None, "target holds values that are not finite"),
        (np.zeros((4, 3)), np.zeros((4, 3)), [1.0, 1.0], "one for each point"),
        (np.zeros((4, 3)), np.zeros((4, 3)), [0.0, 0.0, 0.0, 0.0], "not all zero"),
        (np.zeros((2, 4, 3)), np.zeros((3, 4, 3)), None, "do not broadcast"),
    ],
)
def test_wrong_input_is_named(source, target, weights, message):
    with pytest.raises(InputError, match=message):
        align(source, target, weights)
