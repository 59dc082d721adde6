"""Several different motions that meet the same constraints (Courty 2013, section 3.1.2).

A filter ends with particles of one family, since resampling favours the luckiest ancestors. So several
filters run apart, and their final poses are sorted into groups by where the joints are. Cost: that of the
filters, three for each solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._random import Rng, as_generator
from marey.body.particles.chains import Chain
from marey.body.particles.constraints import Constraint
from marey.body.particles.filter import FilteredMotion, solve
from marey.body.particles.poses import PoseBatch
from marey.errors import InputError

# Filters run for each solution asked for.
RUNS = 3


@dataclass(frozen=True, eq=False)
class Solution:
    """One way to meet the constraints: a filtered motion, its mean miss in units of noise, and how many of
    all filters ended near it."""

    motion: FilteredMotion
    miss: float
    share: float


def solve_several(
    chain: Chain,
    constraints: Sequence[Constraint],
    solutions: int,
    *,
    rng: Rng = 0,
    **options: Any,
) -> list[Solution]:
    """Different motions, the best first; options are those of :func:`marey.body.particles.solve`.

    >>> from marey.body.particles import At, hand_chain
    >>> both = solve_several(hand_chain(), [At("Index3_end", [0.05, -0.1, 0.35])], 2, particles=60, steps=20)
    >>> len(both)
    2
    """
    if solutions < 1:
        raise InputError(f"solutions: at least 1, got {solutions}")
    rngs = as_generator(rng).spawn(RUNS * solutions if solutions > 1 else 1)
    runs = [solve(chain, constraints, rng=each, **options) for each in rngs]
    ends = [run.means() for run in runs]
    places = np.stack([end.positions[-1].ravel() for end in ends])
    misses = np.array([_miss(run, end) for run, end in zip(runs, ends)])
    groups = grouped(places, misses, solutions)
    found = []
    for group in range(solutions):
        members = np.flatnonzero(groups == group)
        if members.size:
            best = int(members[np.argmin(misses[members])])
            found.append(Solution(runs[best], float(misses[best]), members.size / len(runs)))
    return sorted(found, key=lambda solution: solution.miss)


def grouped(places: Array, costs: Array, groups: int) -> NDArray[np.int64]:
    """Which of `groups` each row belongs to: seeds are the cheapest row and then those farthest from all
    seeds before; the others join the nearest mean until nothing changes."""
    seeds = [int(np.argmin(costs))]
    while len(seeds) < min(groups, len(places)):
        apart = np.min([np.linalg.norm(places - places[seed], axis=1) for seed in seeds], axis=0)
        seeds.append(int(np.argmax(apart)))
    centres = places[seeds]
    member = np.zeros(len(places), dtype=np.int64)
    for _ in range(50):
        nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
        centres = np.stack(
            [
                places[nearest == group].mean(axis=0) if (nearest == group).any() else centres[group]
                for group in range(len(centres))
            ]
        )
        if (nearest == member).all():
            break
        member = nearest
    return member


def _miss(run: FilteredMotion, means: PoseBatch) -> float:
    """Of the last mean pose: the length of all errors, in units of their noise."""
    from marey.body.particles.errors import Errors

    last = means.take(np.array([run.steps]))
    scaled = Errors.of(run.constraints, last).scaled(Errors.noise(run.constraints, 1.0))
    return float(np.linalg.norm(scaled))
