"""The locomotion subject of the surface scripts: the CC0 human of MPFB in real walks, runs, turns and jumps.

Clips of several CMU actors are put on the one human, decimated and posed at 30 frames per second. Without the
data it is the built-in human (:func:`marey.samples.mesh_library`). Run alone, it says what there is:

    python reproduce/_locomotion.py [--data DIR] [--out FOLDER]     one .npz a sequence, if FOLDER is given
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import _cmu
import numpy as np

import marey
from marey.io import mpfb
from marey.stage import skin
from marey.surface.sequence import Library


class Take(NamedTuple):
    """A part of a clip, in seconds from its first captured frame; `mirrored` exchanges left and right."""

    name: str
    label: str
    clip: str
    start: float | None = None
    stop: float | None = None
    mirrored: bool = False


# Chosen by the index of the data base and by the paths of the root: speed and angle of turning.
TAKES = (
    Take("walk", "walk", "02_01"),
    Take("walk-even", "walk", "35_02"),
    Take("walk-brisk", "walk", "16_22"),
    Take("walk-slow", "walk", "37_01"),
    Take("walk-from-and-to-stand", "walk", "138_37", 0.2, 6.2),
    Take("walk-ahead", "walk", "81_02"),
    Take("turn-right-gentle", "turn-right", "69_30"),
    Take("turn-left-gentle", "turn-left", "69_30", mirrored=True),
    Take("turn-left", "turn-left", "91_62", 2.1, 5.0),
    Take("turn-right", "turn-right", "91_62", 5.3, 10.1),
    Take("turn-left-sharp", "turn-left", "91_62", 11.2, 14.3),
    Take("turn-left-back", "turn-left", "143_32", 1.9, 4.6),
    Take("turn-right-back", "turn-right", "143_32", 1.9, 4.6, mirrored=True),
    Take("run", "run", "09_01"),
    Take("run-even", "run", "09_06"),
    Take("run-stop-run", "run", "127_17"),
    Take("run-slow-run", "run", "128_06"),
    Take("jump-forward", "jump", "105_42"),
    Take("jump-far", "jump", "75_10"),
    Take("jump-up", "jump", "118_17", 0.7, 4.2),
    Take("jump-distances", "jump", "143_05"),
    Take("hop-turn-left", "jump", "83_51", 0.7),
    Take("kicks", "kick", "143_24", 0.8, 6.3),
    Take("kick-ball", "kick", "11_01"),
    Take("stand", "idle", "14_05", 0.0, 5.0),
)


def locomotion(vertices: int = 5000, frame_rate: float = 30.0, data: Path | None = None) -> Library:
    """The subject's sequences with their labels; the built-in ones where the data is missing.

    vertices: of the proxy that all sequences share
    frame_rate: frames per second
    data: folder of real data; `MAREY_DATA` or the one beside the checkout, if None
    """
    skeletons = _cmu.folder(data)
    human = None if skeletons is None else skeletons.parent / "mesh4d" / "mpfb2_human_CC0"
    clips = {} if skeletons is None else _cmu.all_clips(skeletons)
    if human is None or not human.is_dir() or any(take.clip not in clips for take in TAKES):
        print("the MPFB human or the CMU clips are not there: the built-in human stands in", file=sys.stderr)
        return marey.samples.mesh_library(frame_rate=frame_rate)
    motions = [_taken(take, clips[take.clip]) for take in TAKES]
    return skin(
        mpfb.read(human),
        motions,
        labels=[take.label for take in TAKES],
        vertices=vertices,
        frame_rate=frame_rate,
    )


def _taken(take: Take, path: Path) -> marey.Motion:
    motion = _cmu.clip(path, cleaned=False).between(take.start, take.stop)
    return replace(motion.mirror() if take.mirrored else motion, name=take.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    parser.add_argument("--out", type=Path, help="folder for the sequences")
    parser.add_argument("--vertices", type=int, default=5000)
    given = parser.parse_args()
    start = time.perf_counter()
    library = locomotion(given.vertices, data=given.data)
    print(f"{len(library)} sequences, {library.frames} frames, {time.perf_counter() - start:.1f} s")
    for sequence, label in zip(library.sequences, library.labels, strict=True):
        slide, lowest = sole_speed(sequence), sequence.vertices[..., 1].min(axis=1)
        print(
            f"{sequence.name:24} {label:11} {sequence.frames:4} frames   soles {slide:.3f} m/s   "
            f"lowest {1000 * np.median(lowest):4.0f} mm, worst {1000 * lowest.min():4.0f} mm"
        )
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        for sequence in library.sequences:
            marey.save(sequence, given.out / f"{sequence.name}.npz")
        labels = dict(zip(library.names, library.labels, strict=True))
        (given.out / "labels.json").write_text(json.dumps(labels, indent=1))


def sole_speed(sequence: marey.MeshSequence, height: float = 0.015) -> float:
    """Median speed along the ground of vertices within `height` of it, metres a second."""
    places = np.asarray(sequence.vertices, np.float64)
    low = (places[1:, :, 1] < height) & (places[:-1, :, 1] < height)
    steps = np.linalg.norm(np.diff(places[..., 0::2], axis=0), axis=-1)
    return float(np.median(steps[low]) * sequence.frame_rate) if low.any() else 0.0


if __name__ == "__main__":
    main()
