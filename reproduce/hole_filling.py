"""Hole filling (Courty 2013, section 3.2.3.1 and figure 17; Courty & Cuzol 2010, figure 2) with its measures.

Random holes of 10, 40 and 120 frames in the CMU clips at their own 120 frames a second. Clips are split in
two halves by name: the method was developed on the first and not run on the second before it was final.

    python reproduce/hole_filling.py [--data DIR] [--out DIR] [--quick]
"""

from __future__ import annotations

from pathlib import Path

import _cmu
import numpy as np
from numpy.typing import NDArray

import marey
from marey.body.fill import fill
from marey.body.pose_model import PoseModel

Array = NDArray[np.float64]

SIZES = (10, 40, 120)
MARGIN = 30
# Frames on either side of a gap that count.
METHODS = ("joint", "gp", "hermite", "linear", "slerp")
# Mid-hole deviation of squared exponential kriging by hole / length, as derived for the source's model.
RATIOS = {0.5: 0.01, 1.0: 0.04, 2.0: 0.39, 4.0: 0.99}


def main() -> None:
    given = _cmu.arguments(__doc__)
    kriging_ratios()
    data = _cmu.folder(given.data)
    if data is None:
        print("no real clips found (--data or MAREY_DATA): the sample walk only")
        walk = marey.samples.walk(seconds=8, frame_rate=120)
        table("sample walk", [(walk, int(a), size) for size in SIZES for a in (200, 450, 600)])
        return
    paths = [path for _, path in sorted(_cmu.all_clips(data).items())]
    count = 4 if given.quick else 30
    halves = {"first half": paths[0::2], "second half, not seen before": paths[1::2]}
    for name, half in halves.items():
        clips = [_cmu.clip(path, cleaned=True) for path in half]
        table(name, [hole for size in SIZES for hole in random_holes(clips, size, count)])
    figure(_cmu.clip(_cmu.all_clips(data)["143_32"], cleaned=True), given.out)


def random_holes(clips: list[marey.Motion], size: int, count: int) -> list[tuple[marey.Motion, int, int]]:
    """Holes `(clip, first frame, frames)`, clip after clip, in clips long enough to learn from."""
    rng = np.random.default_rng(1000 + size)
    usable = [clip for clip in clips if clip.frames >= size + 2 * MARGIN + max(60, size)]
    chosen = [usable[i] for i in rng.permutation(np.arange(count) % len(usable))]
    return [(clip, int(rng.integers(MARGIN, clip.frames - MARGIN - size)), size) for clip in chosen]


def table(name: str, holes: list[tuple[marey.Motion, int, int]]) -> None:
    print(f"\n{name}: mean joint error in world coordinates")
    print(
        f"{'frames':>7}{'holes':>7}  {'method':<22}{'cm':>8}{'/ slerp':>9}{'/ source':>9}{'in 90 % band':>14}"
    )
    for size in sorted({size for *_, size in holes}):
        off: dict[str, list[float]] = {}
        inside: dict[str, list[float]] = {}
        jumps = []
        for clip, first, frames in (hole for hole in holes if hole[2] == size):
            at = slice(first, first + frames)
            truth = np.asarray(clip.positions(), dtype=np.float64)
            for method in METHODS:
                filled = fill(clip, [(first, first + frames)], method=method)
                places = np.asarray(filled.motion.positions(), dtype=np.float64)
                errors = np.linalg.norm(places[at] - truth[at], axis=-1)
                off.setdefault(method, []).append(float(errors.mean()))
                if method in ("joint", "gp"):
                    inside.setdefault(method, []).append(
                        float((errors <= filled.confidence_radius[at]).mean())
                    )
                if method == "joint":
                    jumps.append(edge_jump(truth, places, first, first + frames))
        slerp, theirs = np.mean(off["slerp"]), np.mean(off["gp"])
        for method, values in off.items():
            mean = float(np.mean(values))
            covered = f"{100 * np.mean(inside[method]):.1f} %" if method in inside else ""
            print(
                f"{size:>7}{len(values):>7}  {method:<22}{100 * mean:>8.3f}{mean / slerp:>9.3f}"
                f"{mean / theirs:>9.3f}{covered:>14}",
                flush=True,
            )
        print(f"{'':>16}step at the edges / 99 % of the clip's steps: largest {max(jumps):.2f}")


def edge_jump(truth: Array, filled: Array, first: int, stop: int) -> float:
    """The longest step of a joint into or out of the hole, beside the clip's 99 % longest."""
    usual = np.quantile(np.linalg.norm(np.diff(truth, axis=0), axis=-1).max(axis=1), 0.99)
    steps = np.linalg.norm(np.diff(filled, axis=0), axis=-1).max(axis=1)
    return float(max(steps[first - 1], steps[stop - 1]) / max(usual, 1e-4))


def kriging_ratios() -> None:
    """How the deviation in the middle of a hole grows with its length, 150 known frames on either side."""
    print("squared exponential exp(-h²/100), nugget 1e-4: deviation in the middle of a hole, of 1")
    print(f"{'hole / 10':>10}{'ours':>8}{'expected':>10}")
    for ratio, expected in RATIOS.items():
        size = round(10 * ratio)
        times = np.concatenate([np.arange(-150, 0), np.arange(size, size + 150)]).astype(float)
        middle = 0.5 * (size - 1)
        inner = np.exp(-np.square(times[:, None] - times) / 100.0) + 1e-4 * np.eye(len(times))
        across = np.exp(-np.square(times - middle) / 100.0)
        deviation = float(np.sqrt(max(1.0 - float(across @ np.linalg.solve(inner, across)), 0.0)))
        print(f"{ratio:>10g}{deviation:>8.2f}{expected:>10.2f}")


def figure(clip: marey.Motion, folder: Path) -> None:
    """Figure 17: one coordinate through a short and a long hole, with alternatives, kriging and linear."""
    from marey.views import style

    model = PoseModel.fit([clip], modes=2, root="none")
    drawn = style.blank((1280, 620))
    axes = drawn.subplots(2, 1)
    first = clip.frames // 2 - 60
    for plot, size in zip(axes, (40, 120), strict=True):
        gap = [(first, first + size)]
        shown = slice(first - 80, first + size + 80)
        ours = fill(clip, gap, samples=6, rng=0)
        lines = [(one, style.SOFT_INK, 0.7, "alternatives") for one in ours.samples]
        lines.append((ours.motion, style.PALETTE[0], 1.8, "likeliest"))
        lines.append((fill(clip, gap, method="gp").motion, style.PALETTE[1], 1.2, "kriging"))
        lines.append((fill(clip, gap, method="linear").motion, style.PALETTE[2], 1.2, "linear"))
        lines.append((clip, style.INK, 0.9, "truth"))
        time = np.arange(clip.frames)[shown]
        seen: set[str] = set()
        for motion, colour, width, label in lines:
            plot.plot(
                time,
                model.encode(motion)[shown, 0],
                color=colour,
                lw=width,
                ls="--" if label == "truth" else "-",
                label=None if label in seen else label,
            )
            seen.add(label)
        plot.axvspan(first, first + size - 1, color=style.PALETTE[0], alpha=0.08, lw=0)
        plot.set_ylabel("first coordinate")
        plot.margins(x=0.0)
    axes[0].legend(loc="upper right", ncols=5)
    axes[1].set_xlabel("frame")
    folder.mkdir(parents=True, exist_ok=True)
    style.save(drawn, folder / "hole_filling.png")
    print(f"\npicture: {folder / 'hole_filling.png'}")


if __name__ == "__main__":
    main()
