"""Sensitivity of path search, contacts and foot lock: each number of their settings 30 % smaller and larger.

    .venv/bin/python tools/sensitivity.py [--vertices 400] [--only path steer contacts lock] [--number NAME]

Ten inputs each. A setting that changes no result by 1 % does not belong into a `Settings`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

import marey
from marey.geometry.planar import Behaviour, Path
from marey.statistics.graphs.graph import core_frames
from marey.statistics.graphs.path_search import PathSearchSettings, SteeredWalk, SteerSettings, follow
from marey.statistics.graphs.root_motion import prune_transitions
from marey.surface.contacts import ContactSettings, compare_foot_skate, find_contacts, foot_skate
from marey.surface.sequence import Library
from marey.surface.synthesis.animate import Player, SurfaceGraph, synthesize
from marey.surface.synthesis.placement import FootLock, edge_motion

INPUTS = 10
Run = Callable[[Any, int], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vertices", type=int, default=400)
    parser.add_argument("--only", nargs="*", default=["path", "steer", "contacts", "lock"])
    parser.add_argument("--number", help="only the settings of this name")
    options = parser.parse_args()
    library = marey.samples.mesh_library(vertices=options.vertices)
    subject = marey.surface.graph(library)
    sweeps: dict[str, tuple[Any, Run]] = {
        "path": (PathSearchSettings(), path_search(subject)),
        "steer": (SteerSettings(), steering(subject)),
        "contacts": (ContactSettings(), contacts(library)),
        "lock": (0.01, foot_lock(subject)),
    }
    for name in options.only:
        settings, run = sweeps[name]
        usual = [run(settings, number) for number in range(INPUTS)]
        for what, changed in variants(settings):
            if options.number and not what.startswith(f"{options.number} "):
                continue
            largest = max(change(run(changed, number), usual[number]) for number in range(INPUTS))
            print(f"{name:10}{what:28}{100 * largest:9.2f} %", flush=True)


def variants(settings: Any) -> list[tuple[str, Any]]:
    """Every number 30 % smaller and larger; whole numbers by one at least."""
    if isinstance(settings, float):
        return [(f"stiffness x {factor}", factor * settings) for factor in (0.7, 1.3)]
    found = []
    for one in fields(settings):
        value = getattr(settings, one.name)
        for factor in (0.7, 1.3) if isinstance(value, int | float) else ():
            scaled = factor * value
            if isinstance(value, int):
                scaled = min(value - 1, round(scaled)) if factor < 1 else max(value + 1, round(scaled))
            found.append((f"{one.name} x {factor}", replace(settings, **{one.name: scaled})))
    return found


def change(new: np.ndarray, old: np.ndarray) -> float:
    """The largest relative change of the figures of one input."""
    return float((np.abs(new - old) / np.maximum(np.abs(old), 1e-9)).max())


def path_search(subject: SurfaceGraph) -> Run:
    player = Player.prepare(subject)
    motion = edge_motion(subject, player.ground, edges=prune_transitions(subject.graph, subject.library))

    def run(settings: PathSearchSettings, number: int) -> np.ndarray:
        rng = np.random.default_rng(number)
        bends = np.cumsum(rng.uniform(-1.2, 1.2, 6))
        points = np.cumsum(1.5 * np.stack([np.sin(bends), np.cos(bends)], axis=1), axis=0)
        labels = rng.choice(subject.library.labels, 2)
        asked = [Behaviour((str(label),), 4.5 * k, 4.5 * (k + 1)) for k, label in enumerate(labels)]
        path = Path.through(
            np.concatenate([np.zeros((1, 2)), points]), behaviours=asked if number % 2 else ()
        )
        found = follow(subject.graph, motion, path, settings)
        return np.array([found.path_error, found.walk.cost(subject.graph), found.walk.steps(subject.graph)])

    return run


def steering(subject: SurfaceGraph) -> Run:
    player, core = Player.prepare(subject), core_frames(subject.graph)
    motion = edge_motion(
        subject, player.ground, edges=prune_transitions(subject.graph, subject.library, inside=core)
    )

    def run(settings: SteerSettings, number: int) -> np.ndarray:
        rng = np.random.default_rng(number)
        body = SteeredWalk(subject.graph, motion, int(np.flatnonzero(core)[17 * number]), settings=settings)
        heading, progress = 0.0, 0.0
        for _ in range(6):
            heading += rng.uniform(-0.8, 0.8)
            direction, before = np.array([np.sin(heading), np.cos(heading)]), body.position[0::2]
            while np.sum((body.position[0::2] - before) ** 2) < 1.0:
                body.advance(direction)
            progress += float((body.position[0::2] - before) @ direction)
        return np.array([progress, body.walk.steps(subject.graph), body.walk.cost(subject.graph)])

    return run


def contacts(library: Library) -> Run:
    def run(settings: ContactSettings, number: int) -> np.ndarray:
        one = library.sequences[number % len(library)]
        one = one if number < len(library) else one.mirror()[: one.frames // 2]
        found = find_contacts(Library((one,)), settings)
        return np.array([found.touching.mean(), found.patches, foot_skate(one, found).speed])

    return run


def foot_lock(subject: SurfaceGraph) -> Run:
    player = Player.prepare(subject)

    def run(stiffness: float, number: int) -> np.ndarray:
        lock = FootLock.of(subject.library, player.ground, stiffness)
        from marey.statistics.graphs.walks import random_walk

        walk = random_walk(subject.graph, subject.library, 3.0, number)
        made = synthesize(replace(player, foot_lock=lock), walk)
        skate = compare_foot_skate(made, subject.library, player.ground.contacts)
        return np.array([skate.animation.speed])

    return run


if __name__ == "__main__":
    main()
