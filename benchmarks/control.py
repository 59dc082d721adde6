"""Time of a step of control beside Pinocchio's terms and the same programme by ProxQP, and many characters.

    python benchmarks/control.py [--data FOLDER]

The least process CPU time of five repeats, one thread. Steps of a character of 20 geodesics and free legs
that was pushed: published relaxation C with two programmes; C with friction's pyramid, torque bounds and two
levels; exact contact modes. Beside it all terms by Pinocchio for the unreduced skeleton, and one programme of
the size of C by daqp, and by ProxQP where it is installed. Then how many characters a core steps 100 times a
second.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import time
from collections.abc import Callable

import numpy as np
from _ledger import record_limit

import marey
from marey.body.control import qp
from marey.body.control.actuation import ActuationSettings, Problem
from marey.body.control.balance import Balancer, BalanceSettings, Wishes
from marey.body.control.features.strength import Strength

STEPS, REPEATS = 50, 5
METHODS = {
    "published C": ActuationSettings.published("C"),
    "C, pyramid, torques, levels": ActuationSettings("C"),
    "exact contact modes": ActuationSettings(),
}
# Seconds a step that are asked for.
LIMITS = dict(zip(METHODS, (250e-6, 1e-3, 3e-3), strict=True))


def least(run: Callable[[], object], count: int) -> float:
    """Microseconds of CPU of one of `count` things that `run` does."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return 1e6 * min(times) / count


def main() -> None:
    walk = marey.samples.walk(3)
    chest = walk.skeleton.index("Spine1")
    for name, actuation in METHODS.items():
        balancer = Balancer.of(walk, settings=BalanceSettings(actuation=actuation))
        first, home = balancer.start(walk, 0)

        def run(balancer: Balancer = balancer, first: object = first, home: object = home) -> None:
            state = first
            for number in range(STEPS):
                blow = [(chest, np.zeros(3), np.array([15.0, 0.0, 5.0]))] if number == 0 else []
                state = balancer.step(state, home, Wishes(), blow).state  # type: ignore[arg-type]

        spent = least(run, STEPS)
        record_limit(f"A step of balance, {name}", 1e-6 * spent, LIMITS[name])
        print(f"{name:30} {spent:7.0f} µs a step, {1e4 / spent:5.1f} characters at 100 Hz a core")
    print(f"{'one programme of C by daqp':30} {programme():7.0f} µs")
    others()


def small() -> Problem:
    """The programme of C of a character that stands."""
    walk = marey.samples.walk(3)
    balancer = Balancer.of(walk)
    state, home = balancer.start(walk, 0)
    now = balancer.mechanics.at(state.body)
    features = [one for one in balancer.features(now, state, home, Wishes()) if one.level == 0]
    return Problem.of(now, balancer.planner, features, [Strength()])


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hessian, gradient, rows and their lower bounds of this programme."""
    one = small()
    G = one.levels[0].rows @ one.Y
    H = G.T @ G + 1e-6 * np.trace(G.T @ G) / len(one.Y.T) * np.eye(one.Y.shape[1])
    c = -G.T @ (one.levels[0].target - one.levels[0].rows @ one.base)
    rows = np.concatenate([one.speeds, np.eye(one.Y.shape[1])[: one.rows]])
    return H, c, rows, np.concatenate([one.missing, np.zeros(one.rows)])


def programme() -> float:
    """Microseconds of one programme by daqp."""
    H, c, rows, low = matrices()
    bounds = qp.Rows(rows, low, np.full(len(low), qp.FAR))
    return least(lambda: [qp.solve(H, c, bounds) for _ in range(STEPS)], STEPS)


def others() -> None:
    """Terms by Pinocchio, and the programme by ProxQP."""
    try:
        import pinocchio
    except ImportError:
        print("Pinocchio is not installed")
    else:
        model = chain(pinocchio, marey.samples.walk(1).skeleton)
        data, q, v = model.createData(), pinocchio.neutral(model), np.zeros(model.nv)

        def terms() -> None:
            for _ in range(STEPS):
                pinocchio.computeAllTerms(model, data, q, v)
                for joint in range(1, 9):
                    pinocchio.getJointJacobian(model, data, joint, pinocchio.LOCAL_WORLD_ALIGNED)

        print(f"{'terms by Pinocchio':30} {least(terms, STEPS):7.0f} µs, {model.nv} degrees of freedom")
    try:
        import proxsuite
    except ImportError:
        print("ProxQP is not installed")
        return
    H, c, rows, low = matrices()
    solver = proxsuite.proxqp.dense.QP(len(c), 0, len(low))
    solver.settings.eps_abs = 1e-9
    solver.init(H, c, None, None, rows, low, np.full(len(low), 1e20))
    print(f"{'one programme of C by ProxQP':30} "
          f"{least(lambda: [solver.solve() for _ in range(STEPS)], STEPS):7.0f} µs")  # fmt: skip


def chain(pinocchio: object, skeleton: marey.body.Skeleton) -> object:
    """The skeleton with ball joints and a free root."""
    from marey.body.physics.inertia import Bones

    bones, pin = Bones.of(skeleton), pinocchio
    model = pin.Model()  # type: ignore[attr-defined]
    ids: list[int] = []
    for joint, name in enumerate(skeleton.names):
        above = ids[skeleton.parents[joint]] if joint else 0
        kind = pin.JointModelSpherical() if joint else pin.JointModelFreeFlyer()  # type: ignore[attr-defined]
        place = pin.SE3(np.eye(3), np.asarray(skeleton.offsets[joint]))  # type: ignore[attr-defined]
        ids.append(model.addJoint(above, kind, place, name))
        body = pin.Inertia(float(bones.masses[joint]), bones.centres[joint], bones.inertias[joint])  # type: ignore[attr-defined]
        model.appendBodyToJoint(ids[-1], body, pin.SE3.Identity())  # type: ignore[attr-defined]
    return model


if __name__ == "__main__":
    main()
