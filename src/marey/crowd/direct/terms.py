"""What a controlled crowd should do, as costs of its states and their derivatives.

A term is known at some steps of a run, and costs half the squares of what is off there, in standard
deviations. Continuous quantities of people are sums of Gaussian kernels G at cells x:
density Σ G, velocity U = Σ G u / D with D = Σ G + d0, divergence and vorticity of that velocity (Courty 2013,
section 7.2; the derivatives are ours). Cells far from everybody are undefined, so residuals are weighted with
the coverage (D - d0) / D, which is differentiated, too. Derivatives are products of the matrix of kernels
with moments of the cells. Cost: cells × people for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from marey._arrays import Array, IntArray
from marey.crowd.direct.model import CrowdModel

FLOOR = 0.01
"""d0 as a share of the kernel's peak."""
BRISK, HASTE_STD = 1.75, 0.02
"""m/s beyond which haste costs, and its standard deviation over a second."""
SLACK, SQUEEZE_STD = 0.005, 0.002
"""Metres beyond which overlaps of bodies cost, and their standard deviation over a second."""


class Term(Protocol):
    """A constraint of positions and velocities, each `(people, 2)`, at some steps."""

    @property
    def steps(self) -> IntArray:
        """Of the run, `(times,)`."""

    def evaluate(self, k: int, y: Array, u: Array) -> tuple[float, Array, Array]:
        """Cost at `steps[k]`, and its derivatives by positions and velocities, `(people, 2)` each."""

    def error(self, positions: Array, velocities: Array) -> float:
        """How far off a run `(steps + 1, people, 2)` is, in the unit of the constraint."""


@dataclass(frozen=True, eq=False)
class States:
    """People at places, at velocities or both.

    Attributes:
        who: `(k,)` people.
        steps: `(times,)`.
        places: `(times, k, 2)`, metres, or None.
        velocities: `(times, k, 2)`, m/s, or None.
        place_std, velocity_std: Standard deviations, m and m/s.
    """

    who: IntArray
    steps: IntArray
    places: Array | None
    velocities: Array | None = None
    place_std: float = 0.1
    velocity_std: float = 0.2

    def evaluate(self, k: int, y: Array, u: Array) -> tuple[float, Array, Array]:
        cost, by_y, by_u = 0.0, np.zeros_like(y), np.zeros_like(u)
        for wanted, now, by, std in (
            (self.places, y, by_y, self.place_std),
            (self.velocities, u, by_u, self.velocity_std),
        ):
            if wanted is not None:
                off = (now[self.who] - wanted[k]) / std
                cost += 0.5 * float((off**2).sum())
                by[self.who] = off / std
        return cost, by_y, by_u

    def error(self, positions: Array, velocities: Array) -> float:
        """Root mean square, metres; m/s where only velocities are given."""
        if self.places is not None:
            off = positions[self.steps][:, self.who] - self.places
        else:
            assert self.velocities is not None
            off = velocities[self.steps][:, self.who] - self.velocities
        return float(np.sqrt((off**2).sum(axis=-1).mean()))


@dataclass(frozen=True, eq=False)
class Shape:
    """People at offsets `(k, 2)` from their centroid, wherever that is."""

    who: IntArray
    steps: IntArray
    offsets: Array
    std: float = 0.1

    def evaluate(self, k: int, y: Array, u: Array) -> tuple[float, Array, Array]:
        by_y, off = np.zeros_like(y), self._off(y) / self.std
        by_y[self.who] = off / self.std  # whose mean is zero
        return 0.5 * float((off**2).sum()), by_y, np.zeros_like(u)

    def error(self, positions: Array, velocities: Array) -> float:
        """Root mean square, metres."""
        return float(np.sqrt(np.mean([(self._off(positions[n]) ** 2).sum(axis=-1) for n in self.steps])))

    def _off(self, y: Array) -> Array:
        there = y[self.who]
        return np.asarray(there - there.mean(axis=0) - (self.offsets - self.offsets.mean(axis=0)))


@dataclass(frozen=True, eq=False)
class OnGrid:
    """A continuous quantity of the crowd at cells.

    Attributes:
        kind: "density", "velocity", "divergence" or "vorticity".
        cells: `(cells, 2)`, metres.
        steps: `(times,)`.
        wanted: `(times, cells)`; of velocities `(times, cells, 2)`.
        std: Of a square metre over a second.
        share: Square metre seconds that a cell and time stand for.
        sigma: Width of the kernels, metres.
        coverage: Whether residuals are weighted with the coverage; a density always counts in full.
    """

    kind: str
    cells: Array
    steps: IntArray
    wanted: Array
    std: float
    share: float = 1.0
    sigma: float = 1.0
    coverage: bool = True

    @cached_property
    def _floor(self) -> float:
        return FLOOR / (2 * np.pi * self.sigma**2)

    def values(self, y: Array, u: Array) -> tuple[Array, Array]:
        """The quantity at the cells, and their coverage `(cells,)`."""
        values, covered, _, _, _ = self._summed(self._kernels(y), y - self._middle, self._along(u))
        return values, covered

    def evaluate(self, k: int, y: Array, u: Array) -> tuple[float, Array, Array]:
        g, y, w = self._kernels(y), y - self._middle, self._along(u)
        values, covered, total, mean, slopes = self._summed(g, y, w)
        counts = covered if self.coverage else np.ones(len(g))
        apart = self._weight * (values - self.wanted[k]).reshape(len(g), -1)
        off, squared = counts[:, None] * apart, self.sigma**2
        cost, given = 0.5 * float((off**2).sum()), self._weight * counts[:, None] * off
        if self.kind == "density":
            return cost, self._moments(g, y, given)[1][..., 0] / squared, np.zeros_like(u)
        by_total = counts * (apart**2).sum(axis=1) * self._floor / total**2 * self.coverage
        share = given / total[:, None]
        if self.kind == "velocity":
            by_total = by_total - (share * values).sum(axis=1)
            zeroth, first = self._moments(g, y, np.column_stack([by_total, share]))
            by_y = first[..., 0] + w[:, :1] * first[..., 1] + w[:, 1:] * first[..., 2]
            return cost, by_y / squared, zeroth[:, 1:]
        turned = share * slopes / total[:, None]
        by_total = by_total - share[:, 0] * values + (turned * mean).sum(axis=1)
        shares = np.column_stack([by_total, turned, share, share * mean])
        zeroth, first = self._moments(g, y, shares)
        xx, xy, yy = self._second(g, y, shares[:, 3:])
        by_y = first[..., 0] - w[:, :1] * first[..., 1] - w[:, 1:] * first[..., 2]
        by_y += w * zeroth[:, 3:4] - zeroth[:, 4:]
        # The kernels' second derivatives times what moves there apart from the mean.
        by_y[:, 0] -= (xx[:, 0] * w[:, 0] + xy[:, 0] * w[:, 1] - xx[:, 1] - xy[:, 2]) / squared
        by_y[:, 1] -= (xy[:, 0] * w[:, 0] + yy[:, 0] * w[:, 1] - xy[:, 1] - yy[:, 2]) / squared
        return cost, by_y / squared, self._back(-first[..., 3] / squared - zeroth[:, 1:3])

    def error(self, positions: Array, velocities: Array, *, covered: bool = False) -> float:
        """Root mean square over cells, mean over times; of velocities as a share of those wanted.

        Args:
            positions: `(steps + 1, people, 2)`.
            velocities: The same.
            covered: Weight cells with their coverage.
        """
        found = []
        for k, n in enumerate(self.steps):
            values, weight = self.values(positions[n], velocities[n])
            weight = weight if covered else np.ones(len(weight))
            off, size = (
                (one**2).reshape(len(weight), -1).sum(axis=1)
                for one in (values - self.wanted[k], self.wanted[k])
            )
            scale = weight @ size if self.kind == "velocity" else weight.sum()
            found.append(np.sqrt(weight @ off / max(scale, 1e-12)))
        return float(np.mean(found))

    @cached_property
    def _weight(self) -> float:
        return float(np.sqrt(self.share) / self.std)

    @cached_property
    def _middle(self) -> Array:
        """Moments are taken about it, so that large coordinates do not cancel."""
        return np.asarray(self.cells.mean(axis=0))

    @cached_property
    def _powers(self) -> Array:
        """1, x, y, x², xy, y² of the cells `(cells, 6)`."""
        x, y = (self.cells - self._middle).T
        return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)

    def _kernels(self, y: Array) -> Array:
        """`(cells, people)`."""
        x, peak = 0.5 / self.sigma**2, 1.0 / (2 * np.pi * self.sigma**2)
        squared = sum((self.cells[:, i, None] - y[None, :, i]) ** 2 for i in range(2))
        return np.asarray(peak * np.exp(-x * squared))

    def _summed(self, g: Array, y: Array, w: Array) -> tuple[Array, Array, Array, Array, Array]:
        """The quantity, coverage, total of the kernels, mean of w, sum of the kernels' slopes at cells."""
        sums = g @ np.column_stack([np.ones(len(y)), w, y, (y * w).sum(axis=1)])
        if self.kind == "density":
            return sums[:, 0], np.ones(len(g)), sums[:, 0], sums[:, 1:3], sums[:, 3:5]
        total, x = sums[:, 0] + self._floor, self._powers[:, 1:3]
        covered, mean = sums[:, 0] / total, sums[:, 1:3] / total[:, None]
        if self.kind == "velocity":
            return mean, covered, total, mean, mean
        slopes = (sums[:, 3:5] - x * sums[:, :1]) / self.sigma**2
        spread = (sums[:, 5] - (x * sums[:, 1:3]).sum(axis=1)) / self.sigma**2
        return (spread - (mean * slopes).sum(axis=1)) / total, covered, total, mean, slopes

    def _moments(self, g: Array, y: Array, shares: Array) -> tuple[Array, Array]:
        """Σ share G and Σ share G r over cells, r from a person to a cell: `(people, [2,] shares)`."""
        sums = g.T @ np.concatenate([shares * one[:, None] for one in self._powers.T[:3]], axis=1)
        zeroth, *first = np.split(sums, 3, axis=1)
        return zeroth, np.stack([one - y[:, i, None] * zeroth for i, one in enumerate(first)], axis=1)

    def _second(self, g: Array, y: Array, shares: Array) -> tuple[Array, Array, Array]:
        """xx, xy and yy of Σ share G r rᵀ, `(people, shares)` each."""
        sums = g.T @ np.concatenate([shares * one[:, None] for one in self._powers.T], axis=1)
        one, x, y_, xx, xy, yy = np.split(sums, 6, axis=1)
        a, b = y[:, :1], y[:, 1:]
        return xx - 2 * a * x + a * a * one, xy - a * y_ - b * x + a * b * one, yy - 2 * b * y_ + b * b * one

    def _along(self, u: Array) -> Array:
        """Vectors whose divergence is the quantity, or the velocity."""
        return np.stack([u[:, 1], -u[:, 0]], axis=1) if self.kind == "vorticity" else u

    def _back(self, by_w: Array) -> Array:
        return np.stack([-by_w[:, 1], by_w[:, 0]], axis=1) if self.kind == "vorticity" else by_w


def cost_and_forces(
    model: CrowdModel, terms: Sequence[Term], positions: Array, velocities: Array
) -> tuple[float, Array, Array]:
    """Cost of the terms, of haste and of bodies that overlap in a run; derivatives by the run's states."""
    by_y, by_u = np.zeros_like(positions), np.zeros_like(velocities)
    cost = model.squeeze(positions, SLACK, SQUEEZE_STD, by_y)
    speeds = np.sqrt(np.einsum("npi,npi->np", velocities, velocities))
    hasty = np.nonzero(speeds > BRISK)
    over = (speeds[hasty] - BRISK) / HASTE_STD
    cost += 0.5 * model.dt * float(over @ over)
    by_u[hasty] = (model.dt / HASTE_STD * over / speeds[hasty])[:, None] * velocities[hasty]
    for term in terms:
        for k, n in enumerate(term.steps):
            found, at_y, at_u = term.evaluate(k, positions[n], velocities[n])
            cost += found
            by_y[n] += at_y
            by_u[n] += at_u
    return cost, by_y, by_u
