"""`marey surface skin`: skeleton clips on a rigged mesh, as mesh sequences."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.cli._typer import Json, Rate, Root, Unit, Up, check_apart, check_folder, emit
from marey.cli.body._inputs import load_clip
from marey.cli.surface._inputs import Vertices, Wearer, check_vertices, skinned
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.io._files import atomic_write_folder, check_folder_target

NAME = "skin"

METHODS = ("linear", "dual_quaternion")
RATES = (1.0, 1000.0)


def run(
    sources: Annotated[list[Path], typer.Argument(metavar="MOTION…", help="Skeleton clips, e.g. .bvh.")],
    target: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Of one clip a file (.npz, .zarr, .glb, .usd, .mry); of several a folder, one .npz each.",
        ),
    ],
    character: Wearer = None,
    vertices: Vertices = None,
    method: Annotated[
        str,
        typer.Option(metavar="METHOD", help="linear, or dual_quaternion, which keeps volume in twists."),
    ] = "linear",
    frame_rate: Annotated[float, typer.Option(metavar="F", help="Frames per second of the meshes.")] = 30.0,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take clips as they are, artificial T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Put skeleton clips on a rigged mesh, as mesh sequences.

    [bold]Examples[/bold]

    marey surface skin walk.bvh -o walk.npz

    marey surface skin walk.bvh run.bvh jump.bvh -o subject --vertices 2000

    marey surface skin walk.bvh -o walk.glb --character hero.glb --method dual_quaternion

    marey surface skin *.bvh -o subject --character mpfb_human --vertices 5000

    Joints are matched by name; the path is scaled to the character's legs, and its feet stand on the ground.
    """
    check_vertices(vertices)
    if method not in METHODS:
        raise InputError(f"--method {method}: one of {', '.join(METHODS)}")
    if not RATES[0] <= frame_rate <= RATES[1]:
        raise InputError(f"--frame-rate {frame_rate:g}: from {RATES[0]:g} to {RATES[1]:g}")
    files = _files(sources, target)
    options: dict[str, Any] = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate, "root": root}
    clips = [replace(load_clip(source, raw=raw, **options), name=source.stem) for source in sources]
    started = time.perf_counter()
    library = skinned(clips, character=character, vertices=vertices, frame_rate=frame_rate, method=method)
    seconds = time.perf_counter() - started
    if files == [target]:
        save(library.sequences[0], target)
    else:
        with atomic_write_folder(target, [file.name for file in files]) as draft:
            for sequence, file in zip(library.sequences, files, strict=True):
                save(sequence, draft / file.name)
    lowest = np.concatenate([sequence.vertices[..., 1].min(axis=1) for sequence in library.sequences])
    emit(
        {
            "sequences": len(library),
            "frames": library.frames,
            "vertices": library.vertices(0).shape[0],
            "faces": len(library.faces),
            "frame_rate": library.frame_rate,
            "ground_cm": round(100 * float(np.median(lowest)), 3),
            "seconds": round(seconds, 4),
            "files": [str(file) for file in files],
        },
        as_json=json,
    )


def _files(sources: Sequence[Path], target: Path) -> list[Path]:
    """Where each clip's meshes go."""
    check_folder(target)
    if target.suffix and not target.is_dir():
        if "MeshSequence" not in format_to_write(target).writes:
            raise InputError(f"{target}: meshes are written as .npz, .zarr, .glb, .usd, .obj, .ply or .mry")
        if len(sources) > 1:
            raise InputError(f"{target}: {len(sources)} clips go to a folder; give a name without an ending")
        check_apart(target, *sources)
        return [target]
    stems = [source.stem for source in sources]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        raise InputError(f"two clips are called {twice}: their meshes would have one name; rename one")
    check_folder_target(target, [f"{stem}.npz" for stem in stems])
    return [target / f"{stem}.npz" for stem in stems]
