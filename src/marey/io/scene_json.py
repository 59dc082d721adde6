"""Scenes as JSON, to write by hand: walls, goals, groups; or a walkable area as well-known text.

::

    {"size": [20, 10],
     "obstacles": [[9, 0, 10, 4], [[9, 6], [10, 6], [10, 10], [9, 10]]],
     "goals": {"east": {"area": [18, 0, 20, 10]}},
     "groups": [{"people": 60, "start": [1, 1, 7, 9], "goal": "east"}]}

An area is a list of corners `[[x, y], …]` or a rectangle `[west, south, east, north]`, metres. In place of
`size` and `obstacles`, `"walkable": "POLYGON (…)"` takes a walkable area of JuPedSim or PedPy (OGC 06-103r4,
read by Shapely). Further keys are the fields of :class:`~marey.crowd.scenes.Scene`, `Goal` and `Group`.
Errors name the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from marey._arrays import Array
from marey.crowd.polygons import Region, area, free_regions, rectangle
from marey.crowd.scenes import Goal, Group, Scene
from marey.errors import FormatError, InputError, MareyError
from marey.io._files import atomic_write, decoded, read_bytes
from marey.io._json import Json, Strict, decode
from marey.io._limits import LIMITS

# Metres of wall set round a walkable area whose border people may not cross.
WALL = 0.5

# Corners, or the four sides of a rectangle.
Area = list[float | list[float]]


class _Goal(Strict, frozen=True):
    area: Area
    kind: str = "reach"
    vanish: bool = True


class _Group(Strict, frozen=True):
    people: int
    start: Area
    goal: str
    speed: float = 1.0
    rate: float = 0.0


class _Scene(Strict, frozen=True):
    size: tuple[float, float] | None = None
    obstacles: list[Area] | None = None
    walkable: str | None = None
    goals: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)
    groups: list[_Group] = msgspec.field(default_factory=list)
    hold: float = 0.0
    seconds: float = 30.0
    name: str = ""


def read(path: Path) -> Scene:
    """A scene; an error names the file and the place in it, such as `groups[1].start`.

    A `.wkt` file is a walkable area alone, as well-known text.
    """
    path = Path(path)
    data = read_bytes(path, limit=LIMITS.small_json)
    if path.suffix.lower() != ".wkt":
        return from_json(data, path)
    try:
        size, obstacles, _ = from_walkable(decoded(data))
        return Scene(size, tuple(obstacles), name=path.stem)
    except MareyError as error:
        raise FormatError(str(error), path=path) from error


def write(scene: Scene, path: Path) -> None:
    """JSON that :func:`read` gives back as it was."""
    text = msgspec.json.format(msgspec.json.encode(to_json(scene)), indent=1)
    with atomic_write(Path(path)) as draft:
        draft.write_bytes(text + b"\n")


def from_json(data: bytes, path: Path) -> Scene:
    """The scene that JSON text of a file describes.

    >>> room = b'{"size": [9, 5], "goals": {"out": {"area": [8, 0, 9, 5]}}, '
    >>> room += b'"groups": [{"people": 3, "start": [0, 0, 4, 5], "goal": "out"}]}'
    >>> from_json(room, Path("room.json")).groups[0].start[2].tolist()
    [4.0, 5.0]
    """
    parsed = decode(data, _Scene, path)
    goals = {name: decode(raw, _Goal, path, place=f"goals.{name}") for name, raw in parsed.goals.items()}
    place = ""
    try:
        size, obstacles, shift = _ground(parsed)
        built_goals, groups = {}, []
        for name, goal in goals.items():
            place = f"goals.{name}: "
            built_goals[name] = Goal(_area("area", goal.area, shift), goal.kind, goal.vanish)  # type: ignore[arg-type]
        for number, group in enumerate(parsed.groups):
            place = f"groups[{number}]: "
            start = _area("start", group.start, shift)
            groups.append(Group(group.people, start, group.goal, group.speed, group.rate))
        place, name = "", parsed.name or path.stem
        return Scene(size, tuple(obstacles), built_goals, tuple(groups), parsed.hold, parsed.seconds, name)
    except MareyError as error:
        raise FormatError(f"{place}{error}", path=path) from error


def to_json(scene: Scene) -> Json:
    """Plain values of a scene."""
    values: Json = msgspec.to_builtins(scene, enc_hook=np.ndarray.tolist)
    return values


def walkable_wkt(scene: Scene) -> str:
    """The ground without obstacles as well-known text: `pedpy.WalkableArea(…)`, `jupedsim.Simulation(…)`.

    >>> walkable_wkt(Scene((9, 5), [rectangle(0, 4, 9, 5)]))
    'POLYGON ((0 0, 9 0, 9 4, 0 4, 0 0))'
    """
    regions = free_regions(rectangle(0, 0, *scene.size), scene.obstacles)
    if not regions:
        raise InputError("the scene is all walls")
    return to_wkt(regions)


def from_walkable(text: str) -> tuple[tuple[float, float], list[Array], Array]:
    """Size, obstacles and shift `(2,)` of a ground on which just a walkable area is free.

    The area's border becomes a wall; the shift is what was added to its coordinates, so that the ground
    begins at (0, 0).
    """
    regions = from_wkt(text)
    outlines = [outline for outline, _ in regions]
    low = np.min([outline.min(axis=0) for outline in outlines], axis=0) - WALL
    high = np.max([outline.max(axis=0) for outline in outlines], axis=0) + WALL
    shift, (width, depth) = -low, high - low
    if not (width < 1e4 and depth < 1e4):
        raise InputError(f"the walkable area is {width:g} × {depth:g} m")
    obstacles = [hole + shift for _, holes in regions for hole in holes]
    # In two halves, because a wall all round would be a polygon with a hole.
    middle = 0.5 * width
    for half in (rectangle(0, 0, middle, depth), rectangle(middle, 0, width, depth)):
        for wall, holes in free_regions(half, [outline + shift for outline in outlines]):
            if holes:
                raise InputError(
                    "the walkable area lies on one side of a wall that goes round it: cut it in two"
                )
            obstacles.append(wall)
    return (float(width), float(depth)), obstacles, shift


def from_wkt(text: str) -> list[Region]:
    """(outline, holes) of each polygon of a POLYGON, MULTIPOLYGON or GEOMETRYCOLLECTION of them.

    >>> [(outline, holes)] = from_wkt("POLYGON ((0 0, 4 0, 4 3, 0 0), (1 1, 2 1, 2 1.5, 1 1))")
    >>> outline.tolist(), len(holes)
    ([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]], 1)
    """
    import shapely

    if len(text) > LIMITS.small_json:
        raise InputError(
            f"well-known text of {len(text) / 1e6:.0f} MB; at most {LIMITS.small_json >> 20} are read"
        )
    # The parser calls itself for every parenthesis: thousands of nested ones would end the process.
    marks = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    if ((marks == ord("(")).astype(np.int64) - (marks == ord(")"))).cumsum().max(initial=0) > 4:
        raise InputError("well-known text: collections within collections are not read")
    try:
        with np.errstate(invalid="ignore"):
            shape = shapely.from_wkt(text)
    except (shapely.errors.ShapelyError, ValueError) as error:
        raise InputError(f"well-known text: {str(error).partition(': ')[2] or error}") from error
    parts = list(shapely.get_parts(shapely.get_parts(shape))) if shape is not None else []
    others = [part.geom_type.upper() for part in parts if part.geom_type != "Polygon"]
    if others:
        raise InputError(f"well-known text: holds a {others[0]}; polygons and collections of them are read")
    rings = [
        [np.array(ring.coords)[:-1, :2] for ring in (p.exterior, *p.interiors)]
        for p in parts
        if not p.is_empty
    ]
    if not rings:
        raise InputError("well-known text: there is no polygon in it")
    if not all(np.isfinite(ring).all() and len(ring) > 2 for polygon in rings for ring in polygon):
        raise InputError("well-known text: a corner is not finite, or a ring has fewer than three")
    return [(outline, tuple(holes)) for outline, *holes in rings]


def to_wkt(regions: Sequence[Region]) -> str:
    """POLYGON for one region, MULTIPOLYGON for several; numbers read back bit for bit.

    >>> to_wkt([(np.array([[0.0, 0], [4, 0], [4, 3]]), ())])
    'POLYGON ((0 0, 4 0, 4 3, 0 0))'
    """
    import shapely

    polygons = [shapely.Polygon(outline, holes) for outline, holes in regions]
    shape = polygons[0] if len(polygons) == 1 else shapely.MultiPolygon(polygons)
    return str(shapely.to_wkt(shape, rounding_precision=17))


def _ground(parsed: _Scene) -> tuple[tuple[float, float], list[Array], Array]:
    if parsed.walkable is not None:
        if parsed.size is not None or parsed.obstacles is not None:
            raise InputError("walkable takes the place of size and obstacles; give one or the other")
        return from_walkable(parsed.walkable)
    if parsed.size is None:
        raise InputError("size is missing: [width, depth] in metres")
    still, obstacles = np.zeros(2), parsed.obstacles or []
    return parsed.size, [_area(f"obstacles[{n}]", one, still) for n, one in enumerate(obstacles)], still


def _area(place: str, given: Area, shift: Array) -> Array:
    """Corners of a list of them or of a rectangle of four numbers."""
    if len(given) == 4 and all(isinstance(side, float) for side in given):
        west, south, east, north = (float(side) for side in given if isinstance(side, float))
        if not (west < east and south < north):
            raise InputError(f"{place}: a rectangle is [west, south, east, north], found {given}")
        corners = rectangle(west, south, east, north)
    elif len(given) >= 3 and all(isinstance(corner, list) and len(corner) == 2 for corner in given):
        corners = np.array(given, dtype=np.float64)
    else:
        raise InputError(
            f"{place}: expected corners [[x, y], …] or [west, south, east, north], found {str(given)[:40]}"
        )
    if not (np.abs(corners) < 1e5).all():
        raise InputError(f"{place}: a corner is more than 100 km away")
    if area(corners) == 0:
        raise InputError(f"{place}: has no area: its corners lie on a line, or its sides cross")
    return corners + shift
