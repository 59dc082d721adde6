"""The textbook steps of Tournier 2011, section 6.3, beside Levenberg–Marquardt: how many to reach a target?

Jacobian transpose, pseudo-inverse and damped steps on the whole skeleton, the prior as rows of its own, so
that all have the same least cost. Every step is shortened until the cost falls, so that none can diverge. One
hand is dragged by 30 cm from poses of a clip while the other stays. The thesis gives the methods, no numbers.

    python reproduce/classical_ik.py [--data FOLDER]

Without real data the sample walk shows the computation.
"""

from __future__ import annotations

import sys

import numpy as np
from _cmu import all_clips, arguments, clip, folder
from numpy.typing import NDArray

import marey
from marey import Motion
from marey.body.ik import Pin, PoseSolver, Reach
from marey.body.ik.engine import Parameters, PoseArrays, Problem, moved, pull_back, world
from marey.body.ik.solver import starting_poses
from marey.body.ik.targets import compile_targets, goals_of_frame

Array = NDArray[np.float64]

METHODS = ("transpose", "pseudo-inverse", "damped")
CLIPS, POSES, DISTANCE, STEPS = ("02_01", "49_06"), 20, 0.3, 200
# Share of the mean of the normal matrix' diagonal; metres that targets are meant to, and count as met within.
DAMPING, TOLERANCE, REACHED = 1e-2, 0.005, 1e-3


def main() -> int:
    options = arguments(__doc__)
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    motions = {name: clip(clips[name], cleaned=True) for name in CLIPS if name in clips}
    if not motions:
        print("no CMU clips at hand (--data, MAREY_DATA): the sample walk instead")
        motions = {"sample": marey.samples.walk()}
    print(f"{'clip':10} {'method':20} {'steps, median':>14} {'error, median':>14} {'worst':>9}")
    missed = []
    for name, motion in motions.items():
        for method in (*METHODS, "levenberg-marquardt"):
            steps, errors = np.transpose([dragged(motion, frame, method) for frame in frames(motion)])
            median, worst = 1e3 * np.median(errors), 1e3 * errors.max()
            print(f"{name:10} {method:20} {np.median(steps):14.0f} {median:11.2f} mm {worst:6.2f} mm")
            if median > 1e3 * REACHED:
                missed.append(f"{name}, {method}")
    print("\nevery method reaches the target: ", end="")
    print("not " + "; ".join(missed) if missed else "on every clip")
    return 1 if missed else 0


def frames(motion: Motion) -> list[int]:
    return [int(frame) for frame in np.linspace(0, motion.frames - 1, POSES)]


def dragged(motion: Motion, frame: int, method: str) -> tuple[float, float]:
    """Steps, and metres from the hand to its target."""
    here, skeleton = motion[frame], motion.skeleton
    way = np.random.default_rng(frame).normal(size=3)
    goal = here.positions()[0, skeleton.index("LeftHand")] + DISTANCE * way / np.linalg.norm(way)
    targets = [Reach("LeftHand", goal), Pin("RightHand")]
    if method not in METHODS:
        report = PoseSolver(skeleton, start=here, tolerance=TOLERANCE).solve(targets).report
        return report.iterations, report.errors[0].cm / 100
    parameters, plan = Parameters.of(skeleton), compile_targets(targets, skeleton)
    start = starting_poses(parameters, skeleton, None, here)
    goals, weights = goals_of_frame(targets, plan, plan.effectors.places(world(parameters, start)))
    problem = Problem(parameters, plan.effectors)
    precision = np.full(problem.unknowns, TOLERANCE**2)
    return solve(method, problem, goals, weights, start, np.sqrt(precision))


def solve(
    method: str, problem: Problem, goals: Array, weights: Array, start: PoseArrays, roots: Array
) -> tuple[float, float]:
    def measured(poses: PoseArrays) -> tuple[Array, Array]:
        values, jacobians = problem.evaluate(goals, weights, poses)
        pull, _ = pull_back(problem.parameters, problem.free_root, poses, start, roots)
        return np.concatenate([values[0], pull[0]]), np.concatenate([jacobians[0], np.diag(roots)])

    poses, count = start, 0
    r, J = measured(poses)
    while count < STEPS:
        count += 1
        step, length, gain = stepped(method, J, r), 1.0, 0.0
        while gain <= 0 and length > 1e-10:
            trial = moved(problem.parameters, problem.free_root, poses, length * step[None])
            new_r, new_J = measured(trial)
            gain, length = r @ r - new_r @ new_r, 0.5 * length
        if gain <= 1e-7 * (r @ r):
            break
        poses, r, J = trial, new_r, new_J
    return count, float(problem.errors(r[None, : problem.rows], weights)[0, 0])


def stepped(method: str, J: Array, r: Array) -> Array:
    """A step `(unknowns,)`, of residuals `(rows,)` and their Jacobian."""
    downhill = J.T @ r
    if method == "transpose":
        # The length that is best if the values were linear.
        way = J @ downhill
        return downhill * (downhill @ downhill) / max(float(way @ way), 1e-300)
    if method == "pseudo-inverse":
        return np.asarray(np.linalg.pinv(J, rcond=1e-8) @ r)
    normal = J.T @ J
    damping = DAMPING * np.trace(normal) / len(normal) + 1e-12
    return np.asarray(np.linalg.solve(normal + damping * np.eye(len(normal)), downhill))


if __name__ == "__main__":
    sys.exit(main())
