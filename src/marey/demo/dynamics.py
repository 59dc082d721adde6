"""Chapters of the demo on motion learned from one clip: variants, a filled hole, steered hands, a stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey import samples
from marey.body.contacts import contacts, sliding
from marey.body.dynamics import MotionModel
from marey.body.filling import fill
from marey.body.motion import Motion
from marey.body.steering import ReachAt, steer
from marey.body.stream import MotionStream
from marey.body.variation import vary
from marey.demo.exhibit import SMALLER, Entry, thinned, timed, write_clip
from marey.io import save
from marey.views import plots, shots, style
from marey.views.bands import filled_holes
from marey.views.troupe import troupe

# Metres between figures that walk side by side.
ASIDE = 0.9


def variants(folder: Path) -> Entry:
    """One walk, and three that never took place."""
    walk = samples.walk(3)
    seconds, made = timed(lambda: vary(walk, count=3, deviation=1.0, rng=1))
    for number, variant in enumerate(made, start=1):
        save(variant, folder / f"walk-{number}.bvh")
    shifts = [[ASIDE * number, 0.0, 0.0] for number in range(4)]
    together = troupe([walk, *made], colours=[style.CLAY, None, None, None], shifts=shifts)
    write_clip(shots.clip(thinned(together), SMALLER), folder / "variants.mp4")
    own, theirs = (
        100 * np.mean([sliding(one, contacts(one)).speed for one in clips]) for clips in ([walk], made)
    )
    return Entry(
        "One walk and three variants of it, learned from that walk alone",
        f"joints are {made.report.deviation_cm:.1f} cm from the example on average; standing feet slide at "
        f"{theirs:.1f} cm/s, its own at {own:.1f}; {1e3 * seconds / 3:.0f} ms a variant",
        ("variants.mp4", *(f"walk-{number}.bvh" for number in (1, 2, 3))),
    )


def hole(folder: Path) -> Entry:
    """Half a second lost, and found again."""
    walk = samples.walk(6)
    seconds, filled = timed(lambda: fill(walk, [(180, 210)], samples=4, rng=0))
    off = 100 * np.linalg.norm(filled.motion.positions() - walk.positions(), axis=2)[180:210]
    plots.save(filled_holes(filled, size=(1280, 560)), folder / "hole.png")
    save(filled.motion, folder / "filled.bvh")
    return Entry(
        "Half a second is missing: the likeliest motion, alternatives, and where joints were with 90 %",
        f"joints are {off.mean():.2f} cm off the lost truth on average, the band is "
        f"{100 * filled.mean_band:.2f} cm wide to each side; {1e3 * seconds:.0f} ms",
        ("hole.png", "filled.bvh"),
    )


def steered(folder: Path) -> Entry:
    """A walker who touches two points on the way."""
    walk = samples.walk(3)
    asked = [
        ReachAt("RightHand", 1.0, [-0.05, 0.35, 0.15], relative=True),
        ReachAt("LeftHand", 2.2, [0.05, 0.3, 0.15], relative=True),
    ]
    seconds, found = timed(lambda: steer(walk, asked))
    at = walk.positions()
    places = [at[round(r.time * walk.frame_rate), walk.skeleton.index(r.joint)] + r.position for r in asked]
    marks = np.broadcast_to(np.array(places), (walk.frames, 2, 3))
    save(found.motion, folder / "steered.glb")
    write_clip(shots.clip(thinned(troupe([found.motion], marks=marks)), SMALLER), folder / "steered.mp4")
    return Entry(
        "Steered: the hands touch two points at given times, the walk around them follows",
        f"targets missed by {max(found.residual_cm):.2g} cm at most; the hands' largest acceleration is "
        f"{found.peak_acceleration_ratio:.2f} times the original's; {1e3 * seconds:.0f} ms",
        ("steered.mp4", "steered.glb"),
    )


def stream(folder: Path) -> Entry:
    """Characters without end from one clip, none in step with another."""
    model = MotionModel.fit(samples.walk(6), modes=12)
    save(model, folder / "walk-motion.mry")
    across = np.arange(8) % 4, np.arange(8) // 4
    starts = np.stack([1.1 * across[0], np.zeros(8), -1.6 * across[1]], axis=1) + model.start
    running = MotionStream(model, rng=2, characters=8, starts=starts)
    frames = []
    for _ in range(150):
        running.step()
        frames.append(running.poses())
    walkers = [
        Motion(
            model.poses.skeleton,
            np.stack([frame.rotations[i] for frame in frames]),
            np.stack([frame.positions[i] for frame in frames]),
            model.frame_rate,
        )
        for i in range(8)
    ]
    crowd = MotionStream(model, rng=3, characters=10_000)
    seconds, _ = timed(crowd.step)
    write_clip(shots.clip(thinned(troupe(walkers)), SMALLER), folder / "stream.mp4")
    return Entry(
        "Without end: characters simulated frame by frame, each by its own chance",
        f"{model.modes} modes; a frame of 10,000 such characters takes {1e3 * seconds:.1f} ms",
        ("stream.mp4", "walk-motion.mry"),
    )
