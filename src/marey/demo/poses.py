"""Chapters of the demo on pose models: modes, handles, trackers, compression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from marey import samples
from marey.body.codec import compress
from marey.body.compare import joint_error
from marey.body.ik import PoseSolver, Reach
from marey.body.motion import concatenate
from marey.body.pose_model import PoseModel
from marey.body.reconstruct import reconstruct, travel_direction
from marey.body.trackers import Trackers
from marey.demo.exhibit import CLIP_RATE, SMALLER, Exhibit, Picture, thinned, timed, write_clip
from marey.io import save
from marey.views import shots, style, view
from marey.views.actors import group
from marey.views.pages import write_page

# Metres a second of the walks that pose models are learned from.
WALKING_SPEEDS = (0.9, 1.15, 1.4, 1.65)
FEET = ("LeftToeBase", "RightToeBase")
# Their mean is grey: where both figures agree, neither colour shows.
ORIGINAL, DECODED = "#62bfe0", "#f2a58e"


def modes(folder: Path) -> Exhibit:
    """The pose model of walks: the mean pose, and what each mode does to it."""
    walks = [samples.walk(speed=speed) for speed in WALKING_SPEEDS]
    seconds, model = timed(lambda: PoseModel.fit(walks, variance=0.99))
    error = np.mean([model.joint_errors(walk).mean() for walk in walks])
    save(model, folder / "walk-model.mry")
    view(model.first(3), folder / "modes.png", size=(1280, 440))
    view(model, folder / "modes-variance.png", size=(1280, 440), kind="variance")
    return Exhibit(
        "What walking is made of",
        "The mean pose of four walks, and what each of the first modes does to it.",
        (
            Picture("modes.png", "A row of poses for each of three modes, from one extreme to the other"),
            Picture("modes-variance.png", "The share of the variance that more and more modes hold"),
        ),
        (
            ("modes", f"{model.modes} instead of {3 * model.skeleton.joints - 3} angles"),
            ("variance held", f"{100 * model.variance:.1f} % of {model.frames} poses"),
            ("joints off", f"{100 * error:.2g} cm on average"),
            ("learned in", f"{1e3 * seconds:.0f} ms"),
        ),
        (
            "marey body fit walk.bvh -o walk-model.mry --variance 0.99",
            "marey view walk-model.mry -o modes.png",
        ),
        ("walk-model.mry",),
    )


def handles(folder: Path) -> Exhibit:
    """A pose that follows handles: one foot is led around, the other one and the head stay."""
    walks = [samples.walk(speed=speed) for speed in WALKING_SPEEDS]
    model, start = PoseModel.fit(walks, modes=8), walks[1][20]
    solver = PoseSolver(model, start=start)
    foot, still, head = (start.positions()[0, start.skeleton.index(name)] for name in (*FEET, "Head"))
    turn = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    led = foot + np.stack([0 * turn, 0.14 - 0.14 * np.cos(turn), 0.32 * np.sin(turn)], axis=1)
    posed = [
        solver.solve([Reach(FEET[0], place), Reach(FEET[1], still), Reach("Head", head)]) for place in led
    ]
    followed = concatenate([pose.motion(CLIP_RATE) for pose in posed])
    save(followed, folder / "handles.glb")
    marks = np.stack([led, *(np.broadcast_to(place, led.shape) for place in (still, head))], axis=1)
    # Seen from the side, where the foot goes to and fro.
    seen = replace(group([followed], marks=marks), facing=np.array([0.8, 0.0, 0.6]))
    write_clip(shots.clip(seen, (720, 400)), folder / "handles.mp4")
    write_page(followed, folder / "handles.html", title="Posed by handles")
    return Exhibit(
        "Posed by handles",
        "One foot is led around, the other and the head stay, and the rest of the body follows as in the "
        "walks it was learned from.",
        (
            Picture("handles.mp4", "A figure on one leg swings the other foot around a loop"),
            Picture("handles.html", "The led pose in three dimensions"),
        ),
        (
            ("modes", f"{model.modes}, and a free root"),
            ("targets missed by", f"{max(pose.report.residual_cm for pose in posed):.2g} cm at most"),
            ("time", f"{np.median([pose.report.milliseconds for pose in posed]):.2f} ms a pose"),
        ),
        ("marey body ik walk.bvh -o pose.png --move LeftFoot=0,0.1,0.1 --pin RightFoot --pin Head",),
        ("handles.glb",),
    )


def trackers(folder: Path) -> Exhibit:
    """A walk rebuilt from three trackers, walking behind the truth."""
    walk = samples.walk(2.5, speed=1.3)
    model = PoseModel.fit([samples.walk(speed=speed) for speed in WALKING_SPEEDS], modes=6)
    seen = Trackers.of_motion(walk, [*FEET, "Head_end"], directions=["Head_end"])
    seconds, found = timed(lambda: reconstruct(model, seen))
    off = 100 * np.linalg.norm(found.positions() - walk.positions(), axis=2)
    save(found, folder / "rebuilt.bvh")
    behind = -0.95 * travel_direction(walk)
    marks = np.concatenate([seen.positions, seen.positions + behind], axis=1)
    rebuilt = group([walk, found], colours=[style.CLAY, None], shifts=[np.zeros(3), behind], marks=marks)
    write_clip(shots.clip(thinned(rebuilt), SMALLER), folder / "rebuilt.mp4")
    return Exhibit(
        "A body from three trackers",
        "Feet and head of the pale walker ahead move the one behind. No walk of this speed was learned from.",
        (Picture("rebuilt.mp4", "A walker, and behind it the same walk, rebuilt from three points"),),
        (
            ("joints off", f"{off.mean():.1f} cm on average, {off.max():.1f} cm at most"),
            ("time", f"{1e3 * seconds / walk.frames:.2f} ms a frame"),
        ),
        ("marey body reconstruct walk.bvh -o rebuilt.bvh --model walk-model.mry",),
        ("rebuilt.bvh",),
    )


def compression(folder: Path) -> Exhibit:
    """A clip within 1 cm: the original and what was stored, through each other."""
    walk = samples.walk(2.5)
    small = compress(walk, max_error=0.01)
    save(small, folder / "walk-1cm.mry")
    save(walk, folder / "walk-original.bvh")
    seconds, again = timed(small.decode)
    error, text = joint_error(walk, again), (folder / "walk-original.bvh").stat().st_size
    true, stored = group([walk], colours=[ORIGINAL]), group([again], colours=[DECODED])
    images = shots.clip(thinned(true), SMALLER, also=thinned(stored))
    write_clip(images, folder / "walk-1cm.mp4")
    return Exhibit(
        f"A clip in {small.bytes:,} bytes",
        "Original (blue) and decoded (orange), through each other: grey where they agree.",
        (Picture("walk-1cm.mp4", "Two walkers in the same place, hardly to be told apart"),),
        (
            ("channels", f"{small.raw_bytes:,} bytes, as BVH {text:,}"),
            ("stored", f"{small.bytes:,} bytes, 1 : {small.ratio:.0f}"),
            ("joints off", f"{100 * error.mean:.2f} cm on average, {100 * error.maximum:.2f} cm at most"),
            ("decoded in", f"{1e6 * seconds / walk.frames:.0f} µs a frame"),
        ),
        (
            "marey body compress walk-original.bvh walk-1cm.mry --max-error 1cm",
            "marey body decompress walk-1cm.mry part.bvh --frames 10:40",
        ),
        ("walk-1cm.mry", "walk-original.bvh"),
    )
