"""A study of control: relaxations and exact contact modes, returns, friction and time steps, as a table.

    python reproduce/control_study.py [--data FOLDER] [--out FOLDER] [--quick]

A character that balances is pushed on the chest in four directions by 0.6 of what its support can take; each
row says how many stand 3 s later, the angular momentum (root mean square), the hidden wrench at the root and
the time of a step. Written as `control-study.csv`.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import csv
import time
import warnings

import _cmu
import numpy as np
from balance_and_pushes import Start, strongest

import marey
from marey.body.control.actuation import ActuationSettings
from marey.body.control.balance import Balancer, BalanceSettings, Wishes
from marey.body.control.features.angular_momentum import AngularMomentum
from marey.body.control.mechanics import MechanicsSettings
from marey.errors import MareyWarning

CASES = {
    "exact modes": BalanceSettings(),
    "A": BalanceSettings(actuation=ActuationSettings.published("A")),
    "B": BalanceSettings(actuation=ActuationSettings.published("B")),
    "C": BalanceSettings(actuation=ActuationSettings.published("C")),
    "C, priorities and torques": BalanceSettings(actuation=ActuationSettings("C")),
    "one sum of features": BalanceSettings(actuation=ActuationSettings(priorities=False)),
    "friction 0.4": BalanceSettings(mechanics=MechanicsSettings(friction=0.4)),
    "no damping": BalanceSettings(mechanics=MechanicsSettings(damping=0.0)),
    "step of 5 ms": BalanceSettings(mechanics=MechanicsSettings(step=0.005)),
    "step of 20 ms": BalanceSettings(mechanics=MechanicsSettings(step=0.02)),
    "half the torques": BalanceSettings(actuation=ActuationSettings(scale=0.5)),
    "return 1": BalanceSettings(returning=1.0),
    "return 4": BalanceSettings(returning=4.0),
    "no angular momentum": BalanceSettings(angular_momentum=0.0),
}
COLUMNS = ("case", "stood", "angular_momentum", "hidden_wrench", "microseconds")


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    data = _cmu.folder(options.data)
    clips = _cmu.all_clips(data) if data else {}
    motion = _cmu.clip(clips["143_24"], cleaned=True) if clips else marey.samples.walk(3)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, settings in CASES.items():
        rows.append((name, *study(motion, settings, 2 if options.quick else 4)))
        print(f"  {name:26} stood {100 * rows[-1][1]:4.0f} %   angular momentum {rows[-1][2]:6.2f} kg m²/s   "
              f"hidden {rows[-1][3]:.0e}   {rows[-1][4]:6.0f} µs a step", flush=True)  # fmt: skip
    path = options.out / "control-study.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    print(f"  {path}")
    return 0


def study(motion: marey.Motion, settings: BalanceSettings, ways: int) -> tuple[float, float, float, float]:
    """Share that stands, angular momentum, hidden wrench relative to the weight, microseconds a step."""
    balancer = Balancer.of(motion, settings=settings)
    mechanics, chest = balancer.mechanics, motion.skeleton.index("Spine1")
    first, home = balancer.start(motion, motion.frames // 4)
    stood, sizes, wrench, spent, steps = 0, [], 0.0, 0.0, 0
    for way in range(ways):
        state = first
        push = 0.6 * strongest(Start("", balancer, state, home, chest), 2 * np.pi * way / ways)
        for number in range(round(3.0 / mechanics.settings.step)):
            began = time.process_time()
            blow = [(chest, np.zeros(3), push)] if number == 0 else []
            done = balancer.step(state, home, Wishes(), blow)
            spent, steps = spent + time.process_time() - began, steps + 1
            hidden = np.abs(done.now.wrench(done.velocity, done.contact)).max() / mechanics.weight
            wrench, state = max(wrench, float(hidden)), done.state
            if state.fell:
                break
            sizes.append(float(np.linalg.norm(AngularMomentum.rows(done.now) @ done.velocity)))
        stood += not state.fell
    return stood / ways, float(np.sqrt(np.mean(np.square(sizes)))), wrench, 1e6 * spent / steps


if __name__ == "__main__":
    raise SystemExit(main())
