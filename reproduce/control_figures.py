"""Tournier 2011, figures 14.1 to 14.6 and 15.1 to 15.6: puppetry, relaxations and balance.

    python reproduce/control_figures.py [--data FOLDER] [--out FOLDER] [--quick]

Slider: how far the centre of mass of a puppet that is held there sags, by strength (14.1 to 14.3).
Relaxations: the push of the floor when the centre of mass is asked to be too high (14.4 to 14.6). Balance:
hand and look at targets (15.1, 15.2), angular momentum after a push on one foot with and without its feature
(15.3, 15.4), strength (15.5), reaching on one foot (15.6). Printed, and drawn as `control-*.png`.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import warnings
from pathlib import Path

import _cmu
import numpy as np

import marey
from marey.body.control.actuation import ActuationSettings
from marey.body.control.balance import Balancer, BalanceSettings, Stepped, Wishes, balance
from marey.body.control.events import Event
from marey.body.control.features.centre import Centre
from marey.body.control.puppet import pull
from marey.errors import MareyWarning


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    data = _cmu.folder(options.data)
    clips = _cmu.all_clips(data) if data else {}
    motion = _cmu.clip(clips["143_23"], cleaned=True) if clips else marey.samples.walk(3)
    options.out.mkdir(parents=True, exist_ok=True)
    slider(motion)
    too_high(motion, options.out)
    balanced(motion, 2.5 if options.quick else 5.0)
    angular(motion, options.out)
    return 0


def slider(motion: marey.Motion) -> None:
    """Figures 14.1 to 14.3: a centre of mass that strings hold, by the slider."""
    print("\nPuppet whose centre of mass is held, 1 s: how far it sags, and what pulls from outside\n")
    balancer = Balancer.of(motion)
    for strength in (0.1, 0.5, 0.9, 0.98):
        state, _ = balancer.start(motion, 0)
        body, place, wrench = state.body, np.asarray(state.body.centre), np.zeros(6)
        for _ in range(100):
            now = balancer.mechanics.at(body)
            term = Centre(place=place, weight=1.0).term(now)
            found = pull(now, [term], strength)
            body, wrench = balancer.mechanics.move(now, found.velocity), found.wrench
        print(f"  {strength:4.2f}   {100 * (place[1] - np.asarray(body.centre)[1]):6.1f} cm   "
              f"{np.linalg.norm(wrench[3:]):6.0f} N")  # fmt: skip


def steps(balancer: Balancer, motion: marey.Motion, seconds: float, lift: float = 0.0) -> list[Stepped]:
    """Steps of a character that is asked to be higher than it stands."""
    state, home = balancer.start(motion, 0)
    found = []
    for _ in range(round(100 * seconds)):
        found.append(balancer.step(state, home._replace(height=home.height + lift), Wishes()))
        state = found[-1].state
    return found


def too_high(motion: marey.Motion, out: Path) -> None:
    """Figures 14.4 and 14.5: a centre of mass that is asked to be 0.1 m too high."""
    print("\nCentre of mass asked to be 0.1 m too high, 1 s: push of the floor / weight\n")
    series = {}
    for method in ("A", "B", "C", "modes"):
        actuation = ActuationSettings() if method == "modes" else ActuationSettings.published(method)
        balancer = Balancer.of(motion, settings=BalanceSettings(actuation=actuation))
        weight = 0.01 * balancer.mechanics.weight
        found = steps(balancer, motion, 1.0, 0.1)
        planned = np.array([one.control.contact.sum() for one in found]) / weight
        given = np.array([one.contact.sum() for one in found]) / weight
        series[method] = planned
        lasted = next((i for i, one in enumerate(found) if one.state.fell), len(found)) / 100
        print(f"  {method:6} planned: mean {planned.mean():6.2f} largest {planned.max():6.2f}   given: mean "
              f"{given.mean():5.2f}   upright for {lasted:.2f} s")  # fmt: skip
    draw(out / "control-relaxations.png", series, "push of the floor as planned / weight")


def balanced(motion: marey.Motion, seconds: float) -> None:
    """Figures 15.1, 15.2, 15.5 and 15.6: reaching and looking, on two feet and on one."""
    print("\nReaching and looking while it balances\n")
    balancer = Balancer.of(motion)
    state, _ = balancer.start(motion, 0)
    hand = balancer.mechanics.at(state.body).joint(motion.skeleton.index("LeftHand"))[1]
    place = hand + np.array([0.0, 0.15, 0.05])
    for support in ("both", "left"):
        for name, settings in (
            ("", BalanceSettings()),
            (", strength 10 times", BalanceSettings(strength=1e-2)),
        ):
            found = balance(
                motion, seconds=seconds, support=support, reach={"LeftHand": place},
                look_at=place + np.array([1.0, 0.5, 0.0]), settings=settings,
            ).report  # fmt: skip
            print(f"  {support + name:28} hand {found.reach_residual_cm[0]:5.1f} cm off, centre of mass "
                  f"{found.com_error_cm:5.1f} cm{', fell' if found.fell else ''}")  # fmt: skip


def angular(motion: marey.Motion, out: Path) -> None:
    """Figures 15.3 and 15.4: one foot, pushed, with and without the feature of angular momentum."""
    print("\nOne foot, 6 N·s on the hand: angular momentum about the centre of mass, root mean square\n")
    series = {}
    for name, on in (("with", True), ("without", False)):
        events = [Event(2.0, "push", "LeftHand", (6.0, 0.0, 0.0))]
        if not on:
            events.append(Event(0.0, "feature", name="angular_momentum", on=False))
        found = balance(motion, seconds=5.0, support="left", events=events)
        size = np.linalg.norm(found.record.angular[200:], axis=1)
        series[name] = size
        print(
            f"  {name:8} {np.sqrt((size**2).mean()):6.2f} kg m²/s, stood {found.report.stood_seconds:.2f} s"
        )
    draw(out / "control-angular-momentum.png", series, "angular momentum (kg m²/s)")


def draw(path: Path, series: dict[str, np.ndarray], label: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2))
    for name, values in series.items():
        axes.plot(np.arange(len(values)) / 100, values, label=name)
    axes.set(xlabel="time (s)", ylabel=label)
    axes.legend()
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)
    print(f"  {path}")


if __name__ == "__main__":
    raise SystemExit(main())
