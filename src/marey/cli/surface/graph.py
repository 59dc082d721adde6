"""`marey surface graph`: which transitions between captured sequences are worth taking."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from marey.cli._console import stage, warn
from marey.cli._inputs import library as load_library
from marey.cli._inputs import read
from marey.cli._options import OF_MESHES, Distances, Figure, FrameRange, Out, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import FormatError, InputError


@command(writes="SurfaceGraph", reports="frames, edges, density, mean_cost, motion_graph_mean_cost")
def graph(
    run: Run,
    sources: list[Path] = argument(
        "Mesh sequences or clips of one subject, or one GRAPH.mry.", "SEQ…", role="in", reads=OF_MESHES
    ),
    out: Out = option(..., "Sequences, distances and graph.", "GRAPH.mry"),
    alpha: float = option(
        0.01,
        "Deformation, in radians, accepted to save a frame. 0.01, as published for animation, stays close "
        "to what was captured; 0.2 answers fast, with more and shorter transitions.",
        "A",
        min=0,
    ),
    method: Literal["essential", "motion"] = option(
        "essential", "essential: every transition on a cheapest path; motion: local minima.", "METHOD"
    ),
    distances: Distances | None = option(None, "Of `marey surface distance`, not made again.", "D.npz"),
    labels: str | None = option(
        None, "What sequences show: walk2=walk,sprint=run, or a .json file of such pairs.", "L"
    ),
    windows: FrameRange | None = option(
        None, "Transitions of A to B frames; 0.3 to 2 seconds if not given.", "A:B"
    ),
    slope: int | None = option(None, "At most P frames of one side pass for one of the other; 3.", "P"),
    short_ends: bool = option(False, "Abrupt transitions where sequences begin or end: fewer dead ends."),
    triangles: int | None = option(None, "Compare poses by N triangles, not by all.", "N", min=1),
    figure: Figure = None,
) -> Output:
    """Find the transitions worth taking between captured sequences.

    Examples:
        marey surface graph walk.npz run.npz jump.npz -o subject.mry
        marey surface graph *.glb -o subject.mry --alpha 0.05 --figure graph.png
        marey surface graph walk.bvh run.bvh -o subject.mry --vertices 2000
        marey surface graph subject.mry -o faster.mry --alpha 0.2
        marey surface graph sample -o subject.mry              the built-in subject
        marey surface graph walk.npz walk2.npz -o s.mry --distances poses.npz --labels walk2=walk

    For `marey surface animate`. Costs are means over all pairs of frames that can be reached, beside those of
    the motion graph. Frames in dead ends cannot lead on; animations begin and end in the core.
    """
    from marey.statistics.graphs.build import essential_graph, motion_graph
    from marey.statistics.graphs.graph import MotionGraph, Windows
    from marey.statistics.graphs.transitions import table
    from marey.statistics.graphs.walks import compare, shortest_costs
    from marey.surface.distances import distances as pose_distances
    from marey.surface.synthesis.animate import SurfaceGraph

    given = run.given
    known: Any
    whole = read(sources[0], {}) if len(sources) == 1 and sources[0].suffix.lower() == ".mry" else None
    if isinstance(whole, SurfaceGraph):
        if any(value is not None for value in given.values()):
            raise InputError(
                f"{sources[0]}: is a graph; --character, --vertices and --from-… are for sequences"
            )
        library, known, usual = whole.library, distances or whole.distances, whole.graph.windows
    else:
        library, known = load_library(sources, given), distances
        usual = Windows.at(library.frame_rate)
    if known is not None and triangles is not None:
        raise InputError("--triangles: for distances to be made; these poses have been compared")
    if labels is not None:
        library = replace(library, labels=_labels(labels, library))
    chosen = usual if slope is None else replace(usual, slope=slope)
    if windows is not None:
        if windows.start is None or windows.stop is None or min(windows.start, windows.stop) < 0:
            raise InputError("--windows: write the fewest and the most frames as A:B, e.g. 9:60")
        chosen = Windows(windows.start, windows.stop, chosen.slope)
    seconds: dict[str, float] = {}
    if known is None:
        with stage("comparing poses") as comparing:
            known = pose_distances(library, triangles=triangles, progress=comparing)
        seconds["distances"] = round(comparing.seconds, 4)
    # Without transitions it costs nothing to see whether all are of the same sequences.
    subject = SurfaceGraph(library, known, MotionGraph.chains(library.starts, alpha=alpha, windows=chosen))
    with stage("finding transitions") as finding:
        ends: Any = "short" if short_ends else "strict"
        found = table(known, windows=chosen, alpha=alpha, ends=ends, progress=finding)
    with stage("building the graph") as building:
        baseline = motion_graph(found, alpha=alpha)
        best = baseline if method == "motion" else essential_graph(found, alpha=alpha, progress=building)
    subject = replace(subject, graph=best)
    _warn_about_windows(subject)
    with stage("comparing graphs") as costing:
        plain = shortest_costs(baseline, progress=costing)
        costs = plain if method == "motion" else shortest_costs(best, progress=costing)
        compared = compare(costs, plain)
    stages = (("transitions", finding), ("graph", building), ("costs", costing))
    seconds |= {name: round(one.seconds, 4) for name, one in stages}
    report = {**_report(subject, compared), "seconds": seconds}
    return Output(subject, report, ("graph_picture", best, library.names))


def _warn_about_windows(subject: Any) -> None:
    shortest, taken = subject.graph.windows.shortest, subject.graph.synthetic.any()
    if not taken:
        warn(
            f"there is no transition: windows of {shortest} frames or more must fit into both sequences; "
            "--windows A:B allows shorter ones"
        )
    short = [one.name for one in subject.library.sequences if one.frames < shortest]
    if short and taken:
        warn(
            f"no transition enters or leaves {', '.join(short)}: shorter than windows of {shortest} frames; "
            "--windows A:B allows shorter ones"
        )


def _report(subject: Any, compared: Any) -> dict[str, Any]:
    from marey.statistics.graphs.graph import connectivity

    graph = subject.graph
    joined = connectivity(graph)
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
        "reachable": round(joined.reachable, 6),
        "core_frames": len(joined.core),
        "entrance_frames": len(joined.entrances),
        "dead_end_frames": len(joined.dead_ends),
    }


def _labels(text: str, library: Any) -> tuple[str, ...]:
    """A label for every sequence, from `name=label,…` or a JSON file of them; others keep theirs."""
    if text.lower().endswith(".json"):
        from marey.io._files import read_bytes

        try:
            pairs = json.loads(read_bytes(Path(text)))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}", path=text) from None
        if not isinstance(pairs, dict) or not all(isinstance(one, str) and one for one in pairs.values()):
            raise FormatError('expected names and labels, e.g. {"walk2": "walk"}', path=text)
    else:
        parts = [[piece.strip() for piece in part.split("=")] for part in text.split(",")]
        if not all(len(part) == 2 and all(part) for part in parts):
            raise InputError(f"--labels {text}: write name=label, separated by commas, or name a .json file")
        pairs = dict(parts)
    for name in pairs:
        if name not in library.names:
            raise InputError(f"--labels: there is no sequence {name!r}; there are {', '.join(library.names)}")
    return tuple(pairs.get(name, label) for name, label in zip(library.names, library.labels, strict=True))
