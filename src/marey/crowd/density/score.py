"""An estimated density against that of people whose places are known; they enter nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey._report import Report
from marey.crowd.density.danger import Danger, DangerSettings, Watch
from marey.crowd.density.grid import DensityGrid
from marey.crowd.density.view import GroundView
from marey.crowd.scenes import Scene
from marey.crowd.tracks import Tracks

OCCUPIED = 0.1
"""True people per m² from which on a cell counts."""
WIDTH = 0.5
"""Metres, standard deviation of a person in the true density."""
AGO = 10.0
"""Seconds after which persistence is compared."""


@dataclass(frozen=True)
class DensityScores(Report):
    """An estimate against the truth.

    Attributes:
        correlation: With the true density, over all occupied cells in the image and times.
        persistence: The same of the true density ten seconds before; None of a shorter video.
        rmse: There, people per m².
        count_error: People, mean absolute difference of the numbers on the ground.
        peak_error_m: Between the places of the largest densities, median.
        zones_true: Zones of danger of the true density.
        zones_found: Those that an estimated zone overlaps at some time.
        zones_false: Estimated zones that overlap none.
        zone_iou: Intersection over union, of all zones and times together; None without any.
        delay: Seconds from the first true zone to the first estimated one; None without any.
    """

    correlation: float
    persistence: float | None
    rmse: float
    count_error: float
    peak_error_m: float
    zones_true: int
    zones_found: int
    zones_false: int
    zone_iou: float | None
    delay: float | None


class Scorer:
    """Compares moments as they come.

    Args:
        tracks: Where people are.
        scene: Its ground.
        view: Of the ground; what is not in the image does not count.
        frame_rate: Of the moments that are compared.
        danger: When a zone is one.
    """

    def __init__(
        self, tracks: Tracks, scene: Scene, view: GroundView, frame_rate: float, danger: DangerSettings
    ) -> None:
        ground = view.ground
        self.tracks, self.ground, self.rate, self.inside = tracks, ground, frame_rate, view.inside
        self.grid = DensityGrid(
            scene, spacing=ground.spacing, width=max(WIDTH, ground.spacing), adaptive=False
        )
        self.watch = Watch(ground.free, ground.spacing, frame_rate, danger)
        self.pairs: list[tuple[Array, Array, float, float, float]] = []
        self.true_zones: list[set[int]] = [set(), set(), set(), set()]
        self.shared, self.either = 0, 0
        self.first: list[float | None] = [None, None]
        self.earlier: list[Array] = []
        self.persisting: list[tuple[Array, Array]] = []

    def see(self, density: Array, danger: Danger) -> None:
        """The next moment: density `(cells,)` and its zones."""
        time = len(self.pairs) / self.rate
        frame = round(time * self.tracks.frame_rate)
        if frame >= self.tracks.frames:
            return
        there = self.tracks.positions[frame][self.tracks.present[frame]]
        inside = ((there >= 0) & (there <= np.array(self.grid.scene.size))).all(axis=1)
        there, seen = there[inside], self.inside
        moment = self.grid.frame(there, np.zeros_like(there)).density
        true = np.nan_to_num(moment[self.ground.free])
        counts = (true > OCCUPIED) & seen
        found = self.watch.see(self.ground.on_grid(true), np.zeros((*self.ground.free.shape, 2)))
        shown = np.zeros(self.ground.free.shape, dtype=bool)
        shown[self.ground.free] = seen
        places = [np.argwhere(shown)[np.argmax(one.density[shown])] for one in (found, danger)]
        apart = float(np.hypot(*(places[0] - places[1])) * self.ground.spacing) if counts.any() else np.nan
        people = [float(one[seen].sum() * self.ground.spacing**2) for one in (density, true)]
        self.pairs.append((true[counts], density[counts], apart, people[0], people[1]))
        self.earlier.append(true.astype(np.float32))
        if len(self.earlier) > round(AGO * self.rate):
            before = self.earlier.pop(0)
            self.persisting.append((true[counts], before[counts].astype(np.float64)))
        a, b = (found.zones > 0) & shown, (danger.zones > 0) & shown
        self.shared += int((a & b).sum())
        self.either += int((a | b).sum())
        pairs = (found.zones[a], danger.zones[b], found.zones[a & b], danger.zones[a & b])
        for known, zone in zip(self.true_zones, pairs, strict=True):
            known.update(np.unique(zone).tolist())
        for number, one in enumerate((a, b)):
            if one.any() and self.first[number] is None:
                self.first[number] = time

    def scores(self) -> DensityScores:
        """Over everything seen."""
        true, found = (np.concatenate([one[k] for one in self.pairs]) for k in (0, 1))
        apart, people, counted = np.array([one[2:] for one in self.pairs]).T
        late = None if None in self.first else self.first[1] - self.first[0]  # type: ignore[operator]
        before = [np.concatenate(one) for one in zip(*self.persisting, strict=True)]
        zones = [len(one) for one in self.true_zones]
        return DensityScores(
            correlation(true, found),
            correlation(*before) if before else None,
            float(np.sqrt(np.mean((true - found) ** 2))) if len(true) else float("nan"),
            float(np.abs(people - counted).mean()),
            float(np.nanmedian(apart)) if np.isfinite(apart).any() else float("nan"),
            zones[0],
            zones[2],
            zones[1] - zones[3],
            self.shared / self.either if self.either else None,
            late,
        )


def correlation(a: Array, b: Array) -> float:
    """Of two rows of numbers; NaN where one of them does not vary."""
    if len(a) < 2 or min(a.std(), b.std()) < 1e-12:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
