"""Whole clips in a pose model with the root given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

import marey
from marey.body import Motion, PoseModel, Skeleton
from marey.body.ik import solve_in_model
from marey.body.ik.solver import inverse_variances
from marey.errors import InputError
from marey.geometry import rotations as so3
from tests.body.ik.figures import points_in_root_frame, random_model

EFFECTORS = [(3, np.array([0.1, 0.0, 0.2])), (5, np.zeros(3)), (7, np.array([0.0, -0.3, 0.0]))]


def test_targets_of_the_model_are_met_from_the_mean_pose() -> None:
    model = random_model(3, spread=0.2)
    coordinates = np.random.default_rng(0).normal(size=(50, 5)) * np.sqrt(model.geodesics.variances)
    targets = points_in_root_frame(model, EFFECTORS, coordinates)
    found = solve_in_model(model, EFFECTORS, targets)
    assert np.median(found.errors) < 1e-6
    assert found.converged.all()
    again = points_in_root_frame(model, EFFECTORS, found.coordinates)
    np.testing.assert_allclose(np.linalg.norm(again - targets, axis=2), found.errors, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_each_frame_is_a_minimum_that_scipy_confirms(seed: int) -> None:
    model = random_model(seed, spread=0.3)
    rng = np.random.default_rng(seed)
    targets = points_in_root_frame(model, EFFECTORS, np.zeros((3, 5))) + 0.3 * rng.normal(size=(3, 3, 3))
    precision = 0.05**2 * inverse_variances(model)
    found = solve_in_model(model, EFFECTORS, targets, precision=precision)
    for t in range(3):

        def rows(x: np.ndarray, t: int = t) -> np.ndarray:
            miss = points_in_root_frame(model, EFFECTORS, x[None])[0] - targets[t]
            return np.concatenate([miss.ravel(), np.sqrt(precision) * x])

        theirs = least_squares(rows, found.coordinates[t], xtol=1e-12, ftol=1e-12)
        ours = 0.5 * float((rows(found.coordinates[t]) ** 2).sum())
        assert ours <= theirs.cost * (1 + 1e-4)


def test_missing_targets_may_be_nan_and_do_not_count() -> None:
    model = random_model(5, spread=0.2)
    targets = points_in_root_frame(model, EFFECTORS, np.zeros((4, 5))) + 0.1
    weights = np.ones((4, 3))
    weights[2, 1] = 0.0
    holed = targets.copy()
    holed[2, 1] = np.nan
    found = solve_in_model(model, EFFECTORS, holed, weights=weights, precision=1e-3)
    alone = solve_in_model(model, [EFFECTORS[0], EFFECTORS[2]], targets[2:3, [0, 2]], precision=1e-3)
    np.testing.assert_allclose(found.coordinates[2], alone.coordinates[0], atol=1e-6)
    assert np.isnan(found.errors[2, 1]) and np.isfinite(np.delete(found.errors.ravel(), 7)).all()


def test_without_any_target_the_prior_decides() -> None:
    model = random_model(6)
    centre = np.arange(10.0).reshape(2, 5) / 10
    found = solve_in_model(
        model, EFFECTORS, np.zeros((2, 3, 3)), weights=0.0, centre=centre, precision=1.0, start=np.zeros(5)
    )
    np.testing.assert_allclose(found.coordinates, centre, atol=1e-6)


def test_more_modes_than_targets_without_a_prior_is_no_trouble() -> None:
    model = random_model(8, modes=12)
    goal = points_in_root_frame(model, EFFECTORS[:1], 0.2 * np.ones((1, 12)))
    found = solve_in_model(model, EFFECTORS[:1], goal)
    assert found.errors[0, 0] < 1e-6 and np.isfinite(found.coordinates).all()


def test_unreachable_targets_end_and_tell_by_how_much() -> None:
    model = random_model(9)
    far = np.full((1, 3, 3), 100.0)
    found = solve_in_model(model, EFFECTORS, far, precision=1e-4, iterations=200)
    assert np.isfinite(found.coordinates).all() and (found.errors > 50).all()


def test_a_model_of_no_modes_and_one_of_a_still_clip() -> None:
    still = Motion(
        Skeleton(("a", "b"), [-1, 0], [[0, 0, 0], [1, 0, 0]]), so3.identity((5, 2)), np.zeros((5, 3)), 30
    )
    for modes in (0, 3):
        model = PoseModel.fit([still], modes=modes)
        found = solve_in_model(model, [(1, [0, 0, 0])], [[[1.0, 0, 0]]], precision=1e-6)
        assert found.coordinates.shape == (1, modes) and found.errors[0, 0] < 1e-6


def test_a_straight_limb_bends() -> None:
    arm = Skeleton(("a", "b", "c"), [-1, 0, 1], [[0, 0, 0], [0, 0, 0], [1, 0, 0]], [2], [[1, 0, 0]])
    angles = np.linspace(-1, 1, 21)[:, None, None] * [[0, 0, 0], [0, 0, 0.5], [0, 0, -1.0]]
    model = PoseModel.fit([Motion(arm, so3.exp(angles), np.zeros((21, 3)), 30)], modes=1)
    found = solve_in_model(model, [(2, [1, 0, 0])], [[[1.8, 0, 0]]], start=[0.05])
    assert found.errors[0, 0] < 1e-3


def test_wrong_shapes_and_values_are_told() -> None:
    model = random_model(1)
    good = np.zeros((2, 3, 3))
    with pytest.raises(InputError, match=r"targets: expected shape \(frames, 3, 3\)"):
        solve_in_model(model, EFFECTORS, good[0])
    with pytest.raises(InputError, match="centre: expected shape"):
        solve_in_model(model, EFFECTORS, good, centre=np.zeros(4))
    with pytest.raises(InputError, match="weight 0 if they are missing"):
        solve_in_model(model, EFFECTORS, good * np.nan)
    with pytest.raises(InputError, match="not negative"):
        solve_in_model(model, EFFECTORS, good, weights=-1.0)
    with pytest.raises(InputError, match="precision"):
        solve_in_model(model, EFFECTORS, good, precision=-1.0)
    with pytest.raises(InputError, match=r"joints 0…7, not 99"):
        solve_in_model(model, [(99, [0, 0, 0])], good[:, :1])


def test_decoding_a_walk_reaches_its_ends(data_dir: Path) -> None:
    walk = marey.load(data_dir / "skeleton" / "cmu_bvh" / "02_01.bvh", clean=True)
    model = PoseModel.fit([walk], modes=12)
    skeleton = walk.skeleton
    ends = [
        (skeleton.index(n), np.zeros(3))
        for n in ("Head", "LeftHand", "RightHand", "LeftToeBase", "RightToeBase")
    ]
    targets = so3.rotate(
        so3.inverse(walk.rotations[:, :1]), walk.positions()[:, [j for j, _ in ends]] - walk.root[:, None]
    )
    cold, chained = (
        solve_in_model(model, ends, targets, precision=0.0056**2 * inverse_variances(model), chained=chained)
        for chained in (False, True)
    )
    assert cold.converged.all() and chained.converged.all()
    assert cold.errors.mean() < 0.005
    np.testing.assert_allclose(cold.coordinates, chained.coordinates, atol=2e-3)
