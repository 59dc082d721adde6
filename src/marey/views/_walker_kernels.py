"""Compiled: copies of a walking figure. Importing this module imports numba: do so inside functions."""

from __future__ import annotations

import math

from marey._arrays import AnyArray
from marey._compiling import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def set_people(
    template: AnyArray,
    part: AnyArray,
    hip: float,
    shoulder: float,
    slots: AnyArray,
    places: AnyArray,
    heading: AnyArray,
    phase: AnyArray,
    swing: AnyArray,
    vertices: AnyArray,
) -> None:
    """Copies of a walking figure: limbs swung about hip or shoulder, turned about y, set down.

    part: `(template vertices,)`, 0 body, 1 left leg, 2 right leg, 3 left arm, 4 right arm
    slots: `(people,)`, where each one's copy goes in `vertices` `(slots, template vertices, 3)`
    """
    for person in range(slots.shape[0]):
        slot = slots[person]
        angle = swing[person] * math.sin(phase[person])
        turn_c, turn_s = math.cos(heading[person]), math.sin(heading[person])
        bob = 0.12 * swing[person] * swing[person] * (math.cos(2.0 * phase[person]) - 1.0)
        for v in range(template.shape[0]):
            x, y, z = template[v, 0], template[v, 1], template[v, 2]
            if part[v] > 0:
                pivot = hip if part[v] <= 2 else shoulder
                # Arms swing against the legs of their side, and less.
                turn = angle if part[v] == 1 or part[v] == 4 else -angle
                turn *= 1.0 if part[v] <= 2 else 0.7
                c, s = math.cos(turn), math.sin(turn)
                y, z = pivot + c * (y - pivot) + s * z, c * z - s * (y - pivot)
            vertices[slot, v, 0] = places[person, 0] + turn_c * x + turn_s * z
            vertices[slot, v, 1] = y + bob * min(y, 1.0)
            vertices[slot, v, 2] = places[person, 2] - turn_s * x + turn_c * z
