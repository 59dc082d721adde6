"""`marey surface blend`: two clips of one kind, aligned and mixed with any weight."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from marey.cli._console import warn_of_skate
from marey.cli._inputs import library as load_library
from marey.cli._options import OF_MESHES, Out, Parsed, Slope, argument, option
from marey.cli._run import Output, Run, check_place, command
from marey.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from marey._arrays import Array
    from marey.surface.synthesis.blend import Weight


def _weight(text: str) -> float | list[float] | Path:
    """`0.5`; `0:1` and longer, weights to pass through; or a table."""
    if text.lower().endswith(".csv"):
        return Path(text)
    weights = [float(part) for part in text.split(":")]
    if not all(0 <= one <= 1 for one in weights):
        raise ValueError
    return weights[0] if len(weights) == 1 else weights


Weights = Annotated[
    float | list[float] | Path,
    Parsed(_weight, "write a number from 0 to 1, several as 0:1, or name a .csv file"),
]


@command(writes="MeshSequence", views=(".mp4", ".gif", ".png", ".svg", ".pdf"))
def blend(
    run: Run,
    first: Path = argument("A clip: meshes, or a skeleton to be skinned.", "A", role="in", reads=OF_MESHES),
    second: Path = argument("Another of the same subject and kind.", "B", role="in"),
    out: Out = option(..., "Meshes to write, a clip (.mp4), or the paths from above (.png).", "OUT"),
    weight: Weights = option(
        0.5, "Weight of B, 0 to 1: a number, several to pass through (0:1), or a .csv of time, weight.", "S"
    ),
    trim: float = option(
        1.0, "Seconds that A or B may lose at either end to be aligned; 0 keeps both whole.", "S", min=0
    ),
    slope: Slope = 3,
) -> Output:
    """Mix two clips of one kind: a left and a right turn give a straight walk.

    Examples:
        marey surface blend turn-left.npz turn-right.npz straight.glb
        marey surface blend walk.npz run.npz jog.glb --weight 0.3
        marey surface blend walk.npz run.npz faster.mp4 --weight 0:1
        marey surface blend turn-left.npz turn-right.npz paths.png --weight weights.csv
        marey surface blend walk.bvh limp.bvh between.glb --vertices 2000

    Times of a .csv are seconds of the mixture. Lengths are metres, costs sums of pose distances in radians.
    """
    from marey import surface

    if isinstance(weight, Path):
        check_place(out, [weight])
    mixing: Weight = _table(weight) if isinstance(weight, Path) else weight
    library = load_library([first, second], run.given)
    if len(library) != 2:
        raise InputError(f"{first}, {second}: they hold {len(library)} clips; blend takes one of each file")
    mixed = run.call("blending", surface.blend, *library.sequences, weight=mixing)
    warn_of_skate(mixed.report.foot_slide_ratio)
    return Output(mixed.animation, mixed.report, image=("blend_paths", *library.sequences, mixed.sequence))


def _table(path: Path) -> "Callable[[Array], Array]":
    """Weights over time from a file of times and weights."""
    import numpy as np

    from marey.io.constraints_csv import read_blend_weights

    table = read_blend_weights(path)
    return lambda seconds: np.interp(seconds, table[:, 0], table[:, 1])
