"""`marey surface animate`: new animations of a captured subject, made to order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from marey.cli._typer import (
    Json,
    check_apart,
    check_folder,
    emit,
    load_with_bar,
    note,
    progress_bar,
)
from marey.errors import InputError
from marey.geometry import paths
from marey.geometry.paths import LONGEST, Behaviour
from marey.io import format_to_write, save
from marey.io.constraints_csv import (
    LONGEST_TIME,
    read_directions,
    read_key_poses,
    read_path,
    write_provenance,
)
from marey.surface.synthesis import animate
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, AnimationReport

NAME = "animate"

PICTURES = (".png", ".mp4", ".gif")
AFTER_LAST_WISH = 2.0


def run(
    source: Annotated[Path, typer.Argument(metavar="GRAPH", help="Made by `marey surface graph`.")],
    target: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Meshes (.glb, .usdc, .npz, .mry, frames_%04d.obj, …), a clip (.mp4) or a picture (.png).",
        ),
    ],
    path: Annotated[
        Path | None,
        typer.Option(
            metavar="P.csv", help="Follow a curve: columns x, z (or x, y, z) and, if asked for, label."
        ),
    ] = None,
    poses: Annotated[
        Path | None,
        typer.Option(
            metavar="P.csv", help="Take poses at times: columns pose (SEQ:FRAME) and time (seconds)."
        ),
    ] = None,
    steer: Annotated[
        Path | None,
        typer.Option(metavar="S.csv", help="Steered while playing: columns time, x, z (a direction)."),
    ] = None,
    wander: Annotated[
        bool, typer.Option("--wander", help="Without aim: transitions at random for --seconds.")
    ] = False,
    start: Annotated[
        str | None, typer.Option("--from", metavar="SEQ:FRAME", help="The captured frame to begin with.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="SEQ:FRAME", help="The captured frame to end with.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="How long: with --from and --to, with --steer, or with --wander."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of --wander; another one gives another animation.")
    ] = 0,
    behaviour: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL[=A:B]",
            help="What to show from A to B metres of the path: run=5:12; or all along it: walk,turn.",
        ),
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(metavar="V,V,…", help="Vertices whose middle keeps to the path; else the body's."),
    ] = None,
    accuracy: Annotated[
        float, typer.Option(metavar="W", help="What keeping to the path is worth beside few transitions.")
    ] = 5.0,
    tolerance: Annotated[
        float, typer.Option(metavar="S", help="Seconds by which poses may miss their times to deform less.")
    ] = 0.0,
    provenance: Annotated[
        Path | None,
        typer.Option(metavar="P.csv", help="Also a table: where each frame comes from, captured or blended."),
    ] = None,
    json: Json = False,
) -> None:
    """Animate a captured subject: along a path, through poses, steered or free.

    [bold]Examples[/bold]

    marey surface animate subject.mry -o walk.glb --path way.csv

    marey surface animate subject.mry -o walk.mp4 --path way.csv --behaviour run=4:9

    marey surface animate subject.mry -o dance.glb --poses keys.csv

    marey surface animate subject.mry -o go.glb --from walk:10 --to jump:40 --seconds 4

    marey surface animate subject.mry -o steered.mp4 --steer wishes.csv --seconds 10

    marey surface animate subject.mry -o about.mp4 --wander --seconds 20 --seed 3

    A clip shows captured frames green and blended ones red; a picture shows the way from above.
    """
    _check_orders(path, poses, steer, wander, start, end, seconds, behaviour)
    if not 0 <= tolerance <= LONGEST_TIME:
        raise InputError(f"--tolerance {tolerance}: seconds, 0 or more")
    if target.suffix.lower() not in PICTURES and "MeshSequence" not in format_to_write(target).writes:
        raise InputError(f"{target}: write meshes (.glb, .usdc, .npz, …), a clip (.mp4) or a picture (.png)")
    for written in (target, provenance):
        if written is not None:
            check_folder(written)
            check_apart(written, *(given for given in (source, path, poses, steer) if given is not None))
    subject = load_with_bar(source, clip=None)
    if not isinstance(subject, SurfaceGraph):
        held = type(subject).__name__
        raise InputError(f"{source}: holds a {held}, not a graph; make one with `marey surface graph`")
    curve = None if path is None else _curve(path, behaviour or [])
    with progress_bar("animating") as progress:
        if curve is not None:
            made = animate.follow_path(
                subject,
                curve,
                track=_vertices(track),
                accuracy=accuracy,
                start=start,
                progress=progress,
            )
        elif poses is not None:
            keys, times = read_key_poses(poses, subject.library)
            made = animate.walk_through_poses(
                subject, keys, times.tolist(), tolerance=tolerance, progress=progress
            )
        elif steer is not None:
            wishes = read_directions(steer)
            lasting = float(wishes[-1, 0]) + AFTER_LAST_WISH if seconds is None else seconds
            made = animate.steer(subject, wishes, lasting, start=start, accuracy=accuracy, progress=progress)
        elif wander:
            made = animate.random_walk(subject, seconds or 0.0, seed, start=start, progress=progress)
        else:
            made = animate.walk_between(subject, start or "", end or "", seconds=seconds, progress=progress)
    _write(made, target, curve)
    if provenance is not None:
        write_provenance(made, subject.library, provenance)
    assert made.report is not None
    if made.report.label_violations:
        note(f"{made.report.label_violations} frames show a behaviour that was not asked for there")
    if made.report.foot_skate_ratio > 1.2:
        note(f"feet slide {made.report.foot_skate_ratio:.2f} times as much as in the captured frames")
    files = [str(written) for written in (target, provenance) if written is not None]
    emit({**_facts(made, made.report), "files": files}, as_json=json)


def _curve(path: Path, behaviours: Sequence[str]) -> paths.Path:
    """The path asked for, with the behaviours of the options in place of its own labels."""
    curve = read_path(path)
    asked = tuple(map(parse_behaviour, behaviours))
    beyond = [part for part in asked if part.start >= curve.length]
    if beyond:
        raise InputError(
            f"--behaviour {','.join(beyond[0].labels)}={beyond[0].start:g}:{beyond[0].stop:g}: the path is "
            f"{curve.length:.2f} m long"
        )
    return replace(curve, behaviours=asked) if asked else curve


def parse_behaviour(text: str) -> Behaviour:
    """`LABEL=A:B` or `LABEL,LABEL=A:B`, metres along the path; all of it without `=A:B`.

    >>> parse_behaviour("walk,turn-left=0:5.5")
    Behaviour(labels=('walk', 'turn-left'), start=0.0, stop=5.5)
    """
    number = r"(\d+\.?\d*|\.\d+)"
    found = re.fullmatch(rf"([^=]+)(?:={number}:{number})?", text.strip())
    if found is None:
        raise InputError(f"--behaviour {text}: write LABEL=A:B, metres along the path, e.g. run=5:12")
    labels = tuple(label.strip() for label in found.group(1).split(","))
    if found.group(2) is None:
        return Behaviour(labels, 0.0, LONGEST)
    return Behaviour(labels, float(found.group(2)), float(found.group(3)))


def _check_orders(
    path: Path | None,
    poses: Path | None,
    steer: Path | None,
    wander: bool,
    start: str | None,
    end: str | None,
    seconds: float | None,
    behaviour: Sequence[str] | None,
) -> None:
    orders = {"--path": path, "--poses": poses, "--steer": steer, "--wander": wander or None, "--to": end}
    given = [name for name, value in orders.items() if value is not None]
    if len(given) != 1 or (end is not None and start is None):
        raise InputError("give one of --path, --poses, --steer, --wander, or --from and --to")
    if poses is not None and start is not None:
        raise InputError("--from: the first of the --poses is the first frame")
    if behaviour and path is None:
        raise InputError("--behaviour: goes with --path")
    if seconds is not None and (path is not None or poses is not None):
        raise InputError("--seconds: goes with --from and --to, with --steer or with --wander")
    if wander and seconds is None:
        raise InputError("--wander: say how long with --seconds")
    if seconds is not None and not 0 < seconds <= LONGEST_TIME:
        raise InputError(f"--seconds {seconds}: above 0, and {LONGEST_TIME:g} at most")


def _vertices(text: str | None) -> list[int] | None:
    if text is None:
        return None
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", text):
        raise InputError(f"--track {text}: write numbers of vertices, e.g. 120 or 120,121,130")
    return [int(part) for part in text.split(",")]


def _write(animation: Animation, target: Path, curve: paths.Path | None) -> None:
    ending = target.suffix.lower()
    with progress_bar(f"writing {target.name}") as progress:
        if ending == ".png":
            from marey.views import figures, style

            asked = None if curve is None else curve.points[:, 0::2]
            style.save(figures.path_from_above(animation, curve=asked), target)
        elif ending in PICTURES:
            from marey.views import figures, style, view

            view(animation, target, progress=progress)
        else:
            save(animation, target)


def _facts(made: Animation, report: AnimationReport) -> dict[str, Any]:
    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, 4)

    return {
        "frames": made.sequence.frames,
        "seconds": round(made.sequence.frames / made.sequence.frame_rate, 3),
        "captured_frames": made.provenance.captured_frames,
        "transitions": report.transitions,
        "cost": round(report.cost, 6),
        "path_error": rounded(report.path_error),
        "path_error_max": rounded(report.path_error_max),
        "label_violations": report.label_violations,
        "time_errors": report.time_errors and [round(error, 4) for error in report.time_errors],
        "foot_slide_ratio": round(report.foot_skate_ratio, 3),
    }
