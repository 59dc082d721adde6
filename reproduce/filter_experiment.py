"""The filter experiment of Courty 2013, section 2.1.2.5 (figures 8 and 9), with the numbers it does not give.

A signal with quick transitions, or the joints of a real clip, gets noise of 0.18 radians and is filtered five
times with σ_t = 1 sample and σ_g = 0.1, by the Gaussian and by the bilateral filter. Printed: error, peak of
the angular speed, length of the hand's path; drawn: curves, speed profiles and hand paths.

    python reproduce/filter_experiment.py [--data DIR] [--out DIR]
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from _cmu import arguments, clip, folder

import marey
from marey.body.filter import FilterSettings, filter
from marey.body.motion import Motion
from marey.geometry import rotations as so3
from marey.geometry.filters import bilateral_rotations, gaussian_mask, linear_rotations, rotation_noise
from marey.views import style

RUNS = 20
NOISES = (0.02, 0.05, 0.10, 0.18)
# RMS error (degrees) / peak speed over the truth's, measured independently in plain NumPy, 20 runs.
INDEPENDENT = {
    0.02: ("1.98", "3.63 / 0.46", "2.57 / 0.71", "1.76 / 1.60", "1.64 / 1.34"),
    0.05: ("4.92", "4.00 / 0.47", "3.06 / 0.79", "2.80 / 1.87", "2.56 / 1.40"),
    0.10: ("9.87", "5.00 / 0.49", "4.37 / 1.06", "4.66 / 2.06", "7.38 / 1.59"),
    0.18: ("18.0", "7.42 / 0.51", "7.33 / 1.38", "11.9 / 2.21", "17.5 / 2.33"),
}
SOURCE = FilterSettings(sigma_g=0.1, guided=False, boundary="mirror")
METHODS = {
    "Gaussian, 5 passes": FilterSettings("gaussian", boundary="mirror"),
    "bilateral, σ_g = 0.1": SOURCE,
    "bilateral, σ_g from noise": replace(SOURCE, sigma_g=None),
    "ours: guided, from noise": FilterSettings(),
    "Butterworth, 6 Hz": FilterSettings("butterworth"),
}


def main() -> None:
    given = arguments(__doc__)
    given.out.mkdir(parents=True, exist_ok=True)
    table()
    signal_figure(given.out)
    data = folder(given.data)
    motions = [("sample walk", marey.samples.walk(2, frame_rate=100), "RightHand")]
    if data is None:
        print("\nno real data (--data DIR or MAREY_DATA): the sample walk alone")
    else:
        motions += real_clips(data)
    for name, motion, hand in motions:
        on_a_clip(name, motion, hand, given.out)


def table() -> None:
    """Errors and peaks on the signal, beside an independent measurement."""
    truth = quick_transitions()
    print("RMS error in degrees / peak speed over the truth's; second lines: independent measurement")
    heads = ("noisy", "Gaussian", "σ_g=0.2", "σ_g=0.1", "σ_g=0.05", "σ_g auto", "guided")
    print(f"{'noise':>6}" + "".join(f"{head:>13}" for head in heads))
    for std in NOISES:
        noisy = np.stack([shaken(truth, std, seed) for seed in range(RUNS)], axis=1)
        columns = [noisy, linear_rotations(noisy, gaussian_mask(1.0, half=4), passes=5)]
        columns += [bilateral_rotations(noisy, sigma_g=g, half=4) for g in (0.2, 0.1, 0.05, None)]
        columns.append(bilateral_rotations(noisy, guided=True, boundary="extrapolate"))
        cells = [f"{error(q, truth):.2f} / {peak(q, truth):.2f}" for q in columns]
        print(f"{std:6.2f}" + "".join(f"{cell:>13}" for cell in cells))
        print(" " * 6 + "".join(f"{cell:>13}" for cell in INDEPENDENT[std]))


def signal_figure(out: Path) -> None:
    """Figure 8: curves and speed profiles of original, noisy and filtered signals."""
    truth = quick_transitions()
    noisy = shaken(truth, 0.18, 0)
    columns = {"original": truth, "noise 0.18 rad": noisy}
    for name in ("Gaussian, 5 passes", "bilateral, σ_g = 0.1", "ours: guided, from noise"):
        columns[name] = METHODS[name].rotations(noisy, 100.0)
    figure = style.blank((1500, 620))
    figure.set_dpi(90)
    figure.set_size_inches(1500 / 90, 620 / 90)
    with style.house_style():
        grid = figure.subplots(2, len(columns), sharex=True, sharey="row")
        for (curves, speeds), (name, q) in zip(grid.T, columns.items(), strict=True):
            near = np.where((np.einsum("ti,ti->t", q, truth) < 0)[:, None], -q, q)
            for i in range(4):
                curves.plot(near[:, i], color=style.PALETTE[i], lw=1.3, label="wxyz"[i])
            curves.set_title(name)
            speeds.plot(speed(truth, 100.0), color=style.SOFT_INK, lw=0.9, label="original")
            speeds.plot(speed(q, 100.0), color=style.PALETTE[3], lw=1.4, label="this")
            speeds.set_xlabel("sample")
        grid[1, 0].set_ylim(0, 1.6 * speed(truth, 100.0).max())
        grid[0, 0].set_ylabel("quaternion")
        grid[1, 0].set_ylabel("angular speed (rad/s)")
        grid[0, 0].legend(ncols=4, loc="lower left")
        grid[1, -1].legend(loc="upper right")
    style.save(figure, out / "filter-signal.png")
    print(f"\nwritten: {out / 'filter-signal.png'}")


def on_a_clip(name: str, truth: Motion, hand: str, out: Path) -> None:
    """Figure 9: a whole clip with noise on every joint, filtered; the hand's path."""
    print(f"\n{name}: {truth.joints} joints, {truth.frames} frames at {truth.frame_rate:g} per second")
    print(f"{'':28}{'noise':>7}{'error':>9}{'peak speed':>12}{'hand off':>10}{'hand path':>11}")
    paths: dict[str, Motion] = {}
    for std in (0.02, 0.18):
        noise = so3.exp(np.random.default_rng(0).normal(scale=std, size=(truth.frames, truth.joints, 3)))
        noisy = replace(truth, rotations=so3.multiply(truth.rotations, noise))
        rows = {"noisy": noisy} | {k: filter(noisy, s)[0] for k, s in METHODS.items()}
        for label, found in rows.items():
            off = np.linalg.norm(place(found, hand) - place(truth, hand), axis=1).mean()
            print(
                f"  {label:26}{std:7.2f}{error(found.rotations, truth.rotations):8.2f}°"
                f"{peak(found.rotations, truth.rotations):12.2f}{100 * off:7.2f} cm"
                f"{length(found, hand) / length(truth, hand):11.2f}"
            )
        if std == 0.18:
            paths = rows
    moving = so3.distance(truth.rotations, truth.rotations[:1]).max(axis=0) > 0.1
    reported = np.median(rotation_noise(truth.rotations)[moving]) if moving.any() else 0.0
    print(f"  (noise of the clip itself, as we estimate it: {reported:.4f} rad; hand path over the true one)")
    draw_paths(name, truth, paths, hand, out)


def draw_paths(name: str, truth: Motion, rows: dict[str, Motion], hand: str, out: Path) -> None:
    shown = ("noisy", "Gaussian, 5 passes", "bilateral, σ_g = 0.1", "ours: guided, from noise")
    true_path = place(truth, hand) - np.asarray(truth.root)
    # The two directions in which the hand moves most.
    axes_of = np.linalg.svd(true_path - true_path.mean(axis=0), full_matrices=False)[2][:2]
    figure = style.blank((1500, 460))
    figure.set_dpi(90)
    figure.set_size_inches(1500 / 90, 460 / 90)
    with style.house_style():
        for axes, key in zip(figure.subplots(1, 4, sharex=True, sharey=True), shown, strict=True):
            seen = (place(rows[key], hand) - np.asarray(rows[key].root)) @ axes_of.T
            axes.plot(*(true_path @ axes_of.T).T, color=style.SOFT_INK, lw=1.0, label="original")
            axes.plot(*seen.T, color=style.PALETTE[3], lw=1.2, label=key)
            axes.set_aspect("equal")
            axes.set_title(key)
            axes.set_xlabel("m")
        figure.suptitle(f"{name}: way of {hand} seen from the root", x=0.01, ha="left", fontsize=12)
    path = out / f"filter-hand-{name.replace(' ', '-')}.png"
    style.save(figure, path)
    print(f"  written: {path}")


def real_clips(data: Path) -> list[tuple[str, Motion, str]]:
    """A hand with all fingers and a body with hands, about as long as the source's clip, quick parts."""
    found = []
    hand = data / "manipnet_hand_NC" / "mug1_rightHand.bvh"
    if hand.is_file():
        # In decimetres, which the file does not say.
        motion = marey.load(hand, clean=True, unit=0.1)
        # The joint farthest down the tree: a finger's last.
        depth = [len(motion.skeleton.ancestors(j)) for j in range(motion.joints)]
        tip = motion.skeleton.names[int(np.argmax(depth))]
        found.append(("hand with fingers", quickest(motion, 150), tip))
    punch = data / "cmu_bvh" / "143_23.bvh"
    if punch.is_file():
        found.append(("punching", quickest(clip(punch, cleaned=True), 150), "RightHand"))
    return found


def quickest(motion: Motion, frames: int) -> Motion:
    """The stretch in which the joints turn most."""
    turning = so3.distance(motion.rotations[1:], motion.rotations[:-1]).sum(axis=1)
    start = int(np.argmax(np.convolve(turning, np.ones(min(frames, len(turning))), "valid")))
    return motion[start : start + frames]


def quick_transitions() -> np.ndarray:
    i = np.arange(150.0)

    def jump(centre: float) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-(i - centre) / 0.6))

    y = 1.2 * (jump(40) - jump(80)) + 0.9 * jump(115)
    x, z = 0.8 * np.sin(1.4 * np.pi * i / 100), 0.3 * np.cos(2 * np.pi * i / 100)
    return so3.exp(np.stack([x, y, z], axis=1))


def shaken(q: np.ndarray, std: float, seed: int) -> np.ndarray:
    return so3.multiply(q, so3.exp(np.random.default_rng(seed).normal(scale=std, size=(len(q), 3))))


def error(q: np.ndarray, truth: np.ndarray) -> float:
    """Mean over series of the RMS angle, degrees."""
    apart = so3.distance(q, truth if q.ndim == truth.ndim else truth[:, None])
    return float(np.degrees(np.sqrt((apart**2).mean(axis=0)).mean()))


def peak(q: np.ndarray, truth: np.ndarray) -> float:
    """Largest speed over the truth's: the mean over runs, the median over joints that move."""
    true_peak = so3.distance(truth[1:], truth[:-1]).max(axis=0)
    ratio = so3.distance(q[1:], q[:-1]).max(axis=0) / np.maximum(true_peak, 1e-12)
    return float(np.mean(ratio)) if q.ndim != truth.ndim else float(np.median(ratio[true_peak > 0.01]))


def speed(q: np.ndarray, rate: float) -> np.ndarray:
    return rate * so3.distance(q[1:], q[:-1])


def place(motion: Motion, joint: str) -> np.ndarray:
    return np.asarray(motion.positions()[:, motion.skeleton.index(joint)])


def length(motion: Motion, joint: str) -> float:
    return float(np.linalg.norm(np.diff(place(motion, joint), axis=0), axis=1).sum())


if __name__ == "__main__":
    main()
