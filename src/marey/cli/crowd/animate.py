"""`marey crowd animate`: people carried by captured motion."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from marey.cli._console import warn
from marey.cli._inputs import Given
from marey.cli._inputs import video as load_video
from marey.cli._options import (
    Camera,
    Fields,
    Length,
    Out,
    Parsed,
    PlaneHeight,
    Polygon,
    Seed,
    bounded,
    option,
    parse_polygon,
)  # fmt: skip
from marey.cli._run import Output, Run, check_ending, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey._work import Progress

BODIES, CLIPS = (".glb", ".gltf"), (".mp4", ".gif")


_RATE = bounded(float, 0, None, None)


def _entrance(text: str) -> tuple[list[list[float]], float]:
    corners, _, rate = text.partition("@")
    return parse_polygon(corners), _RATE(rate)


Door = Annotated[
    tuple[list[list[float]], float],
    Parsed(
        _entrance, "write three corners or more and end it with @ and people per second: '0,0 4,0 4,2@1.5'"
    ),
]


@command(writes="Tracks", views=(".png", *CLIPS, *BODIES), reports="people, frames")
def animate(
    run: Run,
    field: Fields,
    out: Out = option(
        ..., "Tracks (.csv, .parquet, .sqlite, .mry), bodies (.glb), a clip (.mp4) or image (.png).", "OUT"
    ),
    people: int | None = option(None, "How many; 100 if not given.", "N"),
    density: float | None = option(
        None, "How many per square metre, instead of --people.", "D", above=0, max=20
    ),
    seconds: float | None = option(
        None, "How long; as long as the field if not given.", "S", min=0, max=86_400
    ),
    frame_rate: float = option(60.0, "Frames per second of the tracks.", "F"),
    avoid: Literal["none", "social"] = option("none", "social: people keep apart; none: they may overlap."),
    lag: float = option(0.0, "Seconds by which people follow late.", "S"),
    radius: Length = option(0.25, "Radius of a body, e.g. 25cm.", "L"),
    match_density: bool = option(False, "Keep people only where the video shows people."),
    area: Polygon | None = option(None, "People start in this polygon, metres.", "X,Y X,Y …"),
    entrance: list[Door] = option(
        (), "People come in here, RATE a second, not at the border.", "X,Y X,Y …@RATE"
    ),
    exit: list[Polygon] = option((), "People who get into this polygon are gone.", "X,Y X,Y …"),
    no_respawn: bool = option(False, "People who leave the image are not replaced."),
    camera: Camera = None,
    plane_height: PlaneHeight = 0.0,
    scale: float | None = option(None, "Metres per pixel, for a field seen from above.", "M"),
    video: Path | None = option(
        None, "Draw the people into this video (OUT is .mp4 or .gif).", "V.avi", role="in"
    ),
    seed: Seed = 0,
) -> Output:
    """Let people walk in captured motion: tracks, bodies, or drawn into the video.

    Examples:
        marey crowd animate street.zarr -o people.csv --people 500
        marey crowd animate street.zarr -o people.glb --people 80 --avoid social --seconds 10
        marey crowd animate street.zarr -o again.mp4 --people 30 --video street.avi --camera View_001.xml
        marey crowd animate street.zarr -o people.parquet --density 0.5 --match-density
        marey crowd animate hall.zarr -o p.csv --entrance "0,0 2,0 2,4 0,4@1.5" --exit "20,0 22,0 22,4"

    Those who leave come in again, as someone new, where the motion streams in. Bodies with walks of your own,
    or in a page: marey crowd walk, from tracks.
    """
    from marey import crowd
    from marey.crowd.animate import calibrated
    from marey.io import cameras

    if camera is not None and scale is not None:
        raise InputError("--camera and --scale: give one of them")
    view = None if camera is None else cameras.read(camera)
    field = calibrated(field, view, plane_height, scale)
    footage = None
    if video is not None:
        check_ending(out, (), CLIPS)
        if field.homography is None:
            raise InputError("--video needs --camera: the field has no calibration")
        footage = load_video(video, Given())
        frame_rate = footage.frame_rate
        if seconds is not None and seconds > footage.duration:
            warn(f"the video ends after {footage.duration:.3g} s")
    found = run.call("walking", crowd.animate, field, frame_rate=frame_rate)
    tracks, length = found.tracks, field.duration if seconds is None else seconds
    per_frame = run.milliseconds(found.tracks.frames)
    report = {**found.report.as_dict(), "seconds": round(length, 4), "milliseconds_per_frame": per_frame}

    def draw(path: Path, progress: "Progress") -> None:
        if footage is not None:
            from marey.views.pedestrians import draw_overlay

            draw_overlay(tracks, footage, field, view, path, progress)
        elif path.suffix.lower() in BODIES:
            from marey.stage import walk

            walk(tracks).save(path, progress=progress)
        else:
            from marey.views import view as view_tracks

            view_tracks(tracks, path, progress=progress)

    return Output(tracks, report, draw=draw)
