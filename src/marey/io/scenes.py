"""Scenes as JSON, to write by hand: walls, goals, groups; or a walkable area as well-known text.

::

    {"size": [20, 10],
     "obstacles": [[9, 0, 10, 4], [[9, 6], [10, 6], [10, 10], [9, 10]]],
     "goals": {"east": {"area": [18, 0, 20, 10]}},
     "groups": [{"people": 60, "start": [1, 1, 7, 9], "goal": "east"}]}

An area is a list of corners `[[x, y], …]` or a rectangle `[west, south, east, north]`, metres. In place of
`size` and `obstacles`, `"walkable": "POLYGON (…)"` takes a walkable area of JuPedSim or PedPy. Further keys
are the fields of :class:`~marey.crowd.scene.Scene`, `Goal` and `Group`. Errors name the place.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from marey._arrays import Array
from marey.crowd.polygons import area, free_regions, rectangle
from marey.crowd.scene import Goal, Group, Scene
from marey.errors import FormatError, InputError, MareyError
from marey.io._files import atomic_write, read_bytes
from marey.io._wkt import from_wkt, to_wkt

LARGEST_FILE = 16 << 20
# Metres of wall set round a walkable area whose border people may not cross.
WALL = 0.5

SCENE_KEYS = {"size", "obstacles", "walkable", "goals", "groups", "hold", "seconds", "name"}


def read(path: Path) -> Scene:
    """A scene; an error names the file and the place in it, such as `groups[1].start`."""
    path = Path(path)
    data = read_bytes(path, limit=LARGEST_FILE)
    try:
        content = json.loads(data)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", path=path, line=error.lineno) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FormatError(f"not JSON: {error}", path=path) from error
    try:
        scene = from_json(content)
    except MareyError as error:
        raise FormatError(str(error), path=path) from error
    return scene if scene.name else Scene(**{**_fields(scene), "name": path.stem})


def write(scene: Scene, path: Path) -> None:
    """JSON that :func:`read` gives back as it was."""
    text = json.dumps(to_json(scene), indent=1, allow_nan=False)
    with atomic_write(Path(path)) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def from_json(content: Any) -> Scene:
    """The scene that plain values describe.

    >>> room = {"size": [9, 5], "goals": {"out": {"area": [8, 0, 9, 5]}},
    ...         "groups": [{"people": 3, "start": [0, 0, 4, 5], "goal": "out"}]}
    >>> from_json(room).groups[0].start[2].tolist()
    [4.0, 5.0]
    """
    _check_keys("the scene", content, SCENE_KEYS)
    ground = _ground(content)
    goals = content.get("goals", {})
    groups = content.get("groups", [])
    if not isinstance(goals, dict) or not isinstance(groups, list):
        raise InputError("goals must be an object by name, groups a list")
    size, obstacles, shift = ground
    return _built(
        "the scene",
        Scene,
        size=size,
        obstacles=tuple(obstacles),
        goals={name: _goal(f"goals.{name}", goal, shift) for name, goal in goals.items()},
        groups=tuple(_group(f"groups[{n}]", group, shift) for n, group in enumerate(groups)),
        **{key: _typed(key, content[key]) for key in ("hold", "seconds", "name") if key in content},
    )


def to_json(scene: Scene) -> dict[str, Any]:
    """Plain values of a scene."""
    return {
        "name": scene.name,
        "size": list(scene.size),
        "obstacles": [obstacle.tolist() for obstacle in scene.obstacles],
        "goals": {
            name: {"area": goal.area.tolist(), "wish": goal.wish, "vanish": goal.vanish}
            for name, goal in scene.goals.items()
        },
        "groups": [
            {
                "people": group.people,
                "start": group.start.tolist(),
                "goal": group.goal,
                "speed": group.speed,
                "rate": group.rate,
            }
            for group in scene.groups
        ],
        "hold": scene.hold,
        "seconds": scene.seconds,
    }


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


def _ground(content: dict[str, Any]) -> tuple[Any, list[Array], Array]:
    if "walkable" in content:
        if "size" in content or "obstacles" in content:
            raise InputError("walkable takes the place of size and obstacles; give one or the other")
        if not isinstance(content["walkable"], str):
            raise InputError("walkable: expected well-known text such as POLYGON ((0 0, 9 0, 9 5, 0 0))")
        return from_walkable(content["walkable"])
    size = content.get("size")
    if not isinstance(size, list) or len(size) != 2 or not all(map(_is_number, size)):
        raise InputError(f"size: expected [width, depth] in metres, found {_short(size)}")
    obstacles = content.get("obstacles", [])
    if not isinstance(obstacles, list):
        raise InputError(f"obstacles: expected a list of areas, found {_short(obstacles)}")
    return size, [_area(f"obstacles[{n}]", one, np.zeros(2)) for n, one in enumerate(obstacles)], np.zeros(2)


def _goal(place: str, content: Any, shift: Array) -> Goal:
    _check_keys(place, content, {"area", "wish", "vanish"}, needed={"area"})
    given = {key: content[key] for key in ("wish", "vanish") if key in content}
    if not isinstance(given.get("vanish", True), bool):
        raise InputError(f"{place}.vanish: expected true or false, found {_short(given['vanish'])}")
    if not isinstance(given.get("wish", ""), str):
        raise InputError(f"{place}.wish: expected reach, circle or leave, found {_short(given['wish'])}")
    return _built(place, Goal, area=_area(f"{place}.area", content["area"], shift), **given)


def _group(place: str, content: Any, shift: Array) -> Group:
    _check_keys(
        place, content, {"people", "start", "goal", "speed", "rate"}, needed={"people", "start", "goal"}
    )
    if not isinstance(content["people"], int) or isinstance(content["people"], bool):
        raise InputError(f"{place}.people: expected a whole number, found {_short(content['people'])}")
    if not isinstance(content["goal"], str):
        raise InputError(f"{place}.goal: expected the name of a goal, found {_short(content['goal'])}")
    given = {key: _typed(f"{place}.{key}", content[key]) for key in ("speed", "rate") if key in content}
    start = _area(f"{place}.start", content["start"], shift)
    return _built(place, Group, people=content["people"], start=start, goal=content["goal"], **given)


def _area(place: str, content: Any, shift: Array) -> Array:
    """Corners of a list of them or of a rectangle of four numbers."""
    if isinstance(content, list) and len(content) == 4 and all(map(_is_number, content)):
        west, south, east, north = content
        if not (west < east and south < north):
            raise InputError(f"{place}: a rectangle is [west, south, east, north], found {_short(content)}")
        return rectangle(west, south, east, north) + shift
    pairs = isinstance(content, list) and all(
        isinstance(corner, list) and len(corner) == 2 and all(map(_is_number, corner)) for corner in content
    )
    if not pairs or len(content) < 3:
        raise InputError(
            f"{place}: expected corners [[x, y], …] or [west, south, east, north], found {_short(content)}"
        )
    corners = np.array(content, dtype=np.float64) + shift
    if not (np.abs(corners) < 1e5).all():
        raise InputError(f"{place}: a corner is more than 100 km away")
    if area(corners) == 0:
        raise InputError(f"{place}: has no area: its corners lie on a line, or its sides cross")
    return corners


def _check_keys(place: str, content: Any, known: set[str], needed: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    if not isinstance(content, dict):
        raise InputError(
            f"{place}: expected an object with {', '.join(sorted(known))}, found {_short(content)}"
        )
    for key in content:
        if key not in known:
            raise InputError(f"{place}: unknown key {key!r}; known are {', '.join(sorted(known))}")
    missing = sorted(needed - set(content))
    if missing:
        raise InputError(f"{place}: {missing[0]} is missing")


def _typed(place: str, value: Any) -> Any:
    if place == "name":
        return str(value)
    if not _is_number(value):
        raise InputError(f"{place}: expected a number, found {_short(value)}")
    return float(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return bool(np.isfinite(value)) if isinstance(value, float) else abs(value) < 10**9


def _built(place: str, kind: Any, **values: Any) -> Any:
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _fields(scene: Scene) -> dict[str, Any]:
    return {field.name: getattr(scene, field.name) for field in fields(scene)}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "…"
