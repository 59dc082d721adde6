"""`marey crowd walk`: people of tracks as whole walking bodies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from marey.body.motion import Motion
from marey.character import Character
from marey.cli._typer import Json, check_apart, check_folder, emit, load_with_bar, note, progress_bar
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError

NAME = "walk"

BODIES, VIEWS = (".glb", ".gltf"), (".html", ".mp4", ".gif", ".png")
LONGEST = 3600.0


def run(
    source: Annotated[
        Path, typer.Argument(metavar="TRACKS", help="Tracks: .csv, .txt, .parquet, .sqlite, .mry …")
    ],
    target: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Bodies (.glb, .gltf), a page (.html), .mp4, .gif or .png."
        ),
    ],
    walk: Annotated[
        list[Path] | None,
        typer.Option("--walk", metavar="CLIP", help="A captured walk or run (.bvh …), once for each clip."),
    ] = None,
    people: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many, taken evenly; all if not given.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="The first S seconds; all if not given.")
    ] = None,
    start: Annotated[float, typer.Option(metavar="S", help="Seconds that are left out before.")] = 0.0,
    deviation: Annotated[
        float, typer.Option(metavar="D", help="How far everyone is from the captured walks, 0 to 1.")
    ] = 0.3,
    frame_rate: Annotated[float, typer.Option(metavar="F", help="Frames per second.")] = 20.0,
    person: Annotated[
        int | None, typer.Option(metavar="N", help="Write one of the people as a clip: OUT is .bvh, .csv …")
    ] = None,
    from_frame_rate: Annotated[
        float | None, typer.Option(metavar="F", help="Frames per second of a file that does not say.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another number, other people.")] = 0,
    json: Json = False,
) -> None:
    """Give the people of tracks whole bodies that walk.

    [bold]Examples[/bold]

    marey crowd walk people.csv -o people.glb

    marey crowd walk people.parquet -o people.html --people 1000 --seconds 20

    marey crowd walk people.csv -o people.glb --walk slow.bvh --walk brisk.bvh --walk run.bvh

    marey crowd walk people.csv -o one.bvh --person 3

    Steps follow speed: walks are blended, slower people take shorter steps, people slower than 0.15 m/s
    stand still.
    """
    _check(source, target, person, walk or [])
    tracks = _chosen(_tracks(source, from_frame_rate), people, start, seconds)
    clips = None if not walk else [_clip(path) for path in walk]
    from marey.stage import walk as walked

    started = time.perf_counter()
    with progress_bar("walking") as progress:
        crowd = walked(tracks, clips, deviation=deviation, frame_rate=frame_rate, rng=seed, progress=progress)
    spent = time.perf_counter() - started
    if any(crowd.origin):
        x, y = crowd.origin
        note(f"the tracks lie far from 0, 0: positions of the bodies are relative to {x:.0f}, {y:.0f}")
    with progress_bar(f"writing {target.name}") as progress:
        if person is not None:
            from marey.io import save

            save(crowd.person(person), target)
        elif target.suffix.lower() in BODIES:
            crowd.save(target, progress=progress)
        else:
            from marey.views.render import view

            view(crowd, target, progress=progress)
    skate = crowd.foot_skate()
    emit(
        {
            "people": crowd.people,
            "frames": crowd.frames,
            "frame_rate": crowd.frame_rate,
            "seconds": round(crowd.duration, 4),
            "foot_slide": round(skate, 5),
            "foot_slide_captured": round(crowd.source_skate, 5),
            "foot_slide_ratio": round(skate / crowd.source_skate, 4) if crowd.source_skate > 0 else None,
            "path_error": round(crowd.path_error, 4),
            "heights": [round(float(h), 3) for h in (crowd.heights.min(), crowd.heights.max())],
            "seconds_spent": round(spent, 3),
            "bytes": target.stat().st_size,
            "path": str(target),
        },
        as_json=json,
    )


def _check(source: Path, target: Path, person: int | None, walks: list[Path]) -> None:
    check_folder(target)
    ending = target.suffix.lower()
    if person is not None:
        from marey.io import format_to_write

        if "Motion" not in format_to_write(target).writes:
            raise InputError(f"{target}: one person is written as a clip, e.g. .bvh")
    elif ending not in BODIES + VIEWS:
        raise InputError(f"{target}: walking bodies are written as {', '.join(BODIES + VIEWS)}")
    check_apart(target, source, *walks)


def _tracks(source: Path, rate: float | None) -> Tracks:
    options = {} if rate is None else {"frame_rate": rate}
    thing = load_with_bar(source, clip=None, **options)
    if isinstance(thing, SimulatedCrowd):
        return thing.tracks
    if not isinstance(thing, Tracks):
        raise InputError(
            f"{source}: holds a {type(thing).__name__}, not tracks; marey crowd simulate makes some"
        )
    return thing


def _chosen(tracks: Tracks, people: int | None, start: float, seconds: float | None) -> Tracks:
    """The people and times asked for."""
    if not 0 <= start <= LONGEST * 24 or (seconds is not None and not 0 < seconds <= LONGEST):
        raise InputError(f"--start and --seconds: 0 and more, and up to {LONGEST:g} s at once")
    if start > 0 or seconds is not None:
        first = round(start * tracks.frame_rate)
        last = tracks.frames if seconds is None else first + max(round(seconds * tracks.frame_rate), 2)
        if first >= tracks.frames:
            raise InputError(f"--start {start:g}: the tracks end after {tracks.duration:.4g} s")
        if seconds is not None and last > tracks.frames:
            note(f"the tracks end after {tracks.duration:.4g} s")
        tracks = tracks[first:last]
    if people is None or people >= tracks.agents:
        return tracks
    if people < 1:
        raise InputError(f"--people {people}: at least 1")
    kept = np.unique(np.linspace(0, tracks.agents - 1, people).round().astype(np.int64))
    assert tracks.ids is not None
    return Tracks(tracks.positions[:, kept], tracks.frame_rate, tracks.ids[kept], name=tracks.name)


def _clip(path: Path) -> Motion:
    thing = load_with_bar(path, clip=None)
    if isinstance(thing, Character):
        return thing.motion
    if not isinstance(thing, Motion):
        raise InputError(f"--walk {path}: holds a {type(thing).__name__}, not a clip of a skeleton")
    return thing
