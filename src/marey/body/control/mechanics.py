"""One step of a character under control: its kinematics, what pushes it, contacts with the floor, and time.

The root is its rotation and the place of the centre of mass, whose momentum is kept in the world; that of the
rest is carried exactly into the frame of each step ("constant" of Tournier 2011, section 11.1.3). So only
contacts, gravity, pushes and what is given as a force change momentum, and flight is exact.
Friction is a pyramid in one programme: a point may leave along each of its edges, `(n ± μ t)ᵀ J v ≥ b`, whose
multipliers push only (Anitescu 2006). Where a point sticks this is Coulomb's law with a pyramid; where it
slides with a speed s, a gap of `h μ s` stays below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marey._arrays import Array, Integers
from marey.body.anatomy import anatomy
from marey.body.control import qp
from marey.body.physics.projection import box_programme
from marey.body.physics.reduced import GRAVITY, PhysicalCharacter
from marey.body.physics.shapes import Shapes
from marey.body.physics.simulate import State
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.physics._kernels import Work

UP = np.array([0.0, 1.0, 0.0])
# Edges of the pyramid: shares of normal (y) and tangents (x, z) of friction 1.
EDGES = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0, 1.0], [0, 0, -1.0]])


@dataclass(frozen=True)
class MechanicsSettings:
    """How time is stepped and what the floor is like.

    Args:
        step: seconds.
        friction: of the floor (Coulomb, pyramid).
        damping: 1/s, energetic, of the pose alone: an internal force.
        floor: metres, its height.
        margin: metres, points that are lower above the floor may meet it in a step.
        touching: metres, points that are nearer count as in contact.
        landing: metres, points that are nearer can be brought into contact by control.
        drift: share of a contact's error that is taken back in one step.
        fastest: m/s, fastest correction of it.
    """

    step: float = 0.01
    friction: float = 0.8
    damping: float = 3.0
    floor: float = 0.0
    margin: float = 0.03
    touching: float = 1e-3
    landing: float = 5e-3
    drift: float = 0.2
    fastest: float = 2.0

    def __post_init__(self) -> None:
        if not 1e-4 <= self.step <= 0.1:
            raise InputError(f"step {self.step}: seconds, from 0.0001 to 0.1")
        if not (self.friction > 0 and self.damping >= 0):
            raise InputError("friction must be above 0, damping not be negative")


class Body(NamedTuple):
    """Configuration and velocity of a character.

    Args:
        rotation: `(4,)`, of the root in the world.
        centre: `(3,)`, of mass, in the world.
        alpha: `(modes,)`, coordinates of the pose.
        velocity: `(6 + modes,)`: angular velocity of the root and velocity of the centre of mass, both in the
            root's frame; rates of the coordinates.
        momentum: `(6 + modes,)`, M v of the last step, in the root's frame at its start; None for M v here.
    """

    rotation: Array
    centre: Array
    alpha: Array
    velocity: Array
    momentum: Array | None = None

    @property
    def still(self) -> Body:
        """The same at rest."""
        return self._replace(velocity=np.zeros_like(self.velocity), momentum=None)


class Contacts(NamedTuple):
    """Points that may meet the floor in a step.

    Args:
        points: `(n,)`, their numbers among the shapes' points.
        places: `(n, 3)`, in the world, metres.
        gaps: `(n,)`, metres above the floor.
        moves: `(n, 3, size)`, their velocities in the world by v.
        J, bounds: `(4 n, size)`, `(4 n,)`: rows of the edges of friction's pyramid, `J v ≥ bounds`.
    """

    points: Integers
    places: Array
    gaps: Array
    moves: Array
    J: Array
    bounds: Array


class Tissue(NamedTuple):
    """What holds coordinates of the pose within a range, by passive springs: an internal force.

    Args:
        low, high: `(modes,)`, the range.
        stiffness: `(modes,)`, N·m a unit, where that is more than `rate`² times the inertia.
        rate: 1/s.
    """

    low: Array
    high: Array
    stiffness: Array
    rate: float = 20.0


class Mechanics:
    """A character on a floor. Nothing is kept between steps: states go in and come out.

    Args:
        shapes: what meets the floor, see :func:`marey.body.control.soles.level_soles`; boxes at rest if None.
        tissue: limits of the pose.
    """

    def __init__(
        self,
        character: PhysicalCharacter,
        settings: MechanicsSettings | None = None,
        shapes: Shapes | None = None,
        tissue: Tissue | None = None,
    ) -> None:
        self.character, self.settings = character, settings or MechanicsSettings()
        self.tissue = tissue
        self.shapes = Shapes.of(character) if shapes is None else shapes
        self.carriers = np.asarray(character.tree.parents[:, 1])
        legs = anatomy(character.skeleton).legs
        corners = np.flatnonzero(self.shapes.spheres[:, 3] == 0)
        if len(legs) != 2 or len(corners) != 16:
            raise InputError("control of a character needs one with two legs and feet")
        # Lower corners of both feet, heels before toes: the parts of feet that stand or leave the floor.
        self.soles = corners.reshape(2, 2, 4)[:, :, [0, 2]]
        self.part_of = np.full(len(self.shapes.carriers), -1)
        for part, own in enumerate(self.soles.reshape(4, 2)):
            self.part_of[own] = part
        self.feet = np.isin(np.arange(len(self.shapes.carriers)), corners)
        self.weight = float(character.bones.masses.sum()) * -GRAVITY[1]

    def body(self, state: State) -> Body:
        """A state of `body.physics`, whose place and velocity are those of the root joint."""
        v, alpha = np.array(state.velocity, dtype=np.float64), np.array(state.alpha, dtype=np.float64)
        here = Body(np.array(state.rotation, dtype=np.float64), np.zeros(3), alpha, np.zeros_like(v))
        now = self.at(here)
        rows = now.moves([0], np.zeros((1, 3)))[0]
        v[3:6] = 0.0
        # What the root joint moves with if the centre of mass rests, against what it is to move with.
        v[3:6] = state.velocity[3:6] - now.R.T @ (rows @ v)
        return here._replace(centre=np.asarray(state.place) - now.joint(0)[1], velocity=v)

    def at(
        self, state: Body, impulses: Sequence[tuple[int, Array, Array]] = (), *, damping: float | None = None
    ) -> Instant:
        """Everything a step is decided by.

        Args:
            damping: 1/s, that of the settings if None.
            impulses: joint, point in its frame `(3,)`, and N·s in the world `(3,)`.
        """
        from marey.body.control._kernels import evaluate
        from marey.body.physics import _kernels

        character, h = self.character, self.settings.step
        work, vectors = character.room(), np.zeros((_kernels.GIVEN, character.size))
        vectors[_kernels.NEW] = v = state.velocity
        evaluate(character.tree, np.ascontiguousarray(state.alpha)[None], work, vectors)
        R = so3.to_matrix(state.rotation)
        momentum: Array = (
            work.M @ v if state.momentum is None else carried(np.asarray(state.momentum), np.asarray(v), h)
        )
        free = momentum + h * vectors[_kernels.FORCE]
        free[3:6] += work.M[3, 3] * h * (np.array(GRAVITY) @ R)
        blows, inertias = np.zeros_like(free), np.diagonal(work.M)[6:]
        held = inertias * h * (self.settings.damping if damping is None else damping)
        if self.tissue is not None:
            past = state.alpha - np.clip(state.alpha, self.tissue.low, self.tissue.high)
            spring = np.where(
                past != 0, np.maximum(inertias * self.tissue.rate**2, self.tissue.stiffness), 0.0
            )
            free[6:] -= h * spring * past
            held = held + h**2 * spring + 2 * h * np.sqrt(spring * inertias)
        now = Instant(self, state, R, work, free, blows, held)
        for joint, point, impulse in impulses:
            blows += impulse @ now.moves([joint], np.asarray(point)[None])[0]
        return now

    def move(self, now: Instant, v: Array) -> Body:
        """The state after a step with the velocity v `(size,)`."""
        h, state = self.settings.step, now.state
        turn = so3.exp(h * v[:3])
        rotation = so3.multiply(state.rotation, turn)
        rotation = rotation / np.linalg.norm(rotation)
        momentum = now.work.M @ v
        # The centre of mass goes straight on in the world.
        new = v.copy()
        new[3:6] = v[3:6] @ so3.to_matrix(turn)
        return Body(rotation, state.centre + h * (now.R @ v[3:6]), state.alpha + h * v[6:], new, momentum)

    def settle(self, state: Body, feet: Sequence[int] = (0, 1), *, rounds: int = 30) -> Body:
        """The state with the soles of some feet flat on the floor, as little else moved as that needs.

        The centre of mass stays above where it was; what moves is measured by the kinetic energy.
        """
        from marey.body.control.features.centre import Centre

        own = self.soles[list(feet)].ravel()
        for _ in range(rounds):
            now = self.at(state.still)
            places, moves = now.spheres(own)
            gaps = places[:, 1] - self.settings.floor
            if np.abs(gaps).max() < 1e-6:
                break
            # Soft rows: rigid feet may not reach all four corners at once.
            rows, wanted = moves[:, 1], -gaps
            keep = Centre.rows(now)[[0, 2]]
            rows, wanted = np.concatenate([rows, keep]), np.concatenate([wanted, [0.0, 0.0]])
            S = rows @ now.inverse @ rows.T
            change = (
                now.inverse
                @ rows.T
                @ np.linalg.solve(S + 1e-6 * np.trace(S) / len(S) * np.eye(len(S)), wanted)
            )
            change *= min(1.0, 0.2 / max(np.abs(change).max(), 1e-12))
            state = self.move(now, change / self.settings.step)
        return state.still


@dataclass(frozen=True, eq=False)
class Instant:
    """A character at the start of a step.

    Args:
        mechanics: what it obeys.
        state: where it is.
        R: `(3, 3)`, the root's rotation.
        work: frames and mass matrix about the centre of mass, see `body.physics`.
        free: `(size,)`, the momentum without contacts, control and blows.
        blows: `(size,)`, impulses that control does not foresee.
        held: `(modes,)`, kg m², what damping and tissue add to the inertia of the pose in the step.
    """

    mechanics: Mechanics
    state: Body
    R: Array
    work: Work
    free: Array
    blows: Array
    held: Array

    @property
    def v(self) -> Array:
        """The present velocity `(size,)`."""
        return np.asarray(self.state.velocity)

    @property
    def step(self) -> float:
        """Seconds."""
        return self.mechanics.settings.step

    @cached_property
    def effective(self) -> Array:
        """The mass matrix with damping of the pose `(size, size)`."""
        M = self.work.M.copy()
        pose = np.arange(6, len(M))
        M[pose, pose] += self.held
        return M

    @cached_property
    def inverse(self) -> Array:
        """The inverse of the effective mass matrix."""
        from scipy.linalg.lapack import dpotrf, dpotri

        factor, failed = dpotrf(self.effective)
        if failed:
            raise InputError("the mass matrix is not positive definite: use fewer coordinates")
        upper = np.triu(dpotri(factor)[0])
        return np.asarray(upper + np.triu(upper, 1).T)

    @cached_property
    def inertia(self) -> Array:
        """The upper factor `(modes, modes)` of the mass matrix of the pose."""
        return np.asarray(np.linalg.cholesky(self.work.M[6:, 6:]).T)

    @cached_property
    def frames(self) -> tuple[Array, Array]:
        """Rotations `(joints, 3, 3)` and places `(joints, 3)` of the joints, see :meth:`world`."""
        table = self.work.frames
        return table[:, :9].reshape(-1, 3, 3), table[:, 18:21]

    def world(self, points: Array) -> Array:
        """Points `(..., 3)` in the root's frame, from the centre of mass, in the world."""
        return np.asarray(points @ self.R.T + self.state.centre)

    def joint(self, joint: int) -> tuple[Array, Array]:
        """Rotation `(3, 3)` and place `(3,)` of a joint in the world."""
        turns, places = self.frames
        return self.R @ turns[joint], self.world(places[joint])

    def moves(self, joints: Sequence[int] | Integers, points: Array) -> Array:
        """Velocities in the world `(n, 3, size)` by v of points `(n, 3)` in joints' frames."""
        turns, places = self.frames
        at = places[joints] + (turns[joints] @ points[..., None])[..., 0]
        return self.rows(joints, at)

    def rows(self, joints: Sequence[int] | Integers, at: Array) -> Array:
        """The same for points in the root's frame."""
        wrench = np.empty((len(at), 3, 6))
        hats = np.zeros((len(at), 3, 3))
        hats[:, 1, 2], hats[:, 0, 2], hats[:, 0, 1] = at[:, 0], -at[:, 1], at[:, 2]
        hats[:, 2, 1], hats[:, 2, 0], hats[:, 1, 0] = -at[:, 0], at[:, 1], -at[:, 2]
        # Rows of R are the world's axes in the root's frame; hats are those of -at.
        wrench[:, :, :3] = self.R @ hats
        wrench[:, :, 3:] = self.R
        return np.concatenate([wrench, wrench @ self.work.T[self.mechanics.carriers[joints]]], axis=2)

    def turning(self, joint: int) -> Array:
        """Angular velocity of a joint in its own frame `(3, size)` by v."""
        turns = self.frames[0]
        rows = np.zeros((3, len(self.free)))
        rows[:, :3] = np.eye(3)
        rows[:, 6:] = self.work.T[self.mechanics.carriers[joint], :3]
        return np.asarray(turns[joint].T @ rows)

    def spheres(self, which: Integers) -> tuple[Array, Array]:
        """Places `(n, 3)` and velocities `(n, 3, size)` by v of the shapes' points."""
        at, joints = self._points[which], self.mechanics.shapes.carriers[which]
        return self.world(at), self.rows(joints, at)

    @cached_property
    def _points(self) -> Array:
        """All points of the shapes `(points, 3)` in the root's frame."""
        shapes = self.mechanics.shapes
        turns, places = self.frames
        joints = shapes.carriers
        return np.asarray(places[joints] + (turns[joints] @ shapes.spheres[:, :3, None])[..., 0])

    def places(self, which: Integers) -> Array:
        """Places `(n, 3)` of the shapes' points."""
        return self.world(self._points[which])

    @cached_property
    def soles(self) -> tuple[Array, Array]:
        """Places `(8, 3)` and velocities `(8, 3, size)` by v of the lower corners of both feet."""
        return self.spheres(self.mechanics.soles.ravel())

    @cached_property
    def heights(self) -> Array:
        """Metres of all points of the shapes above the floor."""
        high = self._points @ self.R[1] + self.state.centre[1]
        return np.asarray(high - self.mechanics.shapes.spheres[:, 3] - self.mechanics.settings.floor)

    @cached_property
    def contacts(self) -> Contacts:
        """What may meet the floor in this step: soles first."""
        settings, h = self.mechanics.settings, self.step
        near = self.heights < settings.margin + h * abs(float(self.v[3:6] @ self.R[1]))
        soles = self.mechanics.soles.ravel()
        own = near[soles]
        places, moves = self.soles
        points, places, moves = soles[own], places[own], moves[own]
        near[soles] = False
        if near.any():
            others = np.flatnonzero(near)
            more = self.spheres(others)
            points = np.concatenate([points, others])
            places, moves = np.concatenate([places, more[0]]), np.concatenate([moves, more[1]])
        gaps = self.heights[points]
        # What touches keeps one law for gaps of both signs, so that all corners of a rigid foot agree.
        share = np.where(gaps < settings.touching, settings.drift, 1.0)
        bounds = np.minimum(-share * gaps / h, settings.fastest)
        J = moves[:, 1:2] + settings.friction * (EDGES @ moves)
        return Contacts(points, places, gaps, moves, J.reshape(-1, len(self.free)), np.repeat(bounds, 4))

    def respond(self, extra: Array | None = None) -> tuple[Array, Array]:
        """The new velocity `(size,)` and the multipliers of contacts `(4 n,)`: the dynamics programme.

        Args:
            extra: `(size,)`, impulse of control.
        """
        f = self.free + self.blows if extra is None else self.free + self.blows + extra
        contacts = self.contacts
        if not len(contacts.J):
            return self.inverse @ f, np.empty(0)
        high = np.full(len(contacts.J), qp.FAR)
        found = qp.solve(self.effective, -f, qp.Rows(contacts.J, contacts.bounds, high))
        if found is not None:
            pushes = np.maximum(found.multipliers, 0.0)
        else:
            # Where rounding lets rows contradict each other, their multipliers still have a minimum.
            A, c = contacts.J @ self.inverse @ contacts.J.T, contacts.J @ self.inverse @ f - contacts.bounds
            pushes = box_programme(A, c, np.zeros(len(c)), high)
        return self.inverse @ (f + pushes @ contacts.J), pushes

    def wrench(self, v: Array, multipliers: Array) -> Array:
        """Torque and force `(6,)` about the centre of mass, N·m and N, that nothing outside explains.

        Taken from the impulses at the points of contact in the world, not from the programme's rows.
        """
        mu, contacts = self.mechanics.settings.friction, self.contacts
        edges = multipliers.reshape(-1, 4)
        forces = mu * edges @ EDGES
        forces[:, 1] = edges.sum(axis=1)
        turned = np.cross(contacts.places - self.state.centre, forces).sum(axis=0)
        total = np.concatenate([turned @ self.R, forces.sum(axis=0) @ self.R])
        return np.asarray((self.work.M[:6] @ v - (self.free + self.blows)[:6] - total) / self.step)


def carried(momentum: Array, v: Array, step: float) -> Array:
    """A momentum `(size,)` at the start of a step in the frame at its end, where v is given."""
    turn = so3.to_matrix(so3.exp(step * v[:3]))
    found = momentum.copy()
    found[:3], found[3:6] = momentum[:3] @ turn, momentum[3:6] @ turn
    return found
