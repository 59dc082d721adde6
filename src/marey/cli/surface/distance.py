"""`marey surface distance`: how far every captured pose is from every other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from marey.body.distances import geodesic
from marey.cli._typer import (
    Json,
    Rate,
    Unit,
    Up,
    check_apart,
    check_folder,
    emit,
    progress_bar,
)
from marey.cli.body._inputs import load_clip
from marey.cli.surface._inputs import USUAL_RATE, Vertices, Wearer, load_library
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.surface.distances import DistanceMatrix, distances
from marey.surface.distances.metric import METRICS, Metric
from marey.surface.distances.template import mean_strain

NAME = "distance"

PICTURES = (".png", ".svg", ".pdf")
SKELETON = "skeleton"
MOST_FRAMES_PER_SECOND = 1000


def run(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SEQ…", help="Mesh sequences of one subject, or skeleton clips."),
    ],
    target: Annotated[
        Path, typer.Option("--output", "-o", metavar="D.npz", help="The matrix: .npz, or .mry.")
    ],
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="surface: triangles turn and stretch; euclidean: vertices, in metres; planar: as seen from "
            "above; skeleton: joints turn.",
        ),
    ] = "surface",
    exact: Annotated[
        bool, typer.Option("--exact", help="Surface metric from every pair's own deformation; slow.")
    ] = False,
    triangles: Annotated[
        int | None,
        typer.Option(metavar="N", help="Compare N triangles spread over the surface, not all of them."),
    ] = None,
    stretch_weight: Annotated[
        float, typer.Option(metavar="W", help="What stretch counts beside rotation.")
    ] = 0.01,
    picture: Annotated[
        Path | None, typer.Option(metavar="D.png", help="Also draw the matrix: .png, .svg or .pdf.")
    ] = None,
    frame_rate: Annotated[
        float | None,
        typer.Option(
            metavar="F", help="Frames per second at which skeletons are compared; 30, as they are skinned."
        ),
    ] = None,
    character: Wearer = None,
    vertices: Vertices = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """Distances between all poses of captured sequences.

    [bold]Examples[/bold]

    marey surface distance walk.npz run.npz jump.npz -o poses.npz

    marey surface distance walk.glb run.glb -o poses.npz --triangles 1000 --picture poses.png

    marey surface distance walk.npz run.npz -o metres.npz --metric euclidean

    marey surface distance walk.bvh run.bvh -o joints.npz --metric skeleton
    """
    _check(sources, target, metric, exact or triangles is not None, picture)
    if metric == SKELETON and (character is not None or vertices is not None):
        raise InputError("--character and --vertices: for meshes, not for the skeleton metric")
    if metric != SKELETON and frame_rate is not None:
        raise InputError("--frame-rate: for the skeleton metric; meshes are compared frame by frame")
    if frame_rate is not None and not (np.isfinite(frame_rate) and 0 < frame_rate <= MOST_FRAMES_PER_SECOND):
        raise InputError(f"--frame-rate {frame_rate:g}: above 0, up to {MOST_FRAMES_PER_SECOND}")
    options: dict[str, Any] = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate}
    told: dict[str, Any] = {}
    if metric == SKELETON:
        found, seconds = _of_skeletons(sources, frame_rate or USUAL_RATE, options)
    else:
        library = load_library(sources, character=character, vertices=vertices, **options)
        started = time.perf_counter()
        with progress_bar("comparing poses") as progress:
            found = distances(
                library,
                metric=cast(Metric, metric),
                exact=exact,
                stretch_weight=stretch_weight,
                triangles=triangles,
                progress=progress,
            )
        seconds = time.perf_counter() - started
        if metric == "surface":
            told["stretch"] = round(mean_strain(library), 4)
    save(found, target)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.distance_map(found), picture)
    pairs = found.frames * (found.frames - 1) // 2
    emit(
        {
            "frames": found.frames,
            "sequences": len(found.names),
            "metric": found.metric,
            "seconds": round(seconds, 4),
            "pairs_per_second": round(pairs / max(seconds, 1e-9)),
            "mean": round(float(found.values.sum(dtype=np.float64)) / max(2 * pairs, 1), 6),
            "largest": round(float(found.values.max()), 6),
            **told,
            "files": [str(path) for path in (target, picture) if path is not None],
        },
        as_json=json,
    )


def _check(
    sources: Sequence[Path],
    target: Path,
    metric: str,
    particular: bool,
    picture: Path | None,
) -> None:
    if "DistanceMatrix" not in format_to_write(target).writes:
        raise InputError(f"{target}: distances are written as .npz or .mry")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: write it as {', '.join(PICTURES)}")
    for path in (target, *([picture] if picture else [])):
        check_folder(path)
        check_apart(path, *sources)
    if metric not in (*METRICS, SKELETON):
        raise InputError(f"--metric {metric}: one of {', '.join((*METRICS, SKELETON))}")
    if metric != "surface" and particular:
        raise InputError(f"--exact and --triangles: for the surface metric, not for {metric}")


def _of_skeletons(
    sources: Sequence[Path], frame_rate: float, options: dict[str, Any]
) -> tuple[DistanceMatrix, float]:
    """Of clips cleaned and at a rate as those that are skinned, so that both have the same frames."""
    clips = [load_clip(source, **options).resample(frame_rate) for source in sources]
    for source, clip in zip(sources, clips, strict=True):
        if clip.skeleton.names != clips[0].skeleton.names:
            raise InputError(f"{source}: its joints are not those of {sources[0]}; compare one skeleton")
    started = time.perf_counter()
    with progress_bar("comparing poses") as progress:
        found = geodesic(
            [clip.rotations for clip in clips],
            names=[source.stem for source in sources],
            progress=progress,
        )
    return found, time.perf_counter() - started
