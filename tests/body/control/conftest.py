from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.control.mechanics import Body, Mechanics, MechanicsSettings
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import Basis, PhysicalCharacter
from marey.body.physics.simulate import initial_state
from marey.body.pose_model import PoseModel


@pytest.fixture(scope="session")
def walker() -> PhysicalCharacter:
    walk = marey.samples.walk(2)
    model = PoseModel.fit([walk], modes=10)
    return PhysicalCharacter(walk.skeleton, Basis.hybrid(model), Bones.of(walk.skeleton))


@pytest.fixture(scope="session")
def mechanics(walker: PhysicalCharacter) -> Mechanics:
    return Mechanics(walker, MechanicsSettings(step=0.01, damping=0.0))


@pytest.fixture
def anyhow(walker: PhysicalCharacter, mechanics: Mechanics) -> Body:
    """A pose and velocity that are nothing special."""
    rng = np.random.default_rng(1)
    state = mechanics.body(initial_state(walker, marey.samples.walk(2), 0.4))
    return state._replace(
        alpha=state.alpha + 0.1 * rng.standard_normal(walker.basis.modes),
        velocity=0.5 * rng.standard_normal(walker.size),
    )
