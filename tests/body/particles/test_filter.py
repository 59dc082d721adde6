"""What the particle filter finds: the published tasks, and what the filter guarantees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.body import PoseModel
from marey.body.particles import (
    ArticulatedChain,
    FilteredMotion,
    FilterSettings,
    JointFreedom,
    LearnedDynamics,
    Noisy,
    PoseBatch,
    RandomWalk,
    Reach,
    hand_chain,
    polished,
    solve,
    solve_many,
)
from marey.body.particles.constraints import as_constraints
from marey.body.particles.filter import systematic, tempering_power
from marey.body.particles.polish import Guide
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.statistics.autoregression import fit
from tests.body.particles.tasks import body_chain, curled, reach_low_and_high, standing, tips_of

BODY, HAND = body_chain(), hand_chain()


@pytest.fixture(scope="module")
def reached() -> FilteredMotion:
    first = standing(BODY)
    hands, feet = reach_low_and_high(BODY)
    return solve(BODY, [*hands, *feet], start=first.rotations[0], root=first.root[0], rng=0)


def test_the_body_has_forty_joints_and_the_hand_26_freedoms() -> None:
    assert BODY.skeleton.joints == 40
    assert HAND.freedoms == 26 and len(HAND.rules) == 4


def test_hands_reach_feet_stay_and_knees_bend(reached: FilteredMotion) -> None:
    hands, feet = reach_low_and_high(BODY)
    motion = reached.motion()
    places = motion.positions()
    index = BODY.skeleton.index
    for hand in hands:
        assert np.linalg.norm(places[-1, index(hand.joint)] - hand.position) < 0.02
    for foot in feet:
        assert np.linalg.norm(places[:, index(foot.target.joint)] - foot.target.position, axis=1).max() < 0.01
    flexion = BODY.limits.parts(motion.rotations)[:, [index("LeftLeg"), index("RightLeg")], 0]
    assert (flexion[-1].max() - flexion[0].max()) > np.radians(10)
    assert places[-1, 0, 1] < places[0, 0, 1] - 0.05


def test_no_particle_ever_leaves_the_limits(reached: FilteredMotion) -> None:
    assert BODY.limits.excess(reached.rotations).max() < 1e-9
    for estimate in ("path", "mean", "best"):
        assert BODY.limits.excess(reached.motion(estimate=estimate).rotations).max() < 1e-9


def test_the_motion_is_smooth_and_its_path_ends_at_the_best_particle(reached: FilteredMotion) -> None:
    places = reached.motion(30.0).positions()
    assert np.abs(np.diff(places, n=2, axis=0)).max() * 900 < 15.0
    path = reached.path()
    np.testing.assert_array_equal(path.rotations[-1], reached.rotations[-1, reached.best])
    np.testing.assert_array_equal(path.rotations[0], reached.rotations[0, 0])


def test_polishing_meets_targets_to_a_millimetre_within_the_limits(reached: FilteredMotion) -> None:
    hands, feet = reach_low_and_high(BODY)
    motion = polished(BODY, reached.motion(), feet, hands)
    places, index = motion.positions(), BODY.skeleton.index
    for hand in hands:
        assert np.linalg.norm(places[-1, index(hand.joint)] - hand.position) < 1e-3
    for foot in feet:
        assert np.linalg.norm(places[:, index(foot.target.joint)] - foot.target.position, axis=1).max() < 2e-3
    assert BODY.limits.excess(motion.rotations).max() < 1e-9


@pytest.mark.parametrize("seed", [0, 1])
def test_fingertips_are_reached_and_last_joints_follow(seed: int) -> None:
    tips = tips_of(HAND, curled(HAND, seed))
    found = solve(HAND, tips, rng=seed)
    end = found.path()
    for tip in tips:
        assert np.linalg.norm(tip.errors(end)[-1]) < 0.003
    for rule in HAND.rules:
        assert abs(np.degrees(rule.errors(end)[-1, 0])) < 3
    again = solve(HAND, tips_of(HAND, curled(HAND, seed + 5)), start=end.rotations[-1], rng=seed)
    assert again.errors[-1, :5].max() < 0.005


def test_the_same_seed_gives_the_same_motion() -> None:
    tips = tips_of(HAND, curled(HAND, 0))
    one, same, other = (solve(HAND, tips, particles=50, steps=10, rng=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.rotations, same.rotations)
    np.testing.assert_array_equal(one.weights, same.weights)
    assert np.abs(one.rotations - other.rotations).max() > 1e-3


def test_the_filter_as_published_comes_near_too() -> None:
    """Eight unit segments along y, three balls and five hinges, as in a study of its parameters."""
    skeleton = Skeleton(
        tuple(f"j{i}" for i in range(8)), np.arange(-1, 7), [[0, 0, 0]] + [[0, 1, 0]] * 7, [7], [[0, 1, 0]]
    )
    balls = {f"j{i}": JointFreedom.ball([0, 1, 0], (-2, 2), 2.0) for i in range(3)}
    hinges = {f"j{i}": JointFreedom.hinge([1, 0, 0], -2, 2) for i in range(3, 8)}
    chain = ArticulatedChain.of(skeleton, {**balls, **hinges})
    target = Noisy(Reach("j7_end", [3.0, 3.0, 2.0]), noise=0.1)
    found = solve(
        chain, [target], particles=200, evolution=RandomWalk(chain, 0.1), guided=False,
        settings=FilterSettings(tempering=None, resample=1.0, least_step=0.1), rng=0,
    )  # fmt: skip
    ends = found.means().point("j7_end")[-5:]
    assert np.linalg.norm(ends - target.target.position, axis=1).mean() < 0.15
    guided = solve(chain, [replace(target, noise=0.02)], particles=200, rng=0)
    assert np.linalg.norm(guided.means().point("j7_end")[-1] - target.target.position) < 0.05


def test_learned_dynamics_keep_to_the_model_and_reach() -> None:
    walk = marey.samples.walk(4, frame_rate=30)
    model = PoseModel.fit([walk], modes=6)
    chain = ArticulatedChain.human(walk.skeleton)
    chain = ArticulatedChain.of(walk.skeleton, {}, root_deviation=chain.root_deviation)
    dynamics = fit(model.encode(walk), order=2)
    evolution = LearnedDynamics(chain, model, dynamics, spread=3.0)
    there = walk.positions()[0, walk.skeleton.index("LeftHand")] + [0.0, 0.05, 0.1]
    found = solve(
        chain, [Reach("LeftHand", there)], start=walk.rotations[0], root=walk.root[0], particles=100,
        steps=30, evolution=evolution, rng=0,
    )  # fmt: skip
    assert found.errors[-1, 0] < 0.25 * found.errors[0, 0]
    begun = evolution.begin(PoseBatch(walk.skeleton, walk.rotations[:1], walk.root[:1]))
    ahead = dynamics.mean + dynamics.coefficients.sum(axis=0) @ (begun.history[0, -1] - dynamics.mean)
    np.testing.assert_allclose(evolution.expected(begun).history[0, -1], ahead, atol=1e-12)
    poses = np.array(found.rotations[-1])
    poses[:, 0] = model.geodesics.mean[0]
    rebuilt = model.decode(model.geodesics.encode(poses))
    np.testing.assert_allclose(so3.distance(rebuilt[:, 1:], poses[:, 1:]), 0.0, atol=1e-6)


def test_several_solutions_differ() -> None:
    target = Reach("Index3_end", [0.02, -0.05, 0.36])
    found = solve_many(HAND, [target], 2, particles=60, steps=30, rng=0)
    ends = [one.motion.means().positions[-1] for one in found]
    assert len(found) == 2 and sum(one.share for one in found) == pytest.approx(1.0)
    assert np.abs(ends[0] - ends[1]).max() > 0.005
    for one in found:
        assert np.linalg.norm(as_constraints([target])[0].errors(one.motion.means())[-1]) < 0.01


def test_systematic_resampling_keeps_every_share_within_one() -> None:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(50))
    counts = np.bincount(systematic(weights, rng), minlength=50)
    assert np.abs(counts - 50 * weights).max() < 1


def test_tempering_leaves_as_many_particles_as_asked_for() -> None:
    likelihood = -1e4 * np.random.default_rng(0).random(200) ** 2
    flat = np.full(200, -np.log(200))
    power = tempering_power(flat, likelihood, 50)
    weights = np.exp(power * likelihood)
    weights /= weights.sum()
    assert 0 < power < 1 and abs(1 / np.square(weights).sum() - 50) < 0.1


def test_the_guide_is_the_posterior_of_a_linear_task() -> None:
    rng = np.random.default_rng(0)
    slopes, residual = rng.standard_normal((2, 4)), np.array([1.0, -2.0])
    drive = rng.standard_normal((500, 4))
    guide = Guide.learned(drive, drive @ slopes.T)
    precision = np.eye(4) + 2 * slopes.T @ slopes
    mean = -2 * np.linalg.solve(precision, slopes.T @ residual)
    np.testing.assert_allclose(guide.gain @ residual, mean, rtol=0.01)
    drawn, ratio = guide.draw(np.tile(residual, (100_000, 1)), rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), np.linalg.inv(precision), atol=0.02)
    # Weighed by the ratio of densities times the likelihood, all draws count alike: the proposal is exact.
    errors = residual + drawn @ slopes.T
    weight = ratio - np.square(errors).sum(axis=1)
    assert weight.std() < 0.05
