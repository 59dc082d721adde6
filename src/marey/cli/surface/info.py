"""`marey surface info`: what is in a file of sequences, distances, a graph or an animation."""

from pathlib import Path
from typing import Any

from marey.cli._inputs import read
from marey.cli._options import CONVENTION, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command()
def info(
    run: Run,
    source: Path = argument(
        "A mesh sequence, distances, a graph or an animation.", "FILE", role="in", reads=CONVENTION
    ),
    nearest: str | None = option(None, "Also list the most similar poses, one a sequence.", "NAME:FRAME"),
) -> Output:
    """What a file of meshes, distances, a graph or an animation holds.

    Examples:
        marey surface info subject.mry
        marey surface info subject.mry --nearest walk:12
        marey surface info animation.mry --json

    Sequences and labels, distances, transitions, core and dead ends; captured and blended frames.
    """
    from marey.describe import describe
    from marey.statistics.graphs.graph import DistanceMatrix

    data = read(source, run.given)
    facts: dict[str, Any] = {"file": source, **describe(data)}
    if type(data).__name__ == "SurfaceGraph":
        facts |= _graph(data.graph, data.library.frame_rate)
    if type(data).__name__ == "Animation":
        facts |= _origins(data.provenance)
    if nearest is not None:
        distances = getattr(data, "distances", data)
        if not isinstance(distances, DistanceMatrix):
            raise InputError(f"--nearest: {source} holds no distances; give a graph or distances")
        facts["nearest"] = _nearest(distances, nearest)
    return Output(None, facts, timed=False)


def _graph(graph: Any, frame_rate: float) -> dict[str, Any]:
    from marey.statistics.graphs.graph import connectivity

    joined, taken = connectivity(graph), graph.synthetic
    facts: dict[str, Any] = {
        "reachable": round(joined.reachable, 6),
        "core_frames": len(joined.core),
        "entrance_frames": len(joined.entrances),
        "dead_end_frames": len(joined.dead_ends),
    }
    if taken.any():
        steps, deformation = graph.steps[taken], graph.deformation[taken]
        facts["mean_transition_seconds"] = round(float(steps.mean()) / frame_rate, 4)
        facts["mean_transition_distance"] = round(float((deformation / (steps + 1)).mean()), 6)
    return facts


def _origins(provenance: Any) -> dict[str, Any]:
    """How often the animation changes between captured and blended frames, and what it takes from where."""
    import numpy as np

    first = np.concatenate([[0], np.flatnonzero(np.diff(provenance.synthetic)) + 1])
    return {
        "blended_pieces": int(provenance.synthetic[first].sum()),
        "captured_pieces": int((~provenance.synthetic[first]).sum()),
        "different_captured_frames": len(np.unique(provenance.sources[~provenance.synthetic])),
    }


def _nearest(distances: Any, text: str) -> list[dict[str, Any]]:
    import numpy as np

    name, _, digits = text.rpartition(":")
    if name not in distances.names or not digits.isdecimal() or len(digits) > 9:
        raise InputError(
            f"--nearest {text}: write it as NAME:FRAME, with one of {', '.join(distances.names)}"
        )
    which, frame = distances.names.index(name), int(digits)
    frames = int(np.diff(distances.starts)[which])
    if frame >= frames:
        raise InputError(f"--nearest {text}: {name} has {frames} frames, from 0")
    row = distances.values[distances.starts[which] + frame].copy()
    row[distances.starts[which] + frame] = np.inf
    best = [
        int(np.argmin(row[a:b])) for a, b in zip(distances.starts[:-1], distances.starts[1:], strict=True)
    ]
    found = zip(distances.names, best, distances.starts[:-1] + best, strict=True)
    near = sorted((float(row[place]), other, at) for other, at, place in found if np.isfinite(row[place]))
    return [{"name": one, "frame": at, "distance": round(value, 6)} for value, one, at in near[:5]]
