"""`marey surface compare`: how well two pose metrics agree on the same frames."""

from typing import Any

from marey.cli._console import stage, warn
from marey.cli._options import Distances, Figure, Seed, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

# The correlogram's bands need fewer permutations than small probabilities do.
BAND_PERMUTATIONS = 999


@command()
def compare(
    run: Run,
    candidate: Distances = argument("Made by `marey surface distance`.", "D1"),
    truth: Distances = argument("Of the same frames: what is held to be true, e.g. skeleton.", "D2"),
    permutations: int = option(
        10_000, "Number of permutations of the significance test.", "N", min=1, max=1_000_000
    ),
    blocks: bool = option(
        False, "Permute whole sequences: stricter, since frames in succession are similar."
    ),
    classes: int = option(
        10, "Classes from near pairs to far ones, of equally many pairs.", "N", min=1, max=100
    ),
    seed: Seed = 0,
    figure: Figure = None,
) -> Output:
    """Test how well two pose metrics agree (Mantel's test).

    Examples:
        marey surface compare surface.npz skeleton.npz
        marey surface compare surface.npz skeleton.npz --figure agreement.png --blocks
        marey surface distance walk.bvh run.bvh -o surface.npz
        marey surface distance walk.bvh run.bvh -o skeleton.npz --metric skeleton

    Correlations are of all pairs of frames; p is the share of permutations that agree as well by chance. The
    figure shows the agreement from near to far pairs, and that of permutations.
    """
    import numpy as np

    from marey.statistics.matrix_comparison import condensed, correlogram, distance_correlation, mantel

    if not np.array_equal(candidate.starts, truth.starts):
        raise InputError(
            f"{run.path('candidate')} has {candidate.frames} frames in {_counts(candidate)}, "
            f"{run.path('truth')} {truth.frames} in {_counts(truth)}; compare distances of the same clips in "
            "the same order and at one frame rate (marey surface distance --metric skeleton --frame-rate F)"
        )
    if candidate.names != truth.names:
        warn(f"the sequences have other names in {run.path('truth')}; taken in their order")
    options: dict[str, Any] = {"mode": "block" if blocks else "object", "starts": truth.starts, "rng": seed}
    with stage("permuting frames") as progress:
        test = mantel(candidate.values, truth.values, permutations=permutations, progress=progress, **options)
    with stage("from near to far") as progress:
        by_class = correlogram(
            candidate.values,
            truth.values,
            classes=classes,
            permutations=min(permutations, BAND_PERMUTATIONS),
            progress=progress,
            **options,
        )
    above = condensed(candidate.values), condensed(truth.values)
    edges, low, high = (np.round(values, 6) for values in (by_class.edges, by_class.low, by_class.high))
    report = {
        "frames": candidate.frames,
        "pairs": len(above[0]),
        "metrics": [candidate.metric, truth.metric],
        "pearson": round(test.correlation, 6),
        "distance_correlation": round(distance_correlation(*above), 6),
        "p": test.p,
        "permutations": permutations,
        "by_chance": np.quantile(test.permuted, [0.025, 0.975]).round(6),
        "classes": [
            {
                "from": edges[k],
                "to": edges[k + 1],
                "pairs": int(count),
                "correlation": round(float(by_class.correlations[k]), 6),
                "by_chance": [low[k], high[k]],
            }
            for k, count in enumerate(by_class.counts)
        ],
    }
    return Output(None, report, ("agreement", test, by_class, (candidate.metric, truth.metric)))


def _counts(matrix: Any) -> str:
    lengths = matrix.starts[1:] - matrix.starts[:-1]
    shown = ", ".join(f"{name} {n}" for name, n in zip(matrix.names[:4], lengths[:4], strict=False))
    return f"{len(lengths)} sequences ({shown}{', …' if len(lengths) > 4 else ''})"
