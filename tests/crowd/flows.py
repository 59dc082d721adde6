"""Flows made by formula, for tests of what is inside a field series."""

from __future__ import annotations

import numpy as np

from marey.crowd.fields import FieldSeries


def street(frames: int = 60, rows: int = 20, columns: int = 28, *, noise: float = 0.0) -> FieldSeries:
    """People streaming past a swirl that comes and goes; a wall in the middle; 25 frames a second."""
    rng = np.random.default_rng(7)
    t = np.arange(frames)[:, None, None] / 25
    y, x = np.mgrid[:rows, :columns].astype(float)
    fall = np.exp(-((x - 8) ** 2 + (y - 9) ** 2) / 18)
    turn = 0.12 * (1 + np.sin(2 * np.pi * 0.7 * t)) * fall
    u = 0.6 + 0.2 * np.cos(2 * np.pi * 1.3 * t + x / 5) - turn * (y - 9)
    v = 0.1 * np.sin(2 * np.pi * 0.4 * t + y / 4) + turn * (x - 8)
    velocities = np.stack([u, v], axis=-1) + noise * rng.normal(size=(frames, rows, columns, 2))
    mask = np.ones((rows, columns), dtype=bool)
    mask[8:12, 17:21] = False
    velocities[:, ~mask] = 0.0
    return FieldSeries(velocities.astype(np.float32), 25, mask=mask, name="street")
