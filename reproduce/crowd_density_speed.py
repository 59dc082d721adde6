"""Density from captured fields: 1,000 fields on a ground of 160 × 120 cells, in windows of 5 s.

CPU seconds of the whole estimate, the same a cell, step and evaluation of cost and gradient, and peak memory.

    python reproduce/crowd_density_speed.py
"""

from __future__ import annotations

import resource
import time

import numpy as np

from marey.crowd.density import plan_density
from marey.crowd.fields import FieldSeries
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Goal, Scene

FRAMES, RATE = 1000, 25.0
SCENE = Scene(
    (80, 60), (rectangle(38, 0, 42, 24), rectangle(38, 36, 42, 60)), {"east": Goal(rectangle(78, 0, 80, 60))}
)


def fields(people: int = 600) -> FieldSeries:
    """People who walk through a gap, as they would be captured: presence and velocity about them."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[59.75:0:-0.5, 0.25:80:0.5]
    start = rng.uniform([-40, 5], [36, 55], (people, 2))
    foreground = np.zeros((FRAMES, 120, 160), np.uint8)
    velocities = np.zeros((FRAMES, 120, 160, 2), np.float32)
    velocities[..., 0] = 1.2 / 0.5 / RATE
    # The stream narrows to the gap and opens again.
    bend = -1.2 * np.tanh((40 - x) / 10) * (y - 30) / 40
    velocities[..., 1] = -bend / 0.5 / RATE
    places = start.copy()
    for frame in range(FRAMES):
        inside = (places > [0.5, 0.5]).all(axis=1) & (places < [79.5, 59.5]).all(axis=1)
        column, row = (places[inside] / 0.5).astype(int).T
        foreground[frame, 119 - row, column] = 255
        turn = -1.2 * np.tanh((40 - places[:, 0]) / 10) * (places[:, 1] - 30) / 40
        places += np.stack([np.full(people, 1.2), turn], axis=-1) / RATE
    homography = np.array([[0.5, 0, 0.25], [0, -0.5, 59.75], [0, 0, 1.0]])
    return FieldSeries(velocities, RATE, homography=homography, foreground=foreground, scale="crowd")


def main() -> None:
    given = fields()
    for warm in (True, False):
        begun = time.process_time()
        plan = plan_density(given[:50] if warm else given, SCENE)
        for _ in plan.moments():
            pass
        seconds = time.process_time() - begun
    steps = FRAMES / plan.per_step
    work = plan.view.ground.cells * plan.estimator.evaluations * min(25, steps)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{seconds:.1f} s of CPU, {1e6 * seconds / work:.2f} µs a cell, step and evaluation, {memory:.2f} GB"
    )
    print(f"{plan.view.ground.cells} cells, {plan.estimator.evaluations} evaluations of 25 steps")


if __name__ == "__main__":
    main()
