"""Zones of danger in a crowd: where it is dense for long, or becomes dense quickly, with ids and times.

Density is averaged over about a metre. Beside it stand crowd pressure, density times the variance of velocity
(Helbing 2007), the rate at which the crowd is compressed, and its shear rate. Frames are seen one by one, so
a recording and a running video give the same alarms. Cost: a few blurs of the grid a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray
from marey._report import Displayed
from marey.errors import InputError


@dataclass(frozen=True, kw_only=True)
class DangerSettings:
    """When a zone is one.

    Attributes:
        level: People per m² (or a disturbance) above which a place is dense.
        seconds: How long it must be so.
        rising: People per m² and second by which density grows, over `seconds`, where at least half the level
            is reached; inf = that is no reason.
        pressure: 1/s², crowd pressure above which a place is dangerous at once; inf = that is no reason.
        width: Standard deviation of the average, metres.
        smallest: Area of a zone, m².
        joined: Seconds without it after which a zone is another one.
    """

    level: float = 2.0
    seconds: float = 3.0
    rising: float = float("inf")
    pressure: float = float("inf")
    width: float = 1.0
    smallest: float = 1.0
    joined: float = 1.0


@dataclass(frozen=True)
class Alarm:
    """A zone of danger.

    Attributes:
        zone: Its number, from 1.
        start: Seconds since the video began.
        end: The last time at which it was there.
        x: Centre at its peak, weighted by density, metres.
        y: The same.
        peak: Largest density, people per m².
        area: At its largest, m².
        pressure: Largest crowd pressure, 1/s².
        compression: Largest rate, 1/s.
        shear: Largest rate, 1/s.
        reason: "dense", "rising" or "pressure", whichever came first.
    """

    zone: int
    start: float
    end: float
    x: float
    y: float
    peak: float
    area: float
    pressure: float
    compression: float
    shear: float
    reason: str


@dataclass(frozen=True, eq=False)
class Alarms(Displayed):
    """A log of alarms, by their start.

    Attributes:
        alarms: All of them.
        settings: By which they were found.
        seconds: Length of what was watched.
        name: Of the video.
    """

    alarms: tuple[Alarm, ...]
    settings: DangerSettings = DangerSettings()
    seconds: float = 0.0
    name: str = ""

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        watched = sum(one.end - one.start for one in self.alarms)
        return {
            "kind": "alarms",
            "alarms": len(self.alarms),
            "seconds_watched": round(self.seconds, 3),
            "seconds_in_zones": round(watched, 3),
            "level": self.settings.level,
        }


@dataclass(frozen=True, eq=False)
class Danger:
    """A moment on cells `(rows, columns)`, row 0 at y = 0.

    Attributes:
        zones: Number of the zone; 0 = none.
        density: People per m², averaged.
        pressure: Density × variance of velocity, 1/s².
        compression: -div v, 1/s.
        shear: Largest rate of shear, 1/s.
    """

    zones: NDArray[np.int32]
    density: Array
    pressure: Array
    compression: Array
    shear: Array


@dataclass(eq=False)
class Watch:
    """Finds alarms as moments arrive.

    Args:
        free: Open cells `(rows, columns)`.
        spacing: Metres.
        frame_rate: Of the moments.
        settings: When a zone is one.

    >>> watch = Watch(np.ones((8, 8), dtype=bool), 0.5, 2.0)
    >>> for _ in range(8):
    ...     _ = watch.see(np.full((8, 8), 3.0), np.zeros((8, 8, 2)))
    >>> [(one.start, one.end, one.area) for one in watch.alarms]
    [(2.5, 3.5, 16.0)]
    """

    free: BoolArray
    spacing: float
    frame_rate: float
    settings: DangerSettings = field(default_factory=DangerSettings)

    def __post_init__(self) -> None:
        if not (self.settings.level > 0 and self.settings.seconds >= 0):
            raise InputError("level: must be positive, and seconds not negative")
        shape = self.free.shape
        self.frames, self._count = 0, 0
        self._dense, self._risen = np.zeros(shape, np.int32), np.zeros(shape)
        self._before: Array | None = None
        self._open = np.maximum(self._blurred(self.free.astype(np.float64)), 1e-6)
        # Sums of density, density × velocity and density × velocity² that fade within a second.
        self._moments = np.zeros((4, *shape))
        self._last: dict[int, tuple[BoolArray, int]] = {}
        self._found: dict[int, Alarm] = {}

    @property
    def alarms(self) -> list[Alarm]:
        """Up to now, by their start."""
        return sorted(self._found.values(), key=lambda one: (one.start, one.zone))

    def see(self, density: Array, velocity: Array) -> Danger:
        """The next moment: density `(rows, columns)`, velocity `(rows, columns, 2)` m/s."""
        settings, rate = self.settings, self.frame_rate
        known = np.where(self.free, np.nan_to_num(density), 0.0)
        moving = np.where(self.free[..., None], np.nan_to_num(velocity), 0.0)
        dense = self._blurred(known) / self._open
        pressure = self._pressure(known, moving)
        compression, shear = _rates(moving, self.free, self.spacing)
        before = dense if self._before is None else self._before
        fading = np.exp(-1.0 / max(settings.seconds * rate, 1.0))
        self._risen = fading * self._risen + (1 - fading) * (dense - before) * rate
        self._before = dense
        above = self.free & (dense > settings.level)
        self._dense = np.where(above, self._dense + 1, 0)
        for_long = self._dense >= max(round(settings.seconds * rate), 1)
        rises = self.free & (self._risen > settings.rising) & (dense > 0.5 * settings.level)
        pressed = self.free & (pressure > settings.pressure)
        danger = Danger(np.zeros(self.free.shape, np.int32), dense, pressure, compression, shear)
        self._number(danger, for_long | rises | pressed, (for_long, rises))
        self.frames += 1
        return danger

    def _number(self, danger: Danger, where: BoolArray, reasons: tuple[BoolArray, BoolArray]) -> None:
        """Number the connected parts of `where` as they were before, and note them."""
        import cv2

        count, parts = cv2.connectedComponents(where.astype(np.uint8), connectivity=4)
        gap = self.settings.joined * self.frame_rate
        past = {n: one for n, one in self._last.items() if self.frames - one[1] <= gap}
        cells = [parts == number for number in range(1, count)]
        for part in sorted(cells, key=lambda one: -int(one.sum())):
            if part.sum() * self.spacing**2 < self.settings.smallest:
                continue
            shared = {n: int((part & one[0]).sum()) for n, one in past.items()}
            number = max(shared, key=lambda n: shared[n], default=0)
            if not shared.get(number):
                self._count += 1
                number = self._count
            past.pop(number, None)
            danger.zones[part] = number
            self._last[number] = part, self.frames
            self._note(number, part, danger, reasons)
        self._last = {n: one for n, one in self._last.items() if self.frames - one[1] <= gap}

    def _note(
        self, number: int, part: BoolArray, danger: Danger, reasons: tuple[BoolArray, BoolArray]
    ) -> None:
        now, weights = self.frames / self.frame_rate, danger.density[part]
        y, x = (weights @ (np.argwhere(part) + 0.5)) * self.spacing / weights.sum()
        largest = {
            "peak": float(weights.max()),
            "area": float(part.sum() * self.spacing**2),
            **{
                name: float(getattr(danger, name)[part].max())
                for name in ("pressure", "compression", "shear")
            },
        }
        known = self._found.get(number)
        if known is None:
            for_long, rises = ((part & one).any() for one in reasons)
            reason = "dense" if for_long else "rising" if rises else "pressure"
            self._found[number] = Alarm(number, now, now, float(x), float(y), reason=reason, **largest)
            return
        place: dict[str, Any] = {"x": float(x), "y": float(y)} if largest["peak"] > known.peak else {}
        more: dict[str, Any] = {name: max(value, getattr(known, name)) for name, value in largest.items()}
        self._found[number] = replace(known, end=now, **place, **more)

    def _pressure(self, density: Array, velocity: Array) -> Array:
        fading = np.exp(-1.0 / self.frame_rate)
        u, v = velocity[..., 0], velocity[..., 1]
        now = np.stack([density, density * u, density * v, density * (u * u + v * v)])
        self._moments = fading * self._moments + (1 - fading) * np.stack([self._blurred(one) for one in now])
        total, *mean, square = self._moments / self._open
        weight = np.maximum(total, 1e-6)
        return np.asarray(np.maximum(square - (mean[0] ** 2 + mean[1] ** 2) / weight, 0.0))

    def _blurred(self, values: Array) -> Array:
        from cv2 import BORDER_CONSTANT, GaussianBlur

        sigma = self.settings.width / self.spacing
        return np.where(self.free, GaussianBlur(values, (0, 0), sigma, borderType=BORDER_CONSTANT), 0.0)


def _rates(velocity: Array, free: BoolArray, spacing: float) -> tuple[Array, Array]:
    """Rates of compression and of shear between free neighbours, `(rows, columns)` 1/s."""
    across, up = free[:, 2:] & free[:, :-2] & free[:, 1:-1], free[2:] & free[:-2] & free[1:-1]
    slopes = np.zeros((2, *velocity.shape))
    slopes[0][:, 1:-1] = np.where(across[..., None], velocity[:, 2:] - velocity[:, :-2], 0.0)
    slopes[1][1:-1] = np.where(up[..., None], velocity[2:] - velocity[:-2], 0.0)
    (u_x, v_x), (u_y, v_y) = np.moveaxis(slopes, -1, 1) / (2 * spacing)
    return -(u_x + v_y), np.hypot(u_x - v_y, u_y + v_x)
