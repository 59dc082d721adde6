"""The compiled residuals, Jacobians and solver against finite differences, a plain twin and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from marey.body.anatomy import masses
from marey.body.ik import engine
from marey.body.ik.engine import Effectors, Parameters, PoseArrays, Problem, moved, pull_back, turn_rates
from marey.body.limits import EllipsoidLimits, RangeLimits, SwingTwistLimits
from marey.geometry import rotations as so3
from tests.body.ik import oracle
from tests.body.ik.figures import Foreign, figure_and_pose, random_features, random_model

KINDS = [engine.POINT, engine.TURN, engine.AIM, engine.ROLL, engine.PLANE, engine.ABOVE]
seeds = st.integers(0, 10_000)


@settings(max_examples=30)
@given(seed=seeds, full=st.booleans())
def test_residuals_are_those_of_the_plain_twin(seed: int, full: bool) -> None:
    figure, poses = figure_and_pose(seed, full=full)
    features, goals, weights = random_features(seed, KINDS, figure.joints)
    values, _ = Problem(figure, features).evaluate(goals, weights, poses)
    np.testing.assert_allclose(
        values[0], oracle.residuals(figure, features, goals, weights, poses), atol=1e-12
    )


@settings(max_examples=20)
@given(seed=seeds, full=st.booleans(), free=st.booleans())
def test_jacobians_of_points_and_turns_are_those_of_the_plain_twin(seed: int, full: bool, free: bool) -> None:
    figure, poses = figure_and_pose(seed, full=full)
    features, goals, weights = random_features(seed, [engine.POINT, engine.TURN] * 2, figure.joints)
    _, jacobians = Problem(figure, features, free).evaluate(goals, weights, poses)
    twin = oracle.point_and_turn_jacobian(figure, features, goals, weights, poses, free)
    np.testing.assert_allclose(jacobians[0], twin, atol=1e-11)


@settings(max_examples=40)
@given(seed=seeds, full=st.booleans(), free=st.booleans(), kind=st.sampled_from(KINDS))
def test_jacobians_are_the_derivatives_of_the_values(seed: int, full: bool, free: bool, kind: int) -> None:
    figure, poses = figure_and_pose(seed, full=full)
    features, goals, weights = random_features(seed, [kind], figure.joints)
    problem = Problem(figure, features, free)
    _, jacobians = problem.evaluate(goals, weights, poses)
    assert_derivative(problem, goals, weights, poses, jacobians[0])


@settings(max_examples=20)
@given(seed=seeds, full=st.booleans(), free=st.booleans(), kind=st.sampled_from(range(3)))
def test_jacobians_of_limits_are_the_derivatives_of_their_excess(
    seed: int, full: bool, free: bool, kind: int
) -> None:
    figure, poses = figure_and_pose(seed, full=full)
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(3, 3, 3)) + 2 * np.eye(3)
    centres, low = so3.random((figure.joints,), rng=rng), -rng.uniform(size=(3, 3))
    # Not the root, whose turn a fixed one does not know.
    joints = np.array([1, 3, 5])
    if kind == 0:
        limits = EllipsoidLimits(joints, centres[:3], roots @ roots.transpose(0, 2, 1))
    elif kind == 1:
        limits = RangeLimits(joints, centres[:3], low, low + 0.5)
    else:
        limits = SwingTwistLimits.free(figure.joints)
        for joint in joints:
            limits = limits.with_joint(
                joint, twist=(-0.2, 0.3), swing=((0.2, 0.4), (0.1, 0.5)), centre=centres[joint]
            )
    nothing = Effectors.points([], np.empty((0, 3))), np.zeros((1, 0, 4)), np.zeros((1, 0))
    problem = Problem(figure, nothing[0], free, limits=limits)
    values, jacobians = problem.evaluate(*nothing[1:], poses)
    assert values.shape == (1, 3)
    chosen = np.isin(limits.joints, joints)
    beyond, gradients = (
        found[0][chosen] for found in (limits.excess(poses.rotations), limits.gradient(poses.rotations))
    )
    rates = turn_rates(figure, free, poses)[0][joints]
    expected = np.einsum("ji,jiu->ju", gradients, rates) * (beyond > 0)[:, None]
    np.testing.assert_allclose(values[0], -problem.settings.limit_weight * np.maximum(beyond, 0), atol=1e-12)
    np.testing.assert_allclose(jacobians[0], problem.settings.limit_weight * expected, atol=1e-10)
    if kind == 0:
        assert_derivative(problem, *nothing[1:], poses, jacobians[0])
    foreign = Problem(figure, nothing[0], free, limits=Foreign(limits)).evaluate(*nothing[1:], poses)
    rows = np.flatnonzero(chosen)
    np.testing.assert_allclose(foreign[0][0, rows], values[0], atol=1e-12)
    near = np.abs(jacobians[0]).max() * 1e-5 + 1e-6
    np.testing.assert_allclose(foreign[1][0, rows], jacobians[0], atol=near)


def test_derivative_near_a_half_turn_and_at_the_mean() -> None:
    for size in (0.0, 1e-9, 1e-3, np.pi - 1e-6, np.pi + 0.3):
        figure, poses = figure_and_pose(4, full=False)
        direction = (
            poses.coordinates / np.abs(np.einsum("jim,tm->tji", figure.directions, poses.coordinates)).max()
        )
        poses = PoseArrays(poses.root, size * direction, poses.rotations)
        features, goals, weights = random_features(4, [engine.POINT] * 3, figure.joints)
        problem = Problem(figure, features)
        _, jacobians = problem.evaluate(goals, weights, poses)
        assert_derivative(problem, goals, weights, poses, jacobians[0])


def test_a_feature_of_weight_zero_has_no_rows_and_may_be_nan() -> None:
    figure, poses = figure_and_pose(1, full=False)
    features, goals, weights = random_features(1, [engine.POINT, engine.POINT], figure.joints)
    weights[0, 1] = 0.0
    values, jacobians = Problem(figure, features).evaluate(goals, weights, poses)
    assert not values[0, 3:].any() and not jacobians[0, 3:].any()
    assert values[0, :3].all()


@settings(max_examples=15)
@given(seed=seeds, free=st.booleans(), kinetic=st.booleans())
def test_solutions_cost_no_more_than_those_of_scipy(seed: int, free: bool, kinetic: bool) -> None:
    model = random_model(seed)
    figure = Parameters.of(model)
    rng = np.random.default_rng(seed)
    features, goals, weights = random_features(seed, [engine.POINT] * 3 + [engine.TURN], figure.joints)
    problem = Problem(figure, features, free, masses=masses(model.skeleton) if kinetic else None)
    start = PoseArrays(np.zeros((1, 3)), np.zeros((1, figure.modes)), so3.random((1, figure.joints), rng=rng))
    precision = np.full(problem.unknowns, 0.1)
    found = problem.solve(goals, weights, start, centre=start, precision=precision, iterations=300)

    def rows(step: np.ndarray) -> np.ndarray:
        poses = moved(figure, free, start, step[None])
        pull, _ = pull_back(figure, free, poses, start, np.sqrt(precision))
        return np.concatenate([oracle.residuals(figure, features, goals, weights, poses), pull[0]])

    values, _ = problem.evaluate(goals, weights, found.poses)
    ours = float((values**2).sum() + pull_back(figure, free, found.poses, start, precision)[1][0])
    # From our answer scipy finds no better one: it is a minimum.
    pull, _ = pull_back(figure, free, found.poses, start, precision)
    _, jacobians = problem.evaluate(goals, weights, found.poses)
    slope = jacobians[0].T @ values[0] + pull[0]
    assert found.converged[0] and np.abs(slope).max() < 1e-2 * np.sqrt(ours) + 1e-6
    theirs = least_squares(rows, np.zeros(problem.unknowns), x_scale="jac")
    assert ours < 2.5 * (2 * theirs.cost) + 1e-9


@settings(max_examples=10)
@given(seed=seeds)
def test_both_sizes_of_the_linear_system_give_the_same_full_step(seed: int) -> None:
    figure, poses = figure_and_pose(seed, full=True)
    few, goals, weights = random_features(seed, [engine.POINT], figure.joints)
    # Effectors without weight make the system large enough to be solved in the unknowns.
    padding = 12
    many = Effectors(
        np.concatenate([few.kinds, np.zeros(padding, dtype=np.int64)]),
        np.concatenate([few.joints, np.zeros(padding, dtype=np.int64)]),
        np.concatenate([few.local, np.zeros((padding, 3))]),
        np.concatenate([few.axes, np.zeros((padding, 3))]),
    )
    more_goals = np.concatenate([goals, np.zeros((1, padding, 4))], axis=1)
    more_weights = np.concatenate([weights, np.zeros((1, padding))], axis=1)
    one, other = (Problem(figure, features) for features in (few, many))
    assert one.rows < one.unknowns < other.rows
    precision = np.full(one.unknowns, 1e-3)
    a = one.solve(goals, weights, poses, centre=poses, precision=precision, iterations=1)
    b = other.solve(more_goals, more_weights, poses, centre=poses, precision=precision, iterations=1)
    np.testing.assert_allclose(a.poses.rotations, b.poses.rotations, atol=1e-9)


def test_frames_do_not_depend_on_jobs_or_on_each_other() -> None:
    model = random_model(7)
    figure = Parameters.of(model)
    features, _, _ = random_features(7, [engine.POINT] * 3, figure.joints)
    rng = np.random.default_rng(7)
    frames = 600
    goals, weights = rng.normal(size=(frames, 3, 4)), np.ones((frames, 3))
    start = PoseArrays(
        np.zeros((frames, 3)), np.zeros((frames, figure.modes)), so3.identity((frames, figure.joints))
    )
    problem = Problem(figure, features, False)
    precision = np.full(figure.modes, 0.1)
    one, two = (
        problem.solve(goals, weights, start, centre=start, precision=precision, jobs=jobs).poses
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coordinates, two.coordinates)
    last = PoseArrays(*(a[-1:] for a in (start.root, start.coordinates, start.rotations)))
    alone = problem.solve(goals[-1:], weights[-1:], last, centre=last, precision=precision)
    np.testing.assert_array_equal(alone.poses.coordinates[0], one.coordinates[-1])


@pytest.mark.parametrize("full", [True, False])
def test_nothing_to_meet_leaves_the_start(full: bool) -> None:
    figure, poses = figure_and_pose(2, full=full)
    problem = Problem(figure, Effectors.points([], np.empty((0, 3))))
    found = problem.solve(
        np.zeros((1, 0, 4)), np.zeros((1, 0)), poses, centre=poses, precision=np.full(problem.unknowns, 1e-3)
    )
    np.testing.assert_allclose(found.poses.rotations, poses.rotations, atol=1e-9)
    np.testing.assert_allclose(found.poses.root, poses.root)


def assert_derivative(
    problem: Problem, goals: np.ndarray, weights: np.ndarray, poses: PoseArrays, J: np.ndarray
) -> None:
    """Central differences of the residuals are minus the Jacobian."""
    h = 1e-5
    for u in range(problem.unknowns):
        step = np.zeros((1, problem.unknowns))
        step[0, u] = h
        ahead, behind = (
            problem.evaluate(
                goals, weights, moved(problem.parameters, problem.free_root, poses, sign * step)
            )[0][0]
            for sign in (1, -1)
        )
        scale = 1 + np.abs(J[:, u]).max(initial=0.0)
        np.testing.assert_allclose(-(ahead - behind) / (2 * h), J[:, u], atol=2e-7 * scale)
