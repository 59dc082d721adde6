"""What a controlled crowd should do, as residuals of its states and their derivatives.

A term is known at some steps of a run. `residual` is what is off there, in standard deviations, and `pull`
the transpose of its derivative. Continuous quantities of people are sums of Gaussian kernels G at cells x:
density Σ G, velocity U = Σ G u / D with D = Σ G + d0, divergence and vorticity of that velocity (Courty 2013,
section 7.2; the derivatives are ours). Cells far from everybody are undefined, so residuals are weighted with
the coverage (D - d0) / D, whose derivative is in the transpose, too. Cost: cells × people for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from marey._arrays import Array, IntArray

FLOOR = 0.01
"""d0 as a share of the kernel's peak."""


class Term(Protocol):
    """A constraint of positions and velocities, each `(people, 2)`, at some steps."""

    @property
    def steps(self) -> IntArray:
        """Of the run, `(times,)`."""

    def residual(self, k: int, y: Array, u: Array) -> Array:
        """What is off at `steps[k]`, flat, in standard deviations."""

    def pull(self, k: int, y: Array, u: Array, cotangent: Array) -> tuple[Array, Array]:
        """The transposed derivative of the residual: by positions and by velocities, `(people, 2)` each."""

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

    def residual(self, k: int, y: Array, u: Array) -> Array:
        parts = []
        if self.places is not None:
            parts.append((y[self.who] - self.places[k]).ravel() / self.place_std)
        if self.velocities is not None:
            parts.append((u[self.who] - self.velocities[k]).ravel() / self.velocity_std)
        return np.concatenate(parts)

    def pull(self, k: int, y: Array, u: Array, cotangent: Array) -> tuple[Array, Array]:
        by_y, by_u = np.zeros_like(y), np.zeros_like(u)
        left = cotangent.reshape(-1, len(self.who), 2)
        if self.places is not None:
            np.add.at(by_y, self.who, left[0] / self.place_std)
        if self.velocities is not None:
            np.add.at(by_u, self.who, left[-1] / self.velocity_std)
        return by_y, by_u

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

    def residual(self, k: int, y: Array, u: Array) -> Array:
        return np.asarray(self._off(y).ravel() / self.std)

    def pull(self, k: int, y: Array, u: Array, cotangent: Array) -> tuple[Array, Array]:
        by_y = np.zeros_like(y)
        given = cotangent.reshape(-1, 2) / self.std
        np.add.at(by_y, self.who, given - given.mean(axis=0))
        return by_y, np.zeros_like(u)

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
        r, g = self._kernels(y)
        if self.kind == "density":
            return g.sum(axis=1), np.ones(len(g))
        total = g.sum(axis=1) + self._floor
        covered = (total - self._floor) / total
        if self.kind == "velocity":
            return (g @ u) / total[:, None], covered
        w = self._along(u)
        mean = (g @ w) / total[:, None]
        slopes = -g[..., None] * r / self.sigma**2
        spread = np.einsum("cni,ni->c", slopes, w) - np.einsum("cni,ci->c", slopes, mean)
        return spread / total, covered

    def residual(self, k: int, y: Array, u: Array) -> Array:
        values, covered = self.values(y, u)
        off = values - self.wanted[k]
        weight = self._weight * (covered if self.coverage else 1.0)
        return np.asarray(((off.T * weight).T).ravel())

    def pull(self, k: int, y: Array, u: Array, cotangent: Array) -> tuple[Array, Array]:
        r, g = self._kernels(y)
        slopes = -g[..., None] * r / self.sigma**2
        given = self._weight * cotangent.reshape(self.wanted[k].shape)
        if self.kind == "density":
            return -np.einsum("c,cni->ni", given, slopes), np.zeros_like(u)
        total = g.sum(axis=1) + self._floor
        values, covered = self.values(y, u)
        by_total = np.zeros(len(g))
        if self.coverage:
            off = (given * (values - self.wanted[k])).reshape(len(g), -1).sum(axis=1)
            by_total, given = off * self._floor / total**2, (given.T * covered).T
        by_y = -np.einsum("c,cni->ni", by_total, slopes)
        if self.kind == "velocity":
            across = (np.einsum("ci,ni->cn", given, u) - (given * values).sum(axis=1)[:, None]) / total[
                :, None
            ]
            return by_y - np.einsum("cn,cni->ni", across, slopes), (g / total[:, None]).T @ given
        w = self._along(u)
        mean = (g @ w) / total[:, None]
        share, sums = given / total, slopes.sum(axis=1)
        by_w = np.einsum("c,cni->ni", share, slopes) - (g * (share / total)[:, None]).T @ sums
        apart = w[None] - mean[:, None]
        # The kernels' second derivatives times what moves there apart from the mean.
        bent = g[..., None] * (
            r * (np.einsum("cni,cni->cn", r, apart) / self.sigma**4)[..., None] - apart / self.sigma**2
        )
        inner = values[:, None] + np.einsum("ci,cni->cn", sums, apart) / total[:, None]
        by_y += np.einsum("c,cni->ni", share, slopes * inner[..., None] - bent)
        return by_y, self._back(by_w)

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

    def _kernels(self, y: Array) -> tuple[Array, Array]:
        """Cells less people `(cells, people, 2)`, and kernels `(cells, people)`."""
        r = self.cells[:, None] - y[None]
        peak = 1.0 / (2 * np.pi * self.sigma**2)
        return r, np.asarray(peak * np.exp(-0.5 * (r**2).sum(axis=-1) / self.sigma**2))

    def _along(self, u: Array) -> Array:
        """Vectors whose divergence is the quantity."""
        return u if self.kind == "divergence" else np.stack([u[:, 1], -u[:, 0]], axis=1)

    def _back(self, by_w: Array) -> Array:
        return by_w if self.kind == "divergence" else np.stack([-by_w[:, 1], by_w[:, 0]], axis=1)


def cost_and_forces(terms: list[Term], positions: Array, velocities: Array) -> tuple[float, Array, Array]:
    """Half the squared residuals of a run, and their derivatives by its positions and velocities."""
    cost, by_y, by_u = 0.0, np.zeros_like(positions), np.zeros_like(velocities)
    for term in terms:
        for k, n in enumerate(term.steps):
            residual = term.residual(k, positions[n], velocities[n])
            cost += 0.5 * float(residual @ residual)
            pulled = term.pull(k, positions[n], velocities[n], residual)
            by_y[n] += pulled[0]
            by_u[n] += pulled[1]
    return cost, by_y, by_u
