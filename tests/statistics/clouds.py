"""Rotations to test statistics on: correlated clouds about a mean, with known directions."""

from __future__ import annotations

import numpy as np

from marey.geometry import rotations as so3


def cloud(samples=80, joints=4, modes=5, spread=0.5, seed=0):
    """Rotations `(samples, joints, 4)` varying along a few random directions, and a little in all others."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((modes, joints * 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = spread * 0.7 ** np.arange(modes)
    logs = (rng.standard_normal((samples, modes)) * sizes) @ directions
    logs += 0.02 * spread * rng.standard_normal(logs.shape)
    return so3.multiply(so3.random(joints, rng=rng), so3.exp(logs.reshape(samples, joints, 3)))
