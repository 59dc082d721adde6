"""Inverse kinematics by sequential Monte Carlo as published (Courty 2013, section 3.1), by plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.particles import Orient, Reach
from marey.body.particles.chain import ArticulatedChain, RandomWalk
from marey.body.particles.constraints import Noisy
from marey.body.particles.filter import PUBLISHED, solve
from tests.cli.commands import refused, result
from tests.published import plain

COUNT, STEPS, SCALE = 200, 20, 100.0


@pytest.fixture(scope="module")
def walk() -> marey.body.Motion:
    return marey.samples.walk(seconds=1)


def places(skeleton, turns, roots, joint):
    """World position `(n, 3)` and rotation `(n, 3, 3)` of a joint."""
    line = skeleton.ancestors(joint)[::-1]
    at, turn = roots, turns[:, line[0]]
    for below in line[1:]:
        at, turn = at + turn @ skeleton.offsets[below], turn @ turns[:, below]
    return at, turn


def test_weights_resampling_and_steps_are_those_of_the_plain_filter(walk):
    chain = ArticulatedChain.human(walk.skeleton).widened_to(walk)
    skeleton, hand = walk.skeleton, walk.skeleton.index("LeftHand")
    goal = walk.positions()[0, hand] + [0.05, 0.2, 0.1]
    aim = marey.geometry.rotations.exp([0.0, 0.4, 0.3])
    targets = [Noisy(Reach("LeftHand", goal), noise=0.02, initial_scale=SCALE),
               Noisy(Orient("LeftHand", aim), noise=0.1, initial_scale=SCALE)]  # fmt: skip
    found = solve(
        chain, targets, start=walk.rotations[0], root=walk.root[0], particles=COUNT, steps=STEPS,
        guided=False, evolution=RandomWalk(chain, 0.1), settings=PUBLISHED, rng=0,
    )  # fmt: skip
    logs, resampled = np.zeros(COUNT), 0
    for step in range(1, STEPS + 1):
        turns = plain.matrices(found.rotations[step])
        at, turn = places(skeleton, turns, found.roots[step], hand)
        hardness = SCALE ** (1.0 - step / STEPS)
        off = np.linalg.norm(at - goal, axis=1) / (0.02 * hardness)
        turned = np.linalg.norm(plain.log(plain.matrices(aim).T @ turn), axis=1) / (0.1 * hardness)
        logs = logs - off**2 - turned**2
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        assert found.weights[step] == pytest.approx(weights, abs=1e-9)
        effective = 1.0 / (weights**2).sum()
        assert found.effective[step - 1] == pytest.approx(effective)
        if step == STEPS:
            break
        ancestors = found.ancestors[step]
        if effective < COUNT / 2:
            resampled += 1
            assert (np.abs(np.bincount(ancestors, minlength=COUNT) - COUNT * weights) < 1.0 + 1e-9).all()
            logs = np.zeros(COUNT)
        else:
            assert (ancestors == np.arange(COUNT)).all()
    assert 1 <= resampled < STEPS
    # Joints far from their limits walk at random: Gaussian steps of 0.1 rad times their mobility.
    before = plain.matrices(found.rotations[0])
    walked = plain.log(np.swapaxes(before, -1, -2) @ plain.matrices(found.rotations[1]))
    free = skeleton.index("LeftArm")
    assert walked[:, free].std(axis=0) == pytest.approx(0.1 * chain.mobility[free], rel=0.2)
    assert chain.limits.contains(found.rotations.reshape(-1, *found.rotations.shape[2:])).all()


def test_the_command_gives_the_weighted_means_of_the_plain_filter(walk, tmp_path, capsys):
    marey.save(walk, tmp_path / "walk.mry")
    line = ["body", "particles", tmp_path / "walk.mry", tmp_path / "out.mry", "--raw", "--particles", COUNT]
    line += ["--move", "LeftHand=0.05,0.2,0.1", "--aim", "LeftHand=0.9,0.1,0.3,0.2", "--method", "published"]
    told = result(capsys, *line, "--steps", STEPS, "--seed", 4)
    same = marey.body.particles(
        walk, move={"LeftHand": [0.05, 0.2, 0.1]}, aim={"LeftHand": [0.9, 0.1, 0.3, 0.2]}, method="published",
        particles=COUNT, steps=STEPS, rng=4,
    )  # fmt: skip
    assert told["error_cm"] == same.report.error_cm and told["error_degrees"] == same.report.error_degrees
    saved = marey.load(tmp_path / "out.mry")
    assert np.abs(saved.positions() - same.motions[0].positions()).max() < 1e-6
    hand = walk.skeleton.index("LeftHand")
    at, _ = places(walk.skeleton, plain.matrices(saved.rotations), saved.root, hand)
    off = np.linalg.norm(at - walk.positions()[0, hand] - [0.05, 0.2, 0.1], axis=1)
    assert off[-1] < 0.4 * off[0] and 100 * off[-1] == pytest.approx(told["error_cm"], abs=1e-3)
    assert "polish" in refused(capsys, *line, "--polish")
