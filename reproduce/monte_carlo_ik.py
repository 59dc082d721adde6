"""Inverse kinematics by sequential Monte Carlo (Courty 2013, section 3.1): its figures and what they measure.

Figure 13: noise on rotations with three covariances. Figure 14: a whole body of 40 joints, feet on the floor,
each hand to a target. Figure 15: forearm and hand, five fingertips, two sets of targets one after the other.
The text gives no numbers for these; those beside ours are what the distribution implies (figure 13) and the
bars one would set (others). A table of the filter's parameters on a chain of eight segments, with values of
an independent run in NumPy beside ours. Last, fingers of a captured hand from its fingertips alone.

    python reproduce/monte_carlo_ik.py [--data DIR] [--out DIR] [--quick]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from _cmu import arguments, folder
from _published_body import body_chain
from _qutem import sample_qutem

import marey
from marey.body import Motion, Skeleton
from marey.body.particles import (
    ArticulatedChain,
    Balance,
    FilterSettings,
    JointFreedom,
    NearPose,
    Noisy,
    PoseBatch,
    RandomWalk,
    Reach,
    feet_on_floor,
    fingers_from_tips,
    hand_chain,
    hand_of_clip,
    polished,
    solve,
)
from marey.body.particles.hands import FINGERS
from marey.geometry import rotations as so3

COVARIANCES = {
    (1.0, 1.0, 1.0): ((0.50, 0.50, 0.50), 0.48),
    (1.0, 1.0, 0.05): ((0.64, 0.63, 0.05), 0.29),
    (1.0, 0.1, 0.05): ((0.93, 0.18, 0.10), 0.12),
}
# Particles, noise of steps, whether steps shrink; then error / jitter for σ_z 0.5, 0.1 and annealed 2 → 0.02.
STUDY = {
    (200, 0.03, False): ("0.100 / .007", "0.027 / .016", "0.053 / .013"),
    (200, 0.10, False): ("0.52 / .03", "0.11 / .06", "0.16 / .05"),
    (1000, 0.03, False): ("0.052 / .005", "0.055 / .012", "0.037 / .014"),
    (200, 0.03, True): ("0.22", "0.003 / .008", "0.002 / .005"),
    (200, 0.10, True): ("0.010 / .008", "0.010 / .010", "0.022 / .013"),
}
NOISES = ((0.5, 1.0), (0.1, 1.0), (0.02, 100.0))
TIPS = tuple(f"{finger}3_end" for finger in FINGERS)


def main() -> int:
    options = arguments(__doc__)
    options.out.mkdir(parents=True, exist_ok=True)
    noise()
    study(3 if options.quick else 10)
    body(options.out, 2 if options.quick else 10)
    hand(options.out, 2 if options.quick else 10)
    captured_hand(folder(options.data), options.quick)
    return 0


def noise() -> None:
    print("\nFigure 13, noise on rotations: mean |axis|, share of draws beyond half a turn")
    for deviations, (axis, beyond) in COVARIANCES.items():
        q = sample_qutem([1, 0, 0, 0], np.diag(np.square(deviations)), 200_000, rng=0)
        strict = sample_qutem([1, 0, 0, 0], np.diag(np.square(deviations)), 200_000, rng=0, beyond="redraw")
        half = 0.5 * so3.log(q)
        ours = (np.abs(half) / np.linalg.norm(half, axis=1, keepdims=True)).mean(axis=0)
        share = (np.abs(q - strict).max(axis=1) > 1e-12).mean()
        print(f"  σ {deviations}: {formatted(ours)}, {share:.2f}   expected {formatted(axis)}, {beyond:.2f}")


def study(runs: int) -> None:
    print(
        f"\nParameters on a chain of eight unit segments, 60 steps, median of {runs} seeds (theirs: one run)"
    )
    print("error of the mean pose over the last five steps / change of step angles (rad)")
    print(f"  {'':28}{'σ_z 0.5':>30}{'σ_z 0.1':>30}{'annealed 2 → 0.02':>30}")
    chain = segments()
    for (particles, deviation, shrinks), theirs in STUDY.items():
        cells = []
        for (sigma, scale), reported in zip(NOISES, theirs, strict=True):
            measured = np.median(
                [trial(chain, particles, deviation, shrinks, sigma, scale, seed) for seed in range(runs)],
                axis=0,
            )
            cells.append(f"{measured[0]:.3f} / {measured[1]:.3f} ({reported})")
        name = f"{particles:5} particles, σ_x {deviation:.2f}" + (", shrinking" if shrinks else "")
        print(f"  {name:34}" + "".join(f"{cell:>29}" for cell in cells))
    guided = []
    for seed in range(runs):
        target = Noisy(Reach("j7_end", [3.0, 3.0, 2.0]), noise=0.02)
        guided.append(measure(solve(chain, [target], particles=200, rng=seed), target))
    print(f"  200 particles, guided, σ_z 0.02 (ours): {formatted(np.median(guided, axis=0))}")


def segments():
    skeleton = Skeleton(
        tuple(f"j{i}" for i in range(8)), np.arange(-1, 7), [[0, 0, 0]] + [[0, 1, 0]] * 7, [7], [[0, 1, 0]]
    )
    balls = {f"j{i}": JointFreedom.ball([0, 1, 0], (-2, 2), 2.0) for i in range(3)}
    hinges = {f"j{i}": JointFreedom.hinge([1, 0, 0], -2, 2) for i in range(3, 8)}
    return ArticulatedChain.of(skeleton, {**balls, **hinges})


def trial(chain, particles, deviation, shrinks, sigma, initial_scale, seed):
    target = Noisy(Reach("j7_end", [3.0, 3.0, 2.0]), noise=sigma, initial_scale=initial_scale)
    found = solve(
        chain, [target], particles=particles, steps=60, evolution=RandomWalk(chain, deviation), guided=False,
        settings=FilterSettings(tempering=None, resample=1.0, least_step=0.1 if shrinks else 1.0), rng=seed,
    )  # fmt: skip
    return measure(found, target)


def measure(found, target) -> tuple[float, float]:
    """Error of the mean pose over the last five steps, and how much step angles change from step to step."""
    means = found.means()
    error = np.linalg.norm(target.errors(means)[-5:], axis=1).mean()
    turns = so3.log(so3.multiply(so3.inverse(means.rotations[:-1]), means.rotations[1:]))
    angles = np.linalg.norm(turns, axis=2)
    return float(error), float(np.abs(np.diff(angles, axis=0)).mean())


def body(out: Path, runs: int) -> None:
    print(f"\nFigure 14, body of 40 joints, 300 particles, 60 steps, {runs} seeds (worst of all)")
    chain = body_chain()
    index = chain.skeleton.index
    pose = so3.identity(40)
    pose[index("LeftArm")], pose[index("RightArm")] = so3.exp([0, 0, -1.2]), so3.exp([0, 0, 1.2])
    first = PoseBatch(chain.skeleton, pose[None], np.array(chain.skeleton.offsets[:1]))
    hands = [Reach("RightHand", [-0.35, 0.35, 0.45]), Reach("LeftHand", [0.45, 1.15, 0.35])]
    feet = feet_on_floor(first)
    rules = [*hands, *feet, Balance([foot.target.joint for foot in feet]), NearPose(pose)]
    rows = []
    for seed in range(runs):
        found = solve(chain, rules, start=pose, root=first.root[0], rng=seed)
        motion = found.motion(30.0)
        exact = polished(chain, motion, feet, hands)
        row = [*figures(chain, motion, hands, feet), *figures(chain, exact, hands, feet)]
        rows.append([*row, chain.limits.excess(found.rotations).max(), found.seconds])
        if seed == 0:
            draw(motion, np.array([hand.position for hand in hands]), out / "particles-body.png")
    worst = np.max(rows, axis=0)
    knee = np.min(rows, axis=0)[2]
    print(f"  hands missed by {worst[0]:.2f} cm (bar 2), feet drift {worst[1]:.2f} cm (bar 1), "
          f"knees bend by {knee:.0f}° or more (bar: more than 0)")  # fmt: skip
    print(f"  polished: hands {worst[3]:.4f} cm (bar 0.1), feet {worst[4]:.3f} cm")
    print(f"  farthest beyond a joint limit: {worst[6]:.1e} rad; {np.median(rows, axis=0)[7]:.2f} s a motion")


def figures(chain, motion, hands, feet) -> tuple[float, float, float]:
    """Centimetres that hands miss and feet drift, and by how many degrees the more bent knee bends."""
    places, index = motion.positions(), chain.skeleton.index
    miss = max(np.linalg.norm(places[-1, index(hand.joint)] - hand.position) for hand in hands)
    drift = max(
        np.linalg.norm(places[:, index(foot.target.joint)] - foot.target.position, axis=1).max()
        for foot in feet
    )
    knees = chain.limits.parts(motion.rotations)[:, [index("LeftLeg"), index("RightLeg")], 0]
    return 100 * miss, 100 * drift, float(np.degrees(knees[-1].max() - knees[0].max()))


def hand(out: Path, runs: int) -> None:
    print(f"\nFigure 15, hand of 26 degrees of freedom, two sets of fingertips, {runs} seeds (worst of all)")
    chain = hand_chain()
    rows = []
    for seed in range(runs):
        start, motions, marks = so3.identity(17), [], []
        for part in (0, 1):
            batch = PoseBatch(chain.skeleton, posed(chain, 2 * seed + part)[None], np.zeros((1, 3)))
            tips = [Noisy(Reach(name, batch.point(name)[0]), noise=0.002) for name in TIPS]
            found = solve(chain, tips, start=start, rng=seed)
            end = found.path()
            rows.append(
                [
                    max(1000 * np.linalg.norm(tip.errors(end)[-1]) for tip in tips),
                    max(np.degrees(np.abs(rule.errors(end)[-1, 0])) for rule in chain.rules),
                    chain.limits.excess(found.rotations).max(),
                    found.seconds,
                ]
            )
            start = end.rotations[-1]
            motions.append(found.motion(30.0))
            marks.append(np.array([tip.target.position for tip in tips]))
        if seed == 0:
            for part, motion in enumerate(motions):
                draw(motion, marks[part], out / f"particles-hand-{part + 1}.png")
    worst, usual = np.max(rows, axis=0), np.median(rows, axis=0)
    print(f"  fingertips missed by {worst[0]:.2f} mm (bar 3; median {usual[0]:.2f}), "
          f"|last - 2/3 before| {worst[1]:.2f}° (bar 3; median {usual[1]:.2f})")  # fmt: skip
    print(
        f"  farthest beyond a joint limit: {worst[2]:.1e} rad; {usual[3]:.2f} s for 300 particles × 60 steps"
    )


def posed(chain, seed):
    """A pose of the hand that obeys its rules, to take targets from."""
    rng = np.random.default_rng(seed)
    pose, index = so3.identity(17), chain.skeleton.index
    pose[0], pose[1] = so3.exp(0.2 * rng.standard_normal(3)), so3.exp(0.2 * rng.standard_normal(3))
    for rule in chain.rules:
        angle = rng.uniform(0.2, 1.2)
        pose[index(rule.other)] = so3.exp(angle * np.asarray(rule.axis))
        pose[index(rule.joint)] = so3.exp(2 / 3 * angle * np.asarray(rule.axis))
    for finger in FINGERS:
        joint = index(f"{finger}1")
        bend = [0.0, rng.uniform(0, 0.8), rng.uniform(-0.15, 0.15)]
        pose[joint] = so3.exp(so3.rotate(chain.limits.frames[joint], bend))
    return chain.limits.project(pose)


def captured_hand(data: Path | None, quick: bool) -> None:
    print("\nFingers of a captured hand from its tips alone; joints learned from the first half of the clip")
    path = None if data is None else data / "manipnet_hand_NC" / "mug1_rightHand.bvh"
    if path is None or not path.is_file():
        print("  the clip mug1_rightHand.bvh (ManipNet) is not here: set MAREY_DATA to try it")
        return
    clip = marey.load(path, unit=0.1)
    skeleton = clip.skeleton
    # The file ends at the last joints; a last bone of usual length is put along their x axis.
    ends = 0.85 * np.linalg.norm(skeleton.offsets[skeleton.end_parents], axis=1)[:, None] * [[-1.0, 0.0, 0.0]]
    rotations = np.array(clip.rotations)
    rotations[:, 0] = so3.identity()
    clip = Motion(replace(skeleton, end_offsets=ends), rotations, np.zeros((clip.frames, 3)), clip.frame_rate)
    unseen = clip[2000:4000:16] if quick else clip[2000:4000:4]
    names = [skeleton.names[j] + "_end" for j in skeleton.end_parents]
    for likely in (True, False):
        chain = hand_of_clip(clip[:2000], prior_noise=5.0 if likely else None)
        began = time.perf_counter()
        found = fingers_from_tips(chain, unseen.end_positions(), names, frame_rate=unseen.frame_rate)
        spent = time.perf_counter() - began
        apart = 1000 * np.linalg.norm(found.motion.positions() - unseen.positions(), axis=2)[:, 1:]
        turned = np.degrees(so3.distance(found.motion.rotations, unseen.rotations))[:, 1:]
        print(
            f"  {'likely poses' if likely else 'limits alone'}: tips "
            f"{1000 * found.errors.max():.2f} mm at most, "
            f"joints {apart.mean():.2f} mm, {turned.mean():.1f}° on average, {apart.max():.1f} mm at most, "
            f"{1000 * spent / unseen.frames:.1f} ms a frame"
        )


def draw(motion: Motion, marks: np.ndarray, path: Path) -> None:
    from marey.io.images import encode_image
    from marey.views.actors import group
    from marey.views.shots import strip

    stage = group([motion], marks=np.repeat(marks[None], motion.frames, axis=0))
    path.write_bytes(encode_image(strip(stage, (1280, 480)), ".png"))
    print(f"  drawn: {path}")


def formatted(values) -> str:
    return "(" + ", ".join(f"{value:.2f}" if value >= 0.05 else f"{value:.3f}" for value in values) + ")"


if __name__ == "__main__":
    sys.exit(main())
