"""Chapters of the demo on clips of skeletons: loaded, saved and shown, from gait curves or captured."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey import datasets, samples
from marey.body.clean import clean
from marey.body.codec import compress
from marey.body.compare import joint_error
from marey.body.kinematics import forward_kinematics
from marey.body.vary import vary
from marey.demo.dynamics import side_by_side
from marey.demo.exhibit import CLIP_RATE, SMALLER, Exhibit, Picture, timed
from marey.io import load, save
from marey.views import view
from marey.views.pages import write_page


def body(folder: Path) -> Exhibit:
    """A walking human: BVH and GLB out, BVH back in, pictures."""
    walk = samples.walk()
    save(walk, folder / "walk.bvh")
    save(walk, folder / "walk.glb")
    seconds, again = timed(lambda: load(folder / "walk.bvh"))
    moved = np.abs(forward_kinematics(again).positions - forward_kinematics(walk).positions).max()
    view(walk, folder / "walk.png", size=(1280, 480))
    view(walk.between(0, 2.5), folder / "walk.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    write_page(walk, folder / "walk.html", title="A walk")
    return Exhibit(
        "A walk",
        "A walking human, from published gait curves. Any BVH, AMC, glTF or C3D of yours goes the same way.",
        (
            Picture("walk.mp4", "A figure of the skeleton walks from left to right"),
            Picture("walk.png", "Poses along the walk, one beside the other"),
            Picture("walk.html", "The walk in three dimensions"),
        ),
        (
            ("frames", f"{walk.frames}"),
            ("joints", f"{walk.joints}"),
            ("BVH read in", f"{1e3 * seconds:.1f} ms"),
            ("moved by a round trip through BVH", f"{moved * 1e9:.1g} nm at most"),
        ),
        ("marey info walk.bvh", "marey view walk.bvh -o walk.mp4", "marey convert walk.bvh walk.glb"),
        ("walk.bvh", "walk.glb"),
    )


def captured_body(folder: Path) -> Exhibit:
    """A captured clip, and what is left of it within a centimetre."""
    clip, _ = clean(load(datasets.get("cmu-49_06")))
    seconds, small = timed(lambda: compress(clip, max_error=0.01))
    error = joint_error(clip, small.decode())
    save(small, folder / "cartwheel.mry")
    save(clip, folder / "cartwheel.glb")
    view(clip, folder / "cartwheel.png", size=(1280, 480))
    view(clip.between(0, 4), folder / "cartwheel.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    write_page(clip, folder / "cartwheel.html", title="Captured: a cartwheel")
    return Exhibit(
        "Captured: a cartwheel, stored within a centimetre",
        "CMU 49_06. The added T-pose is taken off, and the clip is stored so that no joint is further off "
        "than a centimetre.",
        (
            Picture("cartwheel.mp4", "A figure turns a cartwheel"),
            Picture("cartwheel.png", "Poses along the cartwheel"),
            Picture("cartwheel.html", "The cartwheel in three dimensions"),
        ),
        (
            ("frames", f"{clip.frames} at {clip.frame_rate:.0f} per second"),
            ("stored", f"{small.bytes:,} bytes, 1 : {small.ratio:.0f}"),
            ("joints off", f"{100 * error.mean:.2f} cm on average, {100 * error.maximum:.2f} cm at most"),
            ("compressed in", f"{seconds:.2f} s"),
        ),
        (
            "marey data get cmu-49_06",
            "marey body compress cartwheel.glb cartwheel.mry --max-error 1cm",
            "marey view cartwheel.mry -o cartwheel.mp4",
        ),
        ("cartwheel.mry", "cartwheel.glb"),
    )


def captured_variants(folder: Path) -> Exhibit:
    """A captured walk, and three that never took place."""
    walk, _ = clean(load(datasets.get("cmu-02_01")))
    seconds, made = timed(lambda: vary(walk, count=3, deviation=1.0, rng=1))
    side_by_side(walk, list(made), folder / "captured-variants.mp4")
    save(walk, folder / "captured-walk.bvh")
    for number, variant in enumerate(made, start=1):
        save(variant, folder / f"captured-walk-{number}.bvh")
    return Exhibit(
        "Captured: a walk and three variants of it",
        "CMU 02_01. The walk that was captured is pale; the others are drawn from what was learned of it.",
        (Picture("captured-variants.mp4", "Four figures walk side by side, none quite like another"),),
        (
            ("joints from the example", f"{made.report.deviation_cm:.1f} cm on average"),
            ("sliding of feet, of the example's", f"{made.report.foot_slide_ratio:.2f} times"),
            ("time", f"{1e3 * seconds / 3:.0f} ms a variant"),
        ),
        ("marey body vary captured-walk.bvh -o variants --count 3 --deviation 1",),
        ("captured-walk.bvh", *(f"captured-walk-{number}.bvh" for number in (1, 2, 3))),
    )
