"""How the joints turn during one gait cycle, and legs whose feet roll without slip.

The curves are our own rounded values at every 5 % of the cycle, which begins at heel strike; they follow the
published averages over healthy adults at a comfortable speed: hip, knee and ankle in the sagittal plane
Kadaba et al. 1990 (J. Orthopaedic Research 8) and Winter 2009 ("Biomechanics and Motor Control of Human
Movement", appendix A), the hip measured from the vertical; the pelvis Kadaba et al. 1990 and Perry &
Burnfield 2010 ("Gait Analysis"); the arms Murray et al. 1967 (Am. J. Physical Medicine 46). A curve is the
Fourier series of its samples, up to the sixth harmonic.

The curves, summed along the leg, say how the foot rolls in stance: about the heel, flat, about the ball,
about the toes. That fixes the ankle. The curves of hip and knee nearest to the published ones with which the
ankle keeps to it, and the pelvis path, follow by Gauss-Newton; two-link inverse kinematics removes the last
millimetres. Cost: some 400 evaluations of the leg, whatever the length of the clip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as rot
from marey.geometry.fades import minimum_jerk
from marey.samples.body_plan import HEEL_BEHIND_ANKLE

# Statures: between the lines of the two feet, of the pelvis to either side, of the toes in mid-swing
# above the ground (Winter 2009: 1 to 2 cm).
STEP_WIDTH, SWAY, CLEARANCE = 0.050, 0.011, 0.009
TOE_OUT = np.radians(7.0)

# Shares of the cycle: the foot is flat from the first to the second, rolls over the toes from the third.
FLAT, HEEL_OFF, TOE_ROLL = 0.11, 0.27, 0.47

# Shares of the cycle: when the foot is let go, and how long the swing remembers that or foresees the next.
RELEASE, FADE = 0.60, 0.06

# How much of the foot's pitch the toes share at toe-off; the rest bends the joint at the ball.
TOE_SHARE = 0.45

# The knee never locks.
LEAST_KNEE = np.radians(2.5)

# Gauss-Newton: rounds, harmonics of the legs' angles, phases at which the leg is measured, and radians
# that a metre between foot and footprint is worth.
ROUNDS, LEG_HARMONICS, PHASES, FIRMNESS = 8, 9, 120, 40.0
COMFORTABLE_SPEED = 1.34
"""Metres per second: the mean of free walking (Weidmann 1993)."""
STANCE = 0.62
"""Share of the cycle during which the foot is on the ground (Perry & Burnfield 2010)."""
HARMONICS = 6

# Degrees. Flexion of hip and knee, dorsiflexion of the ankle are positive.
HIP = (23.5, 22.5, 20, 16, 11, 5.5, 0, -5.5, -11, -15.5, -18.5, -18, -13, -3, 7, 15.5, 21.5, 25, 25.5, 24.5)
KNEE = (4, 11, 17, 19.5, 17.5, 13.5, 9.5, 6.5, 5, 7, 13, 23, 38, 53, 63, 63, 53, 35, 15.5, 4)
ANKLE = (0, -5, -4, 0, 3.3, 5.3, 6.8, 8.2, 9.4, 9.5, 6.5, -2, -13.5, -19, -14, -6.5, -1.5, 0.7, 1, 1)

# Degrees. Left side up, left side forward, front down; the cycle begins with the left heel strike.
PELVIS_OBLIQUITY = (0.5, 2.5, 4, 4, 3, 2, 1.5, 1, 0.7, 0, -0.5, -2.5, -4, -4, -3, -2, -1.5, -1, -0.7, 0)
PELVIS_ROTATION = (5, 4.8, 4, 3, 1.8, 0.5, -0.8, -2, -3.2, -4.3, -5, -4.8, -4, -3, -1.8, -0.5, 0.8, 2, 3.2, 4)
PELVIS_TILT = 2 * (0, -0.5, -0.8, -0.6, -0.1, 0.5, 0.8, 0.8, 0.5, 0.2)

# Degrees of flexion of the left arm, which swings with the right leg.
SHOULDER = (-22, -21.5, -20, -17, -13, -8, -3, 2, 5.5, 7.5, 8, 7, 4.5, 1, -3.5, -8, -13, -17, -20, -21.5)
ELBOW = (
    19, 18, 17.5, 17.5, 18.5, 20.5, 24, 28.5, 33, 36.5,
    38.5, 38.5, 37, 34.5, 31.5, 28.5, 26, 23.5, 21.5, 20,
)  # fmt: skip


@dataclass(frozen=True)
class _Leg:
    """What is known of the left leg before it is bent; arrays over the phases of one cycle."""

    phase: Array
    thigh: float
    shank: float
    hip_joint: Array  # (phases, 3), from the root
    planted: Array  # (phases, 3), the ankle in the world, right while the foot is on the ground
    foot: Array  # (phases,), pitch in the world, toes up positive
    toes: Array  # (phases,), the same of the toes
    toes_above_ankle: Array  # (phases,)

    def every(self, step: int) -> _Leg:
        """The same at every `step`-th phase."""
        arrays = {k: v[::step] for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        return _Leg(**{**vars(self), **arrays})

    def ankle(self, hip: Array, knee: Array, path: Array) -> Array:
        """`(phases, 3)` in the world; the leg leans inwards so that the foot meets its line."""
        free = path + self.hip_joint
        free[:, 0] = self.planted[:, 0]
        leaning = self.planted[:, 0] - path[:, 0] - self.hip_joint[:, 0]
        upright = np.sqrt(1 - (leaning / (self.thigh + self.shank)) ** 2)
        free[:, 1] -= upright * (self.thigh * np.cos(hip) + self.shank * np.cos(hip - knee))
        free[:, 2] += self.thigh * np.sin(hip) + self.shank * np.sin(hip - knee)
        return free


def path_and_left_leg(
    skeleton: Skeleton, stature: float, phase: Array, stride: float, reach: float, pelvis: Array
) -> tuple[Array, dict[str, Array]]:
    """The root's path `(phases, 3)` and the local rotations of the left leg over one cycle.

    stride: metres in a cycle
    reach: the stride over the comfortable one
    pelvis: `(phases, 4)`, rotation of the pelvis in the world
    """
    curves = _scaled_curves(phase, reach)
    leg = _planted_leg(skeleton, stature, phase, pelvis, curves)
    path = np.outer(phase, [0.0, 0.0, stride])
    path[:, 0] = SWAY * stature * np.cos(2 * np.pi * (phase - STANCE / 2))
    hip, knee, path = _nearest_that_stays_put(leg, curves, path, CLEARANCE * stature)
    ankle = leg.ankle(hip, knee, path)
    ankle += _carried_into_swing(phase, leg.planted - ankle)
    return path, _leg_rotations(leg, pelvis, ankle - path - leg.hip_joint)


def about(axis: str, angle: Array | float) -> Array:
    """Rotation by `angle` about a coordinate axis, `(..., 4)`."""
    half = np.asarray(angle) / 2
    q = np.zeros((*half.shape, 4))
    q[..., 0], q[..., "xyz".index(axis) + 1] = np.cos(half), np.sin(half)
    return q


def _scaled_curves(phase: Array, reach: float) -> tuple[Array, Array, Array]:
    """Hip, knee and ankle over a cycle; a shorter stride swings the hip less and bends the rest less."""
    hip = curve(HIP, phase)
    bend = (1 + min(reach, 1.2)) / 2
    return (
        hip.mean() + reach * (hip - hip.mean()),
        bend * curve(KNEE, phase),
        bend * curve(ANKLE, phase),
    )


def _planted_leg(
    skeleton: Skeleton, stature: float, phase: Array, pelvis: Array, curves: tuple[Array, Array, Array]
) -> _Leg:
    ball = skeleton.offsets[skeleton.index("LeftToeBase")]
    tip = skeleton.end_offsets[skeleton.end_parents == skeleton.index("LeftToeBase")][0]
    heel = np.array([0.0, ball[1] + tip[1], -HEEL_BEHIND_ANKLE * stature])
    hip, knee, ankle = curves
    foot, toes = _foot_roll(hip - knee + ankle, phase)
    # About a heel planted at the origin, then about the tip of the toes.
    over_heel = -_flexed(heel, foot)
    over_toes = (ball + tip - heel) - _flexed(ball, foot) - _flexed(tip, toes)
    planted = np.where((phase < FLAT)[:, None], over_heel, over_toes)
    planted = rot.rotate(about("y", TOE_OUT), planted)
    planted[:, 0] += STEP_WIDTH / 2 * stature
    return _Leg(
        phase,
        thigh=-float(skeleton.offsets[skeleton.index("LeftLeg")][1]),
        shank=-float(skeleton.offsets[skeleton.index("LeftFoot")][1]),
        hip_joint=rot.rotate(pelvis, skeleton.offsets[skeleton.index("LeftUpLeg")]),
        planted=planted,
        foot=foot,
        toes=toes,
        toes_above_ankle=(_flexed(ball, foot) + _flexed(tip, toes))[:, 1],
    )


def _foot_roll(pitch: Array, phase: Array) -> tuple[Array, Array]:
    """Pitch of foot and toes in the world, toes up positive, from what the curves say of the foot."""
    down = 1 - minimum_jerk(phase / FLAT)
    up = minimum_jerk((phase - HEEL_OFF) / (0.45 - HEEL_OFF))
    foot = pitch * (down + up)
    rolling = TOE_SHARE * minimum_jerk((phase - TOE_ROLL) / (STANCE - TOE_ROLL))
    straightened = minimum_jerk((phase - STANCE) / 0.18)
    follow = np.where(phase < FLAT, 1.0, np.where(phase < STANCE, rolling, TOE_SHARE))
    return foot, foot * (follow + (1 - follow) * straightened)


def _nearest_that_stays_put(
    leg: _Leg, curves: tuple[Array, Array, Array], path: Array, clearance: float
) -> tuple[Array, Array, Array]:
    """Hip and knee near their curves, and a path near `path`, with which the planted foot stays put."""
    step = max(1, len(leg.phase) // PHASES)
    few, few_path = leg.every(step), path[::step]
    few_hip, few_knee, few_ankle = (curve[::step] for curve in curves)
    angle, ride = _bases(few.phase)
    stance = few.phase < RELEASE
    swing = (few.phase > 0.65) & (few.phase < 0.93)

    def residual(x: Array) -> Array:
        hip_change, knee_change, ride_change = _unpacked(x)
        hip, knee = few_hip + angle @ hip_change, few_knee + angle @ knee_change
        ankle = few.ankle(hip, knee, few_path + ride @ ride_change)
        slip = (ankle - few.planted)[stance, 1:]
        too_low = _excess(clearance - (ankle[:, 1] + few.toes_above_ankle)[swing], 0.002)
        return np.concatenate(
            [
                hip - few_hip,
                knee - few_knee,
                few.foot - hip + knee - few_ankle,
                5 * _excess(2 * LEAST_KNEE - knee, 0.02),
                FIRMNESS * slip.ravel(),
                FIRMNESS * too_low,
            ]
        )

    start = np.zeros(2 * angle.shape[1] + 2 * ride.shape[1])
    start[[-6, -5]] = (few.planted - few.ankle(few_hip, few_knee, few_path))[stance, 1:].mean(axis=0)
    hip_change, knee_change, ride_change = _unpacked(_gauss_newton(residual, start))
    angle, ride = _bases(leg.phase)
    return curves[0] + angle @ hip_change, curves[1] + angle @ knee_change, path + ride @ ride_change


def _bases(phase: Array) -> tuple[Array, Array]:
    """Harmonics of the legs' angles, and those of the root's path, which repeats with every step."""
    return _harmonics(phase, range(LEG_HARMONICS + 1)), _harmonics(phase, (0, 2))


def _unpacked(x: Array) -> tuple[Array, Array, Array]:
    """Coefficients of hip, of knee, and `(3, 3)` of the path, whose first column, sideways, is 0."""
    hip, knee = x[:-6].reshape(2, -1)
    return hip, knee, np.pad(x[-6:].reshape(3, 2), ((0, 0), (1, 0)))


def _excess(x: Array, width: float) -> Array:
    """`x` where it is positive, 0 where it is negative, rounded off over `width`."""
    return width * np.logaddexp(0.0, x / width)


def _gauss_newton(residual: Callable[[Array], Array], x: Array) -> Array:
    """Least squares by linearisation with forward differences; a touch of damping keeps it regular."""
    step = 1e-6
    for _ in range(ROUNDS):
        now = residual(x)
        slope = np.stack([(residual(x + step * e) - now) / step for e in np.eye(len(x))], axis=1)
        x = x - np.linalg.solve(slope.T @ slope + 1e-9 * np.eye(len(x)), slope.T @ now)
    return x


def _carried_into_swing(phase: Array, correction: Array) -> Array:
    """`correction` while the foot is planted; in swing it fades away and comes back in time."""
    last = int(np.searchsorted(phase, RELEASE, side="right")) - 1
    fading = _fade(phase - phase[last], correction[last - np.arange(3)], phase[1])
    fading += _fade(1 - phase, correction[np.arange(3)], phase[1])
    return np.where((phase > phase[last])[:, None], fading, correction)


def _fade(x: Array, samples: Array, step: float) -> Array:
    """From `samples[0]` at x = 0 to 0 at x = FADE, a cubic that goes on from the samples `step` before."""
    here, before, earlier = samples
    speed = (3 * here - 4 * before + earlier) / (2 * step) * FADE
    t = np.clip(x / FADE, 0.0, 1.0)[:, None]
    return np.asarray((1 - t) ** 2 * (here + t * (2 * here + speed)))


def _leg_rotations(leg: _Leg, pelvis: Array, ankle: Array) -> dict[str, Array]:
    """Local rotations of the left leg that bring the ankle to `ankle`, `(phases, 3)` from the hip joint."""
    knee, lead = _two_links(np.linalg.norm(ankle, axis=1), leg.thigh, leg.shank)
    up = -ankle / np.linalg.norm(ankle, axis=1, keepdims=True)
    across = rot.rotate(about("y", TOE_OUT / 2), [1.0, 0.0, 0.0])
    side = across - (up @ across)[:, None] * up
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    straight = rot.from_matrix(np.stack([side, up, np.cross(side, up)], axis=-1))
    upper = rot.multiply(straight, about("x", -lead))
    lower = rot.multiply(upper, about("x", knee))
    sole = rot.multiply(about("y", TOE_OUT), about("x", -leg.foot))
    return {
        "LeftUpLeg": rot.multiply(rot.inverse(pelvis), upper),
        "LeftLeg": about("x", knee),
        "LeftFoot": rot.multiply(rot.inverse(lower), sole),
        "LeftToeBase": about("x", leg.foot - leg.toes),
    }


def _two_links(distance: Array, thigh: float, shank: float) -> tuple[Array, Array]:
    """Flexion of the knee, and by how much the thigh leads the line from hip to ankle."""
    longest = np.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * np.cos(LEAST_KNEE))
    within = longest - _excess(longest - distance, 0.001 * longest)
    knee = np.arccos((within**2 - thigh**2 - shank**2) / (2 * thigh * shank))
    return knee, np.arctan2(shank * np.sin(knee), thigh + shank * np.cos(knee))


def _harmonics(phase: Array, orders: range | tuple[int, ...]) -> Array:
    """Cosines and sines of these multiples of the phase, one column each; order 0 is the constant."""
    turns = 2 * np.pi * np.outer(phase, orders)
    return np.concatenate([np.cos(turns), np.sin(turns)[:, [k for k, n in enumerate(orders) if n]]], axis=1)


def _flexed(vector: Array, angle: Array) -> Array:
    """`vector` turned forwards and upwards in the sagittal plane by `angle`, `(phases, 3)`."""
    return rot.rotate(about("x", -angle), vector)


def curve(samples: tuple[float, ...], phase: Array, harmonics: int = HARMONICS) -> Array:
    """Radians at `phase` (in cycles) of a curve given in degrees at equal steps of the cycle.

    >>> np.degrees(curve(KNEE, np.array([0.0, 0.72]))).round()
    array([ 4., 64.])
    """
    coefficients = np.fft.rfft(np.radians(samples))[: harmonics + 1] / len(samples)
    coefficients[1:] *= 2
    turns = np.exp(2j * np.pi * np.multiply.outer(phase, np.arange(len(coefficients))))
    return np.asarray((turns @ coefficients).real)


def cadence(speed: float) -> float:
    """Steps per second at `speed` in metres per second.

    Adults keep the walk ratio, step length over step rate, near 0.0065 m per step/min at every speed
    (Sekiya & Nagasaki 1998, Gait & Posture 7).

    >>> round(60 * cadence(1.34))
    111
    """
    walk_ratio = 0.0065 * 60
    return float(np.sqrt(speed / walk_ratio))
