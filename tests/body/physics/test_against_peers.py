"""Dynamics of a character read from a BVH file beside MuJoCo's and Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import marey
from marey.body.kinematics import global_frames
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import GRAVITY, Basis, PhysicalCharacter
from marey.body.physics.simulate import SimulationSettings, Simulator, State
from marey.geometry import rotations as so3
from tests.body.physics import peers

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def character(tmp_path_factory: pytest.TempPathFactory) -> PhysicalCharacter:
    path = tmp_path_factory.mktemp("bvh") / "walk.bvh"
    marey.save(marey.samples.walk(), path)
    walk = marey.load(path)
    assert walk.joints >= 23
    basis = Basis.full(np.concatenate([so3.identity(1), walk.rotations[5, 1:]]))
    return PhysicalCharacter(walk.skeleton, basis, Bones.of(walk.skeleton))


def random_state(character: PhysicalCharacter, seed: int) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(-0.8, 0.8, character.basis.modes)
    return so3.random(rng=rng), rng.normal(size=3), alpha, rng.normal(size=character.size)


def our_bias(character: PhysicalCharacter, rotation: Array, alpha: Array, v: Array) -> Array:
    """What M v̇ lacks to the forces: Ṁ v - ad*(v) M v - ∂T/∂g - gravity."""
    p, quadratic = character.momentum(alpha, v)
    rate = peers.along(lambda t: character.mass(alpha + t * v[6:]) @ v)
    transport = np.zeros(character.size)
    transport[:3] = np.cross(p[:3], v[:3]) + np.cross(p[3:6], v[3:6])
    transport[3:6] = np.cross(p[3:6], v[:3])
    return rate - transport - quadratic - character.gravity_force(rotation, alpha)


def close(found: Array, expected: Array, tolerance: float) -> None:
    assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize("seed", range(20))
def test_mass_matrix_and_bias_forces_are_those_of_mujoco(character: PhysicalCharacter, seed: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    gravity = " ".join(map(str, GRAVITY))
    model = mujoco.MjModel.from_xml_string(
        peers.mujoco_xml(character, option=f'<option gravity="{gravity}"/>')
    )
    rotation, place, alpha, v = random_state(character, seed)
    B = peers.velocity_map(character, rotation, alpha)
    M, bias = peers.mujoco_dynamics(model, peers.coordinates(character, rotation, place, alpha), B @ v)
    close(character.mass(alpha), B.T @ M @ B, 1e-9)

    def turned(t: float) -> Array:
        return (
            peers.velocity_map(character, so3.multiply(rotation, so3.exp(t * v[:3])), alpha + t * v[6:]) @ v
        )

    close(our_bias(character, rotation, alpha, v), B.T @ (bias + M @ peers.along(turned)), 1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_mass_matrix_and_bias_forces_are_those_of_pinocchio(character: PhysicalCharacter, seed: int) -> None:
    pytest.importorskip("pinocchio")
    rotation, place, alpha, v = random_state(character, seed)
    B = peers.velocity_map(character, so3.identity(), alpha)
    qpos = peers.coordinates(character, rotation, place, alpha)
    M, bias = peers.pinocchio_dynamics(character, qpos, B @ v)
    # Its gravity is along z.
    force = character.gravity_force(rotation, alpha, (0.0, 0.0, -9.81))
    ours = our_bias(character, rotation, alpha, v) + character.gravity_force(rotation, alpha) - force
    close(character.mass(alpha), B.T @ M @ B, 1e-9)

    def turned(t: float) -> Array:
        return peers.velocity_map(character, so3.identity(), alpha + t * v[6:]) @ v

    # Its root velocity is in the root's frame, as ours: only coordinates of joints differ.
    close(ours, B.T @ (bias + M @ peers.along(turned)), 1e-8)


@pytest.mark.parametrize("gravity", [True, False])
def test_flight_is_that_of_mujoco_and_the_error_halves_with_the_step(gravity: bool) -> None:
    mujoco = pytest.importorskip("mujoco")
    walk = marey.samples.walk()
    free = np.flatnonzero(np.ptp(walk.rotations, axis=0).max(axis=-1) > 1e-3)
    basis = Basis.full(np.concatenate([so3.identity(1), walk.rotations[5, 1:]]), free[free > 0])
    character = PhysicalCharacter(walk.skeleton, basis, Bones.of(walk.skeleton))
    model = mujoco.MjModel.from_xml_string(
        peers.mujoco_xml(
            character,
            option=f'<option gravity="0 {-9.81 * gravity} 0" timestep="0.001" integrator="RK4"/>',
        )
    )
    rng = np.random.default_rng(3)
    rotation, place = so3.exp([0.1, 0.4, -0.2]), np.array([0.0, 2.0, 0.0])
    alpha, v = np.zeros(character.basis.modes), np.zeros(character.size)
    speeds = rng.normal(size=character.basis.modes)
    v[6:] = 0.5 * speeds / np.sqrt((speeds**2).mean() * 3)
    data = mujoco.MjData(model)
    data.qpos[:] = peers.coordinates(character, rotation, place, alpha)
    data.qvel[:] = peers.velocity_map(character, rotation, alpha) @ v
    mujoco.mj_step(model, data, 1000)
    mujoco.mj_forward(model, data)
    expected = np.array([data.xpos[1 + j] for j in range(character.skeleton.joints)])
    order = [int(model.body(j + 1).name) for j in range(character.skeleton.joints)]
    expected = expected[np.argsort(order)]
    found = []
    for steps in (1000, 2000):
        settings = SimulationSettings(step=1 / steps, ground=False, gravity=gravity, rate=0.0)
        end = Simulator(character, settings).run(State(rotation, place, alpha, v), steps).state
        local = character.basis.decode(end.alpha)
        local[0] = end.rotation
        skeleton = character.skeleton
        found.append(global_frames(skeleton.parents, skeleton.offsets, local, end.place).positions)
    errors = [np.abs(positions - expected).max() for positions in found]
    assert 0.4 < errors[1] / errors[0] < 0.6
    assert np.abs(2 * found[1] - found[0] - expected).max() < 1e-4


def test_a_rigid_body_stands_on_the_ground_as_in_mujoco(character: PhysicalCharacter) -> None:
    mujoco = pytest.importorskip("mujoco")
    skeleton, bones = character.skeleton, character.bones
    rigid = PhysicalCharacter(
        skeleton, Basis(character.basis.mean * 0 + so3.identity(), np.zeros((0, skeleton.joints, 3))), bones
    )
    simulator = Simulator(rigid, SimulationSettings(step=0.005))
    carriers, spheres = simulator.shapes.carriers, simulator.shapes.spheres
    points = skeleton.rest_positions()[carriers] + spheres[:, :3]
    place = np.array([0.0, -(points[:, 1] - spheres[:, 3]).min() + 0.002, 0.0])
    start = State(so3.identity(), place, np.zeros(0), np.zeros(6))
    trajectory = simulator.run(start, 1000)
    weight = bones.masses.sum() * 9.81 * simulator.settings.step
    assert trajectory.support[-50:].mean() == pytest.approx(weight, rel=0.01)
    normal = trajectory.multipliers[-1, : 3 * len(carriers) : 3]
    end = trajectory.state
    where = so3.rotate(end.rotation, points - skeleton.rest_positions()[0]) + end.place
    centre = normal @ where / normal.sum()
    # MuJoCo meets the ground with small spheres at the corners of the feet that touch it.
    touching = np.flatnonzero(normal > 0)
    geoms: dict[int, str] = {-1: '<geom type="plane" size="5 5 1" zaxis="0 1 0" friction="0.8"/>'}
    for i in touching:
        x, y, z = spheres[i, :3] + [0.0, 0.005, 0.0]
        geoms[int(carriers[i])] = geoms.get(int(carriers[i]), "") + (
            f'<geom type="sphere" size="0.005" pos="{x} {y} {z}" friction="0.8" mass="0"/>'
        )
    xml = peers.mujoco_xml(
        rigid, option='<option gravity="0 -9.81 0" timestep="0.002" cone="pyramidal"/>', geoms=geoms
    )
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([place, so3.identity()])
    mujoco.mj_step(model, data, 2500)
    total, theirs = 0.0, np.zeros(3)
    for c in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, c, force)
        total += force[0]
        theirs += force[0] * data.contact[c].pos
    assert total == pytest.approx(bones.masses.sum() * 9.81, rel=0.01)
    np.testing.assert_allclose((centre - theirs / total)[[0, 2]], 0.0, atol=0.003)
