"""Linear filters of rotations: what the ordinary convolution does, without leaving the sphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.filters import (
    BOUNDARIES,
    binomial_mask,
    butterworth_mask,
    gaussian_mask,
    linear_rotations,
    linear_vectors,
    step_shares,
)
from tests.geometry.signals import quick_transitions, rms_degrees, shaken, wander
from tests.geometry.strategies import directions, rotations

MASKS = st.lists(st.floats(0.05, 1.0), min_size=1, max_size=5).map(lambda m: np.array([*m[:0:-1], *m]))


def direct(q: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The definition in plain loops, mirrored ends."""
    half = len(mask) // 2
    index = np.pad(np.arange(len(q)), half, mode="reflect")
    steps = so3.log(so3.multiply(so3.inverse(q[index][:-1]), q[index][1:]))
    out = []
    for i in range(len(q)):
        v = np.zeros(3)
        for r in range(half):
            v += mask[half + r + 1 :].sum() * steps[i + half + r]
        for r in range(-half, 0):
            v -= mask[: half + r + 1].sum() * steps[i + half + r]
        out.append(so3.multiply(q[i], so3.exp(v)))
    return np.array(out)


def test_step_shares_have_their_sign_and_equal_a_convolution() -> None:
    mask, x = gaussian_mask(1.3), np.random.default_rng(0).normal(size=41)
    half = len(mask) // 2
    i, shares, steps = 20, step_shares(mask), np.diff(x)
    assert x[i] + shares @ steps[i - half : i + half] == pytest.approx(mask @ x[i - half : i + half + 1])
    assert (shares[:half] < 0).all() and (shares[half:] > 0).all()


@given(directions, MASKS, st.sampled_from(BOUNDARIES), st.integers(1, 3))
@settings(max_examples=25)
def test_turns_about_one_axis_are_convolved_like_their_angle(
    axis: np.ndarray, mask: np.ndarray, boundary: str, passes: int
) -> None:
    angle = np.cumsum(np.random.default_rng(3).uniform(-0.9, 0.9, 40))
    found = linear_rotations(so3.exp(np.outer(angle, axis)), mask, boundary=boundary, passes=passes)
    scalar = linear_vectors(angle[:, None], mask, boundary=boundary, passes=passes)[:, 0]
    assert so3.distance(found, so3.exp(np.outer(scalar, axis))).max() < 1e-12


def test_vectors_are_convolved_like_numpy_does() -> None:
    x, mask = np.random.default_rng(0).normal(size=50), np.array([0.1, 0.2, 0.4, 0.25, 0.05])
    padded = np.pad(x, 2, mode="reflect")
    assert np.allclose(linear_vectors(x[:, None], mask)[:, 0], np.convolve(padded, mask[::-1], "valid"))


def test_the_kernel_follows_the_definition_in_plain_loops() -> None:
    q, mask = wander(30, 1), np.array([0.1, 0.15, 0.4, 0.25, 0.1])
    assert so3.distance(linear_rotations(q, mask), direct(q, mask)).max() < 1e-13


@given(rotations, directions, st.floats(-1.5, 1.5), MASKS)
@settings(max_examples=25)
def test_constant_speed_is_a_fixed_point_of_symmetric_masks(
    start: np.ndarray, axis: np.ndarray, speed: float, mask: np.ndarray
) -> None:
    q = so3.multiply(start, so3.exp(np.outer(speed * np.arange(20), axis)))
    found = linear_rotations(q, mask, boundary="extrapolate", passes=2)
    assert so3.distance(found, q).max() < 1e-12
    inside = slice(2 * (len(mask) // 2), 20 - 2 * (len(mask) // 2))
    mirrored = linear_rotations(q, mask, boundary="mirror", passes=2)
    assert so3.distance(mirrored, q)[inside].max(initial=0.0) < 1e-12


def test_filters_do_not_depend_on_when_the_motion_happens() -> None:
    q, mask = wander(80, 2), gaussian_mask(2.0)
    whole, later = linear_rotations(q, mask), linear_rotations(q[10:], mask)
    half = len(mask) // 2
    assert so3.distance(whole[10 + half : -half], later[half:-half]).max() < 1e-14


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_time_reversed_is_the_result_reversed(boundary: str) -> None:
    q, mask = wander(40, 3), gaussian_mask(1.5)
    forth = linear_rotations(q, mask, boundary=boundary)
    back = linear_rotations(q[::-1], mask, boundary=boundary)
    assert so3.distance(forth, back[::-1]).max() < 1e-12


def test_signs_of_quaternions_do_not_matter_and_shapes_are_kept() -> None:
    q = wander(25, 4, series=(2, 3))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(25, 2, 3, 1))
    mask = gaussian_mask(1.0)
    found, flipped = linear_rotations(q, mask), linear_rotations(signs * q, mask)
    assert found.shape == q.shape and so3.distance(found, flipped).max() < 1e-13
    assert so3.distance(found[:, 1, 2], linear_rotations(q[:, 1, 2], mask)).max() < 1e-14
    assert np.abs(np.linalg.norm(found, axis=-1) - 1).max() < 1e-14


def test_butterworth_is_scipy_s_filter_run_forth_and_back() -> None:
    angle = np.cumsum(np.random.default_rng(5).normal(scale=0.05, size=600))
    for order, cutoff in ((2, 0.05), (4, 0.1), (1, 0.2)):
        sections = signal.butter(order, 2 * cutoff, output="sos")
        theirs = signal.sosfiltfilt(sections, angle)
        axis = np.array([0.0, 0.6, 0.8])
        ours = so3.log(
            linear_rotations(so3.exp(np.outer(angle, axis)), butterworth_mask(cutoff, order=order))
        )
        inside = slice(150, 450)
        assert np.abs(ours[inside] @ axis - theirs[inside]).max() < 2e-3 * np.ptp(angle)


def test_masks_sum_to_one_and_have_their_width() -> None:
    for mask in (gaussian_mask(2.5), binomial_mask(9), butterworth_mask(0.07, order=3)):
        assert mask.sum() == pytest.approx(1.0) and np.allclose(mask, mask[::-1])
    places = np.arange(-9, 10)
    assert binomial_mask(9) @ places**2 == pytest.approx(4.5)
    assert gaussian_mask(2.5) @ np.arange(-9, 10) ** 2 == pytest.approx(2.5**2, rel=0.02)


def test_ends_that_move_are_kept_by_continuing_and_braked_by_mirroring() -> None:
    t = np.arange(60) / 60
    truth = so3.exp(np.stack([np.sin(2 * t), 1.5 * t, t**2], axis=1))
    noisy = shaken(truth, 0.01, 0)
    ends = [0, 1, -2, -1]
    error = {
        boundary: rms_degrees(
            linear_rotations(noisy, gaussian_mask(2.0), boundary=boundary)[ends], truth[ends]
        )
        for boundary in BOUNDARIES
    }
    assert error["extrapolate"] < 0.5 * error["mirror"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_clips_shorter_than_the_mask_are_filtered_too(frames: int, boundary: str) -> None:
    q = quick_transitions()[30 : 30 + frames]
    found = linear_rotations(q, gaussian_mask(3.0), boundary=boundary)
    assert found.shape == q.shape and np.isfinite(found).all()
    assert linear_vectors(q, gaussian_mask(3.0), boundary=boundary).shape == q.shape


def test_the_input_is_left_alone() -> None:
    q = quick_transitions()
    kept = q.copy()
    linear_rotations(q, gaussian_mask(1.0))
    assert np.array_equal(q, kept)


@pytest.mark.parametrize(
    ("q", "mask", "options", "words"),
    [
        (np.ones((5, 3)), [1.0], {}, r"\(frames, ..., 4\)"),
        (np.zeros((0, 4)), [1.0], {}, "shape"),
        (np.full((5, 4), np.nan), [1, 1, 1], {}, "frame 0 is not finite"),
        (wander(5, 0), [1.0, 1.0], {}, "odd number"),
        (wander(5, 0), [1.0, -2.0, 1.0], {}, "add up to 0"),
        (wander(5, 0), [1.0, 1.0, 1.0], {"passes": 0}, "passes"),
        (wander(5, 0), [1.0, 1.0, 1.0], {"boundary": "wrap"}, "mirror, extrapolate"),
        (wander(5, 0), np.ones(20_001), {}, "at most 5000"),
    ],
)
def test_wrong_input_is_told_in_words(q: np.ndarray, mask: object, options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        linear_rotations(q, mask, **options)


def test_wrong_masks_are_told_in_words() -> None:
    for make, words in (
        (lambda: gaussian_mask(float("nan")), "sigma"),
        (lambda: gaussian_mask(1e9), "at most 5000"),
        (lambda: binomial_mask(-1), "half"),
        (lambda: butterworth_mask(0.6), "between 0 and 0.5"),
        (lambda: butterworth_mask(1e-6), "at most 5000"),
        (lambda: butterworth_mask(0.1, order=0), "order"),
    ):
        with pytest.raises(InputError, match=words):
            make()
