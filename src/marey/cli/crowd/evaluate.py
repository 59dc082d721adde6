"""`marey crowd evaluate`: captured fields, or people, against the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from marey.cli._typer import Json, cut, emit, load_with_bar, note, output, parse_frames, progress_bar
from marey.crowd.animation.agents import BODY_RADIUS
from marey.crowd.evaluation import Truth, compare, crowd_errors, flow_deviation, flow_similarity, overlaps
from marey.crowd.fields import FieldSeries
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError

NAME = "evaluate"

SHOWN = {
    "endpoint": "endpoint px",
    "angular_degrees": "angle °",
    "divergence": "divergence",
    "vorticity": "vorticity",
    "trajectory_m": "path m",
    "speeds": "speeds",
    "directions": "directions",
    "density": "density",
    "fundamental_diagram": "diagram m/s",
    "evacuation": "left",
    "deviation": "off the field",
    "collisions": "collisions",
}
PROMISED = ("endpoint", "angular_degrees", "divergence", "vorticity", "trajectory_m")


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FIELD… TRUTH",
            help="Fields or tracks; last, the truth: .flo, a field series, tracks, or a dataset's folder.",
        ),
    ],
    view: Annotated[
        str | None, typer.Option(metavar="CAMERA", help="Which camera of a dataset; its first if not given.")
    ] = None,
    seen: Annotated[
        bool,
        typer.Option(
            "--seen",
            help="Of a dataset, the motion of every visible point, not that of the crowd as a whole.",
        ),
    ] = False,
    all_pixels: Annotated[
        bool, typer.Option("--all-pixels", help="Pixels without people count too.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Compare the flows as a whole, not frame by frame.")
    ] = False,
    frames: Annotated[
        str | None,
        typer.Option(metavar="A:B", help="Frames of the truth that the rest shows, e.g. 100:200."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw where in the image the errors are.")
    ] = None,
    json: Json = False,
) -> None:
    """Errors of captured motion, and overlapping bodies.

    [bold]Examples[/bold]

    marey crowd evaluate flow.flo truth.flo

    marey crowd evaluate captured.zarr dataset/                     a folder of `marey crowd dataset`

    marey crowd evaluate divcurl.zarr dis.zarr hs.zarr dataset/ --picture errors.png

    marey crowd evaluate simulated.zarr footage.zarr --statistics   flows as a whole

    marey crowd evaluate part.zarr dataset/ --frames 100:200        captured from a part of the video

    marey crowd evaluate simulated.csv real.csv                     crowd against crowd

    marey crowd evaluate tracks.csv                                 overlapping bodies alone
    """
    *sources, last = paths
    if not sources:
        sources = [last]
    things = [_thing(source) for source in sources]
    only_people = len(paths) == 1
    if only_people and isinstance(things[0], FieldSeries):
        raise InputError(
            f"{last}: give a field and, after it, the truth; of tracks alone, overlapping bodies are counted"
        )
    truth = Truth() if only_people else _truth(last, view=view, seen=seen, all_pixels=all_pixels)
    truth = _part(truth, last, frames)
    rows = []
    with progress_bar("comparing") as progress:
        for number, (source, thing) in enumerate(zip(sources, things, strict=True)):
            rows.append({"path": str(source), **_row(thing, source, truth, last, statistics=statistics)})
            progress(number + 1, len(things))
    if picture is not None:
        _draw(picture, sources, things, truth)
    if json or len(rows) == 1:
        emit(rows[0] if len(rows) == 1 else {"fields": rows}, as_json=json)
        return
    _print_table(rows)


def _thing(path: Path) -> FieldSeries | Tracks | SimulatedCrowd:
    thing = load_with_bar(path, clip=None)
    if not isinstance(thing, FieldSeries | Tracks | SimulatedCrowd):
        raise InputError(f"{path}: holds a {type(thing).__name__}, not fields or tracks")
    return thing


def _truth(path: Path, *, view: str | None, seen: bool, all_pixels: bool) -> Truth:
    if (path / "dataset.json").is_file():
        from marey.filming import read_dataset

        data = read_dataset(path)
        name = view or next(iter(data.views))
        if name not in data.views:
            raise InputError(f"--view {name}: {path} has {', '.join(data.views)}")
        chosen = data.views[name]
        fields = chosen.crowd_flow
        if seen:
            # Ways on the ground are those of bodies, which the crowd's field places at half their height.
            fields = replace(chosen.flow, homography=fields.homography)
        return Truth(fields, data.tracks, all_pixels)
    if view is not None or seen:
        raise InputError(f"{path}: --view and --seen are for folders written by marey crowd dataset")
    thing = _thing(path)
    if isinstance(thing, FieldSeries):
        return Truth(thing, None, all_pixels)
    return Truth(None, thing.tracks if isinstance(thing, SimulatedCrowd) else thing)


def _part(truth: Truth, path: Path, frames: str | None) -> Truth:
    """The truth of some frames."""
    part = parse_frames(frames)
    if part is None:
        return truth
    if truth.fields is None and truth.tracks is None:
        raise InputError("--frames: chooses those of a truth, and none is given")
    length = max(one.frames for one in (truth.fields, truth.tracks) if one is not None)
    start, stop, _ = part.indices(length)
    if start >= stop:
        raise InputError(f"--frames {frames}: {path} has {length} frames")
    fields = truth.fields
    if fields is not None:
        if start >= fields.frames:
            raise InputError(f"--frames {frames}: {path} has {fields.frames} fields")
        fields = cut(fields, slice(start, stop))
    return replace(
        truth, fields=fields, tracks=cut(truth.tracks, slice(start, stop)) if truth.tracks else None
    )


def _row(
    thing: FieldSeries | Tracks | SimulatedCrowd, source: Path, truth: Truth, path: Path, *, statistics: bool
) -> dict[str, Any]:
    if not isinstance(thing, FieldSeries):
        return _people_row(thing, source, truth, path, statistics=statistics)
    if statistics:
        if truth.fields is None:
            raise InputError(f"{path}: --statistics compares two field series, this holds tracks")
        return flow_similarity(thing, truth.fields).as_dict()
    if truth.fields is None and thing.homography is None:
        raise InputError(
            f"{path}: holds tracks in metres, and the field has no camera; capture it with --camera"
        )
    if truth.fields is not None and abs(thing.frames - truth.fields.frames) > 1:
        common = min(thing.frames, truth.fields.frames)
        note(
            f"{source} has {thing.frames} fields and {path} {truth.fields.frames}: the first {common} "
            "of each are compared; --frames A:B chooses others of the truth"
        )
    return compare(thing, truth)


def _people_row(
    people: Tracks | SimulatedCrowd, source: Path, truth: Truth, path: Path, *, statistics: bool
) -> dict[str, Any]:
    # A simulated crowd knows its bodies; tracks alone are taken for people of usual size.
    tracks, radius = (people, BODY_RADIUS) if isinstance(people, Tracks) else (people.tracks, people.radius)
    row: dict[str, Any] = {"collisions": overlaps(tracks, radius).as_dict()}
    if truth.tracks is not None:
        found = crowd_errors(tracks, truth.tracks)
        if found.shared == 0:
            note(f"{source} and {path} have no person's number in common: they are compared as crowds only")
        return dict.fromkeys(PROMISED) | found.as_dict() | row
    if truth.fields is not None:
        if statistics:
            raise InputError(f"{source}: --statistics compares two field series, this holds tracks")
        if truth.fields.homography is None:
            raise InputError(f"{path}: has no camera, and {source} is in metres; capture it with --camera")
        return dict.fromkeys(PROMISED) | {"deviation": flow_deviation(tracks, truth.fields)} | row
    return row


def _draw(picture: Path, sources: list[Path], things: list[Any], truth: Truth) -> None:
    names = _short(sources)
    fields = {name: one for name, one in zip(names, things, strict=True) if isinstance(one, FieldSeries)}
    if truth.fields is None or not fields:
        note(f"{picture} is not drawn: there are no fields on both sides")
        return
    from marey.views import figures, style

    style.save(figures.field_errors(fields, truth), picture)


def _print_table(rows: list[dict[str, Any]]) -> None:
    names = [name for name in SHOWN if any(row.get(name) is not None for row in rows)]
    names = names or [name for name in rows[0] if name != "path"]
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in names:
        table.add_column(SHOWN.get(name, name.replace("_", " ")), justify="right")
    for label, row in zip(_short([Path(row["path"]) for row in rows]), rows, strict=True):
        values = (row.get(name) for name in names)
        table.add_row(label, *(_cell(value) for value in values))
    output.print(table)


def _short(paths: list[Path]) -> list[str]:
    """Names without their folders, if these differ."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['pairs']:.3g}"
    return "–" if value is None else f"{value:.4g}"
