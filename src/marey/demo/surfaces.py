"""Chapters of the demo with surfaces: sequences organised, and a subject that walks where it is told."""

from __future__ import annotations

import time
from pathlib import Path

from marey import samples, surface
from marey.demo.exhibit import CLIP_RATE, SMALLER, Entry
from marey.io import load, save
from marey.surface.distances import distances
from marey.surface.synthesis.curves import figure_eight
from marey.views import animations, graph_pictures, plots, view

TRIANGLES = 300
"""Sampled for the demo's distances; a subject of one's own takes all of them."""


def organised(folder: Path) -> Entry:
    """A few captured sequences, and the graph of the best ways between all their frames."""
    library = samples.locomotion(vertices=800)
    start = time.perf_counter()
    repertoire = surface.graph(library, alpha=0.02, distances=distances(library, triangles=TRIANGLES))
    seconds = time.perf_counter() - start
    save(repertoire, folder / "subject.mry")
    graph = repertoire.graph
    plots.save(graph_pictures.graph_picture(graph, library.names), folder / "graph.png")
    return Entry(
        "Organised: which captured frames lead to which others",
        f"{library.frames} frames of {len(library)} sequences, {int(graph.synthetic.sum()):,} transitions "
        f"worth taking of {library.frames * (library.frames - 1):,} possible ones, found in {seconds:.0f} s",
        ("graph.png", "subject.mry"),
    )


def directed(folder: Path) -> Entry:
    """The subject walks a figure-eight."""
    curve = figure_eight(2.0)
    repertoire = load(folder / "subject.mry")
    start = time.perf_counter()
    made = repertoire.animate(path=curve, width=60)
    seconds = time.perf_counter() - start
    sequence = made.animation.sequence
    save(sequence, folder / "eight.glb", max_error=0.001)
    plots.save(animations.plan(made.animation, curve=curve.points[:, 0::2]), folder / "eight.png")
    view(made.animation, folder / "eight.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    captured = made.animation.provenance.captured_frames
    sliding = 100 * made.foot_slide.animation.speed
    return Entry(
        "Directed: captured frames (green) and blends (red) along a path that was never walked",
        f"{sequence.frames} frames in {seconds:.0f} s, {captured} of them captured; the body is "
        f"{100 * made.followed.path_error:.0f} cm off the path in the mean, and feet on the ground slide by "
        f"{sliding:.1f} cm a second, in the captured frames {100 * made.foot_slide.captured:.1f}",
        ("eight.mp4", "eight.png", "eight.glb"),
    )
