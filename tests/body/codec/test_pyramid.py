"""The pyramid of vectors and rotations, and coarse samples by least squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marey.body.codec.coarse_samples import expansion_matrix, nearest_samples
from marey.body.codec.pyramid import analyse, decimate, expand
from marey.body.codec.sizes import coarse_length, level_count
from marey.errors import InputError
from marey.geometry import rotations as so3

lengths = st.integers(1, 70)
seeds = st.integers(0, 10_000)


def smooth_rotations(frames: int, seed: int, speed: float = 0.03) -> np.ndarray:
    """A rotation path with a few slow waves about changing axes."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None]
    waves = sum(
        rng.normal(size=3) * np.sin(rate * speed * t + rng.uniform(0, 6, size=3)) for rate in (1, 2, 3)
    )
    return so3.multiply(so3.random(rng=rng), so3.exp(0.7 * waves))


@given(lengths, seeds)
def test_all_details_give_vectors_back_exactly(frames: int, seed: int) -> None:
    curve = np.random.default_rng(seed).normal(size=(frames, 5))
    pyramid = analyse(curve)
    assert len(pyramid.details) + 1 == level_count(frames)
    assert len(pyramid.coarse) == 1
    assert np.abs(pyramid.curve() - curve).max() < 1e-12


@given(lengths, seeds)
def test_all_details_give_rotations_back_exactly(frames: int, seed: int) -> None:
    curve = so3.random(frames, rng=seed)
    assert so3.distance(analyse(curve, rotations=True).curve(), curve).max() < 1e-12


@given(lengths, seeds, st.booleans(), st.integers(0, 4))
def test_dropping_details_keeps_every_coarse_sample(
    frames: int, seed: int, rotations: bool, dropped: int
) -> None:
    dropped = min(dropped, level_count(frames) - 1)
    rng = np.random.default_rng(seed)
    curve = so3.random(frames, rng=rng) if rotations else rng.normal(size=(frames, 2))
    coarse = analyse(curve, rotations=rotations).without_finest(dropped).curve()
    short = expand(decimate(curve, dropped, rotations=rotations), frames, dropped, rotations=rotations)
    if rotations:
        assert so3.distance(coarse, short).max() < 1e-12
        assert so3.distance(coarse, curve)[:: 1 << dropped].max() < 1e-12
    else:
        assert np.abs(coarse - short).max() < 1e-12
        assert np.abs(coarse - curve)[:: 1 << dropped].max() < 1e-12


def test_cubics_are_reproduced_away_from_the_ends() -> None:
    t = np.linspace(-1, 1, 129)[:, None]
    cubic = 1 + 2 * t - 3 * t**2 + 4 * t**3
    pyramid = analyse(cubic, levels=3)
    for level, detail in enumerate(reversed(pyramid.details)):
        assert np.abs(detail[1:-1]).max() < 1e-12, level
    assert np.abs(expand(decimate(cubic, 2), 129, 2) - cubic)[12:-12].max() < 1e-12


def test_a_steady_turn_is_reproduced_everywhere() -> None:
    turn = so3.multiply(so3.exp([0.3, 0.2, 0.1]), so3.exp(np.arange(70)[:, None] * [0.02, -0.01, 0.03]))
    for dropped in range(6):
        rebuilt = expand(decimate(turn, dropped, rotations=True), 70, dropped, rotations=True)
        assert so3.distance(rebuilt, turn).max() < 1e-12


def test_rotations_do_not_depend_on_the_world_frame() -> None:
    curve = smooth_rotations(50, 1)
    left, right = so3.random(2, rng=0)
    moved = so3.multiply(left, so3.multiply(curve, right))
    plain = expand(decimate(curve, 3, rotations=True), 50, 3, rotations=True)
    other = expand(decimate(moved, 3, rotations=True), 50, 3, rotations=True)
    assert so3.distance(other, so3.multiply(left, so3.multiply(plain, right))).max() < 1e-12


def test_predicted_curves_have_no_kinks() -> None:
    """Slopes on both sides of a coarse sample close in as the curve is refined, as those of chords do not."""
    rng = np.random.default_rng(3)
    coarse = rng.normal(size=(9, 1))

    def jump(levels: int) -> float:
        step = 1 << levels
        curve = expand(coarse, 8 * step + 1, levels).ravel() * step
        slopes = np.diff(curve)
        return float(np.abs(slopes[step::step] - slopes[step - 1 : -1 : step]).max())

    assert jump(8) < 0.1 * jump(2)


def test_the_matrix_expands_like_the_pyramid() -> None:
    rng = np.random.default_rng(0)
    for frames in (2, 3, 4, 7, 16, 33):
        for dropped in range(level_count(frames)):
            coarse = rng.normal(size=(coarse_length(frames, dropped), 2))
            product = expansion_matrix(frames, dropped) @ coarse
            assert np.abs(product - expand(coarse, frames, dropped)).max() < 1e-12


@given(st.integers(1, 60), seeds, st.integers(0, 4))
def test_least_squares_samples_are_those_of_a_dense_solver(frames: int, seed: int, dropped: int) -> None:
    dropped = min(dropped, level_count(frames) - 1)
    curve = np.random.default_rng(seed).normal(size=(frames, 2))
    if frames < 3 or dropped == 0:
        expected = decimate(curve, dropped)
    else:
        expected = np.linalg.lstsq(expansion_matrix(frames, dropped).toarray(), curve, rcond=None)[0]
    assert np.abs(nearest_samples(curve, dropped) - expected).max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_rotations_are_nearer_than_decimated_ones(seed: int) -> None:
    curve = smooth_rotations(300, seed, speed=0.1)

    def error(samples: np.ndarray) -> float:
        return float((so3.distance(expand(samples, 300, 4, rotations=True), curve) ** 2).mean())

    nearest = error(nearest_samples(curve, 4, rotations=True))
    assert nearest < 0.9 * error(decimate(curve, 4, rotations=True))
    # A stationary point: no small change of a sample helps by more than the linearisation leaves.
    samples = nearest_samples(curve, 4, rotations=True)
    changed = so3.multiply(so3.exp(1e-3 * np.eye(3)[0]), samples[5])
    samples[5] = changed
    assert error(samples) > nearest * (1 - 1e-3)


@given(st.integers(1, 40), seeds, st.integers(0, 6))
def test_least_squares_rotations_are_never_worse_even_if_wild(frames: int, seed: int, dropped: int) -> None:
    dropped = min(dropped, level_count(frames) - 1)
    curve = so3.random(frames, rng=seed)

    def error(samples: np.ndarray) -> float:
        return float((so3.distance(expand(samples, frames, dropped, rotations=True), curve) ** 2).sum())

    nearest = error(nearest_samples(curve, dropped, rotations=True))
    assert nearest <= error(decimate(curve, dropped, rotations=True)) + 1e-12


def test_least_squares_samples_keep_their_own_details() -> None:
    rng = np.random.default_rng(0)
    curve = np.cumsum(rng.normal(size=(100, 3)), axis=0)
    samples = nearest_samples(curve, 3)
    assert np.abs(expand(analyse(samples).curve(), 100, 3) - expand(samples, 100, 3)).max() < 1e-12


def test_curves_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError):
        analyse(np.zeros((0, 3)))
    with pytest.raises(InputError):
        analyse([[np.nan]])
    with pytest.raises(InputError):
        analyse(np.zeros((4, 3)), rotations=True)
    with pytest.raises(InputError, match="halved"):
        analyse(np.zeros((4, 3)), levels=3)
    with pytest.raises(InputError, match="has 3 samples"):
        expand(np.zeros((2, 3)), 10, 2)
    with pytest.raises(InputError):
        analyse(np.zeros((4, 3))).without_finest(3)
