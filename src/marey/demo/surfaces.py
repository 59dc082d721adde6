"""Chapters of the demo with surfaces: a skin, sequences organised, a subject that walks where it is told."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from marey import datasets, samples
from marey import surface as surfaces
from marey.demo.exhibit import CLIP_RATE, SMALLER, Exhibit, Picture, timed
from marey.geometry.planar import figure_eight
from marey.io import load, save
from marey.surface.distances import distances
from marey.surface.interpolation import interpolate
from marey.surface.sequence import MeshSequence
from marey.views import figures, style, view
from marey.views.pages import write_page

TRIANGLES = 300
"""Sampled for the demo's distances; a subject of one's own takes all of them."""


def surface(folder: Path) -> Exhibit:
    """The walk as a skinned, textured surface."""
    human = samples.human()
    walk = samples.walk().resample(30)
    character = human.with_motion(walk)
    seconds, performance = timed(lambda: character.pose())
    save(character, folder / "human.glb")
    view(performance, folder / "human.png", size=(1280, 480))
    view(performance.between(0, 2.5), folder / "human.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    write_page(character, folder / "human.html", title="A walk with a skin")
    return Exhibit(
        "The walk with a skin",
        "A mesh of constant connectivity over time, as a 4D capture gives it. The human is built in.",
        (
            Picture("human.mp4", "A clothed human walks from left to right"),
            Picture("human.png", "The human's poses along the walk"),
            Picture("human.html", "The walking human in three dimensions"),
        ),
        (
            ("vertices", f"{len(human.skin.vertices):,}"),
            ("frames", f"{performance.frames}"),
            ("skinned in", f"{1e3 * seconds / performance.frames:.2f} ms a frame"),
        ),
        ("marey surface skin walk.bvh -o skinned.npz", "marey view human.glb -o human.mp4"),
        ("human.glb",),
    )


def organised(folder: Path) -> Exhibit:
    """A few captured sequences, and the graph of the best ways between all their frames."""
    library = samples.mesh_library(vertices=800)
    start = time.perf_counter()
    subject = surfaces.graph(library, alpha=0.02, distances=distances(library, triangles=TRIANGLES))
    seconds = time.perf_counter() - start
    save(subject, folder / "subject.mry")
    graph = subject.graph
    picture = figures.graph_picture(graph, library.names, size=(1280, 560))
    style.save(picture, folder / "graph.png")
    return Exhibit(
        "Which captured frames lead to which others",
        "A few sequences of one subject, and the graph of the best ways between all their frames.",
        (Picture("graph.png", "Sequences as lines, transitions between them as arcs"),),
        (
            ("captured", f"{library.frames} frames of {len(library)} sequences"),
            ("transitions worth taking", f"{int(graph.synthetic.sum()):,}"),
            ("of possible ones", f"{library.frames * (library.frames - 1):,}"),
            ("found in", f"{seconds:.1f} s"),
        ),
        (
            f"marey surface graph sample -o subject.mry --vertices 800 --alpha 0.02 --triangles {TRIANGLES}",
            "marey view subject.mry -o graph.png",
        ),
        ("subject.mry",),
    )


def directed(folder: Path) -> Exhibit:
    """The subject walks a figure-eight."""
    curve = figure_eight(2.0)
    subject = load(folder / "subject.mry")
    np.savetxt(
        folder / "eight.csv", curve.points[::4, 0::2], "%.3f", delimiter=",", header="x,z", comments=""
    )
    start = time.perf_counter()
    made = subject.animate(path=curve, width=60)
    seconds = time.perf_counter() - start
    sequence = made.sequence
    save(sequence, folder / "eight.glb", max_error=0.001)
    plan = figures.path_from_above(made, curve=curve.points[:, 0::2], size=(960, 720))
    style.save(plan, folder / "eight.png")
    view(made, folder / "eight.mp4", size=SMALLER, frame_rate=CLIP_RATE)
    write_page(made, folder / "eight.html", title="A path that was never walked")
    return Exhibit(
        "A path that was never walked",
        "The subject follows a figure-eight: captured frames in green, blends between them in red.",
        (
            Picture("eight.mp4", "A human walks a figure-eight, green and for moments red"),
            Picture("eight.png", "The path from above, and what was walked"),
            Picture("eight.html", "The walked figure-eight in three dimensions"),
        ),
        (
            ("frames", f"{sequence.frames}, {made.provenance.captured_frames} of them captured"),
            ("off the path", f"{100 * made.report.path_error:.0f} cm on average"),
            (
                "standing feet slide at",
                f"{100 * made.report.foot_skate:.1f} cm/s, when captured "
                f"{100 * made.report.captured_foot_skate:.1f} cm/s",
            ),
            ("time", f"{seconds:.1f} s"),
        ),
        ("marey surface animate subject.mry -o eight.glb --path eight.csv",),
        ("eight.glb", "eight.csv"),
    )


def captured_surface(folder: Path) -> Exhibit:
    """A captured performance: which poses are alike, and a way between two that are not."""
    dance = load(datasets.get("vlasic-samba"))
    start = time.perf_counter()
    apart = distances(surfaces.Library((dance,)), triangles=2000)
    seconds = time.perf_counter() - start
    first, last = (int(i) for i in np.unravel_index(int(np.argmax(apart.values)), apart.values.shape))
    ends = dance.vertices[first], dance.vertices[last]
    each, way = timed(lambda: interpolate(*ends, dance.faces, np.linspace(0, 1, 5)))
    view(dance, folder / "samba.png", size=(1280, 480))
    view(dance, folder / "samba.mp4", size=SMALLER)
    view(apart, folder / "samba-distances.png", size=(960, 720))
    aside = np.linspace(0, 4, 5)[:, None, None] * [1.0, 0.0, 0.0]
    between = MeshSequence(way + aside.astype(way.dtype), dance.faces, 5.0)
    save(between, folder / "samba-between.glb")
    save(dance, folder / "samba.npz")
    view(between, folder / "samba-between.png", size=(1280, 480))
    return Exhibit(
        "Captured: a samba in 4D",
        "Vlasic et al. 2008. Which of its poses are alike, and the way between the two that are least.",
        (
            Picture("samba.mp4", "A captured dancer"),
            Picture("samba.png", "The dancer's poses one beside the other"),
            Picture("samba-distances.png", "Distances of all pairs of poses as a map"),
            Picture("samba-between.png", f"From pose {first} to pose {last} in five steps"),
        ),
        (
            ("captured", f"{dance.frames} frames of {dance.vertices.shape[1]:,} vertices"),
            ("all distances in", f"{seconds:.1f} s"),
            ("largest distance", f"{apart.values.max():.2f} rad, of poses {first} and {last}"),
            ("five poses between in", f"{1e3 * each:.0f} ms"),
        ),
        (
            "marey surface distance samba.npz -o poses.npz --triangles 2000 --figure samba-distances.png",
            f"marey surface interpolate samba.npz:{first} samba.npz:{last} between.glb --count 30",
        ),
        ("samba.npz", "samba-between.glb"),
    )
