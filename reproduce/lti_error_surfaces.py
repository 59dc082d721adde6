"""Reconstruction by driven autoregressions: Courty 2013, section 2.3.1 and figure 12, ours beside checks.

The latent curves of a clip are run forward from their first frames by a vector autoregression of order m with
c inputs. Figure 12 shows the error over latent dimension d, input dimension c and order m, for a walk and for
a signed sequence; the source prints no numbers. Its message is checked: at a fixed c > 0 the error does not
drop when d grows, so larger d needs more inputs. Independent figures of the walk 35_01 and of 143_32 are
printed beside ours; the signed sequence is not at hand, so the walks 143_32 and 35_01 and the
catch 143_20 stand for them. Writes `lti_error_surfaces.png`.

    python reproduce/lti_error_surfaces.py [--data FOLDER] [--out FOLDER]

FOLDER is laid out as `MAREY_DATA`; without real data the sample walk shows the computation.
"""

from __future__ import annotations

import sys

import _cmu
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import marey
from marey.body.pose_model import PoseModel
from marey.statistics.autoregression import fit
from marey.statistics.autoregression.fit import control, information_criterion

CLIPS = ("143_32", "35_01", "143_20")
DIMENSIONS, ORDERS, RATE = (2, 5, 10, 15, 20), (1, 2, 3, 4), 30.0
# Independent figures at 30 frames a second, order 2: (clip, d): {c: error}.
THEIRS = {
    ("35_01", 5): {0: 0.56, 1: 0.50, 2: 0.33, 5: 0.0},
    ("35_01", 10): {0: 0.46, 1: 0.44, 2: 0.41, 5: 0.26, 10: 0.0},
    ("143_32", 5): {2: 0.50},
    ("143_32", 10): {2: 0.66},
}
TOLERANCE = 1.05


def main() -> int:
    given = _cmu.arguments(__doc__)
    clips = motions(given.data)
    latent = {name: curves(motion) for name, motion in clips.items()}
    print_table(latent)
    print_orders(clips)
    holds = print_checks(latent)
    given.out.mkdir(parents=True, exist_ok=True)
    draw(latent, given.out / "lti_error_surfaces.png")
    print(f"\nwrote {given.out / 'lti_error_surfaces.png'}")
    return 0 if holds else 1


def motions(data) -> dict[str, marey.Motion]:
    folder = _cmu.folder(data)
    there = {} if folder is None else _cmu.all_clips(folder)
    found = {name: _cmu.clip(there[name], cleaned=True) for name in CLIPS if name in there}
    if not found:
        print("no real clips at hand (MAREY_DATA): the sample walk shows the computation\n")
        found = {"sample walk": marey.samples.walk(seconds=12)}
    return found


def curves(motion: marey.Motion, rate: float = RATE) -> np.ndarray:
    """Latent curves `(frames, 20)` at `rate`, all joints alike as in the source."""
    shown = motion if np.isclose(rate, motion.frame_rate) else motion.resample(rate)
    model = PoseModel.fit([shown], modes=max(DIMENSIONS), metric="canonical")
    return model.encode(shown)


def error(series: np.ndarray, d: int, c: int, order: int) -> float:
    model = fit(series[:, :d], order=order, ridge=0.0, largest_radius=np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return control(model, series[:, :d], dimensions=c).open_loop_error


def print_table(latent: dict[str, np.ndarray]) -> None:
    print("open-loop error as a share of the deviation, 30 frames a second, order 2")
    print(f"{'clip':>12} {'d':>3} " + "".join(f"{'c=' + str(c):>9}" for c in (0, 1, 2, 5, 10)))
    for name, series in latent.items():
        for d in (5, 10):
            row = "".join(f"{error(series, d, c, 2):9.2g}" if c <= d else f"{'':9}" for c in (0, 1, 2, 5, 10))
            print(f"{name:>12} {d:3} {row}   ours")
    for (name, d), values in THEIRS.items():
        row = "".join(f"{values[c]:9.2g}" if c in values else f"{'':9}" for c in (0, 1, 2, 5, 10))
        print(f"{name:>12} {d:3} {row}   independent")


def print_orders(clips: dict[str, marey.Motion]) -> None:
    print("\norder chosen by the information criterion among 1 … 4, and spectral radius by order")
    for name, motion in clips.items():
        for rate in sorted({RATE, motion.frame_rate}):
            series = curves(motion, rate)
            for d in (5, 10):
                scores = information_criterion(series[:, :d], ORDERS, ridge=0.0)
                radii = [fit(series[:, :d], order=m, ridge=0.0, largest_radius=np.inf).radius for m in ORDERS]
                text = " ".join(f"{radius:.4f}" for radius in radii)
                print(f"{name:>12} {rate:5.0f} Hz  d={d:2}  order {ORDERS[int(np.argmin(scores))]}   {text}")


def print_checks(latent: dict[str, np.ndarray]) -> bool:
    print()
    good = True
    for name, series in latent.items():
        whole = max(error(series, d, d, m) for d in (5, 10) for m in (1, 2))
        small, large = error(series, 5, 2, 2), error(series, 10, 2, 2)
        fits = fit(series[:, :10], order=2, ridge=0.0, largest_radius=np.inf)
        steps = [control(fits, series[:, :10], dimensions=c).one_step_error for c in range(11)]
        claims = {
            f"all inputs give the clip back ({whole:.1e})": whole < 1e-10,
            f"two inputs do less for d = 10 ({large:.2f}) than for 5 ({small:.2f})": large * TOLERANCE
            > small,
            "the one-step error falls with every input": bool((np.diff(steps) <= 1e-12).all()),
        }
        for claim, holds in claims.items():
            print(f"{name:>12}  {'yes' if holds else 'NO ':3}  {claim}")
            good &= holds
    return good


def draw(latent: dict[str, np.ndarray], path) -> None:
    figure, axes = plt.subplots(
        len(latent), 3, figsize=(11, 3.2 * len(latent)), squeeze=False, subplot_kw={"projection": "3d"}
    )
    inputs = np.arange(0, 11)
    for row, (name, series) in zip(axes, latent.items(), strict=True):
        for axis, order in zip(row, (1, 2, 3), strict=True):
            found = np.array([[error(series, d, min(c, d), order) for c in inputs] for d in DIMENSIONS])
            grid = np.meshgrid(inputs, DIMENSIONS)
            axis.plot_surface(*grid, np.minimum(found, 1.5), cmap="viridis", vmin=0, vmax=1.2, lw=0.3, ec="k")
            axis.set(title=f"{name}, order {order}", xlabel="inputs c", ylabel="dimension d", zlim=(0, 1.5))
            axis.view_init(28, 35)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    sys.exit(main())
