"""Chapters of the demo that load, save and show: a body, a surface, a crowd; made or captured."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey import datasets, samples
from marey.body.kinematics import forward_kinematics
from marey.demo.exhibit import CLIP_RATE, SMALLER, Entry, timed
from marey.io import load, save
from marey.views import view


def body(folder: Path) -> Entry:
    """A walking human: BVH and GLB out, BVH back in, pictures."""
    walk = samples.walk()
    save(walk, folder / "walk.bvh")
    save(walk, folder / "walk.glb")
    seconds, again = timed(lambda: load(folder / "walk.bvh"))
    moved = np.abs(forward_kinematics(again).positions - forward_kinematics(walk).positions).max()
    view(walk, folder / "walk.png")
    view(walk, folder / "walk-angles.png", kind="curves")
    view(walk.between(0, 3), folder / "walk.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    return Entry(
        "A walking human from published gait curves",
        f"{walk.frames} frames, {walk.joints} joints; BVH read in {1e3 * seconds:.1f} ms, "
        f"the round trip moves no joint by more than {moved * 1e6:.2g} µm",
        ("walk.mp4", "walk.png", "walk-angles.png", "walk.bvh", "walk.glb"),
    )


def surface(folder: Path) -> Entry:
    """The same walk as a skinned, textured surface."""
    human = samples.human()
    walk = samples.walk().resample(30)
    character = human.with_motion(walk)
    seconds, performance = timed(lambda: character.pose())
    save(character, folder / "human.glb")
    view(performance, folder / "human.png")
    view(performance.between(0, 3), folder / "human.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    return Entry(
        "The same walk with a skin: a mesh of constant connectivity over time",
        f"{len(human.skin.vertices)} vertices, {performance.frames} frames, "
        f"skinned in {1e3 * seconds / performance.frames:.2f} ms a frame",
        ("human.mp4", "human.png", "human.glb"),
    )


def crowd(folder: Path) -> Entry:
    """Many people."""
    people = samples.crowd()
    save(people, folder / "crowd.csv")
    view(people, folder / "crowd.png")
    view(people.between(0, 4), folder / "crowd.mp4", size=SMALLER)
    speeds = np.linalg.norm(np.diff(people.positions, axis=0), axis=-1) * people.frame_rate
    return Entry(
        "Two streams of people",
        f"{people.agents} people over {people.duration:.0f} s, mean speed {np.nanmean(speeds):.2f} m/s",
        ("crowd.mp4", "crowd.png", "crowd.csv"),
    )


def real_body(folder: Path) -> Entry:
    """A captured clip."""
    clip = load(datasets.get("cmu-49_06"))[1:]
    view(clip, folder / "cartwheel.png")
    view(clip.between(0, 4), folder / "cartwheel.mp4")
    save(clip, folder / "cartwheel.glb")
    return Entry(
        "Captured: a cartwheel (CMU 49_06)",
        f"{clip.frames} frames at {clip.frame_rate:g} per second, {clip.joints} joints",
        ("cartwheel.mp4", "cartwheel.png", "cartwheel.glb"),
    )


def real_surface(folder: Path) -> Entry:
    """A captured performance."""
    dance = load(datasets.get("vlasic-samba"))
    view(dance, folder / "samba.png")
    view(dance, folder / "samba.mp4")
    return Entry(
        "Captured: a samba in 4D (Vlasic et al. 2008)",
        f"{dance.frames} frames of {dance.vertices.shape[1]} vertices",
        ("samba.mp4", "samba.png"),
    )


def real_crowd(folder: Path) -> Entry:
    """Captured pedestrians."""
    people = load(datasets.get("juelich-bottleneck"))
    view(people, folder / "bottleneck.png")
    view(people.between(20, 25), folder / "bottleneck.mp4")
    return Entry(
        "Captured: people at a bottleneck (Jülich)",
        f"{people.agents} people over {people.duration:.0f} s",
        ("bottleneck.mp4", "bottleneck.png"),
    )
