"""Rate against distortion, clip by clip: marey's codec, an ACL-style coder, baselines, and Tournier 2011.

Draws one picture a clip: bytes against the error of joints (mean, and largest as dots), and the ratio to
float32 channels against the distortion of Tournier 2011, section 9.3, in both readings: `d_F` as the text
defines it and `d_sq`, its square, which table 9.2 must hold. Stars are the table's printed points; a printed
ratio counts numbers, which is the same as float32 bytes. Then says, where the table has the clip, which ratio
ours reaches at its distortion and which distortion at its ratio.

    python reproduce/rate_distortion.py [CLIP ...] [--data FOLDER] [--out FOLDER]

CLIP is a name such as 02_01; FOLDER is laid out as `MAREY_DATA`. Without real data the sample walk is drawn.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter, ScalarFormatter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _compression_codecs import ACL, OURS, Point, clip_paths, curves, load

import marey
from marey.body.codec import channel_bytes
from marey.body.motion import Motion
from marey.io._files import atomic_write

# Table 9.2, the clips at hand: printed ratio and distortion in per cent, read as d_sq.
PRINTED = {"09_06": (18, 0.36), "85_12": (97, 0.56), "17_10": (61, 0.49)}
CLIPS = ("09_06", "17_10", "85_12", "02_01", "49_06", "143_20")
COLOURS = {
    OURS: "#d1495b",
    ACL: "#1d3557",
    "key reduction + zstd": "#2a9d8f",
    "16 bit, delta + zstd": "#8d99ae",
    "16 bit + zstd": "#bcc4d0",
    "xz -9e of float32": "#7f5539",
    "xz -9e of BVH text": "#000000",
}
# Errors below this are drawn at it, so that exact codecs have a place on a logarithmic axis.
FLOOR_CM, FLOOR_PER_CENT = 1e-4, 1e-6


def main() -> int:
    arguments = parsed()
    paths = clip_paths(arguments.data)
    wanted = arguments.clips or [name for name in CLIPS if name in paths]
    unknown = [name for name in wanted if name not in paths]
    if unknown:
        print(f"not here: {', '.join(unknown)}; give --data or MAREY_DATA, or run `marey data get cmu-NAME`")
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not wanted:
        print("no CMU clips here (give --data or MAREY_DATA): the sample walk instead")
        draw("walk", marey.samples.walk(), None, arguments.out)
    for name in wanted:
        draw(name, load(paths[name]), paths[name], arguments.out)
    return 0


def draw(name: str, motion: Motion, path: Path | None, folder: Path) -> None:
    """Measure all codecs on a clip, write its picture and print how ours compares with the table."""
    points = list(curves(motion, path))
    target = folder / f"rate_distortion_{name}.png"
    with atomic_write(target) as draft:
        figure = pictured(name, motion, points)
        figure.savefig(draft, format="png", dpi=110)
        plt.close(figure)
    print(f"{name}: {motion.frames} frames at {motion.frame_rate:g} Hz, {target}")
    print(
        f"  {'codec':22} {'setting':14} {'bytes':>9} {'mean cm':>8} {'max cm':>7} {'d_F %':>8} {'d_sq %':>9}"
    )
    for point in points:
        print(
            f"  {point.codec:22} {point.setting:14} {point.size:9,} {100 * point.mean:8.4f} "
            f"{100 * point.maximum:7.3f} {point.distortion.frobenius:8.3f} {point.distortion.squared:9.5f}"
        )
    if name in PRINTED:
        ratio, distortion = PRINTED[name]
        ratios, distortions = our_curve(motion, points)
        more = "more than " if distortion > distortions[-1] else ""
        there = between(distortion, distortions, ratios)
        loss = between(ratio, ratios, distortions)
        print(
            f"  the table: 1:{ratio} at d_sq {distortion} % (d_F {10 * distortion**0.5:.1f} %); ours has "
            f"that at {more}1:{there:.0f}, and at 1:{ratio} d_sq {loss:.3g} % (d_F {10 * loss**0.5:.2g} %)"
        )


def our_curve(motion: Motion, points: list[Point]) -> tuple[Any, Any]:
    """Ratios to float32 channels and d_sq of our points, by growing ratio."""
    mine = sorted((p for p in points if p.codec == OURS), key=lambda point: -point.size)
    ratios = [channel_bytes(motion) / point.size for point in mine]
    return np.array(ratios), np.array([point.distortion.squared for point in mine])


def between(x: float, xs: Any, ys: Any) -> float:
    """Where a curve passes `x`, on logarithmic axes; that of its nearest end if it does not reach so far."""
    return float(np.exp(np.interp(np.log(x), np.log(xs), np.log(ys))))


def pictured(name: str, motion: Motion, points: list[Point]) -> Any:
    figure, (errors, frobenius, squared) = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
    for codec, colour in COLOURS.items():
        of_codec = [point for point in points if point.codec == codec]
        sizes = np.array([point.size for point in of_codec])
        ratios = channel_bytes(motion) / sizes
        means = np.maximum([100 * point.mean for point in of_codec], FLOOR_CM)
        most = np.maximum([100 * point.maximum for point in of_codec], FLOOR_CM)
        style = {
            "color": colour,
            "marker": "o",
            "markersize": 3.5,
            "linewidth": 2.2 if codec == OURS else 1.2,
        }
        errors.loglog(means, sizes, label=codec, **style)
        errors.loglog(most, sizes, **{**style, "linestyle": ":", "marker": "."})
        for axes, values in (
            (frobenius, [point.distortion.frobenius for point in of_codec]),
            (squared, [point.distortion.squared for point in of_codec]),
        ):
            axes.loglog(np.maximum(values, FLOOR_PER_CENT), ratios, **style)
    if name in PRINTED:
        ratio, distortion = PRINTED[name]
        star = {"marker": "*", "markersize": 15, "color": "#f4a300", "markeredgecolor": "black"}
        squared.loglog(distortion, ratio, label="table 9.2, printed", linestyle="", **star)
        frobenius.loglog(
            10 * distortion**0.5, ratio, label="table 9.2, root of the printed", linestyle="", **star
        )
        frobenius.legend(loc="lower right", fontsize=8)
        squared.legend(loc="lower right", fontsize=8)
    errors.set(xlabel="error of joints, cm (line: mean, dots: largest)", ylabel="bytes", title="bytes")
    frobenius.set(xlabel="d_F, %", ylabel="ratio to float32 channels", title="distortion as defined")
    squared.set(xlabel="d_sq, %", ylabel="ratio to float32 channels", title="distortion, squared")
    errors.legend(fontsize=8)
    for axes in (errors, frobenius, squared):
        axes.grid(which="major", alpha=0.35)
    for axes in (frobenius, squared):
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
    figure.suptitle(f"{name}: {motion.frames} frames, {motion.frame_rate:g} Hz, {motion.joints} joints")
    return figure


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("clips", nargs="*", metavar="CLIP", help="names of CMU clips, e.g. 02_01")
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="where the pictures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
