from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.body.physics.simulate import Push, SimulationSettings, simulate
from marey.errors import InputError

FREE = SimulationSettings(gravity=False, ground=False)
BLOW = (Push("LeftHand", 0.0, (0.0, 0.0, 1.0)),)


@pytest.mark.parametrize("integrator", ["variational", "exact", "constant"])
def test_momentum_is_kept_without_forces(integrator: str) -> None:
    settings = replace(FREE, integrator=integrator)
    report = simulate(marey.samples.walk(), seconds=2, pushes=BLOW, settings=settings).report
    assert report.linear_momentum_drift < 1e-12
    assert report.angular_momentum_drift < 1e-12
    assert report.energy_ratio_max < 1.001


def test_a_push_changes_linear_momentum_by_its_impulse() -> None:
    walk = marey.samples.walk()
    pushed = simulate(walk, seconds=0.1, pushes=BLOW, settings=FREE).trajectory.linear[0]
    still = simulate(walk, seconds=0.1, settings=FREE).trajectory.linear[0]
    np.testing.assert_allclose(pushed - still, [0, 0, 1], atol=1e-12)


def test_a_dropped_character_comes_to_rest_on_the_ground() -> None:
    found = simulate(marey.samples.walk(), seconds=6, height=1.0)
    assert found.trajectory.kinetic[-1] < 0.5
    assert found.report.penetration_max_mm < 12
    weight = 75 * 9.81 * 0.01
    assert found.trajectory.support[-50:].mean() == pytest.approx(weight, rel=0.05)


def test_unknown_integrators_are_named() -> None:
    with pytest.raises(InputError, match="one of variational"):
        SimulationSettings(integrator="euler")
