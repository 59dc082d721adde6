"""Which internal forces to use: published relaxations, and exact contact modes (Tournier 2011, 14.2, 14.3).

Only the generalised impulses μ of the pose may act. The floor answers by a programme of its own, so that the
best μ is the minimum of a programme with complementarity, `0 ≤ β ⊥ J v - b ≥ 0`, which is not convex. A drops
the complementarity; B and C also ask for little kinetic energy of the contacts' impulses β, with or without
a reward of work. "modes" says instead which parts of the feet stand (equations, β ≥ 0) and which do not
(β = 0): a convex programme each, whose minimum the floor's answer confirms; a local search flips one part
at a time where a bound that acts says that this may help. Features of different levels are met one after the
other: the optimum of a level is kept by equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, BoolArray
from marey.body.anatomy import anatomy
from marey.body.control import qp
from marey.body.control.features import Effort, Feature, Term, stacked
from marey.body.control.features.strength import Strength
from marey.body.control.mechanics import Instant
from marey.body.physics.reduced import PhysicalCharacter
from marey.errors import InputError

METHODS = ("modes", "A", "B", "C")
BOUNDS = ("torques", "coordinates")
# N·m that a joint can give, a man of 75 kg, both ways (of the order of Anderson et al. 2007), by the segment
# that the joint begins; "" for necks, collarbones, fingers and toes.
TORQUES = {
    "thigh": 250.0, "shank": 220.0, "foot": 160.0, "trunk": 250.0, "upper arm": 100.0, "forearm": 70.0,
    "hand": 20.0, "head": 40.0, "": 60.0,
}  # fmt: skip
# Costs that differ by less than this share are the same.
SAME = 1e-7


@dataclass(frozen=True)
class ActuationSettings:
    """How control is found.

    Args:
        method: "modes" (exact contact modes), or the published "A", "B" or "C".
        relaxation: weight of the penalty of B and C.
        dissipation: from -1 (B) over 0 (C) to 1, of the penalty; the method's own if None.
        priorities: whether levels are met one after the other, instead of as one sum.
        bounds: "torques" of the joints, or one bound for all "coordinates".
        most: N·m a coordinate, where one bound is for all.
        scale: of the joints' torques.
    """

    method: str = "modes"
    relaxation: float = 1e-3
    dissipation: float | None = None
    priorities: bool = True
    bounds: str = "torques"
    most: float = 200.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name, value, names in (("method", self.method, METHODS), ("bounds", self.bounds, BOUNDS)):
            if value not in names:
                raise InputError(f"{name} {value!r}: one of {', '.join(names)}")
        if self.dissipation is not None and not -1 <= self.dissipation <= 1:
            raise InputError(f"dissipation {self.dissipation}: from -1 to 1, else it is not convex")

    @classmethod
    def published(cls, method: str = "C", **given: float) -> ActuationSettings:
        """A, B or C as Tournier has them, one sum and bounds of coordinates, with friction's pyramid."""
        return cls(method, priorities=False, bounds="coordinates", **given)


class Actuation(NamedTuple):
    """What was found.

    Args:
        impulse: `(modes,)`, N·m·s.
        velocity: `(size,)`, as predicted.
        contact: `(4 n,)`, multipliers of the contacts, as predicted.
        standing: `(4,)`, which parts of the feet the mode lets stand: left heel, toes, right heel, toes.
        costs: of the levels.
        exact: whether a contact mode was feasible.
        programmes: how many were solved.
    """

    impulse: Array
    velocity: Array
    contact: Array
    standing: BoolArray
    costs: tuple[float, ...]
    exact: bool
    programmes: int


class Torques:
    """Torques of joints for a generalised force: the smallest, relative to what the joints can give."""

    def __init__(self, character: PhysicalCharacter, scale: float = 1.0) -> None:
        segments, mass = anatomy(character.skeleton).segments, character.bones.masses.sum()
        self.joints = character.tree.moving[1:]
        most = np.array([TORQUES[segments[joint]] for joint in self.joints])
        self.most = np.repeat(scale * most * mass / 75.0, 3)

    def of(self, now: Instant) -> Array:
        """`(3 joints, modes)`, in the joints' frames, relative to what they can give."""
        frames = now.work.frames[self.joints]
        S = now.work.S[self.joints]
        turns = frames[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1) @ S
        weighted = turns.reshape(len(self.most), -1) * self.most[:, None]
        gram = weighted.T @ weighted
        return np.asarray(np.linalg.solve(gram, weighted.T).T)


class Planner:
    """Finds the control of a step.

    Args:
        character: whose joints are bounded.
        settings: how.
    """

    def __init__(self, character: PhysicalCharacter, settings: ActuationSettings | None = None) -> None:
        self.settings = settings or ActuationSettings()
        self.torques = Torques(character, self.settings.scale)

    def plan(
        self,
        now: Instant,
        features: Sequence[Feature],
        efforts: Sequence[Effort] = (Strength(),),
        standing: BoolArray | None = None,
    ) -> Actuation:
        """Control of a step.

        Args:
            features: what is wanted; without any the character is limp.
            efforts: what control costs.
            standing: `(4,)`, the mode of the last step.
        """
        if not features:
            nothing = np.zeros(len(now.free) - 6)
            v, push = now.respond()
            return Actuation(nothing, v, push, np.zeros(4, dtype=bool), (), True, 0)
        problem = Problem.of(now, self, features, efforts)
        if self.settings.method != "modes":
            return problem.relaxed()
        return problem.search(np.ones(4, dtype=bool) if standing is None else standing)

    def thorough(
        self, now: Instant, features: Sequence[Feature], efforts: Sequence[Effort] = (Strength(),)
    ) -> Actuation:
        """The best of local searches from the modes that the floor answers A, B and C with, and all parts.

        Not worse than any of them, as each mode's programme holds the relaxation's control.
        """
        problem = Problem.of(now, self, features, efforts)
        found = [problem.search(np.ones(4, dtype=bool))]
        for method, dissipation in (("A", None), ("B", -1.0), ("C", 0.0)):
            relaxed = problem.relaxed(method, dissipation)
            acts = now.respond(problem.pushed(relaxed.impulse))[1] > 1e-9
            mode = problem.mode(acts)
            if mode is not None:
                found.append(mode)
        return min((one for one in found if one.exact), key=lambda one: one.costs, default=found[0])


@dataclass(frozen=True, eq=False)
class Problem:
    """A step's programmes in the unknowns (β, μ), impulses of contacts and control: `v = base + Y (β, μ)`.

    Args:
        now: the instant.
        settings: how control is found.
        torques: of the joints.
        base: `(size,)`, velocity without contacts and control.
        Y: `(size, 4 n + modes)`.
        levels: features of each level.
        soft: what each level has besides, which is not kept.
        effort: `(modes, modes)`.
        bounded: torques that were found to be too large, which all programmes of the step bound.
    """

    now: Instant
    settings: ActuationSettings
    torques: Torques
    base: Array
    Y: Array
    levels: tuple[Term, ...]
    soft: tuple[Term, ...]
    effort: Array
    bounded: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls, now: Instant, planner: Planner, features: Sequence[Feature], efforts: Sequence[Effort]
    ) -> Problem:
        """The programmes of features and efforts."""
        settings, size = planner.settings, len(now.free)
        inverse, J, free = now.inverse, now.contacts.J, now.free
        terms: dict[int, tuple[list[Term], list[Term]]] = {}
        for feature in features:
            term = feature.term(now)
            if term is not None:
                level = terms.setdefault(feature.level if settings.priorities else 0, ([], []))
                level[0 if feature.kept else 1].append(term)
        effort = np.zeros((size - 6, size - 6))
        for one in efforts:
            effort += one.weight * one.hessian(now)
        levels = tuple(stacked(terms[level][0], size) for level in sorted(terms))
        soft = tuple(stacked(terms[level][1], size) for level in sorted(terms))
        Y = np.concatenate([inverse @ J.T, inverse[:, 6:]], axis=1)
        return cls(now, settings, planner.torques, inverse @ free, Y, levels, soft, effort)

    @property
    def rows(self) -> int:
        """Number of multipliers β."""
        return int(self.Y.shape[1]) - len(self.effort)

    @property
    def J(self) -> Array:
        """Rows of the contacts, one an edge of the pyramid."""
        return self.now.contacts.J

    @property
    def bounds(self) -> Array:
        """What `J v` must reach."""
        return self.now.contacts.bounds

    @cached_property
    def whole(self) -> tuple[tuple[Array, Array], ...]:
        """For each level `Γ Y` and `γ - Γ base` of all its features, kept ones first."""
        both = [
            stacked([kept, soft], len(self.base)) for kept, soft in zip(self.levels, self.soft, strict=True)
        ]
        return tuple((one.rows @ self.Y, one.target - one.rows @ self.base) for one in both)

    @cached_property
    def speeds(self) -> Array:
        """`J Y`, speeds of the contacts by the unknowns."""
        return self.J @ self.Y

    @cached_property
    def missing(self) -> Array:
        """`b - J base`."""
        return self.bounds - self.J @ self.base

    @cached_property
    def limits(self) -> Array:
        """Torques of the joints by μ, relative to what they can give in the step."""
        return self.torques.of(self.now) / self.now.step

    def pushed(self, impulse: Array) -> Array:
        """A control as an impulse `(size,)`."""
        return np.concatenate([np.zeros(6), impulse])

    def relaxed(self, method: str | None = None, dissipation: float | None = None) -> Actuation:
        """The published relaxations."""
        used, count, weight = method or self.settings.method, self.rows, self.settings.relaxation
        H, c = self._plain()
        share = self.settings.dissipation if dissipation is None else dissipation
        if used in ("B", "C"):
            share = (-1.0 if used == "B" else 0.0) if share is None else share
            K = self.speeds[:, :count]
            cross = self.speeds[:, count:]
            H[:count, :count] += weight * K
            H[:count, count:] += weight * (1 + share) * cross
            H[count:, :count] += weight * (1 + share) * cross.T
            H[count:, count:] += 2 * weight * (1 + share) * self.now.inverse[6:, 6:]
            c[count:] += weight * (1 + share) * self.base[6:]
        free = np.ones(count, dtype=bool)
        found = self._levels(H, c, free, qp.Rows(self.speeds, self.missing, np.full(count, qp.FAR)))
        if found is None:
            # The bounds of control leave no way: the floor's rows give way, as the dynamics keeps them.
            found = self._levels(H, c, free, None)
        if found is None:
            z = np.zeros(count + len(self.effort))
            return self._made(z, np.zeros(4, dtype=bool), (np.inf,), False, 2)
        z, costs, solved = found
        return self._made(z, np.zeros(4, dtype=bool), costs, False, solved)

    def mode(
        self, acts: BoolArray, standing: BoolArray | None = None, *, deep: bool = True
    ) -> Actuation | None:
        """The best control with contacts of these rows; None if the mode is not feasible.

        Args:
            acts: `(4 n,)`: rows that hold as equations with `β ≥ 0`; the others have `β = 0`.
            standing: `(4,)`, as which parts these are reported.
            deep: whether all levels are met, or the first one only.
        """
        H, c = self._plain()
        rest = np.flatnonzero(~acts)
        inside = qp.Rows(self.speeds[rest], self.missing[rest], np.full(len(rest), qp.FAR))
        if standing is None:
            equations = qp.independent(self.speeds[acts], self.missing[acts])
        else:
            # A point that stands: three equations instead of those of its four edges.
            own, size = acts[::4], self.Y.shape[0]
            rows = self.now.contacts.moves[own].reshape(-1, size)
            values = np.zeros((int(own.sum()), 3))
            values[:, 1] = self.now.contacts.bounds[::4][own]
            equations = qp.independent(rows @ self.Y, values.ravel() - rows @ self.base)
        found = self._levels(H, c, acts, inside, equations, deep=deep)
        if found is None:
            return None
        if standing is None:
            parts = self.now.mechanics.part_of[self.now.contacts.points]
            standing = np.array([acts[np.repeat(parts == part, 4)].any() for part in range(4)])
        return self._made(found[0], standing, found[1], True, found[2])

    def search(self, standing: BoolArray) -> Actuation:
        """Local search over parts of feet that stand, from a mode; relaxation C where none is feasible.

        The first level decides, the others are met in the mode that is found.
        """
        contacts, mechanics = self.now.contacts, self.now.mechanics
        parts = np.repeat(mechanics.part_of[contacts.points], 4)
        near = np.repeat(contacts.gaps < mechanics.settings.landing, 4)
        there = np.array([(near & (parts == part)).any() for part in range(4)])
        tried: dict[bytes, Actuation | None] = {}
        solved = 0

        def cost(mode: BoolArray) -> Actuation | None:
            nonlocal solved
            key = mode.tobytes()
            if key not in tried:
                tried[key] = found = self.mode(near & np.append(mode, False)[parts], mode, deep=False)
                solved += 1 if found is None else found.programmes
            return tried[key]

        def best_of(modes: Iterable[BoolArray], best: Actuation | None) -> Actuation | None:
            for mode in modes:
                found = cost(mode)
                if found is not None and (best is None or lower(found.costs, best.costs)):
                    best = found
            return best

        best = best_of([standing & there, there], None)
        present = [int(part) for part in np.flatnonzero(there)]
        for _ in range(4):
            mode = standing & there if best is None else best.standing
            which = present if best is None else [p for p in present if self._flips(best, p, parts == p)]
            better = best_of((mode ^ (np.arange(4) == part) for part in which), best)
            if better is best:
                break
            best = better
        if best is not None:
            whole = self.mode(near & np.append(best.standing, False)[parts], best.standing)
            if whole is not None:
                return whole._replace(programmes=solved + whole.programmes)
        # Any contact that the floor would answer a relaxation with may act, whatever part it is of.
        relaxed = self.relaxed("C", 0.0)
        acts = self.now.respond(self.pushed(relaxed.impulse))[1] > 1e-9
        found = self.mode(acts)
        solved += relaxed.programmes + 1
        if found is None:
            return relaxed._replace(programmes=solved + 1)
        return found._replace(programmes=solved + found.programmes)

    def _flips(self, found: Actuation, part: int, rows: BoolArray) -> bool:
        """Whether a part may do better the other way: one that does not stand, or is not pushed."""
        stands = found.standing[part]
        return bool(not stands or found.contact[rows].max() < 1e-9 * self.now.mechanics.weight)

    def _plain(self) -> tuple[Array, Array]:
        """Hessian and gradient of the efforts."""
        size, count = self.Y.shape[1], self.rows
        H = np.zeros((size, size))
        H[count:, count:] = self.effort
        return H, np.zeros(size)

    def _levels(
        self,
        H: Array,
        c: Array,
        acts: BoolArray,
        inside: qp.Rows | None,
        equations: qp.Rows | None = None,
        *,
        deep: bool = True,
    ) -> tuple[Array, tuple[float, ...], int] | None:
        """Minima of the levels, each among those before: unknowns, costs and number of programmes.

        Args:
            H, c: what each level's cost has besides its features.
            acts: `(4 n,)`, multipliers that may be above zero.
            inside: rows of all unknowns.
            equations: of all unknowns.
        """
        settings, count = self.settings, self.rows
        used = np.concatenate([np.flatnonzero(acts), np.arange(count, self.Y.shape[1])])
        contact = int(acts.sum())
        modes = len(used) - contact
        low, high = np.zeros(len(used)), np.full(len(used), qp.FAR)
        if settings.bounds == "coordinates":
            high[contact:] = self.now.step * settings.most
            low[contact:] = -high[contact:]
        else:
            low[contact:] = -qp.FAR
        A, least, most = np.empty((0, len(used))), low, high
        if inside is not None:
            A = inside.A[:, used]
            least, most = np.concatenate([low, inside.low]), np.concatenate([high, inside.high])
        fixed = None if equations is None else equations._replace(A=equations.A[:, used])
        solved, z, bounded, costs = 0, np.zeros(len(used)), self.bounded, []
        for number, level in enumerate(self.levels if deep else self.levels[:1]):
            G, left = self.whole[number]
            G = G[:, used]
            cost = H[np.ix_(used, used)] + G.T @ G
            cost[np.diag_indices(len(used))] += 1e-9 * np.trace(cost) / len(used)
            gradient = c[used] - G.T @ left
            wanted = None
            while True:
                rows = qp.Rows(A, least, most)
                if len(bounded):
                    lines = np.concatenate([np.zeros((len(bounded), contact)), self.limits[bounded]], axis=1)
                    one = np.ones(len(bounded))
                    rows = qp.Rows(np.concatenate([A, lines]), np.append(least, -one), np.append(most, one))
                found = qp.solve(cost, gradient, rows, fixed)
                solved += 1
                if found is None:
                    break
                # Joints whose torque would be too large join the programme's rows.
                fresh = []
                if settings.bounds == "torques":
                    over = np.flatnonzero(np.abs(self.limits @ found.x[contact:]) > 1 + 1e-6)
                    fresh = [int(row) for row in over if row not in bounded]
                if not fresh:
                    wanted = found.x
                    break
                bounded += fresh
            if wanted is None and number == 0:
                return None
            # A later level that finds no way leaves what the ones before have found.
            z = z if wanted is None else wanted
            miss = G @ z - left
            costs.append(0.5 * float(miss @ miss) + 0.5 * float(z[contact:] @ self.effort @ z[contact:]))
            if deep and number + 1 < len(self.levels):
                held = G[: len(level.rows)]
                held = held if fixed is None else np.concatenate([fixed.A, held])
                fixed = qp.independent(held, held @ z)
        whole = np.zeros(self.Y.shape[1])
        whole[used] = z
        assert modes == len(self.effort)
        return whole, tuple(costs), solved

    def _made(
        self, z: Array, standing: BoolArray, costs: tuple[float, ...], exact: bool, solved: int
    ) -> Actuation:
        count = self.rows
        return Actuation(z[count:], self.base + self.Y @ z, z[:count], standing, costs, exact, solved)


def lower(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether costs are lower, the first levels first."""
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > SAME * max(abs(a), abs(b)):
            return a < b
    return False
