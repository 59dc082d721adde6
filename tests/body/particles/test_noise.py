"""Noise on rotations has the distribution it is said to have."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

from marey.body.limits import SwingTwistLimits
from marey.body.particles import ArticulatedChain
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from tests.body.particles.tasks import ROOT

sample_qutem = runpy.run_path(str(ROOT / "reproduce" / "_qutem.py"))["sample_qutem"]
PUBLISHED = {
    (1.0, 1.0, 1.0): (0.50, 0.50, 0.50),
    (1.0, 1.0, 0.05): (0.64, 0.63, 0.05),
    (1.0, 0.1, 0.05): (0.93, 0.18, 0.10),
}


@pytest.mark.parametrize("deviations", PUBLISHED)
def test_axes_spread_as_in_the_published_figure(deviations: tuple[float, float, float]) -> None:
    q = sample_qutem([1, 0, 0, 0], np.diag(np.square(deviations)), 50_000, rng=1)
    half = 0.5 * so3.log(q)
    axis = np.abs(half) / np.linalg.norm(half, axis=1, keepdims=True)
    np.testing.assert_allclose(axis.mean(axis=0), PUBLISHED[deviations], atol=0.02)


@pytest.mark.parametrize(
    ("deviations", "share"), [((1, 1, 1), 0.48), ((1, 1, 0.05), 0.29), ((1, 0.1, 0.05), 0.12)]
)
def test_as_many_draws_pass_half_a_turn_as_expected(deviations: tuple[float, ...], share: float) -> None:
    covariance = np.diag(np.square(deviations))
    wrapped = sample_qutem([1, 0, 0, 0], covariance, 40_000, rng=2)
    redrawn = sample_qutem([1, 0, 0, 0], covariance, 40_000, rng=2, beyond="redraw")
    # Wrapping brings half angles beyond π/2 back below it, redrawing does not: the first rows differ there.
    beyond = np.abs(wrapped - redrawn).max(axis=1) > 1e-12
    assert abs(beyond.mean() - share) < 0.01
    assert (wrapped[:, 0] >= 0).all() and (redrawn[:, 0] >= 0).all()


def test_small_noise_has_the_covariance_asked_for_around_any_mode() -> None:
    rng = np.random.default_rng(0)
    a = 0.1 * rng.standard_normal((3, 3))
    mode = so3.random(rng=rng)
    q = sample_qutem(mode, a @ a.T, 100_000, rng=3)
    found = np.cov(0.5 * so3.log(so3.multiply(so3.inverse(mode), q)).T)
    np.testing.assert_allclose(found, a @ a.T, atol=4e-4)


def test_what_is_no_covariance_is_refused() -> None:
    with pytest.raises(InputError, match="symmetric"):
        sample_qutem([1, 0, 0, 0], -np.eye(3), 5, rng=0)
    with pytest.raises(InputError, match="negative"):
        ArticulatedChain(Skeleton(("joint",), [-1], [[0, 0, 0]]), [[-1, 0, 0]], SwingTwistLimits.free(1))
