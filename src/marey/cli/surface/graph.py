"""`marey surface graph`: which transitions between captured sequences are worth taking."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from marey._progress import Progress
from marey.cli._typer import (
    Json,
    Rate,
    Unit,
    Up,
    check_apart,
    check_folder,
    emit,
    load_with_bar,
    note,
    progress_bar,
)
from marey.cli.surface._inputs import Vertices, Wearer, load_library
from marey.cli.surface._labels import parse_labels
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.statistics.graphs.build import essential_graph, motion_graph
from marey.statistics.graphs.graph import MotionGraph, connectivity
from marey.statistics.graphs.shortest import CostComparison, compare, shortest_costs
from marey.statistics.graphs.transitions import Ends, Windows, table
from marey.surface.distances import DistanceMatrix, distances
from marey.surface.library import Library
from marey.surface.synthesis.animate import SurfaceGraph

NAME = "graph"

KINDS = ("essential", "motion")
PICTURES = (".png", ".svg", ".pdf")


def run(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SEQ…", help="Mesh sequences or clips of one subject, or one GRAPH.mry."),
    ],
    target: Annotated[
        Path, typer.Option("--output", "-o", metavar="GRAPH.mry", help="Sequences, distances and graph.")
    ],
    alpha: Annotated[
        float,
        typer.Option(
            metavar="A",
            help="Deformation, in radians, accepted to save a frame. 0.01, what the source animates with, "
            "stays close to what was captured; 0.2 answers fast, with more and shorter transitions.",
        ),
    ] = 0.01,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="essential: all that is on some best way; motion: locally best transitions."
        ),
    ] = "essential",
    distances_file: Annotated[
        Path | None,
        typer.Option("--distances", metavar="D.npz", help="Of `marey surface distance`, not made again."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="L", help="What sequences show: walk2=walk,sprint=run, or a .json file of such pairs."
        ),
    ] = None,
    windows: Annotated[
        str | None,
        typer.Option(metavar="A:B", help="Transitions of A to B frames; 0.3 to 2 seconds if not given."),
    ] = None,
    slope: Annotated[
        int | None,
        typer.Option(metavar="P", help="At most P frames of one side pass for one of the other; 3."),
    ] = None,
    short_ends: Annotated[
        bool,
        typer.Option(
            "--short-ends",
            help="Abrupt transitions where sequences begin or end: fewer dead ends.",
        ),
    ] = False,
    triangles: Annotated[
        int | None, typer.Option(metavar="N", help="Compare poses by N triangles, not by all.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="G.png", help="Also draw the graph: .png, .svg or .pdf.")
    ] = None,
    character: Wearer = None,
    vertices: Vertices = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """Find the transitions worth taking between captured sequences.

    [bold]Examples[/bold]

    marey surface graph walk.npz run.npz jump.npz -o subject.mry

    marey surface graph *.glb -o subject.mry --alpha 0.05 --picture graph.png

    marey surface graph walk.bvh run.bvh -o subject.mry --vertices 2000

    marey surface graph subject.mry -o faster.mry --alpha 0.2

    marey surface graph sample -o subject.mry              the built-in subject

    marey surface graph walk.npz walk2.npz -o s.mry --distances poses.npz --labels walk2=walk

    Costs are means over all pairs of frames that can be reached, beside those of the motion graph. Frames in
    dead ends cannot lead on; animations begin and end in the core.
    """
    _check(sources, target, kind, triangles, picture)
    if not 0 <= alpha < float("inf"):
        raise InputError(f"--alpha {alpha}: the price of a frame of time is 0 or more")
    seconds: dict[str, float] = {}
    library, known, before = _inputs(
        sources,
        distances_file,
        {
            "character": character,
            "vertices": vertices,
            "unit": from_unit,
            "up": from_up,
            "frame_rate": from_frame_rate,
        },
    )
    if known is not None and triangles is not None:
        raise InputError("--triangles: for distances to be made; these poses have been compared")
    if labels is not None:
        library = replace(library, labels=parse_labels(labels, library))
    chosen = _windows(windows, slope, before or Windows.at(library.frame_rate))
    if known is None:
        with _stage("comparing poses", "distances", seconds) as progress:
            known = distances(library, triangles=triangles, progress=progress)
    # Without transitions it costs nothing to see whether all are of the same sequences.
    subject = SurfaceGraph(library, known, MotionGraph.chains(library.starts, alpha=alpha, windows=chosen))
    subject, baseline = _graphs(subject, kind, "short" if short_ends else "strict", seconds)
    with _stage("comparing graphs", "costs", seconds) as progress:
        baseline_costs = shortest_costs(baseline, progress=progress)
        costs = baseline_costs if kind == "motion" else shortest_costs(subject.graph, progress=progress)
        compared = compare(costs, baseline_costs)
    save(subject, target)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.graph_picture(subject.graph, library.names), picture)
    files = [str(path) for path in (target, picture) if path is not None]
    emit({**_facts(subject, compared), "seconds": seconds, "files": files}, as_json=json)


def _graphs(
    subject: SurfaceGraph, kind: str, ends: Ends, seconds: dict[str, float]
) -> tuple[SurfaceGraph, MotionGraph]:
    """With the graph that was asked for, and the motion graph."""
    alpha, windows = subject.graph.alpha, subject.graph.windows
    with _stage("finding transitions", "transitions", seconds) as progress:
        found = table(subject.distances, windows=windows, alpha=alpha, ends=ends, progress=progress)
    with _stage("building the graph", "graph", seconds) as progress:
        baseline = motion_graph(found, alpha=alpha)
        chosen = baseline if kind == "motion" else essential_graph(found, alpha=alpha, progress=progress)
    if not chosen.synthetic.any():
        note(
            f"there is no transition: windows of {windows.shortest} frames or more must fit into both "
            "sequences; --windows A:B allows shorter ones"
        )
    short = [one.name for one in subject.library.sequences if one.frames < windows.shortest]
    if short and chosen.synthetic.any():
        note(
            f"no transition enters or leaves {', '.join(short)}: shorter than windows of {windows.shortest} "
            "frames; --windows A:B allows shorter ones"
        )
    return replace(subject, graph=chosen), baseline


def _facts(subject: SurfaceGraph, compared: CostComparison) -> dict[str, Any]:
    graph, library = subject.graph, subject.library
    joined = connectivity(graph)
    return {
        "frames": graph.frames,
        "sequences": len(library),
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


def _inputs(
    sources: Sequence[Path], distances_file: Path | None, options: dict[str, Any]
) -> tuple[Library, DistanceMatrix | None, Windows | None]:
    """Sequences, their distances if they are known, and the windows of a graph that is weighed anew."""
    known: DistanceMatrix | None = None
    if distances_file is not None:
        known = load_with_bar(distances_file, clip=None)
        if not isinstance(known, DistanceMatrix):
            raise InputError(f"--distances {distances_file}: holds a {type(known).__name__}, not distances")
    if len(sources) == 1 and sources[0].suffix.lower() == ".mry":
        whole = load_with_bar(sources[0], clip=None)
        if isinstance(whole, SurfaceGraph):
            if any(value is not None for value in options.values()):
                raise InputError(
                    f"{sources[0]}: is a graph; --character, --vertices and --from-… are for sequences"
                )
            return whole.library, known or whole.distances, whole.graph.windows
    return load_library(sources, **options), known, None


def _windows(text: str | None, slope: int | None, before: Windows) -> Windows:
    steepest = before.slope if slope is None else slope
    if text is None:
        return replace(before, slope=steepest)
    found = re.fullmatch(r"\s*(\d{1,6}):(\d{1,6})\s*", text)
    if found is None:
        raise InputError(f"--windows {text}: write the fewest and the most frames as A:B, e.g. 9:60")
    return Windows(int(found[1]), int(found[2]), steepest)


def _check(
    sources: Sequence[Path], target: Path, kind: str, triangles: int | None, picture: Path | None
) -> None:
    if "SurfaceGraph" not in format_to_write(target).writes:
        raise InputError(f"{target}: graphs are written as .mry")
    if kind not in KINDS:
        raise InputError(f"--kind {kind}: one of {', '.join(KINDS)}")
    if triangles is not None and triangles < 1:
        raise InputError(f"--triangles {triangles}: 1 or more")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: write it as {', '.join(PICTURES)}")
    for path in (target, *([picture] if picture else [])):
        check_folder(path)
        check_apart(path, *sources)


@contextmanager
def _stage(label: str, name: str, seconds: dict[str, float]) -> Iterator[Progress]:
    """A progress bar, and the time the work under it takes."""
    started = time.perf_counter()
    with progress_bar(label) as progress:
        yield progress
    seconds[name] = round(time.perf_counter() - started, 4)
