"""`marey crowd evaluate`: captured fields, or people, against the truth."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from marey.cli._console import stage, warn
from marey.cli._inputs import Given, read
from marey.cli._options import Figure, FrameRange, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.crowd import FieldSeries, SimulatedCrowd, Tracks
    from marey.crowd.evaluation.fields import Truth

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
    from marey import crowd
    from marey.crowd.evaluation.fields import Truth
    from marey.crowd.fields import FieldSeries

    last = paths[-1] if len(paths) > 1 else None
    sources = paths[:-1] or paths
    loaded = [_data(source) for source in sources]
    truth = Truth() if last is None else _truth(last, view, visible, all_pixels)
    if frames is not None:
        truth = run.call("comparing", truth.part, frames)
    rows: list[dict[str, object]] = []
    with stage("comparing") as progress:
        for source, data in zip(sources, loaded, strict=True):
            try:
                found = crowd.evaluate(data, truth, statistics=statistics)
            except InputError as error:
                raise InputError(f"{source}: {error}") from error
            rows.append({"path": source, **found})
            progress(len(rows), len(loaded))
    names = [path.name for path in sources]
    names = names if len(set(names)) == len(names) else [str(path) for path in sources]
    flows = {name: one for name, one in zip(names, loaded) if isinstance(one, FieldSeries)}
    drawn: tuple[object, ...] = ("field_errors", flows, truth) if truth.fields is not None and flows else ()
    if figure is not None and not drawn:
        warn(f"{figure} is not drawn: there are no fields on both sides")
    if len(rows) > 1 and not run.json:
        _print_table(names, rows)
        return Output(None, None, drawn)
    return Output(None, rows[0] if len(rows) == 1 else {"fields": rows}, drawn)


def _data(path: Path) -> "FieldSeries | Tracks | SimulatedCrowd":
    from marey.crowd import FieldSeries, SimulatedCrowd, Tracks

    data = read(path, Given())
    if not isinstance(data, FieldSeries | Tracks | SimulatedCrowd):
        raise InputError(f"{path}: holds a {type(data).__name__}, not fields or tracks")
    return data


def _truth(path: Path, view: str | None, visible: bool, all_pixels: bool) -> "Truth":
    from marey.crowd import FieldSeries, SimulatedCrowd
    from marey.crowd.evaluation.fields import Truth

    if (path / "dataset.json").is_file():
        from marey.filming import read_dataset

        return read_dataset(path).truth(view, visible=visible, all_pixels=all_pixels)
    if view is not None or visible:
        raise InputError(f"{path}: --view and --visible are for folders written by marey crowd dataset")
    found = _data(path)
    if isinstance(found, FieldSeries):
        return Truth(found, None, all_pixels)
    return Truth(None, found.tracks if isinstance(found, SimulatedCrowd) else found)


def _print_table(names: list[str], rows: list[dict[str, object]]) -> None:
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
