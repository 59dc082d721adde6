"""How well two pose metrics agree on the same frames (Mantel's test): `marey surface compare`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from marey._random import Rng
from marey._report import Report
from marey._work import Progress
from marey.errors import InputError, MareyWarning
from marey.statistics.graphs.graph import DistanceMatrix
from marey.statistics.matrix_comparison import (
    Correlogram,
    Mantel,
    Mode,
    condensed,
    correlogram,
    distance_correlation,
    mantel,
)


@dataclass(frozen=True, eq=False)
class MetricAgreement(Report):
    """How well two pose metrics agree.

    Attributes:
        metrics: Of the two.
        test: Over all pairs of frames, with its permutations.
        by_class: The same from near pairs to far ones.
        distance_correlation: Of all pairs.
    """

    metrics: tuple[str, str]
    test: Mantel
    by_class: Correlogram
    distance_correlation: float
    frames: int

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        bands, test = self.by_class, self.test
        edges = np.round(bands.edges, 6)
        classes = [
            {
                "from": edges[k],
                "to": edges[k + 1],
                "pairs": int(count),
                "correlation": round(float(bands.correlations[k]), 6),
            }
            for k, count in enumerate(bands.counts)
        ]
        return {
            "frames": self.frames,
            "pairs": self.frames * (self.frames - 1) // 2,
            "metrics": list(self.metrics),
            "pearson": round(test.correlation, 6),
            "distance_correlation": round(self.distance_correlation, 6),
            "p": test.p,
            "permutations": len(test.permuted),
            "by_chance": np.quantile(test.permuted, [0.025, 0.975]).round(6),
            "classes": classes,
        }


def compare(
    candidate: DistanceMatrix,
    truth: DistanceMatrix,
    *,
    permutations: int = 10_000,
    blocks: bool = False,
    classes: int = 10,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> MetricAgreement:
    """Test how well two pose metrics agree.

    Args:
        candidate: Pose distances.
        truth: Others of the same frames, held to be true.
        permutations: Of the significance test.
        blocks: Permute whole sequences: stricter, since frames in succession are similar.
        classes: From near pairs to far ones, of equally many pairs.
        rng: Seed or generator.

    >>> import marey
    >>> apart = marey.surface.distance(marey.samples.mesh_library(vertices=300))
    >>> round(compare(apart, apart, permutations=9, classes=2).test.correlation, 6)
    1.0
    """
    if not np.array_equal(candidate.starts, truth.starts):
        raise InputError(
            f"the first has {candidate.frames} frames in {_counts(candidate)}, the second {truth.frames} in "
            f"{_counts(truth)}; compare distances of the same clips in the same order and at one frame rate "
            "(marey surface distance --metric skeleton --frame-rate F)"
        )
    if candidate.names != truth.names:
        said = "the sequences have other names in the second; taken in their order"
        warnings.warn(said, MareyWarning, stacklevel=2)
    mode: Mode = "block" if blocks else "object"
    starts = truth.starts
    test = mantel(
        candidate.values, truth.values, permutations=permutations, mode=mode, starts=starts, rng=rng,
        progress=progress,
    )  # fmt: skip
    by_class = correlogram(candidate.values, truth.values, classes=classes)
    correlation = distance_correlation(condensed(candidate.values), condensed(truth.values))
    return MetricAgreement((candidate.metric, truth.metric), test, by_class, correlation, candidate.frames)


def _counts(matrix: DistanceMatrix) -> str:
    lengths = matrix.starts[1:] - matrix.starts[:-1]
    shown = ", ".join(f"{name} {n}" for name, n in zip(matrix.names[:4], lengths[:4], strict=False))
    return f"{len(lengths)} sequences ({shown}{', …' if len(lengths) > 4 else ''})"
