"""Time steps of a character: Tournier 2011, chapters 10 and 11, figures 10.2 to 10.4 and 11.1 to 11.4.

The source prints curves only: beside ours stand those that were measured with its published root, SO(3) × R³,
on the same clip (CMU 02_01, 10 modes, without gravity, a blow on the right hand along z). Drift of the
angular momentum about the centre of mass, relative, in 5 s; energy of the steps that are solved; which
damping holds which blow with steps of 0.1 s; the spread of the coefficients of damping. The pattern must be
the same: the published step far below the identity one, that about half of the naive one, the same cells
stable. Writes `phase_portraits.png` (10.2), `projections.png` (10.3, 10.4), `momentum.png` (11.1 to 11.3) and
`damping.png` (11.4).

    python reproduce/time_steps.py [--data FOLDER] [--out FOLDER]

Without real data the sample walk is hit.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import _cmu
import numpy as np
from numpy.typing import NDArray

import marey
from marey.body.anatomy import end_effectors
from marey.body.physics.inertia import BodySettings, Bones
from marey.body.physics.reduced import Basis, PhysicalCharacter
from marey.body.physics.simulate import (
    Push,
    SimulationSettings,
    Simulator,
    State,
    Trajectory,
    initial_state,
)
from marey.body.pose_model import PoseModel
from marey.errors import InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.views import style

Array = NDArray[np.float64]

FREE = SimulationSettings(gravity=False, ground=False, rate=0.0, group="so3xr3")
STEPS = ("naive", "identity", "constant", "exact")
# Seconds a step, N·s, drift by each of these steps as it was measured before, and by "constant" on SE(3).
DRIFTS = (
    (0.1, 0.03, (2.4e-2, 1.2e-2, 2.5e-5, 6.1e-5), 1.4e-5),
    (0.1, 0.1, (7.7e-2, 3.9e-2, 3.1e-4, 4.0e-4), 1.3e-4),
    (0.1, 0.3, (0.25, 0.13, 4.4e-3, 1.3e-3), 1.1e-3),
    (0.02, 1.0, (0.56, 0.25, 5.0e-3, 3.4e-3), 1.9e-3),
    (0.02, 3.0, (1.27, 1.08, 0.135, 1.6e-2), 5.8e-3),
    (0.005, 3.0, (1.16, 0.73, 2.3e-2, 3.9e-3), 1.4e-3),
)
# Least and largest energy over the first, measured before.
ENERGIES = ((0.02, 1.0, (0.996, 1.00)), (0.02, 3.0, (0.978, 1.01)), (0.005, 3.0, (0.994, 1.00)))
# Damping, rate, and whether blows of 3 and 10 N·s were stable; None where it was marginal.
DAMPED = (
    ("energetic", 0.0, (False, False)),
    ("energetic", 1.0, (True, False)),
    ("energetic", 3.0, (True, True)),
    ("energetic", 10.0, (True, True)),
    ("kinematic", 1.0, (True, False)),
    ("kinematic", 10.0, (True, True)),
    ("kinematic", 100.0, (True, True)),
    ("uniform", 0.01, (True, False)),
    ("uniform", 0.1, (True, None)),
    ("uniform", 1.0, (True, True)),
)


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    options.out.mkdir(parents=True, exist_ok=True)
    data = _cmu.folder(options.data)
    clips = _cmu.all_clips(data) if data else {}
    walk = _cmu.clip(clips["02_01"], cleaned=False) if "02_01" in clips else marey.samples.walk()
    # Masses of helper joints as they were there.
    light = BodySettings(least_share=1e-3, carrier_share=1e-3)
    basis = Basis.geodesics(PoseModel.fit([walk], modes=10))
    character = PhysicalCharacter(walk.skeleton, basis, Bones.of(walk.skeleton, settings=light))
    portraits(options.out)
    projections(character, walk, options.out)
    good = momentum(character, options.out)
    good &= energy(character)
    good &= damping(character)
    dance = _cmu.clip(clips["85_12"], cleaned=False) if "85_12" in clips else walk
    coefficients(dance, options.out)
    print(f"\npatterns: {'as published' if good else 'MISSED'}")
    return 0 if good else 1


def blown(character: PhysicalCharacter, impulse: float, settings: SimulationSettings) -> Trajectory | None:
    """5 s after a blow on the hand of a character at rest; None if that became too fast for the steps."""
    still = State(so3.identity(), np.zeros(3), np.zeros(character.basis.modes), np.zeros(character.size))
    blow = Push("RightHand", 0.0, (0.0, 0.0, impulse))
    try:
        return Simulator(character, settings).run(still, round(5 / settings.step), [blow])
    except InputError:
        return None


def spin(character: PhysicalCharacter, found: Trajectory) -> Array:
    """Angular momentum `(steps, 3)` about the centre of mass."""
    start = [so3.identity()], [np.zeros(3)], [np.zeros(character.basis.modes)]
    parts = (found.rotations, found.places, found.coordinates)
    before = [np.concatenate([first, rows[:-1]]) for first, rows in zip(start, parts, strict=True)]
    centres = np.array([character.centre_of_mass(*row) for row in zip(*before, strict=True)])
    return found.angular - np.cross(centres, found.linear)


def drift(values: Array) -> float:
    return float(np.linalg.norm(values - values[0], axis=1).max() / np.linalg.norm(values[0]))


def momentum(character: PhysicalCharacter, out: Path) -> bool:
    """Figures 11.1 to 11.3 and the table of drifts."""
    good = True
    print("drift of the angular momentum about the centre of mass, 5 s (measured before)")
    print(
        f"  {'step':>6} {'blow':>5} " + "".join(f"{name:>20}" for name in STEPS) + f"{'constant, SE(3)':>20}"
    )
    for step, impulse, before, rigid in DRIFTS:
        cells, drifts = "", []
        for name, theirs in (*zip(STEPS, before, strict=True), ("SE(3)", rigid)):
            settings = replace(FREE, step=step, integrator=name if name in STEPS else "constant")
            settings = settings if name in STEPS else replace(settings, group="se3")
            found = blown(character, impulse, settings)
            drifts.append(np.inf if found is None else drift(spin(character, found)))
            cells += f"{drifts[-1]:10.1e} ({theirs:7.1e})"
            if found is not None and name in STEPS:
                good &= bool(np.abs(found.linear - found.linear[0]).max() < 1e-12 * impulse + 1e-13)
        naive, identity, constant = drifts[:3]
        # Small blows only: the larger ones wind the poses up.
        good &= constant < identity < 1.01 * naive
        if step == 0.1:
            good &= 20 * constant < identity and 0.4 < identity / naive < 0.6
        print(f"  {step:6} {impulse:5} {cells}")
    with style.figure((1280, 620)) as figure:
        panels = figure.subplots(2, 3, sharex=True)
        for number, name in enumerate(("constant", "identity", "naive")):
            found = blown(character, 0.1, replace(FREE, step=0.1, integrator=name))
            if found is None:
                continue
            seconds = 0.1 * np.arange(len(found.linear))
            for row, values in zip(panels, (found.linear - [0, 0, 0.1], spin(character, found)), strict=True):
                for axis, panel in enumerate(row):
                    panel.plot(seconds, values[:, axis], color=style.PALETTE[number], label=name)
        for axis, name in enumerate("xyz"):
            panels[0, axis].set_title(f"linear momentum {name}, less its first value (N·s)", fontsize=9)
            panels[1, axis].set_title(f"angular momentum {name} (N·m·s)", fontsize=9)
            panels[1, axis].set_xlabel("seconds")
        panels[0, 0].legend(fontsize=8)
    style.save(figure, out / "momentum.png")
    return good


def energy(character: PhysicalCharacter) -> bool:
    """Energy of solved steps, and of the published one."""
    good = True
    print("\nenergy over the first, undamped, SE(3), 5 s (exact, measured before)")
    for step, impulse, before in ENERGIES:
        line = f"  {step:6} s {impulse:3} N·s "
        for name in ("exact", "variational", "constant"):
            found = blown(character, impulse, replace(FREE, step=step, integrator=name, group="se3"))
            kept = np.array([np.inf]) if found is None else found.kinetic / found.kinetic[0]
            line += f" {name} {kept.min():.3f} … {kept.max():.3f}"
            if name != "constant":
                good &= bool(np.abs(kept - 1).max() < 0.03)
            if name == "exact":
                line += f" ({before[0]:.3f} … {before[1]:.2f})"
        print(line)
    return good


def damping(character: PhysicalCharacter) -> bool:
    """Which damping holds which blow."""
    good = True
    print("\nsteps of 0.1 s, 5 s: energy in the end over the first (measured before)")
    words = {True: "stable", False: "explodes", None: "marginal"}
    for kind, rate, before in DAMPED:
        line = f"  {kind:9} {rate:6}"
        for impulse, theirs in zip((3.0, 10.0), before, strict=True):
            settings = replace(FREE, step=0.1, integrator="constant", damping=kind, rate=rate)
            found = blown(character, impulse, settings)
            grown = np.inf if found is None else float(found.kinetic[-1] / found.kinetic[0])
            same = theirs is None or (grown < 1.05) == theirs
            good &= same
            line += f"   {impulse:4} N·s {grown:8.1e} ({words[theirs]}){'' if same else '  MISSED'}"
            if found is not None and grown < 1.05:
                good &= bool(np.abs(found.linear - found.linear[0]).max() < 1e-12 * impulse)
        print(line)
    return good


def coefficients(motion: marey.Motion, out: Path) -> None:
    """Figure 11.4: least and largest coefficient of both dampings over a clip, over the mean of the first."""
    character = PhysicalCharacter.of(PoseModel.fit([motion], modes=20))
    skeleton, rows = character.skeleton, []
    ends = [end.joint for end in end_effectors(skeleton)]
    poses = character.basis.encode(motion.rotations[:: max(motion.frames // 300, 1)])
    for alpha in poses:
        kinematic = np.zeros(20)
        for joint in ends:
            kinematic += (character.jacobian(alpha, joint)[:, 6:] ** 2).sum(axis=0)
        rows.append([np.diagonal(character.mass(alpha))[6:], kinematic])
    values = np.array(rows)
    values /= values[:1].mean(axis=2, keepdims=True)
    print("\ncoefficients of damping over a clip, mean of least and largest (measured before)")
    for number, (name, before) in enumerate((("energetic", (0.17, 1.60)), ("kinematic", (0.19, 1.71)))):
        least, most = values[:, number].min(axis=1).mean(), values[:, number].max(axis=1).mean()
        print(f"  {name:10} {least:.2f} … {most:.2f} ({before[0]:.2f} … {before[1]:.2f})")
    with style.figure((1000, 480)) as figure:
        axes = figure.subplots()
        seconds = np.linspace(0, motion.duration, len(values))
        for number, name in enumerate(("energetic", "kinematic")):
            axes.plot(seconds, values[:, number].max(axis=1), color=style.PALETTE[number], label=name)
            axes.plot(seconds, values[:, number].min(axis=1), color=style.PALETTE[number])
        axes.axhline(1.0, color="grey", label="uniform")
        axes.set_xlabel("seconds")
        axes.set_ylabel("least and largest coefficient")
        axes.legend()
    style.save(figure, out / "damping.png")


def portraits(out: Path) -> None:
    """Figure 10.2: a pendulum by four steps."""
    h = 0.1

    def solved(
        equation: Callable[[float, float], tuple[float, float]], a: float, w: float
    ) -> tuple[float, float]:
        b, v = a, w
        for _ in range(50):
            b, v = equation(b, v)
        return b, v

    steps: dict[str, Callable[[float, float], tuple[float, float]]] = {
        "explicit Euler": lambda a, w: (a + h * w, w - h * np.sin(a)),
        "implicit Euler": lambda a, w: solved(lambda b, v: (a + h * v, w - h * np.sin(b)), a, w),
        "symplectic Euler": lambda a, w: (a + h * (w - h * np.sin(a)), w - h * np.sin(a)),
        "implicit midpoint": lambda a, w: solved(
            lambda b, v: (a + h * (w + v) / 2, w - h * np.sin((a + b) / 2)), a, w
        ),
    }
    print("pendulum, 300 steps of 0.1: energy in the end over the first")
    with style.figure((1280, 380)) as figure:
        for panel, (name, step) in zip(figure.subplots(1, 4, sharey=True), steps.items(), strict=True):
            for start in (0.5, 1.0, 1.5, 2.0):
                path = [(start, 0.0)]
                for _ in range(300):
                    path.append(step(*path[-1]))
                panel.plot(*np.array(path).T, lw=0.8)
            angle, speed = np.array(path)[[0, -1]].T
            heights = 1 - np.cos(angle) + 0.5 * speed**2
            print(f"  {name:18} {heights[1] / heights[0]:.3f}")
            panel.set_title(name, fontsize=10)
            panel.set_xlim(-4, 4)
            panel.set_ylim(-3, 3)
            panel.set_xlabel("angle")
    style.save(figure, out / "phase_portraits.png")


def projections(character: PhysicalCharacter, walk: marey.Motion, out: Path) -> None:
    """Figures 10.3 and 10.4 of a real step: what a held and what a pushing row do to the free velocity.

    In coordinates in which the metric of the kinetic energy is the identity, in the plane of two rows of
    contacts: held, the velocity goes to where both lines meet; pushing, to the nearest point of the corner.
    """
    simulator = Simulator(
        character, SimulationSettings(friction=0.0, floor=float(walk.positions()[..., 1].min()))
    )
    state = simulator.run(initial_state(character, walk), 5).state
    problem = simulator.problem(state)
    for _ in range(100):
        if len(problem.J) >= 2:
            break
        state = simulator.run(state, 2).state
        problem = simulator.problem(state)
    root = np.linalg.cholesky(problem.mass).T
    rows = np.linalg.solve(root.T, problem.J.T).T
    # Two rows that are not the same, and the plane that they span.
    cosines = np.abs(rows @ rows[0]) / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[0])
    pair = [0, int(cosines.argmin())]
    frame = np.linalg.qr(rows[pair].T)[0]
    J, bounds = rows[pair] @ frame, problem.bounds[pair]
    free = frame.T @ (root @ problem.free)
    held = free + J.T @ np.linalg.solve(J @ J.T, bounds - J @ free)
    candidates = [free, held, *(free + j * (b - j @ free) / (j @ j) for j, b in zip(J, bounds, strict=True))]
    allowed = [point for point in candidates if (J @ point - bounds).min() > -1e-9]
    pushed = min(allowed, key=lambda point: np.linalg.norm(point - free))
    far = 1.5 * max(np.abs(candidates).max(), 1e-6)
    with style.figure((1100, 520)) as figure:
        for panel, (name, end) in zip(
            figure.subplots(1, 2), (("held: J v = b", held), ("pushing: J v ≥ b", pushed)), strict=True
        ):
            for j, b in zip(J, bounds, strict=True):
                n = j / np.linalg.norm(j)
                on, along = n * b / np.linalg.norm(j), np.array([-n[1], n[0]])
                line = on + np.array([[-3.0], [3.0]]) * far * along
                panel.plot(*line.T, color="black", lw=1.0)
                if "≥" in name:
                    panel.fill(*np.concatenate([line, line[::-1] - 3 * far * n]).T, color="0.85", lw=0)
            panel.annotate("", end, free, arrowprops={"arrowstyle": "->", "color": style.PALETTE[1]})
            panel.plot(*free, "o", color=style.PALETTE[0], label="free velocity")
            panel.plot(*end, "s", color=style.PALETTE[1], label="new velocity")
            panel.set_title(name, fontsize=10)
            panel.set_xlim(-far, far)
            panel.set_ylim(-far, far)
            panel.set_aspect("equal")
            panel.legend(fontsize=8)
    style.save(figure, out / "projections.png")


if __name__ == "__main__":
    sys.exit(main())
