"""`marey surface compare`: how well two pose metrics agree on the same frames."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.cli._typer import Json, check_apart, check_folder, emit, load_with_bar, note, progress_bar
from marey.errors import InputError
from marey.statistics.graphs.clips import DistanceMatrix
from marey.statistics.matrix_comparison import (
    Correlogram,
    condensed,
    correlogram,
    distance_correlation,
    mantel,
)

NAME = "compare"

PICTURES = (".png", ".svg", ".pdf")
MOST_PERMUTATIONS = 1_000_000
# The correlogram's bands need fewer permutations than small probabilities do.
ENOUGH_FOR_BANDS = 999


def run(
    candidate: Annotated[Path, typer.Argument(metavar="D1", help="Made by `marey surface distance`.")],
    truth: Annotated[
        Path, typer.Argument(metavar="D2", help="Of the same frames: what is held to be true, e.g. skeleton.")
    ],
    permutations: Annotated[
        int, typer.Option(metavar="N", help="Frames exchange places N times to tell chance.")
    ] = 10_000,
    blocks: Annotated[
        bool,
        typer.Option(
            "--blocks", help="Whole sequences exchange places: stricter, frames in succession are alike."
        ),
    ] = False,
    classes: Annotated[
        int, typer.Option(metavar="N", help="Classes from near pairs to far ones, of equally many pairs.")
    ] = 10,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="P.png", help="Draw agreement from near to far pairs, and beside chance."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the permutations.")] = 0,
    json: Json = False,
) -> None:
    """Test how well two pose metrics agree (Mantel's test).

    [bold]Examples[/bold]

    marey surface compare surface.npz skeleton.npz

    marey surface compare surface.npz skeleton.npz --picture agreement.png --blocks

    marey surface distance walk.bvh run.bvh -o surface.npz

    marey surface distance walk.bvh run.bvh -o skeleton.npz --metric skeleton

    Correlations are of all pairs of frames; p is the share of permutations that agree as well by chance.
    """
    _check(candidate, truth, permutations, classes, picture)
    first, second = _load(candidate), _load(truth)
    _check_same_frames(first, second, candidate, truth)
    started = time.perf_counter()
    options: dict[str, Any] = {"mode": "block" if blocks else "object", "starts": second.starts, "rng": seed}
    with progress_bar("permuting frames") as progress:
        test = mantel(first.values, second.values, permutations=permutations, progress=progress, **options)
    with progress_bar("from near to far") as progress:
        by_class = correlogram(
            first.values,
            second.values,
            classes=classes,
            permutations=min(permutations, ENOUGH_FOR_BANDS),
            progress=progress,
            **options,
        )
    above = condensed(first.values), condensed(second.values)
    together = distance_correlation(*above)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.agreement(test, by_class, (first.metric, second.metric)), picture)
    emit(
        {
            "frames": first.frames,
            "pairs": len(above[0]),
            "metrics": [first.metric, second.metric],
            "pearson": round(test.correlation, 6),
            "distance_correlation": round(together, 6),
            "p": test.p,
            "permutations": permutations,
            "by_chance": [round(float(v), 6) for v in np.quantile(test.permuted, [0.025, 0.975])],
            "classes": _rows(by_class),
            "seconds": round(time.perf_counter() - started, 3),
            "files": [] if picture is None else [str(picture)],
        },
        as_json=json,
    )


def _load(path: Path) -> DistanceMatrix:
    found = load_with_bar(path, clip=None)
    if not isinstance(found, DistanceMatrix):
        raise InputError(
            f"{path}: holds a {type(found).__name__}, not pose distances; make them with "
            "`marey surface distance`"
        )
    return found


def _check(candidate: Path, truth: Path, permutations: int, classes: int, picture: Path | None) -> None:
    if not 1 <= permutations <= MOST_PERMUTATIONS:
        raise InputError(f"--permutations {permutations}: 1 to {MOST_PERMUTATIONS}")
    if not 1 <= classes <= 100:
        raise InputError(f"--classes {classes}: 1 to 100")
    if picture is None:
        return
    if picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: write it as {', '.join(PICTURES)}")
    check_folder(picture)
    check_apart(picture, candidate, truth)


def _check_same_frames(first: DistanceMatrix, second: DistanceMatrix, candidate: Path, truth: Path) -> None:
    if not np.array_equal(first.starts, second.starts):
        raise InputError(
            f"{candidate} has {first.frames} frames in {_counts(first)}, {truth} {second.frames} in "
            f"{_counts(second)}; compare distances of the same clips in the same order and at one frame rate "
            "(marey surface distance --metric skeleton --frame-rate F)"
        )
    if first.names != second.names:
        note(f"the sequences have other names in {truth}; taken in their order")


def _counts(matrix: DistanceMatrix) -> str:
    lengths = np.diff(matrix.starts)
    shown = ", ".join(f"{name} {n}" for name, n in zip(matrix.names[:4], lengths[:4], strict=False))
    return f"{len(lengths)} sequences ({shown}{', …' if len(lengths) > 4 else ''})"


def _rows(found: Correlogram) -> list[dict[str, Any]]:
    """Each class of distance in the second matrix: its range, pairs, correlation, and what chance gives."""
    return [
        {
            "from": round(float(found.edges[k]), 6),
            "to": round(float(found.edges[k + 1]), 6),
            "pairs": int(found.counts[k]),
            "correlation": _number(found.correlations[k]),
            "by_chance": [_number(found.low[k]), _number(found.high[k])],
        }
        for k in range(len(found.counts))
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 6)
