"""A character in a pose model beside MuJoCo and Pinocchio: steps with contacts, limits and friction.

MuJoCo gets the same bones: a free root, a ball joint where the model moves one, limited to the largest axis
of the learned limit about its centre, and spheres at the same contact points, 8 at the soles or 24 on all of
the body; both step by 1/100 s, with friction of 0.8, from the same pose. Same process, one thread, warmed up,
least CPU time of several runs: on the feet, lying, and in the air, where nothing is touched. First,
velocities of steps are compared with those by daqp's quadratic programmes. Then terms alone beside
Pinocchio's and MuJoCo's, many ragdolls at once on two cores, and limits learned from all CMU clips. Exits
with 1 where a bar is missed.

    python benchmarks/physics.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _ledger import record, record_limit
from numpy.typing import NDArray

import marey
from marey.body.limits import EllipsoidLimits, learn
from marey.body.physics.inertia import Bones
from marey.body.physics.projection import Projection
from marey.body.physics.reduced import Basis, PhysicalCharacter
from marey.body.physics.shapes import Shapes
from marey.body.physics.simulate import SimulationSettings, Simulator, State, initial_state
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

try:
    import mujoco
    import pinocchio
except ImportError:
    mujoco = pinocchio = None

Array = NDArray[np.float64]

STEP, ROUNDS = 0.01, 7
BAR, AGREE, RAGDOLLS, LEARNING = 1.5, 1e-6, 200, 20.0
# Steps before the clock starts, and with it running: 0.2 s on the feet; 1 s on the ground after 4 s.
FEET, LYING, AIR = (2, 20), (400, 100), (2, 50)


def main() -> int:
    dance = _folder() / "cmu_bvh" / "85_12.bvh"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clip = marey.load(dance, clean=True) if dance.exists() else marey.samples.walk()
    # The built-in walk has no more than twelve modes.
    character = PhysicalCharacter.of(PoseModel.fit([clip], modes=20 if dance.exists() else 12))
    limits = learn([clip]).limits
    missed = agreement(character, clip, limits)
    missed += steps(character, clip, limits)
    terms(character, clip)
    missed += many(character, clip, limits)
    missed += learning()
    print("\n".join(["", "missed:", *missed]) if missed else "\nevery bar met")
    return 1 if missed else 0


def least(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Least CPU time of a run, seconds."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        run()
        spent.append(time.process_time() - began)
    return min(spent)


def agreement(character: PhysicalCharacter, clip: marey.Motion, limits: EllipsoidLimits) -> list[str]:
    """Velocities of steps of a falling character and of daqp's programmes for the same steps."""
    settings = SimulationSettings(step=STEP)
    fallen = Simulator(character, settings, limits)
    explicit = Simulator(character, SimulationSettings(step=STEP, integrator="constant"), limits)
    state, worst, compared, unsolved = initial_state(character, clip), 0.0, 0, 0
    for _ in range(100):
        state = fallen.run(state, 3).state
        problem = explicit.problem(state)
        if len(problem.J) == 0:
            continue
        step = explicit.step(state._replace(multipliers=None))
        try:
            # Where something rubs there are several solutions: daqp starts at ours.
            velocity, multipliers = problem.solve(start=step.multipliers[problem.slots])
        except InputError:  # daqp cycles where rows depend on each other
            unsolved += 1
            continue
        if (
            off_coulomb(problem, velocity, multipliers) > 1e-7
        ):  # no fixed point of friction's bounds was found
            unsolved += 1
            continue
        worst, compared = max(worst, float(np.abs(step.velocity - velocity).max())), compared + 1
    print(
        f"velocities beside daqp's, {compared} steps: at most {worst:.1e} m/s or rad/s apart "
        f"({unsolved} that daqp does not solve left out)"
    )
    record_limit("Physics: velocities of a step beside those by daqp", worst, AGREE, unit="m/s")
    return [] if worst < AGREE else [f"velocities {worst:.1e} m/s from daqp's"]


def off_coulomb(problem: Projection, velocity: Array, multipliers: Array) -> float:
    """How far impulses are from what contacts, limits and friction of 0.8 ask for, m/s."""
    scale = np.einsum("ij,ji->i", problem.J, np.linalg.solve(problem.mass, problem.J.T))
    asked = multipliers - (problem.J @ velocity - problem.bounds) / scale
    rubs = problem.kinds >= 0
    most = 0.8 * multipliers[problem.kinds[rubs]]
    asked[rubs] = np.clip(asked[rubs], -most, most)
    asked[~rubs] = np.maximum(asked[~rubs], 0.0)
    return float(np.abs((asked - multipliers) * scale).max(initial=0.0))


def steps(character: PhysicalCharacter, clip: marey.Motion, limits: EllipsoidLimits) -> list[str]:
    """Steps on the feet, lying and in the air, beside MuJoCo's."""
    balls = len(character.tree.moving) - 1
    print(f"\nµs of CPU a step of 1/100 s; marey {character.basis.modes} modes, MuJoCo {balls} ball joints")
    print(f"  {'':28} {'marey':>7} {'rows':>5} {'MuJoCo':>7} {'rows':>5} {'times':>6}")
    missed = []
    everything = Shapes.of(character)
    for title, points, height, span, bar in (
        ("on the feet, 8 points", 8, 0.0, FEET, BAR),
        ("on the feet, 24 points", 24, 0.0, FEET, BAR),
        ("lying, 24 points", 24, 0.3, LYING, BAR),
        ("in the air", 24, 50.0, AIR, None),
    ):
        shapes = some(everything, character, points)
        simulator = Simulator(character, SimulationSettings(step=STEP), limits, shapes=shapes)
        standing = initial_state(character, clip)._replace(velocity=np.zeros(character.size))
        state = simulator.settle(standing)
        state = state._replace(place=state.place + np.array([0.0, height, 0.0]))
        ours, our_rows = timed(simulator, state, span)
        if mujoco is None:
            print(f"  {title:28} {1e6 * ours:7.1f} {our_rows:5.1f}")
            continue
        theirs, their_rows = mujoco_timed(character, limits, shapes, state, span)
        print(
            f"  {title:28} {1e6 * ours:7.1f} {our_rows:5.1f} {1e6 * theirs:7.1f} {their_rows:5.1f} "
            f"{theirs / ours:6.2f}"
        )
        record(f"Physics: a step, {title}", ours, theirs, peer="MuJoCo", bar=bar)
        if bar and theirs < bar * ours:
            missed.append(f"{title}: {theirs / ours:.2f} times as fast as MuJoCo, bar {bar}")
    return missed


def some(shapes: Shapes, character: PhysicalCharacter, count: int) -> Shapes:
    """The four lower corners of each foot, and as many spheres, far from each other, as are asked for."""
    places = character.skeleton.rest_positions()[shapes.carriers] + shapes.spheres[:, :3]
    corners = np.flatnonzero(shapes.spheres[:, 3] == 0)[::2]
    chosen = corners.tolist()
    round_ones = np.flatnonzero(shapes.spheres[:, 3] > 0)
    while len(chosen) < count:
        away = np.linalg.norm(places[round_ones][:, None] - places[chosen], axis=2).min(axis=1)
        chosen.append(int(round_ones[away.argmax()]))
    return Shapes(shapes.capsules, shapes.carriers[chosen], shapes.spheres[chosen])


def timed(simulator: Simulator, state: State, span: tuple[int, int]) -> tuple[float, float]:
    """Seconds a step and mean number of rows that push."""
    begin = simulator.run(state, span[0]).state
    found = simulator.run(begin, span[1])
    spent = least(lambda: simulator.run(begin, span[1])) - least(lambda: simulator.run(begin, 1))
    return spent / (span[1] - 1), float((found.multipliers != 0).sum(axis=1).mean())


def mujoco_timed(
    character: PhysicalCharacter, limits: EllipsoidLimits, shapes: Shapes, state: State, span: tuple[int, int]
) -> tuple[float, float]:
    """The same of MuJoCo."""
    model = mujoco.MjModel.from_xml_string(mjcf(character, limits, shapes))
    data, kept = mujoco.MjData(model), mujoco.MjData(model)
    local = character.basis.decode(state.alpha)
    moving = character.tree.moving[1:]
    data.qpos[:3], data.qpos[3:7] = state.place, state.rotation
    data.qpos[7:] = so3.multiply(so3.inverse(centres(character, limits)[moving]), local[moving]).ravel()
    mujoco.mj_step(model, data, span[0])
    mujoco.mj_copyData(kept, model, data)
    rows = []
    for _ in range(span[1]):
        mujoco.mj_step(model, data)
        rows.append(data.nefc)

    def run(count: int) -> Callable[[], None]:
        def stepped() -> None:
            mujoco.mj_copyData(data, model, kept)
            mujoco.mj_step(model, data, count)

        return stepped

    return (least(run(span[1])) - least(run(1))) / (span[1] - 1), float(np.mean(rows))


def centres(character: PhysicalCharacter, limits: EllipsoidLimits) -> Array:
    """Rotations `(joints, 4)` that limits, or else the pose model, are about."""
    found = np.array(character.basis.mean)
    found[limits.joints] = limits.centres
    return found


def mjcf(character: PhysicalCharacter, limits: EllipsoidLimits, shapes: Shapes) -> str:
    """The character as MuJoCo has it; rotations are measured from the limits' centres."""
    skeleton, bones = character.skeleton, character.bones
    moving, middle = set(character.tree.moving.tolist()), centres(character, limits)
    reach = dict(
        zip(limits.joints.tolist(), 1 / np.sqrt(np.linalg.eigvalsh(limits.shapes)[:, 0]), strict=True)
    )

    def numbers(values: Any) -> str:
        return " ".join(repr(float(value)) for value in values)

    def body(joint: int) -> str:
        kind = "<freejoint/>" if joint == 0 else ""
        if joint > 0 and joint in moving:
            bound = f'range="0 {reach[joint]:.6f}" limited="true"' if joint in reach else ""
            kind = f'<joint type="ball" damping="0.5" {bound}/>'
        I = bones.inertias[joint]
        full = [I[a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        spheres = "".join(
            f'<geom size="{max(radius, 1e-3)!r}" pos="{numbers(point)}" mass="0" contype="0"/>'
            for *point, radius in shapes.spheres[shapes.carriers == joint].tolist()
        )
        turn = (
            "" if joint == 0 else f'pos="{numbers(skeleton.offsets[joint])}" quat="{numbers(middle[joint])}"'
        )
        return (
            f'<body {turn}>{kind}<inertial pos="{numbers(bones.centres[joint])}" '
            f'mass="{float(bones.masses[joint])!r}" fullinertia="{numbers(full)}"/>{spheres}'
            + "".join(body(child) for child in skeleton.children(joint))
            + "</body>"
        )

    ground = '<geom type="plane" size="50 50 1" zaxis="0 1 0" friction="0.8" contype="1" conaffinity="0"/>'
    return (
        '<mujoco><compiler boundmass="0" boundinertia="0" angle="radian"/>'
        f'<option gravity="0 -9.81 0" timestep="{STEP}" cone="pyramidal"/>'
        '<default><geom friction="0.8"/></default>'
        f"<worldbody>{ground}{body(0)}</worldbody></mujoco>"
    )


def terms(character: PhysicalCharacter, clip: marey.Motion) -> None:
    """Mass matrix and quadratic forces alone, in the pose model and in full coordinates."""
    if pinocchio is None:
        return
    basis = Basis.moving(PoseModel.fit([clip], modes=character.basis.modes))
    full = PhysicalCharacter(character.skeleton, basis, Bones.of(clip.skeleton))
    spent = {"the pose model": our_terms(character), "full coordinates": our_terms(full)}
    model = pinocchio_model(full)
    data, q, v = model.createData(), pinocchio.neutral(model), np.zeros(model.nv)

    def pinocchio_terms() -> None:
        for _ in range(500):
            pinocchio.crba(model, data, q)
            pinocchio.nonLinearEffects(model, data, q, v)

    nothing = Shapes(np.zeros((0, 8)), np.zeros(0, dtype=np.int64), np.zeros((0, 4)))
    scene = mujoco.MjModel.from_xml_string(mjcf(full, EllipsoidLimits.none(), nothing))
    state = mujoco.MjData(scene)

    def mujoco_terms() -> None:
        for _ in range(500):
            mujoco.mj_fwdPosition(scene, state)
            mujoco.mj_fwdVelocity(scene, state)

    pin, theirs = least(pinocchio_terms) / 500, least(mujoco_terms) / 500
    print("\nmass matrix and quadratic forces, µs of CPU, a call from Python each")
    print(
        "  marey "
        + ", ".join(f"{title} {1e6 * value:.1f}" for title, value in spent.items())
        + f"; full coordinates: Pinocchio {1e6 * pin:.1f}, MuJoCo {1e6 * theirs:.1f}"
    )
    record("Physics: mass matrix and quadratic forces", spent["the pose model"], pin, peer="Pinocchio")


def our_terms(character: PhysicalCharacter) -> float:
    """Seconds a call."""
    from marey.body.physics import _kernels

    tree, work, vectors = character.tree, character.room(), np.zeros((6, character.size))
    alpha = np.zeros((1, character.basis.modes))

    def run() -> None:
        for _ in range(500):
            _kernels.evaluate(tree, alpha, work, vectors)

    run()
    return least(run) / 500


def pinocchio_model(character: PhysicalCharacter) -> Any:
    """The bones as Pinocchio has them, in full coordinates."""
    skeleton, table = character.skeleton, character.tree.bones
    model, index = pinocchio.Model(), {}
    for joint in character.tree.moving.tolist():
        above = int(character.tree.parents[joint, 2])
        kind = pinocchio.JointModelFreeFlyer() if joint == 0 else pinocchio.JointModelSpherical()
        offset = np.zeros(3) if joint == 0 else np.array(skeleton.offsets[joint])
        place = pinocchio.SE3(np.eye(3), offset)
        index[joint] = model.addJoint(index.get(above, 0), kind, place, skeleton.names[joint])
        mass, centre, (a, b, c, d, e, f) = table[joint, 7], table[joint, 8:11], table[joint, 11:]
        inertia = pinocchio.Inertia(float(mass), centre.copy(), np.array([[a, b, c], [b, d, e], [c, e, f]]))
        model.appendBodyToJoint(index[joint], inertia, pinocchio.SE3.Identity())
    return model


def many(character: PhysicalCharacter, clip: marey.Motion, limits: EllipsoidLimits) -> list[str]:
    """How many ragdolls two threads keep up with, a second of them dropped and falling over."""
    simulator = Simulator(character, SimulationSettings(step=STEP), limits)
    states = [initial_state(character, clip, 0.01 * i, 0.002 * i) for i in range(RAGDOLLS)]
    simulator.run_many(states, 1, jobs=2)
    # Of both threads together: others may use the cores as well.
    spent = least(lambda: simulator.run_many(states, 100, jobs=2), 5) / 2
    count = RAGDOLLS / spent
    print(f"\nragdolls at 100 Hz on two cores, by CPU time: {count:.0f} (bar {RAGDOLLS}, goal 300)")
    record_limit(f"Physics: a second of {RAGDOLLS} ragdolls at 100 Hz, two cores", spent, 1.0)
    return [] if count >= RAGDOLLS else [f"{count:.0f} ragdolls at 100 Hz, bar {RAGDOLLS}"]


def _folder() -> Path:
    return Path(os.environ.get("MAREY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "skeleton"


def learning() -> list[str]:
    """Limits of all CMU clips at hand."""
    folder = _folder()
    files = sorted([*(folder / "cmu_bvh").glob("*.bvh"), *(folder / "cmu_corpus").glob("*.bvh")])
    if not files:
        print("\nno CMU clips at hand (MAREY_DATA): no limits are learned from them")
        return []

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learn(marey.load(path)[1:] for path in files)

    spent = least(run, 2)
    print(f"\nlimits of {len(files)} CMU clips, with reading them: {spent:.1f} s of CPU (bar {LEARNING:g} s)")
    record_limit(f"Physics: limits of {len(files)} CMU clips", spent, LEARNING)
    return [] if spent <= LEARNING else [f"learning limits {spent:.1f} s, bar {LEARNING:g} s"]


if __name__ == "__main__":
    sys.exit(main())
