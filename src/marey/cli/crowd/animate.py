"""`marey crowd animate`: people carried by captured motion."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from marey.cli._typer import (
    Json,
    check_apart,
    check_folder,
    emit,
    load_with_bar,
    note,
    parse_length,
    progress_bar,
)
from marey.crowd.animation import AgentSettings, AnimatedCrowd, Entrance, animate
from marey.crowd.cameras import Camera, orthographic
from marey.crowd.evaluation import flow_deviation, overlaps
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.grids import pixel_map
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.io import cameras, format_to_write, save
from marey.io.cameras import View

NAME = "animate"

PICTURES, BODIES = (".png", ".mp4", ".gif"), (".glb", ".gltf")
FILMS = (".mp4", ".gif")
PEOPLE = 100


def run(
    source: Annotated[Path, typer.Argument(metavar="FIELD", help="Captured motion: .zarr, .mry or .flo.")],
    target: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Tracks (.csv, .parquet, .sqlite, .mry), bodies (.glb), a clip (.mp4) or picture (.png).",
        ),
    ],
    people: Annotated[int | None, typer.Option(metavar="N", help="How many; 100 if not given.")] = None,
    density: Annotated[
        float | None, typer.Option(metavar="D", help="How many per square metre, instead of --people.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="How long; as long as the field if not given.")
    ] = None,
    frame_rate: Annotated[float, typer.Option(metavar="F", help="Frames per second of the tracks.")] = 60.0,
    avoid: Annotated[
        str, typer.Option(metavar="HOW", help="social: people keep apart; none: they may overlap.")
    ] = "none",
    lag: Annotated[float, typer.Option(metavar="S", help="Seconds by which people follow late.")] = 0.0,
    radius: Annotated[str, typer.Option(metavar="L", help="Of a body, e.g. 25cm.")] = "25cm",
    seen: Annotated[
        bool, typer.Option("--seen", help="People stand where the video shows people, all the time.")
    ] = False,
    area: Annotated[
        str | None, typer.Option(metavar="X,Y X,Y …", help="People start in this polygon, metres.")
    ] = None,
    entrance: Annotated[
        list[str] | None,
        typer.Option(metavar="X,Y X,Y …@RATE", help="People come in here, RATE a second, not at the border."),
    ] = None,
    exit: Annotated[
        list[str] | None, typer.Option(metavar="X,Y X,Y …", help="Who gets into this polygon is gone.")
    ] = None,
    vanish: Annotated[bool, typer.Option("--vanish", help="Who leaves the picture is not replaced.")] = False,
    camera: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tsai XML, camera.json or homography, if FIELD has none."),
    ] = None,
    plane_height: Annotated[
        float, typer.Option(metavar="M", help="Metres above the ground at which bodies were seen.")
    ] = 0.0,
    scale: Annotated[
        float | None, typer.Option(metavar="M", help="Metres per pixel, for a field seen from above.")
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(metavar="V.avi", help="Draw the people into this film (OUT is .mp4 or .gif)."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another number, another crowd.")] = 0,
    json: Json = False,
) -> None:
    """Let people walk in captured motion: tracks, bodies, or drawn into the video.

    [bold]Examples[/bold]

    marey crowd animate street.zarr -o people.csv --people 500

    marey crowd animate street.zarr -o people.glb --people 80 --avoid social --seconds 10

    marey crowd animate street.zarr -o again.mp4 --people 30 --video street.avi --camera View_001.xml

    marey crowd animate street.zarr -o people.parquet --density 0.5 --seen

    marey crowd animate hall.zarr -o p.csv --entrance "0,0 2,0 2,4 0,4@1.5" --exit "20,0 22,0 22,4"

    Those who leave come in again, as someone new, where the motion streams in. Bodies with walks of your own,
    or in a page: marey crowd walk, from tracks.
    """
    _check(source, target, video, people, density)
    fields, view = _fields(source, camera, plane_height, scale)
    film = None if video is None else _film(video)
    rate = frame_rate if film is None else film.frame_rate
    length = _length(fields, film, seconds)
    settings = AgentSettings(
        radius=parse_length(radius, "--radius") or 0.0,
        lag=lag,
        avoid=avoid,  # type: ignore[arg-type]
        recycle=not vanish,
        match_density=seen,
    )
    options: dict[str, Any] = {
        "frame_rate": rate,
        "rng": seed,
        "area": None if area is None else _polygon(area, "--area"),
        "entrances": [_entrance(text) for text in entrance or []],
        "exits": [_polygon(text, "--exit") for text in exit or []],
    }
    started = time.perf_counter()
    crowd = AnimatedCrowd(fields, _count(fields, people, density), settings=settings, **options)
    if crowd.flow.ground.guessed:
        size = float(np.abs(crowd.flow.ground.to_ground[0, 0]))
        note(f"the field has no camera: taking {100 * size:.3g} cm a pixel, at which most walk at 1.34 m/s")
    with progress_bar("walking") as progress:
        tracks = animate(crowd, length, progress=progress)
    spent = time.perf_counter() - started
    _write(tracks, target, film, view or _of_field(fields, film))
    emit(
        {
            "people": round(float(tracks.present.sum(axis=1).mean())),
            "agents": tracks.agents,
            "frames": tracks.frames,
            "frame_rate": tracks.frame_rate,
            "seconds": round(length, 4),
            "collisions": overlaps(tracks, radius=settings.radius).as_dict(),
            "collisions_without": _without(fields, people, density, settings, options, length)
            if settings.avoid != "none"
            else None,
            "deviation": _rounded(flow_deviation(tracks, fields)),
            "milliseconds_per_frame": round(1e3 * spent / tracks.frames, 3),
            "path": str(target),
        },
        as_json=json,
    )


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 4)


def _check(source: Path, target: Path, video: Path | None, people: int | None, density: float | None) -> None:
    check_folder(target)
    ending = target.suffix.lower()
    if video is not None and ending not in FILMS:
        raise InputError(f"{target}: a film with people in it is written as {' or '.join(FILMS)}")
    if ending not in PICTURES + BODIES and "Tracks" not in format_to_write(target).writes:
        raise InputError(f"{target}: people are written as .csv, .parquet, .sqlite, .mry, .glb, .mp4 or .png")
    check_apart(target, source, *([video] if video else []))
    if people is not None and density is not None:
        raise InputError("--people and --density: give one of them")
    if density is not None and not 0 < density <= 20:
        raise InputError(f"--density {density:g}: people per square metre, above 0 and at most 20")


def _fields(
    source: Path, camera: Path | None, height: float, scale: float | None
) -> tuple[FieldSeries, View | None]:
    """The series with a homography, if one is known, and the camera that was given."""
    thing = load_with_bar(source, clip=None)
    if not isinstance(thing, FieldSeries):
        raise InputError(
            f"{source}: holds a {type(thing).__name__}, not fields; marey crowd capture makes them"
        )
    if camera is not None and scale is not None:
        raise InputError("--camera and --scale: give one of them")
    if scale is not None:
        return replace(thing, homography=orthographic(scale)), None
    if camera is None:
        return thing, None
    view = cameras.read(camera)
    if thing.homography is not None:
        return thing, view
    if isinstance(view, Camera):
        if view.distortion != (0.0, 0.0):
            note(f"{source} was captured without its camera: the bend of the lens stays in it")
        shape = (view.size[1], view.size[0])
        matrix = view.homography_at(height) @ pixel_map((thing.rows, thing.columns), shape)
    else:
        matrix = view.homography
    return replace(thing, homography=matrix), view


def _film(path: Path) -> Footage:
    thing = load_with_bar(path, clip=None)
    if not isinstance(thing, Footage):
        raise InputError(f"{path}: holds a {type(thing).__name__}, not a film")
    return thing


def _of_field(fields: FieldSeries, film: Footage | None) -> View | None:
    """The camera of the film that the field's own homography tells of."""
    if film is None:
        return None
    if fields.homography is None:
        raise InputError("--video: where people stand in it is not known; give its --camera")
    from marey.views.pedestrians import seen_through

    return seen_through(np.asarray(fields.homography), (fields.rows, fields.columns), film)


def _length(fields: FieldSeries, film: Footage | None, seconds: float | None) -> float:
    own = fields.duration
    if seconds is None:
        return own
    if not 0 <= seconds <= 86_400:
        raise InputError(f"--seconds {seconds:g}: 0 to 86400")
    if film is not None and seconds > film.frames / film.frame_rate:
        note(f"the film ends after {film.frames / film.frame_rate:.3g} s")
    if seconds > own + 1e-9:
        note(
            f"the field lasts {own:.3g} s and is repeated; marey crowd extend makes it endless without a jump"
        )
    return seconds


def _count(fields: FieldSeries, people: int | None, density: float | None) -> int:
    if density is None:
        return PEOPLE if people is None else people
    from marey.crowd.animation.ground import WalkableGround

    return max(1, round(density * WalkableGround.of(fields).area))


def _without(
    fields: FieldSeries,
    people: int | None,
    density: float | None,
    settings: AgentSettings,
    options: dict[str, Any],
    length: float,
) -> dict[str, float | int]:
    """Collisions of the same crowd if nobody looked out."""
    careless = AnimatedCrowd(
        fields, _count(fields, people, density), settings=replace(settings, avoid="none"), **options
    )
    return overlaps(animate(careless, length), radius=settings.radius).as_dict()


def _write(tracks: Tracks, target: Path, film: Footage | None, view: View | None) -> None:
    ending = target.suffix.lower()
    with progress_bar(f"writing {target.name}") as progress:
        if film is not None and view is not None:
            from marey.io.video import write_frames
            from marey.views import pedestrians

            count = min(tracks.frames, film.frames)
            images = pedestrians.video_overlay(tracks, film, view)
            write_frames(images, target, frame_rate=film.frame_rate, progress=progress, total=count)
        elif ending in PICTURES:
            from marey.views.render import view as draw

            draw(tracks, target, progress=progress)
        elif ending in BODIES:
            from marey.stage import walk

            walk(tracks).save(target, progress=progress)
        else:
            save(tracks, target, progress=progress)


def _polygon(text: str, option: str) -> NDArray[np.float64]:
    """Corners `(n, 2)` metres.

    >>> _polygon("0,0 10,0 10,5.5", "--area").tolist()
    [[0.0, 0.0], [10.0, 0.0], [10.0, 5.5]]
    """
    number = r"-?\d+(?:\.\d+)?"
    if not re.fullmatch(rf"\s*{number},{number}(?:[\s;]+{number},{number}){{2,}}\s*", text):
        raise InputError(f"{option} {text}: write three corners or more, e.g. '0,0 4,0 4,2.5'")
    return np.array([float(value) for value in re.findall(number, text)]).reshape(-1, 2)


def _entrance(text: str) -> Entrance:
    corners, _, rate = text.partition("@")
    if not re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", rate):
        raise InputError(f"--entrance {text}: end it with @ and people per second, e.g. '0,0 4,0 4,2@1.5'")
    return Entrance(_polygon(corners, "--entrance"), float(rate))
