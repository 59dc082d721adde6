"""`marey surface transition`: from a moment of one sequence to a moment of another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer

from marey.cli._typer import Json, Rate, Unit, Up, check_apart, check_folder, emit, progress_bar
from marey.cli.surface._frames import FrameReference, load_frames, parse_frame_reference
from marey.cli.surface._inputs import Vertices, Wearer, check_vertices
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.statistics.graphs.transitions import Objective, Transition, Windows, optimal, standard, warped
from marey.surface.contacts import compare_foot_skate
from marey.surface.distances import DistanceMatrix, distances
from marey.surface.interpolation import Interpolator
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation, collect_frames
from marey.surface.synthesis.blend import blend, context_frames
from marey.surface.synthesis.placement import GroundFrames

NAME = "transition"

KINDS = ("optimal", "warped", "standard")
CLIPS = (".mp4", ".gif")
PICTURES = (".png", ".svg", ".pdf")


def run(
    source: Annotated[str, typer.Argument(metavar="SEQ_A:FRAME", help="The frame to leave.")],
    destination: Annotated[str, typer.Argument(metavar="SEQ_B:FRAME", help="The frame to arrive at.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="Sequence to write, or a picture (.png) or clip (.mp4).")
    ],
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="optimal: the best windows and timing; warped: windows of --length, best timing; standard: "
            "windows of --length, frame by frame.",
        ),
    ] = "optimal",
    length: Annotated[
        int | None,
        typer.Option(metavar="N", help="Frames of both windows; at most so many if optimal. 0.3 s or 2 s."),
    ] = None,
    before: Annotated[int, typer.Option(metavar="N", help="Captured frames to play before it.")] = 0,
    after: Annotated[int, typer.Option(metavar="N", help="Captured frames to play after it.")] = 0,
    objective: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What is least: the mean or sum of distances, or weight: sum plus --alpha a frame, as "
            "in graphs.",
        ),
    ] = "mean",
    alpha: Annotated[
        float, typer.Option(metavar="A", help="What a frame of time costs, with --objective weight.")
    ] = 0.01,
    slope: Annotated[
        int, typer.Option(metavar="P", help="Neither side passes more than P times as fast as the other.")
    ] = 3,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw the timing over the pose distances.")
    ] = None,
    character: Wearer = None,
    vertices: Vertices = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """The best transition from one captured frame to another, feet planted.

    [bold]Examples[/bold]

    marey surface transition walk.npz:40 run.npz:65 start-running.glb

    marey surface transition walk.npz:40 walk.npz:10 loop.npz --before 30 --after 60

    marey surface transition walk.npz:40 run.npz:65 plain.glb --kind standard --length 12

    marey surface transition walk.npz:40 run.npz:65 film.mp4 --picture timing.png

    marey surface transition walk.bvh:40 run.bvh:65 start-running.glb --vertices 2000

    Frames count from 0; below 0, from the end; a skeleton clip is skinned first, with 30 a second. Costs are
    sums of pose distances, radians.
    """
    leaving, arriving = parse_frame_reference(source), parse_frame_reference(destination)
    _check(target, picture, kind, length, (leaving, arriving))
    check_vertices(vertices)
    if objective not in get_args(Objective):
        raise InputError(f"--objective {objective}: one of {', '.join(get_args(Objective))}")
    options: dict[str, Any] = {
        "character": character,
        "unit": from_unit,
        "up": from_up,
        "frame_rate": from_frame_rate,
    }
    library, first, last = _loaded(leaving, arriving, options)
    if vertices is not None:
        from marey.surface.decimation import decimate

        library = decimate(library, vertices=vertices)
    windows = _windows(library.frame_rate, kind, length, slope)
    _check_room(library, (first, last), windows, (leaving, arriving))
    started = time.perf_counter()
    with progress_bar("comparing poses") as progress:
        apart, offsets = _window_distances(library, first, last, windows, progress)
    here, there = first - offsets[0], last - offsets[1]
    found = _found(apart, here, there, kind, windows, objective, alpha)
    plain = _standard(apart, here, there, windows.shortest)
    transition = Transition(found.path + offsets, found.cost)
    begin, end = context_frames(library, transition, before, after)
    ground = GroundFrames.of(library)
    blender = Interpolator.prepare(library.vertices(first), library.faces)
    frames = blend(library, transition, blender, ground=ground, before=before, after=after)
    total = transition.source - begin + transition.length + end - transition.destination
    with progress_bar("blending") as progress:
        animation = collect_frames(library, frames, total, name=target.stem, progress=progress)
    _write(animation, target)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.warp_path(apart, found), picture)
    skate = compare_foot_skate(animation, library, ground.contacts)
    rows, columns = (int(np.ptp(found.path[:, i])) + 1 for i in (0, 1))
    emit(
        {
            "cost": round(found.cost, 6),
            "length": found.length,
            "mean_cost": round(found.cost / found.length, 6),
            "windows": [rows, columns],
            "standard_mean_cost": None if plain is None else round(plain.cost / plain.length, 6),
            "frames": animation.sequence.frames,
            "captured_frames": animation.provenance.captured_frames,
            "slide_cm_s": round(100 * skate.animation.speed, 4),
            "slide_ratio": round(skate.ratio, 4),
            "seconds": round(time.perf_counter() - started, 3),
            "files": [str(path) for path in (target, picture) if path is not None],
        },
        as_json=json,
    )


def _check(
    target: Path,
    picture: Path | None,
    kind: str,
    length: int | None,
    references: tuple[FrameReference, FrameReference],
) -> None:
    if target.suffix.lower() not in (*CLIPS, ".png") and "MeshSequence" not in format_to_write(target).writes:
        raise InputError(f"{target}: write a mesh sequence, a picture (.png) or a clip (.mp4)")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: write it as {', '.join(PICTURES)}")
    for path in (target, *([picture] if picture else [])):
        check_folder(path)
        check_apart(path, *(reference.file for reference in references))
    if kind not in KINDS:
        raise InputError(f"--kind {kind}: one of {', '.join(KINDS)}")
    if length is not None and length < 2:
        raise InputError(f"--length {length}: 2 frames or more")


def _loaded(
    leaving: FrameReference, arriving: FrameReference, options: dict[str, Any]
) -> tuple[Library, int, int]:
    """The sequences of both frames, and the frames' numbers there."""
    (one, first), (two, last) = load_frames([leaving, arriving], **options)
    if one is two:
        return Library((one,)), first, last
    return Library((one, two)), first, one.frames + last


def _windows(frame_rate: float, kind: str, length: int | None, slope: int) -> Windows:
    usual = Windows.at(frame_rate, slope=slope)
    if kind == "optimal":
        longest = usual.longest if length is None else length
        return Windows(min(usual.shortest, longest), longest, slope)
    exact = usual.shortest if length is None else length
    return Windows(exact, exact, slope)


def _check_room(
    library: Library,
    frames: tuple[int, int],
    windows: Windows,
    references: tuple[FrameReference, FrameReference],
) -> None:
    """A frame too near to its sequence's end to leave it, or to its beginning to arrive, is an error."""
    (one, here), (_, there) = (library.locate(frame) for frame in frames)
    left = library.sequences[one].frames - here
    for reference, room, where in zip(references, (left, there + 1), ("from it on", "up to it"), strict=True):
        if room < windows.shortest:
            raise InputError(
                f"{reference}: there are {room} frames {where}, but the window needs {windows.shortest}; "
                "choose another frame, or a shorter --length"
            )


def _window_distances(
    library: Library, first: int, last: int, windows: Windows, progress: Any
) -> tuple[DistanceMatrix, Any]:
    """Pose distances of the frames that may be blended, and what takes their numbers to the library's."""
    parts: list[MeshSequence] = []
    offsets = []
    for frame, ahead in ((first, True), (last, False)):
        sequence, local = library.locate(frame)
        whole = library.sequences[sequence]
        begin = local if ahead else max(0, local - windows.longest + 1)
        end = min(whole.frames, local + windows.longest) if ahead else local + 1
        offsets.append(frame - local + begin - sum(part.frames for part in parts))
        parts.append(whole[begin:end].renamed(whole.name))
    return distances(Library(tuple(parts)), progress=progress), np.array(offsets)


def _found(
    apart: DistanceMatrix, first: int, last: int, kind: str, windows: Windows, objective: Any, alpha: float
) -> Transition:
    if kind == "optimal":
        return optimal(apart, first, last, windows=windows, objective=objective, alpha=alpha)
    if kind == "warped":
        return warped(apart, first, last, windows.longest, windows.longest, slope=windows.slope)
    return standard(apart, first, last, windows.longest)


def _standard(apart: DistanceMatrix, first: int, last: int, length: int) -> Transition | None:
    """The plain transition for comparison; none where a sequence is too short for it."""
    try:
        return standard(apart, first, last, length)
    except InputError:
        return None


def _write(animation: Animation, target: Path) -> None:
    if target.suffix.lower() in (*CLIPS, ".png"):
        from marey.views.render import view

        view(animation, target)
    else:
        save(animation, target)
