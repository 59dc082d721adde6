"""`marey surface info`: what is in a file of sequences, distances, a graph or an animation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.cli._typer import Json, Rate, Unit, Up, emit, load_with_bar
from marey.describe import describe
from marey.errors import InputError
from marey.statistics.graphs.graph import MotionGraph, connectivity
from marey.surface.distances import DistanceMatrix
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, Provenance

NAME = "info"

COUNT = 5


def run(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A mesh sequence, distances, a graph or an animation.")
    ],
    nearest: Annotated[
        str | None,
        typer.Option(metavar="NAME:FRAME", help="Also list the poses most alike, one a sequence."),
    ] = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """What a file of meshes, distances, a graph or an animation holds.

    [bold]Examples[/bold]

    marey surface info subject.mry

    marey surface info subject.mry --nearest walk:12

    marey surface info animation.mry --json
    """
    thing = load_with_bar(source, clip=None, unit=from_unit, up=from_up, frame_rate=from_frame_rate)
    facts = describe(thing)
    if isinstance(thing, SurfaceGraph):
        facts |= _graph(thing.graph, thing.library.frame_rate)
    if isinstance(thing, Animation):
        facts |= _origins(thing.provenance)
    if nearest is not None:
        distances = thing.distances if isinstance(thing, SurfaceGraph) else thing
        if not isinstance(distances, DistanceMatrix):
            raise InputError(f"--nearest: {source} holds no distances; give a graph or distances")
        facts["nearest"] = _nearest(distances, nearest)
    emit({"file": str(source), **facts}, as_json=json)


def _graph(graph: MotionGraph, frame_rate: float) -> dict[str, Any]:
    joined = connectivity(graph)
    taken = graph.synthetic
    told: dict[str, Any] = {
        "reachable": round(joined.reachable, 6),
        "core_frames": len(joined.core),
        "entrance_frames": len(joined.entrances),
        "dead_end_frames": len(joined.dead_ends),
    }
    if taken.any():
        steps, deformation = graph.steps[taken], graph.deformation[taken]
        told["mean_transition_seconds"] = round(float(steps.mean()) / frame_rate, 4)
        told["mean_transition_distance"] = round(float((deformation / (steps + 1)).mean()), 6)
    return told


def _origins(provenance: Provenance) -> dict[str, Any]:
    """How often the animation changes between captured and blended frames, and what it takes from where."""
    changes = np.flatnonzero(np.diff(provenance.synthetic))
    first = np.concatenate([[0], changes + 1])
    captured = provenance.sources[~provenance.synthetic]
    return {
        "blended_pieces": int(provenance.synthetic[first].sum()),
        "captured_pieces": int((~provenance.synthetic[first]).sum()),
        "different_captured_frames": len(np.unique(captured)),
    }


def _nearest(distances: DistanceMatrix, text: str) -> list[dict[str, Any]]:
    name, _, digits = text.rpartition(":")
    if name not in distances.names or not digits.isdecimal() or len(digits) > 9:
        raise InputError(
            f"--nearest {text}: write it as NAME:FRAME, with one of {', '.join(distances.names)}"
        )
    which, frame = distances.names.index(name), int(digits)
    lengths = np.diff(distances.starts)
    if frame >= lengths[which]:
        raise InputError(f"--nearest {text}: {name} has {lengths[which]} frames, from 0")
    row = distances.values[distances.starts[which] + frame].copy()
    row[distances.starts[which] + frame] = np.inf
    found = []
    for other, (start, end) in enumerate(zip(distances.starts[:-1], distances.starts[1:], strict=True)):
        best = int(np.argmin(row[start:end]))
        if np.isfinite(row[start + best]):
            found.append((float(row[start + best]), distances.names[other], best))
    return [
        {"name": name, "frame": best, "distance": round(value, 6)}
        for value, name, best in sorted(found)[:COUNT]
    ]
