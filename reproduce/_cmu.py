"""The CMU clips at hand, for the scripts of this folder: where they are, what they show, how to read them."""

from __future__ import annotations

import argparse
import os
import warnings
from functools import cache
from pathlib import Path

import marey
from marey.errors import MareyWarning

FINGERS = ("LeftFingerBase", "LThumb", "RightFingerBase", "RThumb")


def folder(given: Path | None) -> Path | None:
    """The folder with the skeleton data: the one given, `MAREY_DATA`, or the one beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    named = given or (Path(os.environ["MAREY_DATA"]) if "MAREY_DATA" in os.environ else beside)
    return named / "skeleton" if (named / "skeleton").is_dir() else None


def all_clips(data: Path) -> dict[str, Path]:
    """Every CMU clip in BVH there, by its name."""
    found = [*(data / "cmu_bvh").glob("*.bvh"), *(data / "cmu_corpus").glob("*.bvh")]
    return {path.stem: path for path in sorted(found)}


def descriptions(data: Path) -> dict[str, str]:
    """What each take of the data base shows, by its name."""
    index = data / "cmu_bvh" / "cmu-mocap-index-text.txt"
    if not index.is_file():
        return {}
    rows = (line.split("\t") for line in index.read_text(errors="replace").splitlines())
    return {row[0].strip(): row[-1].strip().lower() for row in rows if len(row) >= 2}


@cache
def clip(path: Path, *, cleaned: bool) -> marey.Motion:
    """A clip without the T-pose that the conversion put first; repaired too, if `cleaned`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        return marey.load(path, clean=True) if cleaned else marey.load(path)[1:]


def without_fingers(motion: marey.Motion) -> marey.Motion:
    return motion.without([name for name in FINGERS if name in motion.skeleton.names])


def arguments(text: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder for pictures")
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than a minute")
    return parser.parse_args()
