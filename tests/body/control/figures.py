"""Forward kinematics, masses and momenta of a state by SciPy's rotations, without marey."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from marey.body.control.mechanics import Body
from marey.body.physics.reduced import PhysicalCharacter


def frames(character: PhysicalCharacter, state: Body) -> tuple[list[Rotation], np.ndarray]:
    """Rotations and places of all joints in the world."""
    skeleton, basis = character.skeleton, character.basis
    turns: list[Rotation] = []
    places = np.zeros((skeleton.joints, 3))
    vectors = np.tensordot(state.alpha, basis.directions, 1)
    for joint in range(skeleton.joints):
        mean = Rotation.from_quat(np.roll(basis.mean[joint], -1))
        local = mean * Rotation.from_rotvec(vectors[joint])
        above = skeleton.parents[joint]
        if above < 0:
            turns.append(Rotation.from_quat(np.roll(state.rotation, -1)))
            places[joint] = 0.0
        else:
            turns.append(turns[above] * local)
            places[joint] = places[above] + turns[above].apply(np.array(skeleton.offsets[joint]))
    masses, middles = character.bones.masses, character.bones.centres
    placed = [p + q.apply(np.array(c)) for p, q, c in zip(places, turns, middles, strict=True)]
    return turns, places + state.centre - masses @ np.array(placed) / masses.sum()


def centres(character: PhysicalCharacter, state: Body) -> np.ndarray:
    """Centres of mass of the bones."""
    turns, places = frames(character, state)
    return np.array(
        [p + q.apply(np.array(c)) for p, q, c in zip(places, turns, character.bones.centres, strict=True)]
    )


def centre(character: PhysicalCharacter, state: Body) -> np.ndarray:
    masses = character.bones.masses
    return masses @ centres(character, state) / masses.sum()


def angular_momentum(character: PhysicalCharacter, before: Body, after: Body, time: float) -> np.ndarray:
    """About the centre of mass, between two states, by differences."""
    (first, _), (last, _) = frames(character, before), frames(character, after)
    begin, end, bones = centres(character, before), centres(character, after), character.bones
    middle, speed = 0.5 * (begin + end), (end - begin) / time
    total = np.zeros(3)
    away = middle - bones.masses @ middle / bones.masses.sum()
    for j, (one, other) in enumerate(zip(first, last, strict=True)):
        spin = (other * one.inv()).as_rotvec() / time
        halfway = Rotation.from_rotvec(0.5 * time * spin) * one
        inertia = halfway.as_matrix() @ bones.inertias[j] @ halfway.as_matrix().T
        total += inertia @ spin + bones.masses[j] * np.cross(away[j], speed[j])
    return total
