from __future__ import annotations

import numpy as np

from marey.geometry.planar import PlanarMotion, align


def test_no_nearby_planar_motion_fits_better() -> None:
    rng = np.random.default_rng(3)
    source, target = rng.standard_normal((2, 15, 3))
    weights = rng.uniform(0.1, 1.0, 15)
    fit = align(target, source, weights)

    def rms(motion: PlanarMotion) -> float:
        return float(np.sqrt(np.average(((motion.apply(source) - target) ** 2).sum(axis=1), weights=weights)))

    for size in (1e-4, 1e-2, 1.0):
        for turn, *shift in size * rng.standard_normal((30, 3)):
            assert rms(PlanarMotion(fit.angle + turn, fit.shift + shift)) > rms(fit)
