"""`marey crowd animate`: people carried by captured motion."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from marey.cli._console import stage, warn
from marey.cli._inputs import video as load_video
from marey.cli._options import Fields, Length, Out, Parsed, Polygon, Seed, _polygon, number, option
from marey.cli._run import Output, check_ending, command
from marey.errors import InputError

BODIES, CLIPS = (".glb", ".gltf"), (".mp4", ".gif")


def _entrance(text: str) -> tuple[list[list[float]], float]:
    corners, _, rate = text.partition("@")
    return _polygon(corners), number(float, 0, None, None).parse(rate)


Door = Annotated[
    tuple[list[list[float]], float],
    Parsed(
        _entrance, "write three corners or more and end it with @ and people per second: '0,0 4,0 4,2@1.5'"
    ),
]


@command(writes="Tracks", views=(".png", *CLIPS, *BODIES), reports="people, frames")
def animate(
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
    seen: bool = option(False, "Keep people only where the video shows people."),
    area: Polygon | None = option(None, "People start in this polygon, metres.", "X,Y X,Y …"),
    entrance: list[Door] = option(
        (), "People come in here, RATE a second, not at the border.", "X,Y X,Y …@RATE"
    ),
    exit: list[Polygon] = option((), "People who get into this polygon are gone.", "X,Y X,Y …"),
    no_respawn: bool = option(False, "People who leave the image are not replaced."),
    camera: Path | None = option(
        None, "Tsai XML, camera.json or homography, if FIELD has none.", "FILE", role="in"
    ),
    plane_height: float = option(0.0, "Metres above the ground at which bodies were seen.", "M"),
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
        marey crowd animate street.zarr -o people.parquet --density 0.5 --seen
        marey crowd animate hall.zarr -o p.csv --entrance "0,0 2,0 2,4 0,4@1.5" --exit "20,0 22,0 22,4"

    Those who leave come in again, as someone new, where the motion streams in. Bodies with walks of your own,
    or in a page: marey crowd walk, from tracks.
    """
    import numpy as np

    from marey.crowd.animation import AgentSettings, AnimatedCrowd, Entrance
    from marey.crowd.animation import animate as advance
    from marey.crowd.animation.ground import WalkableGround
    from marey.crowd.evaluation import flow_deviation, overlaps

    if video is not None:
        check_ending(out, (), CLIPS)
    for both, names in (((people, density), "people and --density"), ((camera, scale), "camera and --scale")):
        if None not in both:
            raise InputError(f"--{names}: give one of them")
    field, view = _calibrated(field, camera, plane_height, scale)
    film = None if video is None else load_video(video, {})
    if film is not None and view is None and field.homography is None:
        raise InputError("--video needs --camera: the field has no calibration")
    length = field.duration if seconds is None else seconds
    if length > field.duration + 1e-9:
        warn(f"the field lasts {field.duration:.3g} s and is repeated; marey crowd extend makes it longer")
    if film is not None and seconds is not None and seconds > film.duration:
        warn(f"the video ends after {film.duration:.3g} s")
    settings = AgentSettings(radius=radius, lag=lag, avoid=avoid, recycle=not no_respawn, match_density=seen)
    count = (people or 100) if people != 0 else 0
    if density is not None:
        count = max(1, round(density * WalkableGround.of(field).area))

    def moved(settings: AgentSettings, progress: Any = None) -> Any:
        crowd = AnimatedCrowd(
            field,
            count,
            settings=settings,
            frame_rate=frame_rate if film is None else film.frame_rate,
            rng=seed,
            area=None if area is None else np.array(area),
            entrances=[Entrance(np.array(corners), rate) for corners, rate in entrance],
            exits=[np.array(corners) for corners in exit],
        )
        if crowd.flow.ground.guessed and progress is not None:
            size = float(np.abs(crowd.flow.ground.to_ground[0, 0]))
            warn(
                f"the field has no camera: taking {100 * size:.3g} cm a pixel, so that most walk at 1.34 m/s"
            )
        return advance(crowd, length, progress=progress)

    with stage("walking") as walking:
        tracks = moved(settings, walking)
    without = None
    if avoid != "none":
        without = overlaps(moved(replace(settings, avoid="none")), radius=radius).as_dict()
    report = {
        "people": round(float(tracks.present.sum(axis=1).mean())),
        "agents": tracks.agents,
        "frames": tracks.frames,
        "frame_rate": tracks.frame_rate,
        "seconds": round(length, 4),
        "collisions": overlaps(tracks, radius=radius).as_dict(),
        "collisions_without": without,
        "deviation": round(flow_deviation(tracks, field), 4),
        "milliseconds_per_frame": round(1e3 * walking.seconds / tracks.frames, 3),
    }

    def draw(path: Path, progress: Any) -> None:
        if film is not None:
            from marey.views.pedestrians import draw_overlay

            draw_overlay(tracks, film, field, view, path, progress)
        elif path.suffix.lower() in BODIES:
            from marey.stage import walk

            walk(tracks).save(path, progress=progress)
        else:
            from marey.views import view as view_tracks

            view_tracks(tracks, path, progress=progress)

    return Output(tracks, report, draw=draw)


def _calibrated(field: Any, camera: Path | None, height: float, scale: float | None) -> tuple[Any, Any]:
    """The series with a homography, if one is known, and the camera that was given."""
    from marey.crowd.cameras import Camera, orthographic
    from marey.crowd.fields import pixel_map
    from marey.io import cameras

    if scale is not None:
        return replace(field, homography=orthographic(scale)), None
    view = None if camera is None else cameras.read(camera)
    if view is None or field.homography is not None:
        return field, view
    if not isinstance(view, Camera):
        return replace(field, homography=view.homography), view
    if view.distortion != (0.0, 0.0):
        warn("the field was captured without its camera: the distortion of the lens stays in it")
    shape = (view.size[1], view.size[0])
    matrix = view.homography_at(height) @ pixel_map((field.rows, field.columns), shape)
    return replace(field, homography=matrix), view
