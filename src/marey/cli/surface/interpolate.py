"""`marey surface interpolate`: meshes between two poses."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from marey.cli._typer import Json, Unit, Up, check_apart, check_folder, emit, progress_bar
from marey.cli.surface._frames import load_frame, parse_frame_reference
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.surface.interpolation.distortion import distortion
from marey.surface.interpolation.interpolator import METHODS, STRETCHES, Interpolator, interpolate
from marey.surface.sequence import MeshSequence

NAME = "interpolate"

# How many weights each shows, evenly from 0 to 1, if none are given.
PICTURES = {".png": 5, ".mp4": 60, ".gif": 60}
MOST_FRAMES = 10_000
# Of all meshes together: half a gigabyte.
MOST_VERTICES = 40_000_000
AT_ONCE = 16
# Of the time of one in-between the least is told: the others waited for something else.
REPEATS = 3


def run(
    first: Annotated[str, typer.Argument(metavar="A", help="A mesh, or SEQUENCE:FRAME.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another of the same connectivity.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Mesh or sequence to write, or picture (.png, .mp4)."),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="W1,W2,…", help="How far along, from 0 (A) to 1 (B); a mesh is halfway if not given."
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(metavar="N", help="N meshes from A to B, both included, instead of --at.")
    ] = None,
    method: Annotated[str, typer.Option(metavar="METHOD", help=f"{' or '.join(METHODS)}.")] = METHODS[0],
    stretch: Annotated[
        str, typer.Option(metavar="HOW", help=f"How faces stretch: {' or '.join(STRETCHES)}.")
    ] = STRETCHES[0],
    from_unit: Unit = None,
    from_up: Up = None,
    json: Json = False,
) -> None:
    """In-between meshes of two poses that keep lengths and volumes.

    [bold]Examples[/bold]

    marey surface interpolate dance.npz:10 dance.npz:60 between.obj

    marey surface interpolate stand.obj crouch.obj down.glb --frames 30

    marey surface interpolate fox.glb:Walk:3 fox.glb:Run:8 between.png --at 0.25,0.5,0.75

    Pictures and clips show the meshes beside those of straight lines, red where edges are too long or short.
    Where the two stand and which way they face may differ: the result stands and faces between them.
    Volume and edge errors say how far the meshes are from the expected, beside those of straight lines.
    """
    weights = _weights(at, frames, target)
    references = [parse_frame_reference(text) for text in (first, second)]
    _check_options(target, method, stretch, [reference.file for reference in references])
    options: dict[str, Any] = {"unit": from_unit, "up": from_up}
    (source, here), (other, there) = (load_frame(reference, **options) for reference in references)
    _check_alike(str(references[0]), source, str(references[1]), other)
    _check_amount(weights, source)
    start, end, faces = source.vertices[here], other.vertices[there], source.faces
    shared = Interpolator.prepare(np.stack([start, end]), faces) if method == "poisson" else None
    meshes = np.empty((len(weights), *start.shape), start.dtype)
    found, plain = [], []
    with progress_bar("interpolating") as progress:
        for done in range(0, len(weights), AT_ONCE):
            some = weights[done : done + AT_ONCE]
            made = interpolate(start, end, faces, some, method=method, stretch=stretch, interpolator=shared)
            lines = interpolate(start, end, faces, some, method="linear")
            found += [distortion(made[i], start, end, faces, way) for i, way in enumerate(some)]
            plain += [distortion(lines[i], start, end, faces, way) for i, way in enumerate(some)]
            meshes[done : done + len(some)] = made
            progress(done + len(some), len(weights))
    milliseconds = np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        interpolate(start, end, faces, weights[0], method=method, stretch=stretch, interpolator=shared)
        milliseconds = min(milliseconds, 1000 * (time.perf_counter() - began))
    result = replace(source[here], vertices=meshes, frame_rate=source.frame_rate)
    if target.suffix.lower() in PICTURES:
        _draw(result, start, end, weights, method, target)
    else:
        save(result, target)
    emit(
        {
            "frames": len(weights),
            "milliseconds": round(milliseconds, 3),
            "volume_error": float(np.mean([error.volume for error in found])),
            "edge_error": float(np.mean([error.edges for error in found])),
            "linear_volume_error": float(np.mean([error.volume for error in plain])),
            "linear_edge_error": float(np.mean([error.edges for error in plain])),
            "method": method,
            "output": str(target),
        },
        as_json=json,
    )


def _weights(at: str | None, frames: int | None, target: Path) -> NDArray[np.float64]:
    if frames is not None:
        if at is not None:
            raise InputError("give --at or --frames, not both")
        if not 2 <= frames <= MOST_FRAMES:
            raise InputError(f"--frames {frames}: from 2 to {MOST_FRAMES}")
        return np.linspace(0.0, 1.0, frames)
    if at is None:
        count = PICTURES.get(target.suffix.lower(), 1)
        return np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])
    try:
        weights = np.array([float(part) for part in at.split(",")])
    except ValueError:
        weights = np.array([np.nan])
    if not ((weights >= 0) & (weights <= 1)).all() or len(weights) > MOST_FRAMES:
        raise InputError(f"--at {at}: write numbers from 0 to 1 with commas between, e.g. 0.25,0.5,0.75")
    return weights


def _check_options(target: Path, method: str, stretch: str, sources: list[Path]) -> None:
    if method not in METHODS:
        raise InputError(f"--method {method}: one of {', '.join(METHODS)}")
    if stretch not in STRETCHES:
        raise InputError(f"--stretch {stretch}: one of {', '.join(STRETCHES)}")
    if target.suffix.lower() not in PICTURES and "MeshSequence" not in format_to_write(target).writes:
        raise InputError(
            f"{target}: write a mesh (.obj, .ply, .glb, .npz, .mry, …) or a picture (.png, .mp4)"
        )
    check_apart(target, *sources)
    check_folder(target)


def _check_alike(first: str, source: MeshSequence, second: str, other: MeshSequence) -> None:
    if not len(source.faces):
        raise InputError(f"{first}: it has points but no faces; in-betweens need a surface")
    if source.vertices.shape[1] != other.vertices.shape[1] or not np.array_equal(source.faces, other.faces):
        raise InputError(
            f"{second}: its connectivity is not that of {first} "
            f"({other.vertices.shape[1]} and {source.vertices.shape[1]} vertices, {len(other.faces)} and "
            f"{len(source.faces)} faces); in-betweens need two poses of one mesh"
        )


def _check_amount(weights: NDArray[np.float64], source: MeshSequence) -> None:
    most = MOST_VERTICES // source.vertices.shape[1]
    if len(weights) > max(most, 1):
        raise InputError(
            f"{len(weights)} meshes of {source.vertices.shape[1]} vertices are too many at once: "
            f"ask for at most {most}"
        )


def _draw(
    result: MeshSequence,
    start: NDArray[Any],
    end: NDArray[Any],
    weights: NDArray[np.float64],
    method: str,
    target: Path,
) -> None:
    """Beside straight lines, unless those were asked for."""
    from marey.views.figures.surface import InBetweens, draw_in_betweens

    lines = replace(result, vertices=interpolate(start, end, result.faces, weights, method="linear"))
    kinds = [InBetweens("straight lines", lines, weights, start, end)]
    if method != "linear":
        kinds.insert(0, InBetweens(method, result, weights, start, end))
    with progress_bar("drawing") as progress:
        draw_in_betweens(kinds, target, progress=progress)
