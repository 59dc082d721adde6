"""`marey crowd tile`: several captured flows in one place, or one after the other."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from marey.cli._inputs import Given, fields
from marey.cli._options import Figure, Out, Window, argument, option
from marey.cli._run import Output, Run, check_place, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.crowd.fields import FieldSeries


@command(writes="FieldSeries", reports="information, bytes")
def tile(
    run: Run,
    first: Path = argument("What lies where, or a capture.", "PLACE.json|A", role="in"),
    second: Path | None = argument("Another capture.", "B", None, role="in"),
    out: Out = option(..., "Fields to write.", "OUT"),
    blend: Literal["space", "time", "join"] = option(
        "space", "Two captures side by side, one becoming the other, or one after the other.", "HOW"
    ),
    overlap: int | None = option(
        None, "Side by side: columns that are in both; a fifth if not given.", "PIXELS"
    ),
    window: Window = 8,
    figure: Figure = None,
) -> Output:
    """Lay captured flows into one environment, or blend two in time.

    Examples:
        marey crowd tile square.json square.zarr
        marey crowd tile door.zarr hall.zarr both.zarr --figure layout.png
        marey crowd tile morning.zarr noon.zarr day.zarr --blend time
        marey crowd tile first.zarr second.zarr long.zarr --blend join

    A file says where captures lie, and where walls are:

    {"rows": 60, "columns": 140, "walls": [[[60, 20], [80, 20], [80, 40]]],
    "patches": [{"field": "a.zarr", "at": [0, 0]}, {"field": "b.zarr",
    "centre": [90, 30], "turn": 90, "scale": 1.5, "weight": 2}]}

    Overlaps are blended so that vorticity and divergence stay, gaps are filled, and nothing goes through
    walls. The figure shows patches, seams, gaps and walls.
    """
    from marey.crowd.tiling import TilingReport, side_by_side
    from marey.io import tiling_json
    from marey.io.zarr_store import write_blocks

    if second is not None and blend != "space":
        if figure is not None:
            raise InputError("--figure: of captures in space only")
        return _in_time(run, fields(first, Given()), fields(second, Given()), blend, window)
    if second is None and first.suffix.lower() != ".json":
        raise InputError(f"{first}: give two captures, or a .json file that says what lies where")
    if second is None:
        check_place(out, tiling_json.captures(first))
        tiling = tiling_json.read(first)
    else:
        tiling = side_by_side(fields(first, Given()), fields(second, Given()), overlap)
    measured = TilingReport(tiling)
    blocks = measured.watched(tiling.blocks())
    size = run.call("solving for seams", write_blocks, blocks, tiling.frames, out)
    return Output(None, {**measured.as_dict(), "bytes": size}, ("layout_picture", tiling))


def _in_time(run: Run, first: "FieldSeries", second: "FieldSeries", blend: str, window: int) -> Output:
    from marey.crowd.texture import best_cut, cross_fade, join_at
    from marey.io.zarr_store import write_blocks

    cut: dict[str, object] = {}
    if blend == "time":
        joined = run.call("comparing frames", cross_fade, first, second)
    else:
        best = run.call("comparing frames", best_cut, first, second, taps=window)
        cut = {"left_at": best.frame, "entered_at": best.target, "angle": best.distance}
        joined = join_at(first, second, best, taps=window)
    size = write_blocks([joined], joined.frames, run.path("out"))
    mean = 0.5 * (first.power + second.power)
    information = min(100.0, 100 * joined.power / mean) if mean > 0 else 100.0
    return Output(None, {"information": information, "bytes": size, "frames": joined.frames, **cut})
