"""`marey surface graph`: which transitions between captured sequences are worth taking."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

from marey.cli._console import warn
from marey.cli._inputs import Given, read
from marey.cli._inputs import library as load_library
from marey.cli._options import OF_MESHES, Distances, Figure, FrameRange, Out, Triangles, argument, option
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
    triangles: Triangles = None,
    figure: Figure = None,
) -> Output:
    """Find the transitions worth taking between captured sequences.

    Examples:
        marey surface graph walk.npz run.npz jump.npz -o subject.mry
        marey surface graph *.glb -o subject.mry --alpha 0.05 --figure graph.png
        marey surface graph walk.bvh run.bvh -o subject.mry --vertices 2000
        marey surface graph subject.mry -o faster.mry --alpha 0.2
        marey surface graph sample:library -o subject.mry              the built-in subject
        marey surface graph walk.npz walk2.npz -o s.mry --distances poses.npz --labels walk2=walk

    For `marey surface animate`. Costs are means over all pairs of frames that can be reached, beside those of
    the motion graph. Frames in dead ends cannot lead on; animations begin and end in the core.
    """
    from marey.statistics.graphs.graph import Windows
    from marey.surface.synthesis.animate import SurfaceGraph, built
    from marey.surface.synthesis.info import graph_report, labelled, unused

    given = run.given
    whole = read(sources[0], Given()) if len(sources) == 1 and sources[0].suffix.lower() == ".mry" else None
    if isinstance(whole, SurfaceGraph):
        if given != Given():
            raise InputError(
                f"{sources[0]}: is a graph; --character, --vertices and --from-… are for sequences"
            )
        library, chosen = whole.library, whole.graph.windows
        distances = distances or whole.distances
    else:
        library = load_library(sources, given)
        chosen = Windows.at(library.frame_rate)
    if labels is not None:
        library = labelled(library, _labels(labels))
    if slope is not None:
        chosen = replace(chosen, slope=slope)
    if windows is not None:
        if windows.start is None or windows.stop is None or min(windows.start, windows.stop) < 0:
            raise InputError("--windows: write the fewest and the most frames as A:B, e.g. 9:60")
        chosen = Windows(windows.start, windows.stop, chosen.slope)
    ends = "short" if short_ends else "strict"
    options = {"distances": distances, "windows": chosen, "ends": ends}
    subject, baseline = run.call("building the graph", built, library, **options)
    seconds = {"graph": round(run.seconds, 4)}
    if lost := unused(subject):
        warn(f"{lost}; --windows A:B allows shorter ones")
    report = run.call("comparing graphs", graph_report, subject, baseline)
    seconds["costs"] = round(run.seconds, 4)
    return Output(subject, {**report, "seconds": seconds}, ("graph_picture", subject.graph, library.names))


def _labels(text: str) -> dict[str, str]:
    """Labels by name of the sequence, from `name=label,…` or a JSON file of them."""
    if text.lower().endswith(".json"):
        from marey.io._files import read_bytes

        try:
            pairs = json.loads(read_bytes(Path(text)))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}", path=text) from None
        if not isinstance(pairs, dict) or not all(isinstance(one, str) and one for one in pairs.values()):
            raise FormatError('expected names and labels, e.g. {"walk2": "walk"}', path=text)
        return pairs
    parts = [[piece.strip() for piece in part.split("=")] for part in text.split(",")]
    if not all(len(part) == 2 and all(part) for part in parts):
        raise InputError(f"--labels {text}: write name=label, separated by commas, or name a .json file")
    return dict(parts)
