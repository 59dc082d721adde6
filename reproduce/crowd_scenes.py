"""The dataset's eight scenes, calm and in panic, at full length: what is promised of each, measured.

Courty 2013, section 6.3: people rest for 3 s, then flow, evacuate, disperse, rotate, cross. For every run:
whether anything is not a number, how deep bodies overlap at most (bar: half the sum of their radii), whether
anyone is ever in a wall, and how fast people go their way during the rest (bar: 5 % of their speed). Then
what the scene is for: the arch at the door (bar: 1.5 times the room's mean density) and whether the outflow
is interrupted (bar: times between two who pass vary more than random ones), the sense of rotation, the
divergence of those who flee, the lanes of opposite flows.

    python reproduce/crowd_scenes.py [--seed 0] [--scenes escape rotation]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey.crowd import scenes
from marey.crowd.evaluation.pedestrians import overlaps
from marey.crowd.polygons import contains, rectangle
from marey.crowd.simulation.pedestrians import Parameters
from marey.crowd.simulation.simulate import SimulatedCrowd, simulate

Bars = dict[str, bool]

HEAD = ("scene", "people", "s", "left", "overlap", "walls", "rest", "µs", "what it is for")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", nargs="*", default=list(scenes.SCENES))
    options = parser.parse_args()
    print(f"{HEAD[0]:18}" + "".join(f"{word:>9}" for word in HEAD[1:-1]) + f"  {HEAD[-1]}")
    missed = []
    for name in options.scenes:
        for panic in (False, True):
            missed += report(name, panic, options.seed)
    if "escape" in options.scenes:
        missed += narrow_door(options.seed) + narrow_door(options.seed + 1)
    print("all bars are met" if not missed else "missed: " + "; ".join(missed))


def report(name: str, panic: bool, seed: int) -> list[str]:
    """Prints one line; returns which bars it misses."""
    scene = scenes.preset(name, panic=panic, hold=3.0)
    simulate(scene, seconds=0.1)
    started = time.perf_counter()
    crowd = simulate(scene, rng=seed)
    spent = time.perf_counter() - started
    present = crowd.tracks.present
    sound = bool(
        np.isfinite(crowd.velocities[present]).all() and np.isfinite(crowd.desired_directions[present]).all()
    )
    overlap = overlaps(crowd.tracks, crowd.radius, tolerance=1).deepest_share
    walls = int(
        sum(
            contains(wall, np.asarray(crowd.positions[present], dtype=np.float64)).sum()
            for wall in scene.obstacles
        )
    )
    rest = resting_speed(crowd)
    purpose, reached = PURPOSES.get(name, flow)(crowd)
    print(
        f"{scene.name:18}{crowd.agents:9}{crowd.duration:9.1f}{crowd.departed:9}{overlap:9.2f}{walls:9}{rest:9.3f}"
        f"{1e6 * spent / crowd.person_steps:9.2f}  {purpose}",
        flush=True,
    )
    bars: Bars = {
        "not a number": sound,
        "overlap": overlap < 0.5,
        "in walls": walls == 0,
        "rest": rest < 0.05,
        **reached,
    }
    return [f"{scene.name}: {bar}" for bar, met in bars.items() if not met]


def resting_speed(crowd: SimulatedCrowd) -> float:
    """Mean speed along one's wish while the crowd rests, in shares of the desired speed."""
    start = round(crowd.scene.hold * crowd.frame_rate)
    wish = crowd.desired_directions[start + 1]
    along = np.abs((crowd.velocities[:start] * wish).sum(axis=-1)) / crowd.desired_speed
    return float(np.nanmean(along))


def after_rest(crowd: SimulatedCrowd) -> slice:
    return slice(round((crowd.scene.hold + 1) * crowd.frame_rate), None)


def narrow_door(seed: int) -> list[str]:
    """Hard bodies (Helbing et al. 2000) before a door of 1 m: faster is slower, the outflow breaks off."""
    calm, waits = None, None
    for factor in (1.0, 4.0):
        scene = scenes.preset("escape", hold=3.0).faster(factor).with_people(150)
        wall = (rectangle(31, 1, 33, 7.5), rectangle(31, 8.5, 33, 15))
        scene = replace(scene, obstacles=(*scene.obstacles[:2], *wall))
        crowd = simulate(scene, seconds=60, rng=seed, parameters=Parameters.helbing())
        waits = times_between(crowd)
        varying = float(waits.std() / waits.mean())
        deepest = overlaps(crowd.tracks, crowd.radius, tolerance=1).deepest_share
        print(
            f"hard bodies, a door of 1 m, speed × {factor:g}, seed {seed}: {1 / waits.mean():.2f} people/s, "
            f"waits vary by {varying:.2f}, {(waits > 3 * waits.mean()).mean():.1%} longer than 3 means "
            f"({np.exp(-3):.1%} at random), overlap {deepest:.2f}",
            flush=True,
        )
        if calm is None:
            calm = waits.mean()
    assert calm is not None and waits is not None
    bars = {"faster is slower": waits.mean() > calm, "interrupted outflow": varying > 1}
    return [f"hard bodies, seed {seed}: {bar}" for bar, met in bars.items() if not met]


def times_between(crowd: SimulatedCrowd) -> NDArray[np.float64]:
    """Seconds between two who leave the door, each by the first frame beyond it."""
    x = crowd.positions[..., 0]
    with np.errstate(invalid="ignore"):
        beyond = x > 33
    passing = np.sort(beyond.argmax(axis=0)[beyond.any(axis=0)])
    return np.diff(passing / crowd.frame_rate)


def flow(crowd: SimulatedCrowd) -> tuple[str, Bars]:
    """Speed along the wish after the rest."""
    moving = after_rest(crowd)
    along = (crowd.velocities[moving] * crowd.desired_directions[moving]).sum(axis=-1) / crowd.desired_speed
    share = float(np.nanmean(along))
    return f"go {share:.2f} of the desired speed along their wish", {"flow": share > 0}


def door(crowd: SimulatedCrowd) -> tuple[str, Bars]:
    """Density in the half ring 1 m to 2.5 m before the door, and the times between two who pass it."""
    x = crowd.positions[..., 0]
    frames = np.arange(round((crowd.scene.hold + 4) * crowd.frame_rate), crowd.frames)
    with np.errstate(invalid="ignore"):
        far = np.linalg.norm(crowd.positions - [31.0, 8.0], axis=-1)
        before = x < 31
        ring = ((far > 1) & (far < 2.5) & before)[frames].sum(axis=1) / (0.5 * np.pi * (2.5**2 - 1))
        room = before[frames].sum(axis=1) / (30.0 * 14.0)
    arch = float(ring.mean() / room.mean())
    waits = times_between(crowd)
    regular, longest = waits.std() / waits.mean(), waits.max() / waits.mean()
    text = f"arch {ring.mean():.2f} /m² = {arch:.1f} × mean of the room; {1 / waits.mean():.2f} people/s, "
    text += f"waits vary by {regular:.2f} (1: at random), longest {longest:.1f} × mean"
    return text, {"arch": arch > 1.5, "interrupted outflow": bool(regular > 1)}


def rotation(crowd: SimulatedCrowd) -> tuple[str, Bars]:
    """Angular momentum about the block at all times."""
    moving = after_rest(crowd)
    arm, velocity = crowd.positions[moving] - 32.0, crowd.velocities[moving]
    turning = arm[..., 0] * velocity[..., 1] - arm[..., 1] * velocity[..., 0]
    momentum = np.nansum(crowd.mass * turning, axis=-1)
    backwards = float((turning < 0).sum() / np.isfinite(turning).sum())
    text = f"momentum {momentum.min():.0f} … {momentum.max():.0f} kg m²/s; {backwards:.1%} go backwards"
    return text, {"sense of rotation": bool((momentum > 0).all())}


def dispersion(crowd: SimulatedCrowd) -> tuple[str, Bars]:
    """Mean divergence of the flow, by the linear flow nearest to everyone's velocities."""
    values = []
    for frame in range(after_rest(crowd).start, crowd.frames):
        here = crowd.tracks.present[frame]
        x = crowd.positions[frame, here] - crowd.positions[frame, here].mean(axis=0)
        gradient, *_ = np.linalg.lstsq(x, crowd.velocities[frame, here], rcond=None)
        values.append(np.trace(gradient))
    text = f"divergence {np.mean(values):.3f} 1/s, {max(values):.3f} at most"
    return text, {"divergence": float(np.mean(values)) > 0}


def opposite(crowd: SimulatedCrowd) -> tuple[str, Bars]:
    """How much people have those ahead of them who go the same way, against chance, and how slow they get."""
    order = []
    speed = np.linalg.norm(crowd.velocities, axis=-1)
    for frame in range(after_rest(crowd).start, crowd.frames, 10):
        here = np.flatnonzero(crowd.tracks.present[frame])
        across = crowd.positions[frame, here, 1]
        mine = crowd.group[here] == 0
        row = np.clip((across / 0.75).astype(int), 0, 21)
        ours, all_ = np.bincount(row, mine, 22), np.bincount(row, minlength=22)
        rows = all_ > 2
        order.append(np.mean(((2 * ours - all_)[rows] / all_[rows]) ** 2))
    chance = 22 / crowd.agents
    slowest = float(np.nanmin(np.nanmean(speed[after_rest(crowd)], axis=1) / crowd.desired_speed.mean()))
    text = f"lane order {np.mean(order):.2f} ({chance:.2f} by chance); slowest {slowest:.2f} of desired speed"
    return text, {"lanes or jam": float(np.mean(order)) > 1.5 * chance or slowest < 0.5}


PURPOSES = {"escape": door, "rotation": rotation, "dispersion": dispersion, "sideway": opposite}


if __name__ == "__main__":
    main()
