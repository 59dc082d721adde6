"""The bilateral filter of rotations: its symmetries, and what it keeps that linear filters lose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.filters import (
    bilateral_rotations,
    bilateral_vectors,
    gaussian_mask,
    linear_rotations,
    linear_vectors,
    rotation_noise,
    vector_noise,
)
from tests.geometry.signals import peak_ratio, quick_transitions, rms_degrees, shaken, wander
from tests.geometry.strategies import rotations

# Noise, then RMS error in degrees and peak speed over the truth's: Gaussian, σ_g = 0.2, 0.1, 0.05.
# Measured independently in plain NumPy, mean of 20 runs.
MEASURED = {
    0.02: (1.98, (3.63, 0.46), (2.57, 0.71), (1.76, 1.60), (1.64, 1.34)),
    0.05: (4.92, (4.00, 0.47), (3.06, 0.79), (2.80, 1.87), (2.56, 1.40)),
    0.10: (9.87, (5.00, 0.49), (4.37, 1.06), (4.66, 2.06), (7.38, 1.59)),
    0.18: (18.0, (7.42, 0.51), (7.33, 1.38), (11.9, 2.21), (17.5, 2.33)),
}


def direct(q: np.ndarray, sigma: float, sigma_g: float, half: int) -> np.ndarray:
    """One pass by the definition, in plain loops, mirrored ends."""
    index = np.pad(np.arange(len(q)), half, mode="reflect")
    steps = so3.log(so3.multiply(so3.inverse(q[index][:-1]), q[index][1:]))
    out = []
    for i in range(len(q)):
        window = q[index[i : i + 2 * half + 1]]
        r = np.arange(-half, half + 1)
        mask = np.exp(-(r**2) / (2 * sigma**2) - (0.5 * so3.distance(q[i], window)) ** 2 / (2 * sigma_g**2))
        mask /= mask.sum()
        v = np.zeros(3)
        for r in range(half):
            v += mask[half + r + 1 :].sum() * steps[i + half + r]
        for r in range(-half, 0):
            v -= mask[: half + r + 1].sum() * steps[i + half + r]
        out.append(so3.multiply(q[i], so3.exp(v)))
    return np.array(out)


@pytest.mark.parametrize("step", [0.05, 0.4, 1.2])
@pytest.mark.parametrize("sigma_g", [0.05, 0.3, 10.0])
def test_the_kernel_follows_the_definition_in_plain_loops(sigma_g: float, step: float) -> None:
    q = wander(40, 1, step=step)
    found = bilateral_rotations(q, sigma=1.2, sigma_g=sigma_g, half=4, passes=1)
    assert so3.distance(found, direct(q, 1.2, sigma_g, 4)).max() < 1e-13


@given(rotations, rotations, st.booleans(), st.sampled_from([None, 0.1]))
@settings(max_examples=25)
def test_constant_rotations_on_either_side_pass_through(
    a: np.ndarray, b: np.ndarray, guided: bool, sigma_g: float | None
) -> None:
    q = shaken(quick_transitions(), 0.05, 0)
    moved = so3.multiply(so3.multiply(a, q), b)
    found = bilateral_rotations(moved, sigma_g=sigma_g, guided=guided)
    expected = so3.multiply(so3.multiply(a, bilateral_rotations(q, sigma_g=sigma_g, guided=guided)), b)
    assert so3.distance(found, expected).max() < (1e-13 if sigma_g else 1e-11)


@pytest.mark.parametrize("guided", [False, True])
def test_it_does_not_depend_on_when_the_motion_happens(guided: bool) -> None:
    q = shaken(quick_transitions(), 0.05, 1)
    whole = bilateral_rotations(q, sigma_g=0.1, passes=2, guided=guided)
    later = bilateral_rotations(q[20:], sigma_g=0.1, passes=2, guided=guided)
    assert so3.distance(whole[40:-20], later[20:-20]).max() < 1e-13


@pytest.mark.parametrize("boundary", ["mirror", "extrapolate"])
def test_time_reversed_is_the_result_reversed(boundary: str) -> None:
    q = shaken(quick_transitions(), 0.05, 2)
    forth = bilateral_rotations(q, sigma_g=0.1, boundary=boundary)
    back = bilateral_rotations(q[::-1], sigma_g=0.1, boundary=boundary)
    assert so3.distance(forth, back[::-1]).max() < 1e-12


def test_still_rotations_and_constant_speed_are_fixed_points() -> None:
    still = np.repeat(so3.random(rng=0)[None], 20, axis=0)
    spin = so3.exp(np.outer(0.2 * np.arange(30), [0.0, 0.6, 0.8]))
    for q in (still, spin):
        assert so3.distance(bilateral_rotations(q, sigma_g=0.3, boundary="extrapolate"), q).max() < 1e-12
    assert so3.distance(bilateral_rotations(still), still).max() < 1e-12


def test_a_wide_sigma_g_makes_it_the_gaussian() -> None:
    q = shaken(quick_transitions(), 0.1, 3)
    linear = linear_rotations(q, gaussian_mask(1.0), passes=5)
    assert so3.distance(bilateral_rotations(q, sigma_g=1e6), linear).max() < 1e-10


def test_turns_about_one_axis_are_the_filtered_angle() -> None:
    angle = np.cumsum(np.random.default_rng(3).normal(scale=0.1, size=60))
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    found = bilateral_rotations(so3.exp(np.outer(angle, axis)), sigma_g=0.1)
    # Half angles there, whole ones here.
    scalar = bilateral_vectors(angle[:, None], sigma_g=0.2)[:, 0]
    assert so3.distance(found, so3.exp(np.outer(scalar, axis))).max() < 1e-12


def test_the_measured_table_is_met_within_a_fifth() -> None:
    truth = quick_transitions()
    for std, (noisy_error, gaussian, *bilateral) in MEASURED.items():
        runs = [shaken(truth, std, seed) for seed in range(20)]
        assert np.mean([rms_degrees(q, truth) for q in runs]) == pytest.approx(noisy_error, rel=0.05)
        together = np.stack(runs, axis=1)
        columns = [linear_rotations(together, gaussian_mask(1.0, half=4), passes=5)]
        columns += [bilateral_rotations(together, sigma_g=g, half=4) for g in (0.2, 0.1, 0.05)]
        for found, (error, peak) in zip(columns, (gaussian, *bilateral), strict=True):
            each = [found[:, run] for run in range(20)]
            assert np.mean([rms_degrees(q, truth) for q in each]) == pytest.approx(error, rel=0.2)
            assert np.mean([peak_ratio(q, truth) for q in each]) == pytest.approx(peak, rel=0.2)


def test_gaussians_halve_peaks_that_the_bilateral_filter_keeps() -> None:
    truth = quick_transitions()
    for std in (0.02, 0.05, 0.1):
        noisy = shaken(truth, std, 0)
        assert peak_ratio(linear_rotations(noisy, gaussian_mask(1.0), passes=5), truth) < 0.6
        for guided in (False, True):
            assert peak_ratio(bilateral_rotations(noisy, guided=guided), truth) > 0.7


def test_a_smoothed_guide_overshoots_less_and_errs_less() -> None:
    truth = quick_transitions()
    for std in (0.02, 0.05, 0.1):
        runs = np.stack([shaken(truth, std, seed) for seed in range(10)], axis=1)
        plain, guided = bilateral_rotations(runs), bilateral_rotations(runs, guided=True)
        both = [
            (
                np.mean([rms_degrees(found[:, i], truth) for i in range(10)]),
                np.mean([peak_ratio(found[:, i], truth) for i in range(10)]),
            )
            for found in (plain, guided)
        ]
        assert both[1][0] < 0.95 * both[0][0]
        assert abs(both[1][1] - 1) < abs(both[0][1] - 1)


def test_noise_is_told_whatever_moves() -> None:
    for std in (0.01, 0.05, 0.15):
        told = [float(rotation_noise(shaken(quick_transitions(), std, seed))) for seed in range(10)]
        assert np.mean(told) == pytest.approx(std, rel=0.1)
    rng = np.random.default_rng(0)
    path = np.cumsum(np.cumsum(rng.normal(scale=1e-5, size=(2000, 2, 3)), axis=0), axis=0)
    told = vector_noise(path + rng.normal(scale=[[1e-3], [5e-3]], size=path.shape))
    assert told == pytest.approx([1e-3, 5e-3], rel=0.1)
    assert rotation_noise(quick_transitions()[:2]) == 0.0


def test_vectors_keep_jumps_and_lose_noise() -> None:
    jump = np.outer(np.arange(100) >= 50, [1.0, 0.0, -0.5])
    noisy = jump + np.random.default_rng(1).normal(scale=0.03, size=jump.shape)
    found = bilateral_vectors(noisy, guided=True)
    blurred = linear_vectors(noisy, gaussian_mask(1.0), passes=5)
    assert np.abs(found - jump).mean() < 0.55 * np.abs(noisy - jump).mean()
    assert np.abs(found - jump)[49:51].max() < 0.5 * np.abs(blurred - jump)[49:51].max()


def test_each_series_has_its_own_sigma_g() -> None:
    q = shaken(np.stack([quick_transitions()] * 2, axis=1), 0.05, 0)
    both = bilateral_rotations(q, sigma_g=[0.05, 0.2])
    for i, sigma_g in enumerate((0.05, 0.2)):
        assert so3.distance(both[:, i], bilateral_rotations(q[:, i], sigma_g=sigma_g)).max() < 1e-13


def test_wrong_input_is_told_in_words() -> None:
    q = quick_transitions()
    for options, words in (
        ({"sigma_g": 0.0}, "above 0"),
        ({"sigma_g": [0.1, 0.2]}, "one a series"),
        ({"sigma": -1.0}, "sigma"),
        ({"half": 1.5}, "half"),
        ({"passes": True}, "passes"),
    ):
        with pytest.raises(InputError, match=words):
            bilateral_rotations(q, **options)
    assert bilateral_rotations(q, sigma=0.0).shape == q.shape
    assert bilateral_rotations(q[:1]).shape == (1, 4)
