"""Chapters of the demo on motion learned from one clip: variants, a filled hole, steered hands, a stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from marey import samples
from marey.body.dynamics import MotionModel
from marey.body.feet import contacts, slide_speed
from marey.body.fill import fill
from marey.body.motion import Motion
from marey.body.steer import TimedReach, steer
from marey.body.stream import MotionStream
from marey.body.vary import vary
from marey.demo.exhibit import SMALLER, Exhibit, Picture, thinned, timed, write_clip
from marey.io import save
from marey.views import shots, style
from marey.views.actors import group
from marey.views.figures.motion import credible_bands
from marey.views.pages import write_page

# Metres between figures that walk side by side.
ASIDE = 0.9
# Seconds of clips side by side that are shown.
SHOWN = 2.4
# Characters of the stream that are shown.
WALKERS = 6


def variants(folder: Path) -> Exhibit:
    """One walk, and three that never took place."""
    walk = samples.walk(3)
    seconds, made = timed(lambda: vary(walk, count=3, deviation=1.0, rng=1))
    for number, variant in enumerate(made, start=1):
        save(variant, folder / f"walk-{number}.bvh")
    side_by_side(walk, list(made), folder / "variants.mp4")
    own, theirs = (
        100 * np.mean([slide_speed(one, contacts(one)) for one in clips]) for clips in ([walk], made)
    )
    return Exhibit(
        "Three walks that never took place",
        "Learned from the pale walk alone: the others are drawn from what it is made of.",
        (Picture("variants.mp4", "Four figures walk side by side, none quite like another"),),
        (
            ("joints from the example", f"{made.report.deviation_cm:.1f} cm on average"),
            ("standing feet slide at", f"{theirs:.1f} cm/s, the example's at {own:.1f} cm/s"),
            ("time", f"{1e3 * seconds / 3:.0f} ms a variant"),
        ),
        ("marey body vary walk.bvh -o variants --count 3 --deviation 1",),
        tuple(f"walk-{number}.bvh" for number in (1, 2, 3)),
    )


def side_by_side(example: Motion, made: Sequence[Motion], path: Path) -> None:
    """A clip of an example, pale, and what was made of it beside it."""
    clips = [clip.between(0, SHOWN) for clip in (example, *made)]
    shifts = [[ASIDE * number, 0.0, 0.0] for number in range(len(clips))]
    together = group(clips, colours=[style.CLAY, *([None] * len(made))], shifts=shifts)
    write_clip(shots.clip(thinned(together), SMALLER), path)


def hole(folder: Path) -> Exhibit:
    """Half a second lost, and found again."""
    walk = samples.walk(6)
    seconds, filled = timed(lambda: fill(walk, [(180, 210)], samples=4, rng=0))
    off = 100 * np.linalg.norm(filled.motion.positions() - walk.positions(), axis=2)[180:210]
    style.save(credible_bands(filled, size=(1280, 560)), folder / "hole.png")
    save(filled.motion, folder / "filled.bvh")
    return Exhibit(
        "Half a second is missing",
        "The likeliest motion in the hole, alternatives, and where the joints were with 90 %.",
        (Picture("hole.png", "Angles over time with a band across the hole, and poses inside it"),),
        (
            ("joints off the lost truth", f"{off.mean():.2f} cm on average"),
            ("width of the band to each side", f"{100 * filled.mean_radius:.2f} cm"),
            ("time", f"{1e3 * seconds:.0f} ms"),
        ),
        ("marey body fill walk.bvh filled.bvh --gap 120:150 --figure hole.png",),
        ("filled.bvh",),
    )


def steered(folder: Path) -> Exhibit:
    """A walker who touches two points on the way."""
    walk = samples.walk(3)
    asked = [
        TimedReach("RightHand", 1.0, [-0.05, 0.35, 0.15], relative=True),
        TimedReach("LeftHand", 2.2, [0.05, 0.3, 0.15], relative=True),
    ]
    seconds, found = timed(lambda: steer(walk, asked))
    at = walk.positions()
    places = [at[round(r.time * walk.frame_rate), walk.skeleton.index(r.joint)] + r.position for r in asked]
    marks = np.broadcast_to(np.array(places), (walk.frames, 2, 3))
    save(found.motion, folder / "steered.glb")
    write_page(found.motion, folder / "steered.html", title="Steered")
    write_clip(shots.clip(thinned(group([found.motion], marks=marks)), SMALLER), folder / "steered.mp4")
    return Exhibit(
        "Steered",
        "The hands touch two points at given times, and the walk around them follows.",
        (
            Picture("steered.mp4", "A walker raises one hand to a point, then the other to another"),
            Picture("steered.html", "The steered walk in three dimensions"),
        ),
        (
            ("targets missed by", f"{max(found.residual_cm):.2g} cm at most"),
            (
                "largest acceleration of the hands",
                f"{found.peak_acceleration_ratio:.2f} times the original's",
            ),
            ("time", f"{1e3 * seconds:.0f} ms"),
        ),
        ("marey body steer walk.bvh steered.bvh --reach RightHand@1=+0,0.35,0.15",),
        ("steered.glb",),
    )


def stream(folder: Path) -> Exhibit:
    """Characters without end from one clip, none in step with another."""
    model = MotionModel.fit(samples.walk(6), modes=12)
    save(model, folder / "walk-motion.mry")
    across = np.arange(WALKERS) % 3, np.arange(WALKERS) // 3
    starts = np.stack([1.1 * across[0], np.zeros(WALKERS), -1.6 * across[1]], axis=1) + model.start
    running = MotionStream(model, rng=2, characters=WALKERS, starts=starts)
    frames = []
    for _ in range(96):
        running.step()
        frames.append(running.poses())
    walkers = [
        Motion(
            model.poses.skeleton,
            np.stack([frame.rotations[i] for frame in frames]),
            np.stack([frame.positions[i] for frame in frames]),
            model.frame_rate,
        )
        for i in range(WALKERS)
    ]
    crowd = MotionStream(model, rng=3, characters=10_000)
    seconds, _ = timed(crowd.step)
    write_clip(shots.clip(thinned(group(walkers)), SMALLER), folder / "stream.mp4")
    return Exhibit(
        "Without end",
        "Characters simulated frame by frame from one clip, each by its own chance.",
        (Picture("stream.mp4", "Figures walk on a grid of places, none in step with another"),),
        (
            ("modes", f"{model.modes}"),
            ("a frame of 10,000 characters", f"{1e3 * seconds:.1f} ms"),
        ),
        (
            "marey body learn walk.bvh -o walk-motion.mry",
            "marey body stream walk-motion.mry --characters 10000 --seconds 1",
        ),
        ("walk-motion.mry",),
    )
