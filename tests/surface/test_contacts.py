"""What touches the ground is found from geometry alone, and how much it slides is measured."""

from __future__ import annotations

import numpy as np
import pytest

from marey.surface.contacts import find_contacts, foot_skate
from marey.surface.sequence import Library, MeshSequence
from tests.surface.synthesis import bodies

STEP = 10
FACES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])


def _stepping(rise: float = 0.0, skate: float = 0.0) -> MeshSequence:
    """Two feet of three vertices that stand for ten frames in turn, and a head; 30 frames a second.

    rise: metres a step is higher than the one before
    skate: metres a second a standing foot slides
    """
    frames = 8 * STEP
    vertices = np.zeros((frames, 9, 3))
    for foot in (0, 1):
        for t in range(frames):
            step, within = divmod(t + STEP * foot, 2 * STEP)
            swing = max(0, within - STEP) / STEP
            place = step + swing - 0.5 * foot
            vertices[t, 3 * foot : 3 * foot + 3, 2] = 0.8 * place + skate * t / 30
            lift = 0.15 * np.sin(np.pi * swing)
            vertices[t, 3 * foot : 3 * foot + 3, 1] = rise * max(place, 0) + lift
            vertices[t, 3 * foot : 3 * foot + 3, 0] = 0.2 * foot + np.array([0.0, 0.05, 0.02])
    vertices[:, [2, 5], 2] += 0.1
    vertices[:, 6:, 2] = 0.8 * np.arange(frames)[:, None] / (2 * STEP)
    vertices[:, 6:, 1] = 1.7 + rise * np.arange(frames)[:, None] / (2 * STEP)
    vertices[:, 6:, 0] = [0.0, 0.1, 0.2]
    return MeshSequence(vertices, FACES, 30.0, name="steps")


def test_feet_touch_while_they_stand_and_not_while_they_swing() -> None:
    contacts = find_contacts(Library((_stepping(),)))
    assert set(contacts.soles.tolist()) == {0, 1, 2, 3, 4, 5}
    left = contacts.touching[:, contacts.patch_of[contacts.soles == 0]].max(axis=1)
    assert (left[[25, 27, 45, 47]] > 0.9).all()
    assert (left[[34, 36, 54, 56]] < 0.1).all()


def test_a_level_floor_is_found_and_stays_level() -> None:
    contacts = find_contacts(Library((_stepping(),)))
    assert not contacts.changes_level[0]
    np.testing.assert_allclose(contacts.floors, 0.0, atol=1e-6)


def test_the_floor_is_followed_up_a_flight_of_stairs() -> None:
    contacts = find_contacts(Library((_stepping(rise=0.3),)))
    assert contacts.changes_level[0]
    assert contacts.floors[-1] - contacts.floors[0] > 0.7
    assert (np.diff(contacts.floors) > -0.01).all()


@pytest.mark.parametrize("speed", [0.02, 0.1])
def test_slide_is_the_speed_of_what_touches(speed: float) -> None:
    sequence = _stepping(skate=speed)
    contacts = find_contacts(Library((sequence,)))
    found = foot_skate(sequence, contacts)
    # Feet that come down or lift off still move a little; the rest is the skate that was put in.
    assert speed * 0.9 < found.speed < speed + 0.1
    assert foot_skate(_stepping(), contacts).speed < found.speed


def test_a_body_in_the_air_touches_nothing_and_does_not_slide() -> None:
    flying = bodies.gliding(2.0, 30.0, 60, "flying")
    contacts = find_contacts(Library((flying,)))
    assert contacts.touching.sum() == 0
    assert foot_skate(flying, contacts).speed == 0.0


def test_a_walk_of_the_samples_stands_on_two_feet_in_turn() -> None:
    library = bodies.walks()
    contacts = find_contacts(library)
    assert (contacts.touching.max(axis=1) > 0.5).mean() > 0.9
    middle = library.vertices(0)[contacts.soles, 0].mean()
    left = library.vertices(0)[contacts.soles, 0] > middle
    sides = [contacts.touching[:, np.unique(contacts.patch_of[side])].max(axis=1) for side in (left, ~left)]
    alone = [(a > 0.5) & (b < 0.1) for a, b in (sides, sides[::-1])]
    assert all(share.mean() > 0.2 for share in alone)
