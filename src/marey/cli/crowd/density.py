"""`marey crowd density`: density and danger of a crowd in a video."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from marey.cli._console import warn
from marey.cli._inputs import Given, read
from marey.cli._inputs import scene as scene_of
from marey.cli._options import Camera, Figure, Out, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from marey.crowd import Tracks
    from marey.crowd.density import Alarm
    from marey.crowd.density.danger import Danger
    from marey.crowd.density.estimate import Moment


@command(
    writes=("FieldSeries", "Alarms"),
    views=(".mp4", ".gif", ".png"),
    reports="frames, zones, alarms; correlation, peak_error_m",
)
def density(
    run: Run,
    source: Path = argument("A video, a folder of images, or captured fields.", "VIDEO|FIELD", role="in"),
    out: Out = option(
        ..., "Fields with density (.zarr, .mry), a map (.mp4, .png), or alarms (.json, .csv).", "OUT"
    ),
    scene: str = option(..., "Its walls and goals: a name, or a JSON file.", "S"),
    camera: Camera = None,
    model: Literal["continuity", "disturbance"] = option(
        "continuity", "continuity: density that is kept; disturbance: as published."
    ),
    alarms: Path | None = option(None, "Also the log of alarms, .json or .csv.", "FILE", role="also"),
    level: float = option(2.0, "People per m² from which a place is dangerous.", "D", above=0),
    after: float = option(3.0, "Seconds for which it must be so.", "S", min=0),
    rising: float | None = option(None, "Also where density grows by so much a second.", "D", above=0),
    pressure: float | None = option(None, "Also where crowd pressure, 1/s², is above this.", "P", above=0),
    size: int | None = option(None, "Longer side of the working grid; 320 if not given.", "N", min=8),
    spacing: float | None = option(None, "Width of a cell, metres; 0.5 if not given.", "M", above=0),
    initial: Path | None = option(
        None, "Density at first as an image of the scene from above; white is 4 per m².", "IMG", role="in"
    ),
    every: int = option(1, "Use presence every N-th step of 0.2 s; 0: at the start alone.", "N", min=0),
    fit_law: bool = option(False, "Estimate the numbers of the law of walking too."),
    spread: int = option(0, "Samples of the posterior spread, e.g. 30.", "N", min=0),
    truth: Path | None = option(
        None, "Tracks or a dataset's folder, for scores alone.", "DATASET", role="in"
    ),
    live: bool = option(False, "Say alarms while the video runs, and keep nothing else; OUT is their log."),
    figure: Figure = None,
) -> Output:
    """Estimate how dense a crowd is, and where that is dangerous.

    Examples:
        marey crowd density street.mp4 -o density.zarr --scene street.json --camera camera.json
        marey crowd density flow.zarr -o density.mry --scene square.json --alarms alarms.csv
        marey crowd density street.mp4 -o map.mp4 --scene street.json --camera h.txt --level 1.5
        marey crowd density door/above/shaded.mp4 -o d.zarr --scene escape --truth door/
        marey crowd density street.mp4 -o alarms.json --scene street.json --live

    Only the video, its camera and the scene's walls and goals are used. The law of the model disturbance
    explains little of how crowds walk: see the docs.
    """
    import numpy as np

    from marey import crowd
    from marey.crowd.density import Alarms, DangerSettings, follow
    from marey.crowd.fields import FieldSeries, Footage
    from marey.io import alarms as log
    from marey.io import cameras
    from marey.io.images import read_image

    data = read(source, Given())
    if not isinstance(data, Footage | FieldSeries):
        raise InputError(f"{source}: holds a {type(data).__name__}, not a video or fields")
    given = {name: value for name, value in (("rising", rising), ("pressure", pressure)) if value is not None}
    is_log = out.suffix.lower() in (".json", ".csv")
    danger = DangerSettings(level=level, seconds=after, **given)
    if live:
        if not (isinstance(data, Footage) and is_log):
            raise InputError("--live: takes a video, and writes a log of alarms, .json or .csv")
        view = None if camera is None else cameras.read(camera)
        frames = follow(data, data.frame_rate, scene_of(scene), camera=view, danger=danger, model=model)
        count, said = _follow(frames)
        return Output(Alarms(tuple(said), danger, data.duration, data.name), count)
    found = run.call(
        "estimating",
        crowd.density,
        data,
        scene_of(scene),
        camera=None if camera is None else cameras.read(camera),
        initial=None if initial is None else read_image(initial).mean(axis=2).astype(np.float32) / 63.75,
        danger=danger,
        truth=None if truth is None else _tracks(truth),
    )
    if alarms is not None:
        log.write(found.alarms, alarms)
    if model == "disturbance" and not run.json:
        warn("the law of this model explains little of how crowds walk; its values are not people per m²")
    report = found.report.as_dict()
    report |= report.pop("scores") or {}
    drawn = (found, data)

    def draw(path: Path, progress: object) -> None:
        from marey.views.figures.density import write_map

        write_map(found, data, path, progress=progress)  # type: ignore[arg-type]

    return Output(found.alarms if is_log else found.fields, report, ("density_map", *drawn), draw=draw)


def _follow(
    moments: "Iterator[tuple[Moment, Danger, list[Alarm]]]",
) -> "tuple[dict[str, object], list[Alarm]]":
    """What a running video came to, and its alarms; each is said when it begins."""
    known: list[Alarm] = []
    frames = zones = 0
    for _, danger, alarms in moments:
        frames, zones = frames + 1, max(zones, len({*danger.zones.ravel().tolist()} - {0}))
        for alarm in alarms[len(known) :]:
            warn(f"{alarm.start:.1f} s: zone {alarm.zone}, {alarm.reason}, at {alarm.x:.1f}, {alarm.y:.1f} m")
        known = alarms
    return {"frames": frames, "zones": zones, "alarms": len(known)}, known


def _tracks(path: Path) -> "Tracks":
    """Where people were."""
    from marey.crowd import SimulatedCrowd, Tracks

    if (path / "dataset.json").is_file():
        from marey.filming import read_dataset

        return read_dataset(path).tracks
    data = read(path, Given())
    if isinstance(data, SimulatedCrowd):
        return data.tracks
    if not isinstance(data, Tracks):
        raise InputError(f"{path}: holds a {type(data).__name__}, not tracks or a dataset")
    return data
