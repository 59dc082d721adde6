"""How a crowd's density, or its disturbance, moves: the model that an estimate from video is held to.

Two models of one or several populations with desired directions V (Courty 2013, section 6.2.3):

    continuity     v = α [max(1 - a ρ, 0) V - b ∇ρ],   ∂ρ/∂t + div(ρ v) = δ Δρ    (the default)
    disturbance    v = α (V - β ∇D),                   ∂D/∂t + v · ∇D = δ ΔD      (eqs. 6.9 and 6.10)

Where motion was observed, the velocity that moves the density is the law's, corrected by what the noise of
the law explains of the difference; that noise is thereby eliminated. The derivative of a step is exact. Cost:
about 0.2 µs a cell and step forwards, 0.4 µs backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, Integers, assign, checked
from marey.crowd.cameras import orthographic
from marey.crowd.polygons import contains
from marey.crowd.scenes import Scene, cell_centres
from marey.crowd.simulation.routes import desired_directions, passable
from marey.errors import InputError

MODELS = ("continuity", "disturbance")
NUMBERS = ("alpha", "crowding", "pressure", "diffusion")
"""Of the law, in the order of a state: α (m/s), a (m² a person), b (m³ a person) or β (m), δ (m²/s)."""


@dataclass(frozen=True)
class LawSettings:
    """Numbers of a velocity law; those of `continuity` are fitted to simulated crowds (see the docs).

    Attributes:
        alpha: Free walking speed, m/s.
        crowding: a, m² a person: at a density of 1 / a nobody moves by their own will. 0 for `disturbance`.
        pressure: b, m³ a person, how strongly people avoid denser places; β in metres for `disturbance`.
        diffusion: δ, m²/s.
        fastest: Limit of a velocity component, m/s.
    """

    alpha: float = 1.2
    crowding: float = 0.6
    pressure: float = 0.42
    diffusion: float = 0.05
    fastest: float = 4.0

    @classmethod
    def of(cls, model: str) -> LawSettings:
        """The usual numbers of a model."""
        if model not in MODELS:
            raise InputError(f"model {model!r}: one of {', '.join(MODELS)}")
        return cls() if model == "continuity" else cls(crowding=0.0, pressure=2.0)


class Ground:
    """The free cells of a grid and the faces between them, for transport.

    Args:
        free: `(rows, columns)`, row 0 at y = 0; beyond the grid the ground is open.
        spacing: Width of a cell, metres.

    Attributes:
        faces: `(faces, 5)`: the cells left (or below) and right, the next ones, and the axis 0 (x) or 1 (y).
        around: `(cells, 4)`: the faces west, east, south and north of each cell; -1 where a wall is.

    >>> ground = Ground(np.array([[True, True, False]]), 0.5)
    >>> ground.cells, len(ground.faces)  # an edge in the west, a face between, two edges north and south each
    (2, 6)
    """

    def __init__(self, free: BoolArray, spacing: float) -> None:
        self.free = checked("free", free, (None, None), dtype=np.bool_)
        self.spacing = float(spacing)
        self.cells = int(self.free.sum())
        if not self.cells:
            raise InputError("scene: obstacles leave no free ground")
        numbers = np.full(self.free.shape, -1, dtype=np.int64)
        numbers[self.free] = np.arange(self.cells)
        along_x = _faces(numbers, 0)
        self.faces: Integers = np.concatenate([along_x, _faces(numbers.T, 1)])
        self.around: Integers = np.full((self.cells, 4), -1, dtype=np.int64)
        index = np.arange(len(self.faces))
        for side, cell in ((0, 1), (1, 0)):  # a face is west of the cell on its right
            there = self.faces[:, cell] >= 0
            self.around[self.faces[there, cell], side + 2 * self.faces[there, 4]] = index[there]

    @cached_property
    def centres(self) -> Array:
        """`(cells, 2)` metres."""
        return np.asarray(cell_centres(self.free.shape, self.spacing)[self.free])

    @cached_property
    def face_centres(self) -> Array:
        """`(faces, 2)` metres."""
        left, right, axis = self.faces[:, 0], self.faces[:, 1], self.faces[:, 4]
        centres = self.centres[np.where(left >= 0, left, right)]
        side = np.where(left >= 0, 0.5, -0.5) * self.spacing
        return np.asarray(centres + side[:, None] * np.eye(2)[axis])

    def on_grid(self, values: ArrayLike) -> Array:
        """Values of cells `(…, cells)` as `(…, rows, columns)`, NaN in walls."""
        given = np.asarray(values, dtype=np.float64)
        grid = np.full((*given.shape[:-1], *self.free.shape), np.nan)
        grid[..., self.free] = given
        return grid

    def vectors_on_grid(self, values: ArrayLike) -> Array:
        """Vectors at cells `(cells, 2)` as `(rows, columns, 2)`, NaN in walls."""
        return np.moveaxis(self.on_grid(np.asarray(values).T), 0, -1)

    @property
    def homography(self) -> Array:
        """`(3, 3)`, pixels of an image of the grid, row 0 on top, to metres."""
        return orthographic(self.spacing, offset=self.spacing * np.array([0.5, self.free.shape[0] - 0.5]))


def scene_ground(scene: Scene, spacing: float) -> Ground:
    """The cells of a scene that no wall cuts."""
    return Ground(passable(scene, spacing), spacing)


def scene_directions(scene: Scene, ground: Ground) -> tuple[Array, Array]:
    """Desired directions across faces `(goals, faces)`, and 0 in `(goals, cells)` where people vanish.

    A scene without goals has one population that wants nothing.
    """
    axes, index = ground.faces[:, 4], np.arange(len(ground.faces))
    kept = np.ones((max(len(scene.goals), 1), ground.cells))
    across = np.zeros((len(kept), len(ground.faces)))
    for number, (name, goal) in enumerate(scene.goals.items()):
        across[number] = desired_directions(scene, name).at(ground.face_centres)[index, axes]
        if goal.kind == "reach" and goal.vanish:
            kept[number, contains(goal.area, ground.centres)] = 0.0
    return across, kept


def _faces(numbers: Integers, axis: int) -> Integers:
    """Faces across the columns of cells `(rows, columns)`, numbered, -1 in walls: `(faces, 5)`."""
    columns = numbers.shape[1]
    padded = np.pad(numbers, ((0, 0), (2, 2)), constant_values=-1)
    cells = [padded[:, 1 + shift : columns + 2 + shift] for shift in (0, 1, -1, 2)]
    left, right = cells[0], cells[1]
    edge = np.zeros(left.shape, dtype=bool)
    edge[:, [0, -1]] = True
    there = ((left >= 0) & (right >= 0)) | (edge & ((left >= 0) | (right >= 0)))
    found = np.stack([*cells, np.full_like(left, axis)], axis=-1)[there]
    # Beyond a wall or an edge nothing is known.
    found[found[:, 0] < 0, 2] = -1
    found[found[:, 1] < 0, 3] = -1
    return np.ascontiguousarray(found)


@dataclass(frozen=True, eq=False)
class FlowData:
    """What was observed of the motion between frames n and n + 1, whitened: r = z - M v is white.

    Attributes:
        operator: M, `(frames, cells, 2, 2)`; 0 where nothing was seen.
        values: z, `(frames, cells, 2)`.
        gain: G, `(frames, cells, 2, 2)`: v + G r is the best velocity.
    """

    operator: Array
    values: Array
    gain: Array

    def __post_init__(self) -> None:
        frames, cells = np.shape(self.values)[:2]
        for name, tail in (("operator", (2, 2)), ("values", (2,)), ("gain", (2, 2))):
            assign(self, **{name: checked(name, getattr(self, name), (frames, cells, *tail))})

    @classmethod
    def nothing(cls, frames: int, cells: int) -> FlowData:
        """Nothing seen."""
        return cls(*(np.zeros((frames, cells, *tail)) for tail in ((2, 2), (2,), (2, 2))))

    def __getitem__(self, frames: slice) -> FlowData:
        return FlowData(self.operator[frames], self.values[frames], self.gain[frames])


class Transport:
    """The dynamics: a state is densities `(populations, cells)`, flat, and four logarithmic factors.

    The factors scale :data:`NUMBERS` of the law and stay as they are in time; they are 0 unless estimated.

    Args:
        ground: Cells and faces.
        directions: Desired, across faces, `(populations, faces)`.
        flow: Observed motion; its frames are the steps.
        frame_time: Seconds from a state to the next.
        model: `continuity` or `disturbance`.
        law: Its numbers.
        kept: `(populations, cells)`, 0 where people vanish or the density is prescribed.
        prescribed: `(steps, cells)` or None, a density that holds where `kept` is 0.
        speed: Fastest likely component of a velocity, m/s; None = a quarter more than free walking.
    """

    def __init__(
        self,
        ground: Ground,
        directions: ArrayLike,
        flow: FlowData,
        *,
        frame_time: float,
        model: str = "continuity",
        law: LawSettings | None = None,
        kept: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        speed: float | None = None,
    ) -> None:
        usual = LawSettings.of(model)
        self.law = usual if law is None else law
        self.ground, self.flow, self.model = ground, flow, model
        self.directions = checked("directions", directions, (None, len(ground.faces)))
        self.shape = (len(self.directions), ground.cells)
        self.kept = np.ones(self.shape) if kept is None else checked("kept", kept, self.shape)
        steps = len(flow.values)
        self.prescribed = (
            None if prescribed is None else checked("prescribed", prescribed, (steps, ground.cells))
        )
        self.numbers = np.array([self.law.alpha, self.law.crowding, self.law.pressure, self.law.diffusion])
        # A third of a cell at most, so that little more than what is there leaves through four faces.
        diffusive = 4.0 * self.law.diffusion * frame_time / ground.spacing**2
        moved = 3.0 * min(speed or 1.25 * self.law.alpha, self.law.fastest) * frame_time / ground.spacing
        self.substeps = max(int(np.ceil(moved)), int(np.ceil(diffusive)), 1)
        self.time_step = frame_time / self.substeps
        # Pressure in a crowd is a diffusion; above this density time steps would be too long for it.
        push = 8.0 * self.law.alpha * self.law.pressure * self.time_step
        self.stiff = ground.spacing**2 / max(push, 1e-9) if model == "continuity" else np.inf
        self._latest: dict[int, tuple[list[Array], Array]] = {}
        self.limit = min(self.law.fastest, ground.spacing / (3.0 * self.time_step))

    @property
    def size(self) -> int:
        """Of a state."""
        return self.shape[0] * self.shape[1] + len(NUMBERS)

    def state(self, density: ArrayLike) -> Array:
        """The state of densities `(populations, cells)` and the law's usual numbers."""
        return np.concatenate([checked("density", density, self.shape).ravel(), np.zeros(len(NUMBERS))])

    def density(self, states: Array) -> Array:
        """`(…, populations, cells)` of states `(…, size)`."""
        return states[..., : -len(NUMBERS)].reshape(*states.shape[:-1], *self.shape)

    def velocity(self, n: int, state: Array) -> Array:
        """The crowd's best velocity `(cells, 2)` m/s between frames n and n + 1: v + G r."""
        density, numbers = self._parts(state)
        _, law, residual = self.velocities(n, density, numbers)
        return np.asarray(self._mean_law(density, law) + np.einsum("cij,cj->ci", self.flow.gain[n], residual))

    def velocities(self, n: int, density: Array, numbers: Array) -> tuple[Array, Array, Array]:
        """Total density, the law across faces, and residuals r; see the kernel of the name."""
        from marey.crowd.density import _transport_kernels as kernels

        total, law, residual = kernels.velocities(density, *self._place(), numbers, *self._seen(n))
        return total, law, residual

    def step(self, n: int, state: Array) -> Array:
        """The state at frame n + 1."""
        density, numbers = self._parts(state)
        return np.concatenate([self._substates(n, density, numbers)[-1].ravel(), state[-len(NUMBERS) :]])

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        """The derivative of :meth:`step` along a direction."""
        from marey.crowd.density import _transport_kernels as kernels

        density, numbers = self._parts(state)
        change, change_numbers = self._part_changes(direction, numbers)
        for before in self._substates(n, density, numbers)[:-1]:
            total, law, residual = self.velocities(n, before, numbers)
            change_law, change_residual = kernels.velocities_tangent(
                before, total, law, *self._place(), numbers, *self._seen(n)[:2], change, change_numbers
            )
            correction, change_correction = (
                np.einsum("cij,cj->ci", self.flow.gain[n], one) for one in (residual, change_residual)
            )
            change = kernels.move_tangent(
                before,
                law,
                correction,
                *self._moves(numbers),
                change,
                change_law,
                change_correction,
                change_numbers[3],
            )
        return np.concatenate([change.ravel(), direction[-len(NUMBERS) :]])

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        """The transpose of :meth:`tangent`."""
        from marey.crowd.density import _transport_kernels as kernels

        density, numbers = self._parts(state)
        by_density = cotangent[: -len(NUMBERS)].reshape(self.shape)
        by_numbers = np.zeros(len(NUMBERS))
        gain = self.flow.gain[n]
        for before in self._substates(n, density, numbers)[-2::-1]:
            total, law, residual = self.velocities(n, before, numbers)
            correction = np.einsum("cij,cj->ci", gain, residual)
            by_density, by_law, by_correction, by_diffusion = kernels.move_adjoint(
                before, law, correction, *self._moves(numbers), np.ascontiguousarray(by_density)
            )
            by_numbers[3] += by_diffusion
            self.velocities_adjoint(
                n, before, numbers, (total, law), by_law, np.einsum("cij,ci->cj", gain, by_correction),
                by_density, by_numbers,
            )  # fmt: skip
        return np.concatenate([by_density.ravel(), cotangent[-len(NUMBERS) :] + by_numbers * numbers[:4]])

    def velocities_adjoint(
        self,
        n: int,
        density: Array,
        numbers: Array,
        found: tuple[Array, Array],
        by_law: Array,
        by_residual: Array,
        by_density: Array,
        by_numbers: Array,
    ) -> None:
        """Add to derivatives by densities and numbers those through the law and the residuals."""
        from marey.crowd.density import _transport_kernels as kernels

        kernels.velocities_adjoint(
            density, *found, *self._place(), numbers, *self._seen(n)[:2], by_law, by_residual, by_density,
            by_numbers,
        )  # fmt: skip

    def _substates(self, n: int, density: Array, numbers: Array) -> list[Array]:
        """Densities before, between and after the time steps of a frame."""
        from marey.crowd.density import _transport_kernels as kernels

        kept = self._latest.get(n)
        # The way back asks for what the way forth has found.
        if kept is not None and np.array_equal(kept[0][0], density) and np.array_equal(kept[1], numbers):
            return kept[0]
        found = [np.ascontiguousarray(density)]
        for _ in range(self.substeps):
            _, law, residual = self.velocities(n, found[-1], numbers)
            correction = np.einsum("cij,cj->ci", self.flow.gain[n], residual)
            moved = kernels.move(found[-1], law, correction, *self._moves(numbers))
            if self.prescribed is not None:
                moved += (1.0 - self.kept) * self.prescribed[n] / self.shape[0]
            found.append(moved)
        found[0] = found[0].copy()
        self._latest[n] = found, numbers
        return found

    def _parts(self, state: Array) -> tuple[Array, Array]:
        """Densities `(populations, cells)`, and the numbers of the law with its bound."""
        return self.density(state), np.append(self.numbers * np.exp(state[-len(NUMBERS) :]), self.stiff)

    def _part_changes(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        return np.ascontiguousarray(self.density(direction)), numbers[:4] * direction[-len(NUMBERS) :]

    def _place(self) -> tuple[Integers, Integers, Array]:
        return self.ground.faces, self.ground.around, self.directions

    def _seen(self, n: int) -> tuple[float, Array, Array]:
        return self.ground.spacing, self.flow.operator[n], self.flow.values[n]

    def _moves(self, numbers: Array) -> tuple[object, ...]:
        place = (self.ground.faces, self.kept, numbers[3], self.ground.spacing)
        return (*place, self.time_step, self.limit, self.model == "continuity")

    def _mean_law(self, density: Array, law: Array) -> Array:
        """The law at cells, `(cells, 2)`: the populations' mean by density."""
        from marey.crowd.density._transport_kernels import FLOOR

        shares = np.maximum(density, 0.0) + FLOOR
        shares /= shares.sum(axis=0)
        padded = np.pad(law, ((0, 0), (0, 1)))
        sides = padded[:, self.ground.around]  # a wall's face, -1, is the zero at the end
        mean = 0.5 * (sides[..., [0, 2]] + sides[..., [1, 3]])
        return np.asarray(np.einsum("kc,kci->ci", shares, mean))


class FlowObservation:
    """The observed motion of a transport as an observation of its state."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def residual(self, n: int, state: Array) -> Array:
        """r of all cells, flat; empty after the last step."""
        transport = self.transport
        if n >= len(transport.flow.values):
            return np.zeros(0)
        return transport.velocities(n, *transport._parts(state))[2].ravel()

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        """How r changes."""
        from marey.crowd.density import _transport_kernels as kernels

        transport = self.transport
        if n >= len(transport.flow.values):
            return np.zeros(0)
        density, numbers = transport._parts(state)
        total, law, _ = transport.velocities(n, density, numbers)
        changes = transport._part_changes(direction, numbers)
        place, seen = transport._place(), transport._seen(n)[:2]
        found = kernels.velocities_tangent(density, total, law, *place, numbers, *seen, *changes)
        return np.asarray(found[1].ravel())

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        """The transpose of :meth:`tangent`."""
        transport = self.transport
        density, numbers = transport._parts(state)
        total, law, _ = transport.velocities(n, density, numbers)
        by_density, by_numbers = np.zeros(transport.shape), np.zeros(len(NUMBERS))
        transport.velocities_adjoint(
            n, density, numbers, (total, law), np.zeros_like(law), cotangent.reshape(-1, 2), by_density,
            by_numbers,
        )  # fmt: skip
        return np.concatenate([by_density.ravel(), by_numbers * numbers[:4]])


class DensityObservation:
    """Densities seen at cells, summed over populations.

    Args:
        transport: Whose states are observed.
        values: `(frames, cells)`; NaN where nothing is known.
        deviation: Standard deviations, of a shape that fits `values`.
    """

    def __init__(self, transport: Transport, values: ArrayLike, deviation: ArrayLike) -> None:
        self.transport = transport
        self.values = checked("values", values, (None, transport.ground.cells), finite=False)
        self.weights = np.where(np.isnan(self.values), 0.0, 1.0 / np.asarray(deviation, dtype=np.float64))
        self.values = np.nan_to_num(self.values)

    def _known(self, n: int) -> bool:
        return n < len(self.values) and bool(self.weights[n].any())

    def residual(self, n: int, state: Array) -> Array:
        """(P - value) / deviation, `(cells,)`; empty at frames without values."""
        if not self._known(n):
            return np.zeros(0)
        return np.asarray((self.transport.density(state).sum(axis=0) - self.values[n]) * self.weights[n])

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        """How the residual changes."""
        if not self._known(n):
            return np.zeros(0)
        return np.asarray(self.transport.density(direction).sum(axis=0) * self.weights[n])

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        """The transpose of :meth:`tangent`."""
        each = np.broadcast_to(cotangent * self.weights[n], self.transport.shape)
        return np.concatenate([each.ravel(), np.zeros(len(NUMBERS))])
