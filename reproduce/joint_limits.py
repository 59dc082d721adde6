"""Joint limits learned from motion: Tournier 2011, chapter 12, figures 12.2 to 12.7, and their volume.

The source prints no number: beside ours stand those of our own measurements on the same clips (semi-axes in
radians, within 2 %), how fast the centre converges, and what one stray frame does. Then ellipsoids beside
boxes of Euler angles and swing–twist cones: each kind is fitted to half of the CMU clips, scaled a joint
until 1 % of the frames of the other half lie outside, and its volume is the Haar measure of what it allows,
by 2·10⁵ fixed samples; the mean of the logarithm over all joints must be below that of the others. Last a
character that is hit, with and without limits. Writes `joint_limits.png` (12.2 to 12.5, from three sides),
`joint_limits_volume.png` and `joint_limits_ragdoll.png` (12.6 and 12.7).

    python reproduce/joint_limits.py [--data FOLDER] [--out FOLDER]

Without real data only the character is hit, on the sample walk.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import _cmu
import numpy as np
from numpy.typing import NDArray

import marey
from marey.body.limits import learn
from marey.body.limits.learned import (
    LearnSettings,
    inliers,
    mean_of,
    minimum_ellipsoid,
    tangent_ellipsoid,
)
from marey.body.limits.swing_twist import JointFreedom, SwingTwistLimits
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.physics.simulate import Push, SimulationSettings, Simulator, State
from marey.body.pose_model import PoseModel
from marey.errors import MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.matrices import to_matrix
from marey.views import style

Array = NDArray[np.float64]

# Clip, joint, figure, semi-axes that were measured (the smallest two of a hinge are widths of our own).
MEASURED = (
    ("85_12", "LeftArm", "12.2", (1.758, 1.421, 1.203)),
    ("91_62", "RightUpLeg", "12.3", (0.616, 0.512, 0.231)),
    ("49_06", "LeftForeArm", "12.4", (0.40,)),
    ("85_01", "RightFoot", "12.5", (0.698, 0.378, 0.080)),
)
CLOSE, OUTSIDE, SAMPLES, LEAST = 0.02, 0.01, 200_000, 0.02


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    options.out.mkdir(parents=True, exist_ok=True)
    data = _cmu.folder(options.data)
    clips = _cmu.all_clips(data) if data else {}
    good = True
    if {name for name, *_ in MEASURED} <= clips.keys():
        good &= published(clips, options.out)
        good &= volumes(clips, options.out)
    else:
        print("no CMU clips at hand (--data or MAREY_DATA)")
    dance = _cmu.clip(clips["85_12"], cleaned=False) if "85_12" in clips else marey.samples.walk()
    good &= hit(dance, options.out)
    return 0 if good else 1


def published(clips: dict[str, Path], out: Path) -> bool:
    """Ellipsoids of four joints beside what was measured before."""
    good = True
    print("semi-axes, rad (measured before); rounds to 1e-8 and change a round; centre to mean, rad")
    with style.figure((1280, 1300)) as figure:
        panels = figure.subplots(len(MEASURED), 3)
        for (name, joint, number, axes), row in zip(MEASURED, panels, strict=True):
            motion = _cmu.clip(clips[name], cleaned=False)
            own = motion.rotations[:, motion.skeleton.index(joint)]
            own = own[inliers(own[:, None])[:, 0]]
            centre, shape, _ = tangent_ellipsoid(own, LearnSettings(most=0))
            found = 1 / np.sqrt(np.linalg.eigvalsh(shape))
            near = np.abs(found[: len(axes)] / axes - 1).max() < (CLOSE if len(axes) == 3 else 0.1)
            steps = convergence(own)
            ratio = (steps[-1] / steps[0]) ** (1 / max(len(steps) - 1, 1))
            good &= bool(near) and ratio < 0.2
            print(
                f"  {number} {name} {joint:12} {' '.join(f'{a:.3f}' for a in found)} "
                f"({' '.join(f'{a:g}' for a in axes)}); {len(steps)}, {ratio:.3f}; "
                f"{so3.distance(centre, mean_of(own)):.3f}{'' if near and ratio < 0.2 else '  MISSED'}"
            )
            points = so3.log(so3.multiply(so3.inverse(centre), own))
            for axis, panel in enumerate(row):
                a, b = [k for k in range(3) if k != axis]
                panel.plot(points[:, a], points[:, b], ".", ms=1.5, alpha=0.4)
                outline = silhouette(shape, a, b)
                panel.plot(outline[:, 0], outline[:, 1], color=style.PALETTE[1], lw=1.2)
                panel.set_aspect("equal", "datalim")
                panel.set_title(f"{number}: {name} {joint}, along {'xyz'[axis]}", fontsize=9)
    style.save(figure, out / "joint_limits.png")
    motion = _cmu.clip(clips["85_12"], cleaned=False)
    arm = motion.rotations[:, motion.skeleton.index("LeftArm")]
    kept = arm[inliers(arm[:, None])[:, 0]]
    plain = LearnSettings(most=0)
    stray = np.concatenate([kept, [so3.multiply(mean_of(kept), so3.exp([0.0, 0.0, 2.9]))]])
    with_stray, without = (tangent_ellipsoid(rows, plain)[1] for rows in (stray, kept))
    factor = np.exp(0.5 * (np.linalg.slogdet(without)[1] - np.linalg.slogdet(with_stray)[1]))
    left_out = tangent_ellipsoid(stray)[1]
    again = np.exp(0.5 * (np.linalg.slogdet(without)[1] - np.linalg.slogdet(left_out)[1]))
    print(f"  one stray frame: volume times {factor:.2f}; with the test of the core set {again:.2f}")
    return good


def convergence(rotations: Array) -> list[float]:
    """How far the centre goes in each round of algorithm 1, until 1e-8 rad."""
    centre, steps = mean_of(rotations), []
    while not steps or (steps[-1] > 1e-8 and len(steps) < 50):
        vectors = so3.log(so3.multiply(so3.inverse(centre), rotations))
        spread = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        solid = spread[2][np.abs((vectors - vectors.mean(axis=0)) @ spread[2].T).max(axis=0) > 5e-3]
        flat = (vectors - vectors.mean(axis=0)) @ solid.T
        moved = vectors.mean(axis=0) + solid.T @ minimum_ellipsoid(corners(flat), 1e-9).middle
        steps.append(float(np.linalg.norm(moved)))
        centre = so3.multiply(centre, so3.exp(moved))
    return steps


def corners(points: Array) -> Array:
    from scipy.spatial import ConvexHull

    if points.shape[1] == 1:
        return points[[points[:, 0].argmin(), points[:, 0].argmax()]]
    return points[ConvexHull(points).vertices]


def silhouette(shape: Array, a: int, b: int) -> Array:
    """Outline `(n, 2)` of an ellipsoid seen along the axis that is neither a nor b."""
    inverse = np.linalg.inv(shape)[np.ix_([a, b], [a, b])]
    angles = np.linspace(0, 2 * np.pi, 100)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) @ np.linalg.cholesky(inverse).T


class Kind:
    """A kind of limit of one joint, fitted: its gauge, and its volume when it is scaled.

    gauge: the scale `(n,)` at which rotations `(n, 4)` are just inside
    chart: rotations `(n, 4)` and their density, Haar's over the samples', of points of the unit cube
    `(n, 3)` at a scale
    """

    def __init__(self, gauge: Callable[[Array], Array], chart: Callable[[Array, float], tuple[Array, Array]]):
        self.gauge, self.chart = gauge, chart

    def log_volume(self, scale: float, cube: Array) -> float:
        """Logarithm of the share of SO(3) that is inside."""
        rotations, density = self.chart(cube, scale)
        inside = self.gauge(rotations) <= scale * (1 + 1e-9)
        return float(np.log((density * inside).mean()))


def ellipsoid(rotations: Array) -> Kind:
    centre, shape, _ = tangent_ellipsoid(rotations)
    root = np.linalg.inv(np.linalg.cholesky(shape)).T

    def gauge(q: Array) -> Array:
        u = so3.log(so3.multiply(so3.inverse(centre), q))
        return np.sqrt(np.einsum("ni,ij,nj->n", u, shape, u))

    def chart(cube: Array, scale: float) -> tuple[Array, Array]:
        u = scale * (2 * cube - 1) @ root.T
        return so3.multiply(centre, so3.exp(u)), haar(u) * 8 * scale**3 * abs(np.linalg.det(root))

    return Kind(gauge, chart)


def haar(u: Array) -> Array:
    """Density of rotation vectors `(n, 3)`, 0 beyond a half turn; its integral is 1."""
    angle = np.linalg.norm(u, axis=1)
    return np.where(angle < np.pi, np.sinc(angle / (2 * np.pi)) ** 2, 0.0) / (8 * np.pi**2)


def euler(rotations: Array, about: Array) -> Kind:
    """A box of angles in the order z, y, x, of rotations from a reference."""

    def angles(q: Array) -> Array:
        R = to_matrix(so3.multiply(so3.inverse(about), q))
        z, x = np.arctan2(R[:, 1, 0], R[:, 0, 0]), np.arctan2(R[:, 2, 1], R[:, 2, 2])
        return np.stack([z, np.arcsin(np.clip(-R[:, 2, 0], -1, 1)), x], axis=1)

    own = angles(rotations)
    low, high = own.min(axis=0), own.max(axis=0)
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), LEAST)

    def gauge(q: Array) -> Array:
        return np.abs((angles(q) - middle) / half).max(axis=1)

    def chart(cube: Array, scale: float) -> tuple[Array, Array]:
        low = np.maximum(middle - scale * half, [-np.pi, -np.pi / 2, -np.pi])
        high = np.minimum(middle + scale * half, [np.pi, np.pi / 2, np.pi])
        given = low + cube * (high - low)
        turns = [so3.exp(given[:, [k]] * axis) for k, axis in enumerate(np.eye(3)[::-1])]
        q = so3.multiply(about, so3.multiply(so3.multiply(turns[0], turns[1]), turns[2]))
        return q, np.cos(given[:, 1]) * np.prod(high - low) / (8 * np.pi**2)

    return Kind(gauge, chart)


def swing_twist(rotations: Array, bone: Array) -> Kind:
    """A range of twist about the bone and an elliptic cone of swing about the mean."""
    frame = JointFreedom.ball(bone, (-1, 1), 1.0).frame
    centre = mean_of(rotations)
    measure = SwingTwistLimits(centre[None], frame[None], np.array([[-1.0, 1.0]]), np.ones((1, 2, 2)))

    def parts(q: Array) -> Array:
        return measure.parts(q[:, None])[:, 0]

    own = parts(rotations)
    middle = 0.5 * (own[:, 0].min() + own[:, 0].max())
    half = max(0.5 * np.ptp(own[:, 0]), LEAST)
    sides = np.maximum(np.stack([-own[:, 1:].min(axis=0), own[:, 1:].max(axis=0)], axis=1), LEAST)

    def far(swings: Array) -> Array:
        reach = np.where(swings < 0, sides[:, 0], sides[:, 1])
        return np.sqrt(((swings / reach) ** 2).sum(axis=1))

    sides = sides * far(own[:, 1:]).max()

    def gauge(q: Array) -> Array:
        split = parts(q)
        return np.maximum(np.abs(split[:, 0] - middle) / half, far(split[:, 1:]))

    def chart(cube: Array, scale: float) -> tuple[Array, Array]:
        low, high = max(middle - scale * half, -np.pi), min(middle + scale * half, np.pi)
        swings = -scale * sides[:, 0] + cube[:, 1:] * scale * sides.sum(axis=1)
        angle = np.linalg.norm(swings, axis=1)
        twist = low + cube[:, 0] * (high - low)
        swing = so3.exp(np.concatenate([np.zeros((len(cube), 1)), swings], axis=1))
        about = so3.exp(twist[:, None] * [1.0, 0, 0])
        turned = so3.multiply(so3.multiply(frame, so3.multiply(swing, about)), so3.inverse(frame))
        area = (high - low) * np.prod(scale * sides.sum(axis=1))
        density = np.where(angle < np.pi, np.sinc(angle / np.pi), 0.0) * area / (8 * np.pi**2)
        return so3.multiply(centre, turned), density

    return Kind(gauge, chart)


def volumes(clips: dict[str, Path], out: Path) -> bool:
    """Log volumes of three kinds of limits that leave out as much of unseen clips."""
    names = sorted(clips)
    motions = {name: _cmu.clip(clips[name], cleaned=False) for name in names}
    skeleton = motions[names[0]].skeleton
    halves = [
        np.concatenate([motions[name].rotations[::3] for name in some]) for some in (names[::2], names[1::2])
    ]
    cube = np.random.default_rng(0).uniform(size=(SAMPLES, 3))
    everywhere = so3.random((SAMPLES,), rng=1)
    found: dict[str, dict[str, float]] = {}
    off = 0.0
    for joint in range(1, skeleton.joints):
        seen, unseen = (rows[:, joint] for rows in halves)
        middle = mean_of(seen)
        close = [rows[so3.distance(rows, middle) < np.pi / 2] for rows in (seen, unseen)]
        if np.abs(so3.log(so3.multiply(so3.inverse(middle), close[0]))).max() < LEAST:
            continue
        below = skeleton.children(joint)
        bone = skeleton.offsets[below[0]] if below else np.array([0.0, 1.0, 0.0])
        bone = bone if np.linalg.norm(bone) > 1e-6 else np.array([0.0, 1.0, 0.0])
        kinds = {
            "ellipsoid": ellipsoid(close[0]),
            "Euler box": euler(close[0], so3.identity()),
            "Euler box about the mean": euler(close[0], middle),
            "swing–twist cone": swing_twist(close[0], bone),
        }
        own = {}
        for title, kind in kinds.items():
            scale = float(np.quantile(kind.gauge(close[1]), 1 - OUTSIDE))
            own[title] = kind.log_volume(scale, cube)
            share = (kind.gauge(everywhere) <= scale).mean()
            if share > 0.02:
                off = max(off, abs(np.log(share) - own[title]))
        found[skeleton.names[joint]] = own
    titles = list(next(iter(found.values())))
    means = {title: float(np.mean([own[title] for own in found.values()])) for title in titles}
    print(
        f"\nlog of the share of SO(3) that is allowed, mean over {len(found)} joints, "
        f"{100 * OUTSIDE:g} % of unseen frames outside"
    )
    for title in titles:
        least = sum(own[title] == min(own.values()) for own in found.values())
        print(f"  {title:26} {means[title]:7.3f}, the smallest of {least} joints")
    print(f"  by uniform samples of SO(3), where they suffice, at most {off:.3f} different")
    with style.figure((1280, 700)) as figure:
        axes = figure.subplots()
        for number, title in enumerate(titles):
            axes.plot([own[title] for own in found.values()], "o-", color=style.PALETTE[number], label=title)
        axes.set_xticks(range(len(found)), found, rotation=70, fontsize=8)
        axes.set_ylabel("log of the volume")
        axes.legend(fontsize=8)
    style.save(figure, out / "joint_limits_volume.png")
    return means["ellipsoid"] < min(value for title, value in means.items() if title != "ellipsoid")


def hit(motion: marey.Motion, out: Path) -> bool:
    """A character that gets two blows, with limits and without: how far the limits are exceeded."""
    character = PhysicalCharacter.of(PoseModel.fit([motion], modes=20))
    limits = learn([motion]).limits
    settings = SimulationSettings(gravity=False, ground=False)
    still = State(so3.identity(), np.zeros(3), np.zeros(20), np.zeros(26))
    blows = [Push("LeftHand", 0.0, (0.0, 3.0, 0.0)), Push("RightFoot", 0.0, (0.0, 3.0, 0.0))]
    found = {}
    print("\n2 s after blows on a hand and a foot, 20 modes: largest f (1 at the limit)")
    for title, bounds, before in (("no limits", None, "1.59"), ("limits", limits, "1.00")):
        path = Simulator(character, settings, bounds).run(still, 200, blows)
        excess = 1 + limits.excess(character.basis.decode(path.coordinates))
        found[title] = excess.max(axis=1)
        print(f"  {title:10} {excess.max():.3f} ({before})")
    with style.figure((900, 420)) as figure:
        axes = figure.subplots()
        for number, (title, values) in enumerate(found.items()):
            axes.plot(0.01 * np.arange(200), values, color=style.PALETTE[number], label=title)
        axes.axhline(1.0, color="grey", lw=0.8)
        axes.set_xlabel("seconds")
        axes.set_ylabel("largest f of all joints")
        axes.legend()
    style.save(figure, out / "joint_limits_ragdoll.png")
    return bool(found["limits"].max() <= 1.02 and found["no limits"].max() > 1.3)


if __name__ == "__main__":
    sys.exit(main())
