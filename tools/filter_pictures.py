"""Draw the pictures of docs/filtering and docs/style: `python tools/filter_pictures.py docs/images [NAME …]`.

Clips are looked for in the folder that MAREY_DATA names, as the scripts of reproduce/ do. Names: signal,
timing, manner; all of them if none is given.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import marey
from marey.body.filter import FilterSettings
from marey.body.restyle import restyle
from marey.errors import MareyWarning
from marey.geometry import rotations as so3
from marey.views import figures, style

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reproduce"))

from _cmu import all_clips, folder
from filter_experiment import quick_transitions, shaken, speed

NOISE = 0.05
FILTERS = {
    "Gaussian": FilterSettings("gaussian", boundary="mirror"),
    "bilateral, as published": FilterSettings(sigma_g=0.1, guided=False, boundary="mirror"),
    "bilateral, marey's default": FilterSettings(),
}


def clip(name: str) -> marey.Motion:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        data = folder(None)
        if data is None:
            raise SystemExit("set MAREY_DATA to the folder of real data")
        return marey.load(all_clips(data)[name], clean=True)


def signal() -> object:
    """Quick turns with noise, filtered: curves and angular speed."""
    truth = quick_transitions()
    noisy = shaken(truth, NOISE, 0)
    columns = {"noisy": noisy} | {name: how.rotations(noisy, 100.0) for name, how in FILTERS.items()}
    figure = sheet(1280, 520)
    with style.house_style():
        grid = figure.subplots(2, len(columns), sharex=True, sharey="row")
        for (curves, speeds), (name, q) in zip(grid.T, columns.items(), strict=True):
            for values, look in ((truth, {"color": style.FAINT, "lw": 3.5}), (q, {"lw": 1.1})):
                angles = np.degrees(so3.log(values))
                for axis in range(3):
                    curves.plot(angles[:, axis], **{"color": style.PALETTE[axis], **look})
            speeds.plot(speed(truth, 100.0), color=style.FAINT, lw=3.5, label="truth")
            speeds.plot(speed(q, 100.0), color=style.PALETTE[3], lw=1.1, label="filtered")
            curves.set_title(name)
            speeds.set_xlabel("sample")
        grid[1, 0].set_ylim(0, 1.7 * speed(truth, 100.0).max())
        grid[0, 0].set_ylabel("rotation vector (°)")
        grid[1, 0].set_ylabel("angular speed (rad/s)")
        grid[1, -1].legend(loc="upper right")
    return figure


def timing() -> object:
    """An ordinary walk in the timing of a slow one."""
    return walks("37_01", "reference", 0.0)


def manner() -> object:
    """An ordinary walk in the manner of a bouncy one."""
    return walks("132_31", "own", 1.0)


def walks(other_name: str, whose: str, spatial: float) -> object:
    walk, other = clip("02_01"), clip(other_name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        found = restyle(walk, other, timing=whose, spatial=spatial, open_ends=True)
    what = "timing" if whose == "reference" else "manner"
    print(found.as_dict())
    names = ("walk (CMU 02_01)", f"reference (CMU {other_name})", f"the walk in the {what} of the reference")
    return figures.aligned_clips(walk, other, found, names=names)


def sheet(width: int, height: int) -> object:
    figure = style.blank((width, height))
    figure.set_dpi(85)
    figure.set_size_inches(width / 85, height / 85)
    return figure


PICTURES: dict[str, Callable[[], object]] = {
    "filter-signal": signal,
    "style-timing": timing,
    "style-manner": manner,
}


def main(target: Path, names: list[str]) -> None:
    for name, draw in PICTURES.items():
        if names and name.split("-")[1] not in names:
            continue
        print(name)
        path = Path(tempfile.mkdtemp()) / "figure.png"
        style.save(draw(), path)
        picture = Image.fromarray(cv2.imread(str(path))[..., ::-1])
        picture.thumbnail((1280, 780))
        small = picture.quantize(96, kmeans=4, dither=Image.Dither.FLOYDSTEINBERG)
        small.save(target / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
