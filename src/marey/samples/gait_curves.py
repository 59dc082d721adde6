"""How the joints of a healthy adult turn during one gait cycle, at a comfortable speed.

Our own rounded values at every 5 % of the cycle, which begins at heel strike; they follow the published
averages over adults: hip, knee and ankle in the sagittal plane Kadaba et al. 1990 (J. Orthopaedic Research 8)
and Winter 2009 ("Biomechanics and Motor Control of Human Movement", appendix A), the hip measured from the
vertical; the pelvis Kadaba et al. 1990 and Perry & Burnfield 2010 ("Gait Analysis"); the arms Murray et al.
1967 (Am. J. Physical Medicine 46). A curve is the Fourier series of its samples, up to the sixth harmonic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
    19,
    18,
    17.5,
    17.5,
    18.5,
    20.5,
    24,
    28.5,
    33,
    36.5,
    38.5,
    38.5,
    37,
    34.5,
    31.5,
    28.5,
    26,
    23.5,
    21.5,
    20,
)


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
