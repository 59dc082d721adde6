from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.kinematics import global_frames
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import Basis, PhysicalCharacter, world_momenta
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

STEP = 1e-5


@pytest.fixture(scope="module")
def character() -> PhysicalCharacter:
    return PhysicalCharacter.of(PoseModel.fit([marey.samples.walk()], modes=12))


@pytest.fixture(scope="module")
def full() -> PhysicalCharacter:
    walk = marey.samples.walk()
    basis = Basis.full(np.concatenate([so3.identity(1), walk.rotations[5, 1:]]))
    return PhysicalCharacter(walk.skeleton, basis, Bones.of(walk.skeleton))


def random_state(character: PhysicalCharacter, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 0.4 * rng.standard_normal(character.basis.modes), rng.standard_normal(character.size)


def bone_frames(
    character: PhysicalCharacter, alpha: np.ndarray, turn: np.ndarray, moved: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centres of mass and orientations by forward kinematics alone; the root at exp(turn), moved."""
    rotations = character.basis.decode(alpha)
    rotations[0] = so3.exp(turn)
    skeleton = character.skeleton
    pose = global_frames(skeleton.parents, skeleton.offsets, rotations, moved)
    return pose.positions + so3.rotate(pose.rotations, character.bones.centres), pose.rotations


def moved_frames(
    character: PhysicalCharacter, alpha: np.ndarray, v: np.ndarray, time: float
) -> tuple[np.ndarray, np.ndarray]:
    return bone_frames(character, alpha + time * v[6:], time * v[:3], time * v[3:6])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", ["character", "full"])
def test_mass_matrix_is_the_energy_of_the_moving_bones(
    which: str, seed: int, request: pytest.FixtureRequest
) -> None:
    character = request.getfixturevalue(which)
    alpha, v = random_state(character, seed)
    (ahead, turned), (behind, before) = (moved_frames(character, alpha, v, time) for time in (STEP, -STEP))
    speeds = (ahead - behind) / (2 * STEP)
    _, frames = moved_frames(character, alpha, v, 0.0)
    spins = (so3.log(so3.multiply(so3.inverse(frames), turned)) - so3.log(
        so3.multiply(so3.inverse(frames), before))) / (2 * STEP)  # fmt: skip
    bones = character.bones
    energy = 0.5 * (bones.masses @ (speeds**2).sum(axis=1))
    energy += 0.5 * np.einsum("ji,jik,jk->", spins, bones.inertias, spins)
    assert energy == pytest.approx(0.5 * v @ character.mass(alpha) @ v, rel=1e-7)
    assert energy == pytest.approx(character.kinetic(alpha, v), rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_by_sweeps_is_the_mass_matrix_times_velocity(
    character: PhysicalCharacter, seed: int
) -> None:
    alpha, v = random_state(character, seed)
    p, force = character.momentum(alpha, v)
    M = character.mass(alpha)
    np.testing.assert_allclose(p, M @ v, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(M, M.T, atol=0)
    assert np.linalg.eigvalsh(M).min() > 0
    assert np.abs(force[:6]).max() == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", ["character", "full"])
def test_quadratic_forces_are_derivatives_of_the_kinetic_energy(
    which: str, seed: int, request: pytest.FixtureRequest
) -> None:
    character = request.getfixturevalue(which)
    alpha, v = random_state(character, seed)
    force = character.momentum(alpha, v)[1]
    slope = [
        (character.kinetic(alpha + e, v) - character.kinetic(alpha - e, v)) / (2 * STEP)
        for e in STEP * np.eye(len(alpha))
    ]
    np.testing.assert_allclose(force[6:], slope, atol=1e-7 * np.abs(force).max())


def test_weight_is_the_derivative_of_the_potential(character: PhysicalCharacter) -> None:
    alpha, _ = random_state(character, 1)
    turn, place = so3.exp([0.4, -0.2, 0.9]), np.array([1.0, 2.0, -0.5])
    force = character.gravity_force(turn, alpha)

    def potential(change: np.ndarray) -> float:
        moved = place + so3.rotate(turn, change[3:6])
        return character.potential(so3.multiply(turn, so3.exp(change[:3])), moved, alpha + change[6:])

    slope = [(potential(e) - potential(-e)) / (2 * STEP) for e in STEP * np.eye(character.size)]
    np.testing.assert_allclose(force, -np.array(slope), atol=1e-5)


def test_jacobian_of_a_point_agrees_with_differences(character: PhysicalCharacter) -> None:
    alpha, v = random_state(character, 2)
    joint = character.skeleton.index("LeftHand")
    centre = character.bones.centres[joint]
    ahead, behind = (moved_frames(character, alpha, v, time)[0][joint] for time in (STEP, -STEP))
    np.testing.assert_allclose(
        character.jacobian(alpha, joint, centre) @ v, (ahead - behind) / (2 * STEP), atol=1e-8
    )


def test_momenta_are_those_of_the_bones(character: PhysicalCharacter) -> None:
    alpha, v = random_state(character, 3)
    found = world_momenta(so3.identity(), np.zeros(3), character.momentum(alpha, v)[0])
    (ahead, _), (behind, _) = (moved_frames(character, alpha, v, time) for time in (STEP, -STEP))
    linear = character.bones.masses @ (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(found.linear, linear, atol=1e-6)


def test_hybrid_coordinates_free_the_legs(character: PhysicalCharacter) -> None:
    model = PoseModel.fit([marey.samples.walk()], modes=6)
    basis = Basis.hybrid(model)
    assert 6 < basis.modes <= 6 + 18
    rows = basis.directions.reshape(basis.modes, -1)
    assert np.linalg.matrix_rank(rows) == basis.modes
    alpha = 0.01 * np.arange(basis.modes)
    np.testing.assert_allclose(basis.encode(basis.decode(alpha)), alpha, atol=1e-10)


def test_masses_must_be_positive() -> None:
    skeleton = marey.samples.walk().skeleton
    with pytest.raises(InputError, match="above 0"):
        Bones.of(skeleton, mass=-3)
    heavy = Bones.of(skeleton, single={"LeftHand": 5.0})
    assert heavy.masses[skeleton.index("LeftHand")] == 5.0
