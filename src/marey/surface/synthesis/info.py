"""What graphs, animations and distances hold beyond their facts: `marey surface info`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from marey._work import Progress
from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, connectivity
from marey.statistics.graphs.walks import compare, shortest_costs
from marey.surface.sequence import Library
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, Provenance


def info(data: object, *, nearest: str | None = None) -> dict[str, object]:
    """Where a graph leads, what an animation takes from where, and poses like a given one.

    Args:
        data: A graph, an animation, or distances; nothing is added for others.
        nearest: `NAME:FRAME`; also list the most similar poses, one a sequence.

    >>> import marey
    >>> apart = marey.surface.distance(marey.samples.mesh_library(vertices=300))
    >>> info(apart, nearest="walk:3")["nearest"][0]["name"]
    'walk'
    """
    facts: dict[str, object] = {}
    if isinstance(data, SurfaceGraph):
        facts |= reach_facts(data.graph)
        taken = data.graph.synthetic
        if taken.any():
            steps, deformation = data.graph.steps[taken], data.graph.deformation[taken]
            facts["mean_transition_seconds"] = round(float(steps.mean()) / data.library.frame_rate, 4)
            facts["mean_transition_distance"] = round(float((deformation / (steps + 1)).mean()), 6)
    if isinstance(data, Animation):
        facts |= _origins(data.provenance)
    if nearest is not None:
        distances = data.distances if isinstance(data, SurfaceGraph) else data
        if not isinstance(distances, DistanceMatrix):
            raise InputError("nearest: it holds no distances; give a graph or distances")
        facts["nearest"] = _nearest(distances, nearest)
    return facts


def reach_facts(graph: MotionGraph) -> dict[str, object]:
    """Which frames of a graph lead on."""
    joined = connectivity(graph)
    return {
        "reachable": round(joined.reachable, 6),
        "core_frames": len(joined.core),
        "entrance_frames": len(joined.entrances),
        "dead_end_frames": len(joined.dead_ends),
    }


def graph_report(
    subject: SurfaceGraph, baseline: MotionGraph, *, progress: Progress | None = None
) -> dict[str, object]:
    """How much cheaper a graph leads from frame to frame than the motion graph of the same transitions.

    Costs are means over all pairs of frames that can be reached.
    """
    graph = subject.graph
    plain = shortest_costs(baseline, progress=progress)
    costs = plain if graph is baseline else shortest_costs(graph, progress=progress)
    compared = compare(costs, plain)
    return {
        "frames": graph.frames,
        "sequences": len(subject.library),
        "edges": graph.edges,
        "transitions": int(graph.synthetic.sum()),
        "density": round(graph.density, 6),
        "kind": graph.kind,
        "alpha": graph.alpha,
        "windows": [graph.windows.shortest, graph.windows.longest],
        "mean_cost": round(compared.mean, 6),
        "motion_graph_mean_cost": round(compared.baseline_mean, 6),
        "gain": round(compared.gain, 6),
        **reach_facts(graph),
    }


def unused(subject: SurfaceGraph) -> str | None:
    """Which sequences no transition enters or leaves because they are too short, in a sentence."""
    shortest, taken = subject.graph.windows.shortest, subject.graph.synthetic.any()
    short = [one.name for one in subject.library.sequences if one.frames < shortest]
    if not taken:
        return f"there is no transition: windows of {shortest} frames or more must fit into both sequences"
    if not short:
        return None
    return f"no transition enters or leaves {', '.join(short)}: shorter than windows of {shortest} frames"


def labelled(library: Library, labels: Mapping[str, str]) -> Library:
    """The library with other labels of some sequences, by their names."""
    for name in labels:
        if name not in library.names:
            raise InputError(f"labels: there is no sequence {name!r}; there are {', '.join(library.names)}")
    own = zip(library.names, library.labels, strict=True)
    return replace(library, labels=tuple(labels.get(name, label) for name, label in own))


def _origins(provenance: Provenance) -> dict[str, object]:
    """How often the animation changes between captured and blended frames, and what it takes from where."""
    first = np.concatenate([[0], np.flatnonzero(np.diff(provenance.synthetic)) + 1])
    return {
        "blended_pieces": int(provenance.synthetic[first].sum()),
        "captured_pieces": int((~provenance.synthetic[first]).sum()),
        "different_captured_frames": len(np.unique(provenance.sources[~provenance.synthetic])),
    }


def _nearest(distances: DistanceMatrix, text: str) -> list[dict[str, object]]:
    name, _, digits = text.rpartition(":")
    if name not in distances.names or not digits.isdecimal() or len(digits) > 9:
        raise InputError(f"nearest {text}: write it as NAME:FRAME, with one of {', '.join(distances.names)}")
    which, frame = distances.names.index(name), int(digits)
    frames = int(np.diff(distances.starts)[which])
    if frame >= frames:
        raise InputError(f"nearest {text}: {name} has {frames} frames, from 0")
    starts = distances.starts
    row = distances.values[starts[which] + frame].copy()
    row[starts[which] + frame] = np.inf
    best = [int(np.argmin(row[a:b])) for a, b in pairwise(starts)]
    found = zip(distances.names, best, starts[:-1] + best, strict=True)
    near = sorted((float(row[place]), other, at) for other, at, place in found if np.isfinite(row[place]))
    return [{"name": one, "frame": at, "distance": round(value, 6)} for value, one, at in near[:5]]
