"""Coordinates of the first and second kind, and exact geodesics: Tournier 2011, sections 8.1.1 and 8.2.1.

Decoding the coordinates of the tangent projection as a product of turns (second kind) does not lead back to
the data; decoding them as one exponential (first kind) does. RMS angles over all joints without the root, in
degrees, beside those of an independent computation (the sources print none); then what refitting the
coordinates mends, how far the two maps are apart, and what directions by deflation gain.

    python reproduce/coordinates_first_and_second_kind.py [--data FOLDER] [--quick]

FOLDER is laid out as `MAREY_DATA`; without real data the sample walk shows the computation.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
from pathlib import Path

import _cmu
import numpy as np

import marey
from marey.body.pose_model import pose_rotations
from marey.geometry import rotations as so3
from marey.statistics.geodesics import number_of_modes, principal_geodesics
from marey.statistics.geodesics.exact import (
    decode_second_kind,
    deflate,
    encode_second_kind,
    project,
    refine,
)

# RMS degrees, first and second kind, at 10, 20 and 90 modes; modes for 95 and 99 % of the variance.
KINDS = {
    "143_20": ("catch", ((3.15, 3.59), (0.99, 1.95), (0.0, 1.68)), (10, 17)),
    "143_23": ("punch", ((2.32, 2.48), (0.72, 1.20), (0.0, 0.96)), (9, 16)),
    "143_24": ("kick", ((3.70, 3.80), (1.43, 1.64), (0.0, 0.84)), (13, 21)),
    "143_32": ("walk", ((1.94, 1.95), (0.73, 0.79), (0.0, 0.30)), (10, 19)),
    "35_01": ("walk", ((1.03, 1.05), (0.31, 0.37), (0.0, 0.20)), (7, 13)),
}
MODES = (10, 20, 90)
# Modes; difference of the two maps; error of tangent and first kind, of deflation and second kind: radians
# over the whole pose.
DEFLATION = {
    "02_01": (6, 0.022, 0.1807, 0.1805),
    "09_06": (6, 0.042, 0.1908, 0.1913),
    "17_10": (12, 0.12, 0.526, 0.532),
    "85_12": (15, 0.35, 0.895, 0.909),
}


def main() -> int:
    options = _cmu.arguments(__doc__)
    data = _cmu.folder(options.data)
    clips = {} if data is None else _cmu.all_clips(data)
    if not clips:
        print("No CMU clips here: give --data or MAREY_DATA. The sample walk instead:")
        rotations = pose_rotations(marey.samples.walk())[:, 1:]
        print("  first, second kind, degrees:", *(f"{value:.3f}" for value in kinds(rotations, 5)))
        return 0
    good = table_of_kinds(clips)
    refitted(clips, options.quick)
    deflation(clips, options.quick)
    return 0 if good else 1


def kinds(rotations: np.ndarray, modes: int) -> tuple[float, float]:
    """RMS angles of both kinds with the coordinates of the tangent projection, degrees."""
    found = principal_geodesics(rotations, modes=min(modes, 3 * rotations.shape[1]))
    values = found.encode(rotations)
    return degrees(found.decode(values), rotations), degrees(decode_second_kind(found, values), rotations)


def degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.sqrt((so3.distance(a, b) ** 2).mean())))


def whole_pose(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt((so3.distance(a, b) ** 2).sum(axis=1).mean()))


def table_of_kinds(clips: dict[str, Path]) -> bool:
    print("RMS angle in degrees, first against second kind, ours (reference)\n")
    head = "".join(f"{f'{modes} modes':>30}" for modes in MODES)
    print(f"  {'clip':6} {'':6}{head}{'modes 95, 99 %':>24}")
    within = True
    for name, (what, expected, ranks) in KINDS.items():
        if name not in clips:
            print(f"  {name:6} {what:6} is not here")
            continue
        rotations = pose_rotations(_cmu.clip(clips[name], cleaned=False))[:, 1:]
        cells = []
        for modes, theirs in zip(MODES, expected, strict=True):
            ours = kinds(rotations, modes)
            within &= all(abs(a - b) <= 0.02 * b + 0.01 for a, b in zip(ours, theirs, strict=True))
            cells.append(f"{ours[0]:.2f} {ours[1]:.2f} ({theirs[0]:.2f} {theirs[1]:.2f})")
        spectrum = principal_geodesics(rotations).spectrum
        found = [number_of_modes(spectrum, variance=level) for level in (0.95, 0.99)]
        rank = f"{found[0]} {found[1]} ({ranks[0]} {ranks[1]})"
        print(f"  {name:6} {what:6}" + "".join(f"{cell:>30}" for cell in cells) + f"{rank:>24}")
    print(f"  all within 2 %: {'yes' if within else 'NO'}")
    return within


def refitted(clips: dict[str, Path], quick: bool) -> None:
    print("\nSecond kind with other coordinates, RMS degrees at 20 modes: tangent, deflated, refitted\n")
    for name in list(KINDS)[: 1 if quick else 4]:
        if name not in clips:
            continue
        rotations = pose_rotations(_cmu.clip(clips[name], cleaned=False))[::4, 1:]
        found = principal_geodesics(rotations, modes=20)
        ways = (
            found.encode(rotations),
            deflate(found, rotations),
            encode_second_kind(found, rotations),
        )
        errors = [degrees(decode_second_kind(found, values), rotations) for values in ways]
        first = degrees(found.decode(project(found, rotations)), rotations)
        row = "   ".join(f"{error:.3f}" for error in errors)
        print(f"  {name:6} {row}    first kind, exact projection {first:.3f}")


def deflation(clips: dict[str, Path], quick: bool) -> None:
    print("\nWhole pose, radians, ours (reference)\n")
    head = f"{'first - second':>22} {'tangent, first':>20} {'deflation, second':>20}"
    print(f"  {'clip':6} {'modes':>5} {head}")
    for name, (modes, apart, tangent, deflated) in DEFLATION.items():
        if name not in clips or (quick and modes > 6):
            continue
        rotations = pose_rotations(_cmu.clip(clips[name], cleaned=False))[:, 1:]
        found = principal_geodesics(rotations, modes=modes)
        values = found.encode(rotations)
        first, second = found.decode(values), decode_second_kind(found, values)
        exact = refine(rotations, found, scheme="deflation", most=4)
        product = decode_second_kind(exact, deflate(exact, rotations))
        cells = (
            f"{whole_pose(first, second):.3f} ({apart})",
            f"{whole_pose(rotations, first):.4f} ({tangent})",
            f"{whole_pose(rotations, product):.4f} ({deflated})",
        )
        print(f"  {name:6} {modes:5} {cells[0]:>22} {cells[1]:>20} {cells[2]:>20}")


if __name__ == "__main__":
    sys.exit(main())
