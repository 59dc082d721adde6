"""The four scenes of Courty 2013, section 7.2: a meeting, letters, a field's motion, a vortex in a crossing.

Sizes that the paper leaves open are ours. Each has people at places of their own and a file of constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from marey._arrays import Array
from marey._random import Rng, as_generator
from marey.crowd.direct.constraints import Constraints, Formation, State, Velocity, Vorticity
from marey.crowd.direct.model import CrowdModel
from marey.crowd.polygons import edges, rectangle
from marey.crowd.scenes import Goal, Group, Scene
from marey.crowd.simulation.pedestrians import Pedestrians, random_pedestrians
from marey.crowd.simulation.routes import DirectionField
from marey.errors import InputError

JITTER = 0.05
"""Metres by which starts differ from one seed to the next."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scene, the people in it and what they should do.

    Attributes:
        scene: Walls, and one group and goal for each direction of walking.
        people: At the start; `goal` is the number of the group.
        directions: `(groups, 2)`, in which groups walk; None: by the shortest paths to their goals.
        constraints: The preset's.
        regions: Polygons by name.
    """

    scene: Scene
    people: Pedestrians
    directions: Array | None
    constraints: Constraints
    regions: dict[str, Array] = field(default_factory=dict)

    @property
    def model(self) -> CrowdModel:
        """The crowd to control."""
        if self.directions is None:
            return CrowdModel.of_scene(self.scene, self.people, dt=self.constraints.dt)
        goals = [DirectionField.constant(*direction) for direction in self.directions]
        return CrowdModel.of(self.people, goals, walls=edges(self.scene.obstacles), dt=self.constraints.dt)


def preset(name: str, rng: Rng = 0) -> Scenario:
    """One of :data:`PRESETS`; people differ in size and mass, and by 5 cm in place, with the seed.

    >>> preset("rendezvous").people.positions[[5, 35]].round(0).tolist()
    [[7.0, 0.0], [7.0, 6.0]]
    """
    if name not in PRESETS:
        raise InputError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name](as_generator(rng))


def rendezvous(rng: np.random.Generator) -> Scenario:
    """38 people walk to the right; two of the front row meet behind the others after 20 s."""
    block = _block((1.8, 0.25), (6, 6), 1.1)
    places = np.concatenate([block, [[0.7, 1.35], [0.7, 4.65]]])
    meeting = State([5, 35], 20.0, [[18.2, 3.4], [18.2, 2.6]], [[0.0, 0.0], [0.0, 0.0]], 0.05, 0.05)
    return assembled("rendezvous", (48, 6), [places], [(1, 0)], Constraints(30.0, (meeting,)), rng)


def letters(rng: np.random.Generator) -> Scenario:
    """Twice 40 people pass through each other and form the letters S and G after 24 s."""
    west, east = _block((13, 9), (5, 8), 1.2), _block((28.2, 9), (5, 8), 1.2)
    forms = tuple(
        Formation(f"group:{name}", 24.0, glyph, height=11.0, pos_std=0.06)
        for name, glyph in (("A", "S"), ("B", "G"))
    )
    return assembled("letters", (46, 26), [west, east], [(1, 0), (-1, 0)], Constraints(24.0, forms), rng)


def transfer(rng: np.random.Generator) -> Scenario:
    """48 people walk as shapes move that turn and drift."""
    places = _block((4, 3), (8, 6), 1.1)
    wanted = Velocity(
        [0.0, 10.0],
        stream=[0.8, 0.0],
        vortices=[[11.0, 8.0, 3.0, 0.38], [11.0, 4.0, 3.0, -0.38]],
        region=[2.0, 0.0, 20.0, 12.0],
        std=0.08,
    )
    return assembled("transfer", (24, 12), [places], [(1, 0)], Constraints(10.0, (wanted,)), rng)


def crossing(rng: np.random.Generator) -> Scenario:
    """Four groups of 38 meet where two corridors cross; a vortex there keeps them from jamming."""
    middle, half = 16.0, 3.0
    low, high = middle - half, middle + half
    walls = tuple(rectangle(x, y, x + low, y + low) for x in (0.0, high) for y in (0.0, high))
    # Without the rear corners: what is not symmetric turns by itself.
    block = np.delete(_block((-13.0, -2.0), (8, 5), 1.0), [0, 32], axis=0)
    places = [block @ np.array([[c, s], [-s, c]]) + middle for c, s in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    directions = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    region = rectangle(low, low, high, high)
    vortex = Vorticity("crossing", [16.0, 17.0], 0.6, std=0.02)
    constraints = Constraints(40.0, (vortex,))
    return assembled("crossing", (32, 32), places, directions, constraints, rng, walls, {"crossing": region})


PRESETS: dict[str, Callable[[np.random.Generator], Scenario]] = {
    make.__name__: make for make in (rendezvous, letters, transfer, crossing)
}


def _block(corner: tuple[float, float], size: tuple[int, int], spacing: float) -> Array:
    """Places `(columns · rows, 2)` row by row from the lower left."""
    column, row = np.meshgrid(np.arange(size[0]), np.arange(size[1]))
    return np.asarray(np.stack([column, row], axis=-1).reshape(-1, 2) * spacing + corner, dtype=np.float64)


def assembled(
    name: str,
    size: tuple[float, float],
    places: list[Array],
    directions: list[tuple[int, int]],
    constraints: Constraints,
    rng: np.random.Generator,
    walls: tuple[Array, ...] = (),
    regions: dict[str, Array] | None = None,
) -> Scenario:
    """Groups of people at places `(people, 2)`, each on its way in a direction such as `(1, 0)`."""
    width, depth = size
    names = {(1, 0): "east", (-1, 0): "west", (0, 1): "north", (0, -1): "south"}
    areas = {
        "east": rectangle(width - 1, 0, width, depth),
        "west": rectangle(0, 0, 1, depth),
        "north": rectangle(0, depth - 1, width, depth),
        "south": rectangle(0, 0, width, 1),
    }
    goals = {names[way]: Goal(areas[names[way]]) for way in directions}
    groups = []
    for there, way in zip(places, directions, strict=True):
        start = rectangle(*(there.min(axis=0) - 0.6), *(there.max(axis=0) + 0.6))
        groups.append(Group(len(there), start, names[way]))
    scene = Scene(size, walls, goals, tuple(groups), seconds=constraints.horizon, name=name)
    everybody = np.concatenate(places)
    people = random_pedestrians(
        len(everybody),
        positions=everybody + rng.uniform(-JITTER, JITTER, everybody.shape),
        kind="control",
        seed=rng,
    )
    people = replace(people, goal=np.repeat(np.arange(len(places)), [len(there) for there in places]))
    return Scenario(scene, people, np.array(directions, dtype=np.float64), constraints, regions or {})
