"""Claims about time steps: transports, momentum and energy of each integrator, damping, a double pendulum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

import marey
from marey.body import Skeleton
from marey.body.physics.inertia import Bones
from marey.body.physics.reduced import Basis, PhysicalCharacter
from marey.body.physics.shapes import Shapes
from marey.body.physics.simulate import Pin, Push, SimulationSettings, Simulator, State, Trajectory
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

Array = NDArray[np.float64]
UNDAMPED = SimulationSettings(gravity=False, ground=False, rate=0.0)


@pytest.fixture(scope="module")
def character() -> PhysicalCharacter:
    return PhysicalCharacter.of(PoseModel.fit([marey.samples.walk()], modes=10))


def blown(
    character: PhysicalCharacter, impulse: float, seconds: float, settings: SimulationSettings
) -> Trajectory:
    """A character at rest in its mean pose after a blow on its right hand."""
    still = State(so3.identity(), np.zeros(3), np.zeros(character.basis.modes), np.zeros(character.size))
    blow = Push("RightHand", 0.0, (0.0, 0.0, impulse))
    return Simulator(character, settings).run(still, round(seconds / settings.step), [blow])


def spin_drift(character: PhysicalCharacter, found: Trajectory) -> float:
    """The largest change of the angular momentum about the centre of mass, relative to its size."""
    start = [so3.identity()], [np.zeros(3)], [np.zeros(character.basis.modes)]
    before = [
        np.concatenate([first, rows[:-1]])
        for first, rows in zip(start, (found.rotations, found.places, found.coordinates), strict=True)
    ]
    centres = np.array([character.centre_of_mass(*row) for row in zip(*before, strict=True)])
    spin = found.angular - np.cross(centres, found.linear)
    return float(np.linalg.norm(spin - spin[0], axis=1).max() / np.linalg.norm(spin[0]))


@pytest.mark.parametrize("seed", range(5))
def test_transports_are_those_of_the_group(character: PhysicalCharacter, seed: int) -> None:
    from marey._compiling import njit
    from marey.body.physics._step_kernels import RIGID, transported

    @njit()
    def carried(series: Array, which: int, v: Array, scale: float, y: Array) -> None:
        transported(series, which, RIGID, v, 0, scale, y, 0)

    series, rng = Simulator(character)._scene.series, np.random.default_rng(seed)
    twist, momentum = rng.normal(size=(1, 6)), rng.normal(size=(1, 6))
    twist *= (0.5, 1.0, 1.5, 0.3, 0.01)[seed] / np.linalg.norm(twist[0, :3])

    def along(y: Array, *steps: tuple[int, float]) -> Array:
        moved = y.copy()
        for which, scale in steps:
            carried(series, which, twist, scale, moved)
        return moved

    w, u = (np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) for x, y, z in (twist[0, :3], twist[0, 3:]))
    ad = np.block([[w, np.zeros((3, 3))], [u, w]])
    close = {"rtol": 0, "atol": 1e-13 * max(1.0, np.abs(expm(ad)).max())}
    np.testing.assert_allclose(along(momentum, (0, 1.0))[0], expm(ad).T @ momentum[0], **close)
    # The left differential of exp and its inverse, and what they give together: J_l J_r⁻¹ = Ad.
    np.testing.assert_allclose(along(momentum, (1, 1.0), (2, 1.0)), momentum, **close)
    both = along(momentum, (2, -1.0), (1, 1.0))
    np.testing.assert_allclose(both, along(momentum, (0, 1.0)), **close)


@pytest.mark.parametrize(
    ("integrator", "group"),
    [("exact", "se3"), ("exact", "centre"), ("variational", "se3"), ("variational", "centre"),
     ("constant", "se3"), ("constant", "centre")],
)  # fmt: skip
def test_both_momenta_are_kept_without_forces(
    character: PhysicalCharacter, integrator: str, group: str
) -> None:
    found = blown(character, 1.0, 1.0, replace(UNDAMPED, integrator=integrator, group=group))
    for values in (found.linear, found.angular):
        assert np.abs(values - values[0]).max() < 1e-12 * np.abs(values).max()


@pytest.mark.parametrize("impulse", [0.03, 0.1])
def test_angular_momentum_drifts_least_by_the_published_step(
    character: PhysicalCharacter, impulse: float
) -> None:
    # Tournier (2011), figures 11.1 to 11.3.
    rough = replace(UNDAMPED, step=0.1, group="so3xr3")
    found = {
        name: blown(character, impulse, 5.0, replace(rough, integrator=name))
        for name in ("constant", "identity", "naive")
    }
    drift = {name: spin_drift(character, path) for name, path in found.items()}
    assert 20 * drift["constant"] < drift["identity"] < drift["naive"]
    assert 0.4 < drift["identity"] / drift["naive"] < 0.6
    for path in found.values():
        np.testing.assert_allclose(path.linear, np.tile([0, 0, impulse], (50, 1)), atol=1e-12)


@pytest.mark.parametrize(("step", "impulse"), [(0.02, 1.0), (0.02, 2.0), (0.005, 3.0)])
@pytest.mark.parametrize("integrator", ["exact", "variational"])
def test_energy_is_kept_without_damping(
    character: PhysicalCharacter, integrator: str, step: float, impulse: float
) -> None:
    settings = replace(UNDAMPED, step=step, integrator=integrator, group="se3")
    kinetic = blown(character, impulse, 5.0, settings).kinetic
    np.testing.assert_allclose(kinetic / kinetic[0], 1.0, atol=0.03)


@pytest.mark.parametrize(
    ("damping", "rate", "stable"),
    [("energetic", 0.0, 0.0), ("energetic", 1.0, 3.0), ("energetic", 3.0, 10.0), ("kinematic", 10.0, 10.0),
     ("uniform", 1.0, 10.0)],
)  # fmt: skip
def test_damping_holds_long_steps_and_leaves_momentum_alone(
    character: PhysicalCharacter, damping: str, rate: float, stable: float
) -> None:
    settings = replace(UNDAMPED, step=0.1, group="so3xr3", integrator="constant", damping=damping, rate=rate)
    for impulse in (3.0, 10.0):
        if impulse > stable:
            continue
        found = blown(character, impulse, 5.0, settings)
        assert found.kinetic.max() < 1.001 * found.kinetic[0]
        np.testing.assert_allclose(found.linear, np.tile([0, 0, impulse], (50, 1)), atol=1e-12 * impulse)
    if rate == 0:
        try:
            grown = blown(character, 3.0, 5.0, settings).kinetic
        except InputError:
            return
        assert grown[-1] > 10 * grown[0]


def in_maximal_coordinates(
    seconds: float, steps: int, lengths: Array, masses: Array, moments: Array
) -> Array:
    """Angles of two rods that hang on each other, each with a place of its own, held by impulses."""
    h = seconds / steps
    inverse = 1 / np.array([masses[0], masses[0], moments[0], masses[1], masses[1], moments[1]])
    x = np.array([0.5 * lengths[0], 0, np.pi / 2, lengths[0], -0.5 * lengths[1], 0])
    v = np.zeros(6)

    def joints(x: Array) -> tuple[Array, Array]:
        arms = [0.5 * l * np.array([np.sin(t), -np.cos(t)]) for l, t in zip(lengths, x[[2, 5]], strict=True)]
        off = np.concatenate([x[:2] - arms[0], x[3:5] - arms[1] - x[:2] - arms[0]])
        J = np.zeros((4, 6))
        J[:2, :2], J[2:, :2], J[2:, 3:5] = np.eye(2), -np.eye(2), np.eye(2)
        slopes = [np.array([-a[1], a[0]]) for a in arms]
        J[:2, 2], J[2:, 2], J[2:, 5] = -slopes[0], -slopes[0], -slopes[1]
        return off, J

    for _ in range(steps):
        off, J = joints(x)
        free = v + h * np.array([0, -9.81, 0, 0, -9.81, 0])
        v = free - inverse * (J.T @ np.linalg.solve(J * inverse @ J.T, J @ free + 0.2 * off / h))
        x = x + h * v
    return x[[2, 5]]


def test_a_double_pendulum_swings_as_in_maximal_coordinates() -> None:
    lengths, masses = np.array([0.5, 0.4]), np.array([2.0, 1.0])
    moments = masses * lengths**2 / 12
    skeleton = Skeleton(("upper", "lower"), [-1, 0], [[0, 0, 0], [0, -0.5, 0]], [1], [[0, -0.4, 0]])
    centres, tips = np.array([[0, -0.25, 0], [0, -0.2, 0]]), np.array([[0, -0.5, 0], [0, -0.4, 0]])
    inertias = moments[:, None, None] * np.diag([1.0, 0.1, 1.0])
    bones = Bones(masses, centres, inertias, tips, np.full(2, 0.02))
    hinge = Basis(so3.identity(2), np.array([[[0.0, 0, 0], [0, 0, 1.0]]]))
    character = PhysicalCharacter(skeleton, hinge, bones)
    nothing = Shapes(np.zeros((0, 8)), np.zeros(0, dtype=np.int64), np.zeros((0, 4)))
    start = State(so3.exp([0, 0, np.pi / 2]), np.zeros(3), np.array([-np.pi / 2]), np.zeros(7))
    expected = in_maximal_coordinates(0.5, 50_000, lengths, masses, moments)
    errors = []
    for steps in (250, 500):
        settings = SimulationSettings(step=0.5 / steps, ground=False, rate=0.0)
        simulator = Simulator(character, settings, pins=[Pin("upper", np.zeros(3))], shapes=nothing)
        end = simulator.run(start, steps).state
        upper = so3.log(end.rotation)[2]
        errors.append(np.abs(np.array([upper, upper + end.alpha[0]]) - expected).max())
    assert errors[1] < 0.02 and 0.4 < errors[1] / errors[0] < 0.6
