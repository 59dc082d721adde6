"""Captured clips without their noise: filters on joints and on the root's path (Courty 2013, section 2.1.2).

The default is the bilateral filter, which keeps quick motion quick, with weights from a slightly smoothed
copy and its pose scale from each joint's own noise; Gaussian, binomial and Butterworth filters are there
too. Rotations are filtered in the frames of their parents: the result differs from filtering them in the
world, because parents move. Cost: 3 ms a pass for 75 joints and 150 frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey._report import Report
from marey.body.motion import Motion
from marey.body.root_motion import STILL
from marey.errors import InputError
from marey.geometry import filters
from marey.geometry import rotations as so3

METHODS = ("bilateral", "gaussian", "binomial", "butterworth")
# Hertz: what hands and feet do on purpose is slower.
CUTOFF = 6.0
# Seconds, width of the bell that a path is compared with.
TREND = 0.05


@dataclass(frozen=True, eq=False)
class FilterSettings:
    """How to filter a joint.

    Args:
        method: "bilateral", "gaussian", "binomial" or "butterworth".
        sigma: seconds, width of the bell in time; one frame if None, as published (not of butterworth).
        sigma_g: half-angle radians, bilateral only: poses farther apart than this do not mix; if None, from
            the noise of each joint.
        passes: how often; 5 if None for bilateral and gaussian, as published, otherwise once.
        cutoff: hertz, butterworth only: what is faster is taken away.
        order: butterworth only, of the filter that runs forwards and then backwards.
        guided: bilateral only: compare poses of a smoothed copy; overshoots less.
        boundary: "extrapolate", motion goes on beyond the ends; or "mirror", as published.
    """

    method: str = "bilateral"
    sigma: float | None = None
    sigma_g: float | None = None
    passes: int | None = None
    cutoff: float = CUTOFF
    order: int = 2
    guided: bool = True
    boundary: str = "extrapolate"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method {self.method!r}: one of {', '.join(METHODS)}")
        if self.sigma is not None and not (np.isfinite(self.sigma) and self.sigma > 0):
            raise InputError(f"sigma: seconds, above 0, got {self.sigma}")

    def rotations(self, rotations: ArrayLike, frame_rate: float) -> Array:
        """Rotations `(frames, ..., 4)` filtered so."""
        if self.method == "bilateral":
            return filters.bilateral_rotations(rotations, sigma_g=self.sigma_g, **self._bilateral(frame_rate))
        mask = self._mask(frame_rate)
        return filters.linear_rotations(rotations, mask, passes=self._passes(), boundary=self.boundary)

    def vectors(self, vectors: ArrayLike, frame_rate: float) -> Array:
        """Vectors `(frames, ..., dims)` filtered so; the pose scale is always that of their noise."""
        if self.method == "bilateral":
            # A figure that walks is far from where it was a frame ago: only what departs from its slow path
            # is compared.
            bell, options = filters.gaussian_mask(TREND * frame_rate), self._bilateral(frame_rate)
            trend = filters.linear_vectors(vectors, bell, boundary=self.boundary)
            return trend + filters.bilateral_vectors(np.asarray(vectors) - trend, **options)
        mask = self._mask(frame_rate)
        return filters.linear_vectors(vectors, mask, passes=self._passes(), boundary=self.boundary)

    def _bilateral(self, frame_rate: float) -> dict[str, Any]:
        options = {"guided": self.guided, "boundary": self.boundary}
        return {**options, "sigma": self._samples(frame_rate), "passes": self._passes()}

    def _samples(self, frame_rate: float) -> float:
        return 1.0 if self.sigma is None else self.sigma * frame_rate

    def _passes(self) -> int:
        if self.passes is not None:
            return self.passes
        return 5 if self.method in ("bilateral", "gaussian") else 1

    def _mask(self, frame_rate: float) -> Array:
        if self.method == "butterworth":
            half, cutoff = 0.5 * frame_rate, self.cutoff
            if not 0.0 < cutoff < half:
                raise InputError(f"cutoff: between 0 and {half:g} Hz, half the frame rate, got {cutoff:g}")
            return filters.butterworth_mask(self.cutoff / frame_rate, order=self.order)
        samples = self._samples(frame_rate)
        if self.method == "binomial":
            return filters.binomial_mask(max(1, round(min(2.0 * samples**2, 1e6))))
        return filters.gaussian_mask(samples)


@dataclass(frozen=True)
class FilterReport(Report):
    """What a filter changed.

    Args:
        change_degrees: root mean square of the angles by which filtered joints were turned.
        change_max_degrees: the largest of them.
        change_root_cm: root mean square of how far the root was moved.
        noise_degrees: noise of the rotations before, each component, median over the filtered joints that
            move.
        speed_ratio: largest angular speed after over before, median over the filtered joints that move.
        joints: names of the filtered joints.
    """

    change_degrees: float
    change_max_degrees: float
    change_root_cm: float
    noise_degrees: float
    speed_ratio: float
    joints: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """The report as plain values, for JSON."""
        values = {name: round(v, 6) for name, v in super().as_dict().items() if name != "joints"}
        return {**values, "joints": len(self.joints)}


def filter(
    motion: Motion,
    settings: FilterSettings | None = None,
    *,
    method: str = "bilateral",
    sigma: float | None = None,
    angle: float | None = None,
    passes: int | None = None,
    cutoff: float | None = None,
    order: int | None = None,
    joints: Sequence[str] | None = None,
    keep_root: bool = False,
    plain: bool = False,
) -> tuple[Motion, FilterReport]:
    """The clip filtered along time, and what that changed.

    Args:
        settings: How; from the options below if None.
        method: "bilateral", "gaussian", "binomial" or "butterworth".
        sigma: Seconds, width in time; one frame if None. Not of butterworth.
        angle: Bilateral: degrees; rotations farther apart do not mix. From the noise of each joint if None.
        passes: How often; 5 for bilateral and gaussian if None, else once.
        cutoff: Butterworth: hertz above which frequencies are removed; 6 if None.
        order: Butterworth: of the filter, which runs forth and back; 2 if None.
        joints: Only these, the root's path being the root joint's; all if None.
        keep_root: Leave positions alone: the root's, and those of joints that slide.
        plain: Bilateral as published: no smoothed guide, mirrored ends.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> shake = np.random.default_rng(0).normal(scale=0.05, size=(walk.frames, walk.joints, 3))
    >>> noisy = replace(walk, rotations=so3.multiply(walk.rotations, so3.exp(shake)))
    >>> clean, report = filter(noisy)
    >>> before, after = (so3.distance(m.rotations, walk.rotations).mean() for m in (noisy, clean))
    >>> bool(after < 0.5 * before), 2 < report.noise_degrees < 4
    (True, True)
    """
    for name, value, of in (
        ("sigma", sigma, METHODS[:3]),
        ("angle", angle, METHODS[:1]),
        ("plain", plain or None, METHODS[:1]),
        ("cutoff", cutoff, METHODS[3:]),
        ("order", order, METHODS[3:]),
    ):
        if value is not None and method not in of:
            raise InputError(f"{name}: has no effect on {method}; it is of {', '.join(of)}")
    if settings is None:
        settings = FilterSettings(
            method,
            sigma=sigma,
            # The filter measures half angles, as published; people mean whole ones.
            sigma_g=None if angle is None else 0.5 * np.radians(angle),
            passes=passes,
            cutoff=CUTOFF if cutoff is None else cutoff,
            order=2 if order is None else order,
            guided=not plain,
            boundary="mirror" if plain else "extrapolate",
        )
    chosen = list(range(motion.joints)) if joints is None else sorted(set(motion.skeleton.indices(joints)))
    if not chosen:
        raise InputError("joints: name at least one to filter")
    rate, rotations, root, slid = motion.frame_rate, np.array(motion.rotations), motion.root, None
    rotations[:, chosen] = settings.rotations(rotations[:, chosen], rate)
    if 0 in chosen and not keep_root:
        root = settings.vectors(root, rate)
    if motion.translations is not None:
        slid = np.array(motion.translations)
        sliding = [j for j in chosen if j and np.ptp(slid[:, j], axis=0).max() > STILL]
        if sliding and not keep_root:
            slid[:, sliding] = settings.vectors(slid[:, sliding], rate)
    filtered = replace(motion, rotations=so3.continuous(rotations), root=root, translations=slid)
    return filtered, _report(motion, filtered, chosen)


def _report(before: Motion, after: Motion, joints: list[int]) -> FilterReport:
    turned = so3.distance(before.rotations[:, joints], after.rotations[:, joints])
    noise, ratio = 0.0, 1.0
    if before.frames > 3:
        poses = [clip.rotations[:, joints] for clip in (before, after)]
        speeds = [so3.distance(pose[1:], pose[:-1]).max(axis=0) for pose in poses]
        moving = speeds[0] > 1e-9
        if moving.any():
            noise = float(np.median(filters.rotation_noise(before.rotations[:, joints])[moving]))
            ratio = float(np.median(speeds[1][moving] / speeds[0][moving]))
    moved = np.linalg.norm(np.asarray(after.root) - np.asarray(before.root), axis=1)
    usual, most, noisy = (float(np.degrees(x)) for x in (np.sqrt((turned**2).mean()), turned.max(), noise))
    names = tuple(before.skeleton.names[j] for j in joints)
    return FilterReport(usual, most, float(100 * np.sqrt((moved**2).mean())), noisy, ratio, names)
