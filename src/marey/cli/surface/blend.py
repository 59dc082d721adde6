"""`marey surface blend`: two clips of one kind, aligned and mixed in any share."""

from pathlib import Path
from typing import Annotated, Any

from marey.cli._console import stage, warn
from marey.cli._inputs import library as load_library
from marey.cli._options import OF_MESHES, Out, Parsed, argument, option
from marey.cli._run import Output, Run, check_place, command
from marey.errors import InputError


def _share(text: str) -> float | list[float] | Path:
    """`0.5`; `0:1` and longer, shares to pass through; or a table."""
    if text.lower().endswith(".csv"):
        return Path(text)
    shares = [float(part) for part in text.split(":")]
    if not all(0 <= one <= 1 for one in shares):
        raise ValueError
    return shares[0] if len(shares) == 1 else shares


Share = Annotated[Any, Parsed(_share, "write a number from 0 to 1, several as 0:1, or name a .csv file")]


@command(writes="MeshSequence", views=(".mp4", ".gif", ".png", ".svg", ".pdf"))
def blend(
    run: Run,
    first: Path = argument("A clip: meshes, or a skeleton to be skinned.", "A", role="in", reads=OF_MESHES),
    second: Path = argument("Another of the same subject and kind.", "B", role="in"),
    out: Out = option(..., "Meshes to write, a clip (.mp4), or the paths from above (.png).", "OUT"),
    share: Share = option(
        0.5, "Share of B, 0 to 1: a number, several to pass through (0:1), or a .csv of time, share.", "S"
    ),
    trim: float = option(
        1.0, "Seconds that A or B may lose at either end to be aligned; 0 keeps both whole.", "S", min=0
    ),
    slope: int = option(3, "Neither clip passes more than P times as fast as the other.", "P"),
) -> Output:
    """Mix two clips of one kind: a left and a right turn give a straight walk.

    Examples:
        marey surface blend turn-left.npz turn-right.npz straight.glb
        marey surface blend walk.npz run.npz jog.glb --share 0.3
        marey surface blend walk.npz run.npz faster.mp4 --share 0:1
        marey surface blend turn-left.npz turn-right.npz paths.png --share shares.csv
        marey surface blend walk.bvh limp.bvh between.glb --vertices 2000

    Times of a .csv are seconds of the mixture. Lengths are metres, costs sums of pose distances in radians.
    """
    import numpy as np

    from marey.io.constraints_csv import read_blend_weights
    from marey.surface.contacts import compare_foot_skate
    from marey.surface.distances import distances
    from marey.surface.synthesis.blend import align_clips, blend_clips, path_and_turn
    from marey.surface.synthesis.placement import GroundFrames

    weight: Any = share
    if isinstance(share, Path):
        check_place(out, [share])
        table = read_blend_weights(share)

        def weight(seconds: Any) -> Any:
            return np.interp(seconds, table[:, 0], table[:, 1])

    library = load_library([first, second], run.given)
    if len(library) != 2:
        raise InputError(f"{first}, {second}: they hold {len(library)} clips; blend takes one of each file")
    one, two = library.names
    with stage("comparing poses") as progress:
        apart = distances(library, progress=progress)
    match = align_clips(library, one, two, apart=apart, slope=slope, trim=trim)
    ground = GroundFrames.of(library)
    with stage("blending") as progress:
        mixture = blend_clips(
            library, one, two, weight,
            apart=apart, slope=slope, trim=trim, ground=ground, progress=progress,
        )  # fmt: skip
    skate = compare_foot_skate(mixture, library, ground.contacts)
    if skate.ratio > 1.2:
        warn(f"feet slide {skate.ratio:.2f} times as much as in the captured frames")
    parts = match.path - library.starts[:2]
    travelled = [path_and_turn(sequence) for sequence in (*library.sequences, mixture.sequence)]
    report = {
        "frames": mixture.sequence.frames,
        "path_cost": round(match.cost, 6),
        "path_cost_mean": round(match.cost / match.length, 6),
        "frames_of_first": [int(parts[0, 0]), int(parts[-1, 0])],
        "frames_of_second": [int(parts[0, 1]), int(parts[-1, 1])],
        **{f"travelled{of}": round(travelled[i][0], 4) for i, of in enumerate(("_first", "_second", ""))},
        **{f"turned{of}": round(travelled[i][1], 2) for i, of in enumerate(("_first", "_second", ""))},
        "foot_slide_ratio": round(skate.ratio, 4),
    }
    return Output(mixture, report, picture=("blend_paths", *library.sequences, mixture.sequence))
