"""`marey surface blend`: two clips of one kind, in step, mixed in any share."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from marey.cli._typer import Json, Rate, Unit, Up, check_apart, check_folder, emit, note, progress_bar
from marey.cli.surface._inputs import Vertices, Wearer, load_library
from marey.errors import InputError
from marey.geometry.planar import centroid
from marey.io import format_to_write, save
from marey.io.constraints_csv import read_blend_weights
from marey.surface.contacts import compare_foot_skate
from marey.surface.distances import distances, yaw_between
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.surface.synthesis.blend import align_clips, blend_clips
from marey.surface.synthesis.placement import GroundFrames

NAME = "blend"

CLIPS = (".mp4", ".gif")
PICTURES = (".png", ".svg", ".pdf")

Array = NDArray[np.float64]


def run(
    first: Annotated[Path, typer.Argument(metavar="A", help="A clip: meshes, or a skeleton to be skinned.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another of the same subject and kind.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Meshes to write, a clip (.mp4), or the ways from above (.png)."),
    ],
    share: Annotated[
        str,
        typer.Option(
            metavar="S",
            help="Share of B, 0 to 1: a number, several to pass through (0:1), or a .csv of time, share.",
        ),
    ] = "0.5",
    trim: Annotated[
        float,
        typer.Option(
            metavar="S", help="Seconds that A or B may lose at either end to be in step; 0 keeps both whole."
        ),
    ] = 1.0,
    slope: Annotated[
        int, typer.Option(metavar="P", help="Neither clip passes more than P times as fast as the other.")
    ] = 3,
    character: Wearer = None,
    vertices: Vertices = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """Mix two clips of one kind: a left and a right turn give a straight walk.

    [bold]Examples[/bold]

    marey surface blend turn-left.npz turn-right.npz straight.glb

    marey surface blend walk.npz run.npz jog.glb --share 0.3

    marey surface blend walk.npz run.npz faster.mp4 --share 0:1

    marey surface blend turn-left.npz turn-right.npz ways.png --share shares.csv

    marey surface blend walk.bvh limp.bvh between.glb --vertices 2000

    Times of a .csv are seconds of the mixture. Lengths are metres, costs sums of pose distances in radians.
    """
    _check(target, first, second, trim)
    weight = _weight(share, target)
    library = load_library(
        [first, second],
        character=character,
        vertices=vertices,
        unit=from_unit,
        up=from_up,
        frame_rate=from_frame_rate,
    )
    if len(library) != 2:
        raise InputError(f"{first}, {second}: they hold {len(library)} clips; blend takes one of each file")
    one, two = library.names
    started = time.perf_counter()
    with progress_bar("comparing poses") as progress:
        apart = distances(library, progress=progress)
    match = align_clips(library, one, two, apart=apart, slope=slope, trim=trim)
    ground = GroundFrames.of(library)
    with progress_bar("blending") as progress:
        mixture = blend_clips(
            library, one, two, weight,
            apart=apart, slope=slope, trim=trim, ground=ground, progress=progress,
        )  # fmt: skip
    _write(mixture, library, target)
    skate = compare_foot_skate(mixture, library, ground.contacts)
    if skate.ratio > 1.2:
        note(f"feet slide {skate.ratio:.2f} times as much as in the captured frames")
    parts = match.path - library.starts[:2]
    ways = [_way(sequence) for sequence in (*library.sequences, mixture.sequence)]
    emit(
        {
            "frames": mixture.sequence.frames,
            "path_cost": round(match.cost, 6),
            "path_cost_mean": round(match.cost / match.length, 6),
            "frames_of_first": [int(parts[0, 0]), int(parts[-1, 0])],
            "frames_of_second": [int(parts[0, 1]), int(parts[-1, 1])],
            "travelled_first": ways[0][0],
            "travelled_second": ways[1][0],
            "travelled": ways[2][0],
            "turned_first": ways[0][1],
            "turned_second": ways[1][1],
            "turned": ways[2][1],
            "foot_slide_ratio": round(skate.ratio, 4),
            "seconds": round(time.perf_counter() - started, 3),
            "files": [str(target)],
        },
        as_json=json,
    )


def parse_share(text: str) -> float | list[float]:
    """`0.5`, or `0:1` and longer: shares to pass through.

    >>> parse_share("0.25"), parse_share("0:1:0")
    (0.25, [0.0, 1.0, 0.0])
    """
    try:
        shares = [float(part) for part in text.split(":")]
    except ValueError:
        shares = [-1.0]
    if not all(0 <= one <= 1 for one in shares):
        raise InputError(f"--share {text}: write a number from 0 to 1, several as 0:1, or name a .csv file")
    return shares[0] if len(shares) == 1 else shares


def _weight(text: str, target: Path) -> float | list[float] | Callable[[Array], Array]:
    if not text.lower().endswith(".csv"):
        return parse_share(text)
    check_apart(target, Path(text))
    table = read_blend_weights(Path(text))

    def at(seconds: Array) -> Array:
        return np.interp(seconds, table[:, 0], table[:, 1])

    return at


def _check(target: Path, first: Path, second: Path, trim: float) -> None:
    ending = target.suffix.lower()
    if ending not in (*CLIPS, *PICTURES) and "MeshSequence" not in format_to_write(target).writes:
        raise InputError(f"{target}: write a mesh sequence, a clip (.mp4) or a picture (.png)")
    check_folder(target)
    check_apart(target, first, second)
    if not (np.isfinite(trim) and trim >= 0):
        raise InputError(f"--trim {trim:g}: seconds, 0 or more")


def _write(mixture: Animation, library: Library, target: Path) -> None:
    ending = target.suffix.lower()
    if ending in PICTURES:
        from marey.views import figures, style

        first, second = library.sequences
        style.save(figures.blend_paths(first, second, mixture.sequence), target)
    elif ending in CLIPS:
        from marey.views import figures, style, view

        with progress_bar(f"writing {target.name}") as progress:
            view(mixture, target, progress=progress)
    else:
        save(mixture, target)


def _way(sequence: MeshSequence) -> tuple[float, float]:
    """How far the middle of the body goes, metres, and by how much the body turns to its left, degrees."""
    vertices, faces = sequence.vertices, sequence.faces
    middles = np.array([centroid(frame) for frame in vertices])
    travelled = np.linalg.norm(np.diff(middles, axis=0), axis=1).sum()
    # Turns from frame to frame only count the whole rounds, since their errors add up; few triangles do.
    some = faces[:: max(1, len(faces) // 2000)]
    passed = sum(yaw_between(after, before, some) for before, after in pairwise(vertices))
    turn = yaw_between(vertices[-1], vertices[0], faces)
    turn += 2 * np.pi * round((passed - turn) / (2 * np.pi))
    return round(float(travelled), 4), round(float(np.rad2deg(turn)), 2)
