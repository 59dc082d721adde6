"""`marey crowd evaluate`: captured fields, or people, against the truth."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from marey.cli._console import stage, warn
from marey.cli._inputs import read, slice_frames
from marey.cli._options import Figure, FrameRange, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

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
PROMISED = tuple(SHOWN)[:5]


@command(reports="; endpoint, angular_degrees, divergence, vorticity, trajectory_m")
def evaluate(
    run: Run,
    paths: list[Path] = argument(
        "Fields or tracks; last, the truth: .flo, a field series, tracks, or a dataset's folder.",
        "FIELD… TRUTH",
        role="in",
    ),
    view: str | None = option(None, "Which camera of a dataset; its first if not given.", "CAMERA"),
    visible: bool = option(
        False, "Of a dataset, the motion of every visible point, not that of the crowd as a whole."
    ),
    all_pixels: bool = option(False, "Pixels without people count too."),
    statistics: bool = option(False, "Compare flow statistics instead of frame-by-frame errors."),
    frames: FrameRange | None = option(None, "Frames of the truth that the rest shows, e.g. 100:200.", "A:B"),
    figure: Figure = None,
) -> Output:
    """Errors of captured motion, and overlapping bodies.

    Examples:
        marey crowd evaluate flow.flo truth.flo
        marey crowd evaluate captured.zarr dataset/                     a folder of `marey crowd dataset`
        marey crowd evaluate divcurl.zarr dis.zarr hs.zarr dataset/ --figure errors.png
        marey crowd evaluate simulated.zarr footage.zarr --statistics   flows as a whole
        marey crowd evaluate part.zarr dataset/ --frames 100:200        captured from a part of the video
        marey crowd evaluate simulated.csv real.csv                     crowd against crowd
        marey crowd evaluate tracks.csv                                 overlapping bodies alone

    The figure shows where in the image the errors are.
    """
    from marey.crowd.evaluation import Truth

    *sources, last = paths
    sources = sources or [last]
    loaded = [_data(source) for source in sources]
    alone = len(paths) == 1
    if alone and type(loaded[0]).__name__ == "FieldSeries":
        raise InputError(
            f"{last}: give a field and, after it, the truth; of tracks alone, overlapping bodies are counted"
        )
    truth: Any = Truth() if alone else _truth(last, view, visible, all_pixels)
    truth = _part(truth, last, frames)
    rows = []
    with stage("comparing") as progress:
        for number, (source, data) in enumerate(zip(sources, loaded, strict=True), start=1):
            measure = _field_row if type(data).__name__ == "FieldSeries" else _people_row
            rows.append({"path": source, **measure(data, source, truth, last, statistics)})
            progress(number, len(loaded))
    names = [path.name for path in sources]
    names = names if len(set(names)) == len(names) else [str(path) for path in sources]
    flows = {name: one for name, one in zip(names, loaded) if type(one).__name__ == "FieldSeries"}
    drawn: tuple[Any, ...] = ("field_errors", flows, truth) if truth.fields is not None and flows else ()
    if figure is not None and not drawn:
        warn(f"{figure} is not drawn: there are no fields on both sides")
    if len(rows) > 1 and not run.json:
        _print_table(names, rows)
        return Output(None, None, drawn)
    return Output(None, rows[0] if len(rows) == 1 else {"fields": rows}, drawn)


def _data(path: Path) -> Any:
    return read(path, {}, "FieldSeries", "Tracks", "SimulatedCrowd", hint="fields or tracks")


def _truth(path: Path, view: str | None, visible: bool, all_pixels: bool) -> Any:
    from marey.crowd.evaluation import Truth

    if (path / "dataset.json").is_file():
        from marey.filming import read_dataset

        data = read_dataset(path)
        name = view or next(iter(data.views))
        if name not in data.views:
            raise InputError(f"--view {name}: {path} has {', '.join(data.views)}")
        fields = data.views[name].crowd_flow
        if visible:
            # Paths on the ground are those of bodies, which the crowd's field places at half their height.
            fields = replace(data.views[name].flow, homography=fields.homography)
        return Truth(fields, data.tracks, all_pixels)
    if view is not None or visible:
        raise InputError(f"{path}: --view and --visible are for folders written by marey crowd dataset")
    found = _data(path)
    if type(found).__name__ == "FieldSeries":
        return Truth(found, None, all_pixels)
    return Truth(None, getattr(found, "tracks", found))


def _part(truth: Any, path: Path, frames: slice | None) -> Any:
    """The truth of some frames."""
    known = [one for one in (truth.fields, truth.tracks) if one is not None]
    if frames is None:
        return truth
    if not known:
        raise InputError("--frames: chooses those of a truth, and none is given")
    length = max(one.frames for one in known)
    chosen = range(*frames.indices(length))
    if not chosen or (truth.fields is not None and chosen[0] >= truth.fields.frames):
        raise InputError(f"--frames: {path} has {length} frames")
    part = slice(chosen.start, chosen.stop)
    return replace(
        truth,
        fields=None if truth.fields is None else slice_frames(truth.fields, part),
        tracks=None if truth.tracks is None else slice_frames(truth.tracks, part),
    )


def _field_row(field: Any, source: Path, truth: Any, path: Path, statistics: bool) -> dict[str, Any]:
    from marey.crowd.evaluation import compare, flow_similarity

    true = truth.fields
    if statistics:
        if true is None:
            raise InputError(f"{path}: --statistics compares two field series, this holds tracks")
        return flow_similarity(field, true).as_dict()
    if true is None and field.homography is None:
        raise InputError(
            f"{path}: holds tracks in metres, and the field has no camera; capture it with --camera"
        )
    if true is not None and abs(field.frames - true.frames) > 1:
        warn(
            f"{source} has {field.frames} fields and {path} {true.frames}: the first "
            f"{min(field.frames, true.frames)} of each are compared; --frames A:B chooses others of the truth"
        )
    return compare(field, truth)


def _people_row(people: Any, source: Path, truth: Any, path: Path, statistics: bool) -> dict[str, Any]:
    from marey.crowd.animation.agents import BODY_RADIUS
    from marey.crowd.evaluation import crowd_errors, flow_deviation, overlaps

    # A simulated crowd knows its bodies; tracks alone are taken for people of usual size.
    tracks, radius = getattr(people, "tracks", people), getattr(people, "radius", BODY_RADIUS)
    row: dict[str, Any] = {"collisions": overlaps(tracks, radius).as_dict()}
    if truth.tracks is not None:
        found = crowd_errors(tracks, truth.tracks)
        if found.shared == 0:
            warn(f"{source} and {path} have no person's number in common: they are compared as crowds only")
        return dict.fromkeys(PROMISED) | found.as_dict() | row
    if truth.fields is None:
        return row
    if statistics:
        raise InputError(f"{source}: --statistics compares two field series, this holds tracks")
    if truth.fields.homography is None:
        raise InputError(f"{path}: has no camera, and {source} is in metres; capture it with --camera")
    return dict.fromkeys(PROMISED) | {"deviation": flow_deviation(tracks, truth.fields)} | row


def _print_table(names: list[str], rows: list[dict[str, Any]]) -> None:
    shown = [name for name in SHOWN if any(row.get(name) is not None for row in rows)]
    table = [["", *(SHOWN[name] for name in shown)]]
    for label, row in zip(names, rows, strict=True):
        values = (row.get(name) for name in shown)
        values = (value["pairs"] if isinstance(value, dict) else value for value in values)
        table.append([label, *("–" if value is None else f"{value:.4g}" for value in values)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *cells in table:
        padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        click.echo("  ".join([first.ljust(widths[0]), *padded]))
