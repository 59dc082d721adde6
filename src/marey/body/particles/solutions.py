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

from marey._arrays import Array, IntArray
from marey._random import Rng, as_generator
from marey.body.particles.chain import ArticulatedChain
from marey.body.particles.constraints import Constraint, Errors, Target
from marey.body.particles.filter import FilteredMotion, solve
from marey.body.particles.poses import PoseBatch
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Solution:
    """One motion that meets the constraints.

    Attributes:
        motion: of the filter.
        error: of the last mean pose, in units of noise.
        share: of all filters that ended near it.
    """

    motion: FilteredMotion
    error: float
    share: float


def solve_many(
    chain: ArticulatedChain,
    constraints: Sequence[Constraint | Target],
    solutions: int,
    *,
    rng: Rng = 0,
    runs: int = 3,
    **options: Any,
) -> list[Solution]:
    """Different motions, the best first.

    Args:
        solutions: how many.
        runs: filters for each of them, if more than one.
        options: of :func:`marey.body.particles.solve`.

    >>> from marey.body.particles import Reach, hand_chain
    >>> both = solve_many(hand_chain(), [Reach("Index3_end", [0.05, -0.1, 0.35])], 2, particles=60, steps=20)
    >>> len(both)
    2
    """
    if solutions < 1:
        raise InputError(f"solutions: at least 1, got {solutions}")
    rngs = as_generator(rng).spawn(runs * solutions if solutions > 1 else 1)
    found = [solve(chain, constraints, rng=each, **options) for each in rngs]
    ends = [one.means() for one in found]
    places = np.stack([end.positions[-1].ravel() for end in ends])
    errors = np.array([_error(one, end) for one, end in zip(found, ends)])
    groups = grouped(places, errors, solutions)
    chosen = []
    for group in range(solutions):
        members = np.flatnonzero(groups == group)
        if members.size:
            best = int(members[np.argmin(errors[members])])
            chosen.append(Solution(found[best], float(errors[best]), members.size / len(found)))
    return sorted(chosen, key=lambda solution: solution.error)


def grouped(places: Array, costs: Array, groups: int) -> IntArray:
    """Which of `groups` each row belongs to: k-means, from the cheapest row and those farthest from it."""
    from scipy.cluster.vq import kmeans2

    seeds = [int(np.argmin(costs))]
    while len(seeds) < min(groups, len(places)):
        apart = np.min([np.linalg.norm(places - places[seed], axis=1) for seed in seeds], axis=0)
        seeds.append(int(np.argmax(apart)))
    return np.asarray(kmeans2(places, places[seeds], minit="matrix", iter=50)[1])


def _error(run: FilteredMotion, means: PoseBatch) -> float:
    """Of the last mean pose: the length of all errors, in units of their noise."""
    last = means.take(np.array([run.steps]))
    return float(np.sqrt(-Errors.of(run.constraints, last).log_likelihood(Errors.noise(run.constraints))[0]))
