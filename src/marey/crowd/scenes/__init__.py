"""Places by name: the eight scenes of the synthetic crowd dataset (Courty 2013, section 6.3.1, fig. 31).

Free flow, flow round obstacles, evacuation through a door, dispersion, rotation, opposite and crossing flows.
The source draws them without measures; ours follow the published dataset where it tells them. In each the
crowd rests for 3 s; then it walks (soft) or runs at four times the speed (panic); where crowds run into each
other, at twice the speed, because bodies as soft as the source's would run through each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from marey.crowd.scene import Scene
from marey.crowd.scenes import corridors, squares
from marey.errors import InputError

PANIC = 4.0
"""Factor on the desired speed in the dataset's panic sequences."""

HEAD_ON = ("sideway", "crossing")
HEAD_ON_PANIC = 2.0
"""The same where people run against each other: from 2.5 on, bodies overlap by more than half."""

# Panicking people need less time for the same way, though not as much less as they are faster: they press.
HASTE = 0.75

SCENES: dict[str, Callable[[], Scene]] = {
    "corridor": corridors.corridor,
    "obstacle": corridors.obstacle,
    "baffles": corridors.baffles,
    "escape": corridors.escape,
    "dispersion": squares.dispersion,
    "rotation": squares.rotation,
    "sideway": corridors.sideway,
    "crossing": squares.crossing,
}
"""In the order of the dataset's numbers, 1 to 8."""


def preset(name: str, *, panic: bool = False) -> Scene:
    """One of the dataset's scenes, calm or in panic.

    >>> scene = preset("escape", panic=True)
    >>> scene.size, scene.groups[0].speed, scene.hold
    ((64.0, 16.0), 4.0, 3.0)
    """
    if name not in SCENES:
        raise InputError(f"there is no scene {name!r}; there are {', '.join(SCENES)}")
    scene = replace(SCENES[name](), name=name)
    if not panic:
        return scene
    factor = HEAD_ON_PANIC if name in HEAD_ON else PANIC
    seconds = scene.hold + (scene.seconds - scene.hold) / (HASTE * factor)
    return replace(scene.faster(factor), seconds=round(seconds), name=f"{name}-panic")


__all__ = ["PANIC", "SCENES", "preset"]
