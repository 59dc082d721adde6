"""A small crowd: two streams of people who walk past each other in a street.

Free speeds are those of Weidmann 1993 ("Transporttechnik der Fussgänger", ETH Zürich): 1.34 ± 0.26 m/s.
People steer by the time left until they would collide (Karamouzas, Skinner & Guy 2014, Phys. Rev. Lett. 113:
the interaction energy falls with its square), keep off the walls, and never stand in the same place. Cost:
steps × people², some 40 ms a second for 60 people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, checked_rate
from marey.crowd.tracks import Tracks
from marey.errors import InputError

LENGTH, WIDTH = 20.0, 6.0
"""Metres: the street runs along x from -10 to 10, its walls are at y = ±3."""

MEAN_SPEED, SPREAD = 1.34, 0.26
RADIUS = 0.24
NEAREST = 0.45
RELAXATION = 0.54
STRENGTH, HORIZON = 1.5, 3.0
STEP = 0.02
HEAD_START = 8.0
ENTRANCES = np.linspace(-0.5, 0.5, 24) * (WIDTH - 4 * RADIUS)
MOST_PEOPLE, LONGEST, MOST_PER_SECOND = 500, 600.0, 6.0


def crowd(
    people: int = 60,
    seconds: float = 20.0,
    *,
    frame_rate: float = 25.0,
    rng: np.random.Generator | int = 0,
) -> Tracks:
    """People who cross a street of 20 m by 6 m in both directions, entering and leaving one by one.

    people: how many in all, at most 500 and 6 a second
    seconds: length of the clip, at most 600
    frame_rate: frames per second

    >>> tracks = crowd(people=10, seconds=4)
    >>> tracks.agents, tracks.frames
    (10, 100)
    """
    frame_rate = checked_rate(frame_rate)
    if not 1 <= people <= MOST_PEOPLE:
        raise InputError(f"people: between 1 and {MOST_PEOPLE}, got {people}")
    if not 1 / frame_rate <= seconds <= LONGEST:
        raise InputError(f"seconds: between one frame and {LONGEST:g}, got {seconds}")
    if people > max(10.0, MOST_PER_SECOND * seconds):
        raise InputError(
            f"people: no more than {MOST_PER_SECOND:g} a second fit through the street, "
            f"{MOST_PER_SECOND * seconds:g} in {seconds:g} s; got {people}"
        )
    walkers = _invited(int(people), seconds, np.random.default_rng(rng))
    times = np.arange(round(seconds * frame_rate)) / frame_rate
    return Tracks(_walked(walkers, times), frame_rate, name="street")


@dataclass(frozen=True)
class _Walkers:
    """Who will come: `(people,)` when, in which direction along x, how fast at will; `(people, 2)` where."""

    entry: Array
    heading: Array
    speed: Array
    start: Array


def _invited(people: int, seconds: float, rng: np.random.Generator) -> _Walkers:
    # The first come so late that no one is through before the clip begins, the last while it still runs.
    slots = -HEAD_START + (seconds + HEAD_START - min(1.0, seconds / 4)) * (np.arange(people) + 0.5) / people
    heading = np.where(rng.permutation(people) % 2 == 0, 1.0, -1.0)
    lateral = rng.uniform(-0.5, 0.5, people) * (WIDTH - 4 * RADIUS)
    return _Walkers(
        entry=slots + rng.uniform(-0.3, 0.3, people) * (slots[1] - slots[0] if people > 1 else 0.0),
        heading=heading,
        speed=MEAN_SPEED + SPREAD * np.clip(rng.standard_normal(people), -2.0, 2.0),
        start=np.stack([-heading * LENGTH / 2, lateral], axis=1),
    )


def _walked(walkers: _Walkers, times: Array) -> Array:
    """Positions at `times`, `(times, people, 2)`; NaN before a person enters and after they have left."""
    position, velocity = walkers.start.copy(), np.zeros_like(walkers.start)
    velocity[:, 0] = walkers.heading * walkers.speed
    there = np.zeros(len(position), dtype=bool)
    gone = there.copy()
    seen = np.full((len(times), len(position), 2), np.nan)
    first = int(np.floor(walkers.entry.min() / STEP))
    recorded = 0
    for step in range(first, int(np.ceil(times[-1] / STEP)) + 1):
        now = step * STEP
        _let_in(there, gone, position, walkers, now)
        while recorded < len(times) and times[recorded] <= now + 1e-9:
            # Between steps people go straight on.
            late = now - times[recorded]
            seen[recorded, there] = position[there] - late * velocity[there]
            recorded += 1
        who = np.flatnonzero(there)
        position[who], velocity[who] = _stepped(position[who], velocity[who], walkers, who)
        left = there & (position[:, 0] * walkers.heading > LENGTH / 2)
        there &= ~left
        gone |= left
    return seen


def _let_in(
    there: NDArray[np.bool_], gone: NDArray[np.bool_], position: Array, walkers: _Walkers, now: float
) -> None:
    """Those whose time has come enter where they want, or as near to it as there is room."""
    for who in np.flatnonzero((walkers.entry <= now) & ~there & ~gone):
        others = position[there]
        for lateral in sorted(ENTRANCES, key=lambda y: abs(y - walkers.start[who, 1])):
            spot = np.array([walkers.start[who, 0], lateral])
            if not len(others) or np.linalg.norm(others - spot, axis=1).min() > 2 * NEAREST:
                position[who], there[who] = spot, True
                break


def _stepped(
    position: Array, velocity: Array, walkers: _Walkers, who: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Positions and velocities one time step later, of those who are there."""
    wanted = np.stack([walkers.heading[who] * walkers.speed[who], np.zeros(len(who))], axis=1)
    force = (wanted - velocity) / RELAXATION + _avoidance(position, velocity) + _walls(position)
    velocity = velocity + STEP * force
    fast = np.linalg.norm(velocity, axis=1) / (1.3 * walkers.speed[who])
    velocity = velocity / np.maximum(fast, 1.0)[:, None]
    moved = _parted(position + STEP * velocity)
    return moved, velocity


def _avoidance(position: Array, velocity: Array) -> Array:
    """Minus the gradient of the energy of all times to collision, `(people, 2)`, m/s²."""
    x = position[:, None] - position[None]
    v = velocity[:, None] - velocity[None]
    squared_speed = np.einsum("ijk,ijk->ij", v, v)
    approach = -np.einsum("ijk,ijk->ij", x, v)
    gap = np.einsum("ijk,ijk->ij", x, x) - (2 * RADIUS) ** 2
    discriminant = approach**2 - squared_speed * gap
    meets = (discriminant > 1e-9) & (approach > 0) & (gap > 0)
    root = np.sqrt(np.where(meets, discriminant, 1.0))
    speed = np.where(meets, squared_speed, 1.0)
    time = np.where(meets, (approach - root) / speed, 1.0)
    # At most as hard as for a collision a quarter of a second ahead.
    time = np.maximum(time, 0.25)
    size = STRENGTH * np.exp(-time / HORIZON) / time**2 * (2 / time + 1 / HORIZON) / speed
    away = -v + (approach[..., None] * v + speed[..., None] * x) / root[..., None]
    push = np.where(meets[..., None], size[..., None] * away, 0.0).sum(axis=1)
    return np.asarray(push * np.minimum(1.0, 4.0 / (np.linalg.norm(push, axis=1, keepdims=True) + 1e-9)))


def _walls(position: Array) -> Array:
    room = WIDTH / 2 - np.abs(position[:, 1])
    push = 4.0 * np.exp(-(room - RADIUS) / 0.15)
    return np.stack([np.zeros(len(position)), -np.sign(position[:, 1]) * np.minimum(push, 8.0)], axis=1)


def _parted(position: Array) -> Array:
    """People too close to each other are moved apart, half of it each."""
    for _ in range(3):
        x = position[:, None] - position[None]
        distance = np.sqrt(np.einsum("ijk,ijk->ij", x, x)) + np.eye(len(position))
        overlap = np.maximum(NEAREST - distance, 0.0) * ~np.eye(len(position), dtype=bool)
        if not overlap.any():
            break
        position = position + 0.5 * np.einsum("ij,ijk->ik", overlap / distance, x)
    return position
