"""Distance matrices of a flow before and after the diagonal filter (Courty & Corpetti 2007, figure 4).

The source shows those of a 3 s clip with a filter of 8 taps, as pictures without numbers. Ours are of the
PETS 2009 film, its optical flow at 80 × 60 pixels, and of the built-in sample; with what the filter does, and
how the flow plays on from them.

    python reproduce/crowd_distance_matrices.py [--data DIR] [--out DIR]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import marey
from marey.crowd.fields import FieldSeries
from marey.crowd.texture import FlowTexture, field_changes, learn
from marey.views import style
from marey.views.figures.fields import texture_matrix, texture_picture

FILM = "crowd/pets2009_s2l1/vtest.avi"
SECONDS, TAPS = 3.0, 8
SIZE = (80, 60)


def matrices(texture: FlowTexture) -> Figure:
    """Distances of all pairs of frames before and after the filter, side by side."""
    with style.figure((1280, 620)) as figure:
        for axes, filtered in zip(figure.subplots(1, 2), (False, True), strict=True):
            texture_matrix(figure, axes, texture, filtered)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of real data; MAREY_DATA if not given")
    parser.add_argument("--out", type=Path, help="folder for pictures; none are drawn if not given")
    given = parser.parse_args()
    flows = {"sample, 3 s": marey.samples.field(60, 80, seconds=SECONDS)}
    film = (given.data or Path(os.environ.get("MAREY_DATA", "../shared/data"))) / FILM
    if film.exists():
        whole = film_flow(film)
        clip = round(SECONDS * whole.frame_rate)
        # The film has 10 frames a second: at double rate the clip has enough of them for the filter.
        flows["PETS, 3 s"] = whole[200 : 200 + clip + 1].resample(2 * whole.frame_rate)
        flows["PETS, 30 s"] = whole[:300]
        flows["PETS, whole"] = whole
    else:
        print(f"{film} is not there (--data or MAREY_DATA): the sample only")
    print(f"theirs: figure 4, a 3 s clip and a filter of {TAPS} taps, pictures only\n")
    print(
        f"{'flow':<14}{'frames':>7}{'scale':>7}{'mean':>7}{'local':>8}{'filtered':>9}{'best jump':>11}"
        f"{'jumps':>7}{'/ 10x':>7}{'played':>8}{'smoothness':>12}"
    )
    for name, fields in flows.items():
        texture = learn(fields, taps=TAPS)
        row(name, texture)
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            stem = name.replace(", ", "_").replace(" ", "")
            style.save(matrices(texture), given.out / f"distances_{stem}.png")
            order = texture.sequence(10 * fields.frames, rng=0)
            style.save(texture_picture(texture, order), given.out / f"jumps_{stem}.png")
    print(
        "\nmean: of all distances, degrees; local: how much a distance differs from that beside it, before"
        "\nand after the filter, degrees; best jump: least filtered distance of frames 1 s or more apart;"
        "\n/ 10x: jumps when played ten times as long; played: frames of the capture that then appear;"
        "\nsmoothness: largest change at a jump over the 99th percentile of the capture's own (bar: 1.5)"
    )


def row(name: str, texture: FlowTexture) -> None:
    fields = texture.fields
    degrees, filtered = np.degrees(texture.distances), np.degrees(texture.filtered)
    frame = np.arange(len(filtered))
    apart = np.abs(np.subtract.outer(frame, frame)) >= min(round(fields.frame_rate), len(frame) // 2)
    count = 10 * fields.frames
    order = texture.sequence(count, rng=0)
    jumps = np.flatnonzero(np.diff(order) != 1)
    changes = field_changes(next(texture.blocks(count, rng=0, size=count)))
    side = (texture.fade + 1) // 2 + 1
    near = np.unique(np.clip(jumps[:, None] + np.arange(-side, side + 1), 0, len(changes) - 1))
    smoothness = changes[near].max() / np.quantile(field_changes(fields), 0.99)
    played = 100 * len(np.unique(order)) / fields.frames
    print(
        f"{name:<14}{fields.frames:>7}{texture.scale:>7.2f}{degrees.mean():>7.1f}"
        f"{roughness(degrees):>8.2f}{roughness(filtered):>9.2f}{filtered[apart].min():>11.1f}"
        f"{len(texture.transitions.sources):>7}{len(jumps):>7}{played:>6.0f} %{smoothness:>12.2f}"
    )


def roughness(table: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.diff(table, axis=1) ** 2)))


def film_flow(film: Path) -> FieldSeries:
    """Optical flow of a film at 80 × 60 pixels by OpenCV's inverse search."""
    import cv2

    footage = cv2.VideoCapture(str(film))
    rate = footage.get(cv2.CAP_PROP_FPS) or 10.0
    engine = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    fields, before = [], None
    while True:
        there, picture = footage.read()
        if not there:
            break
        now = cv2.cvtColor(cv2.resize(picture, SIZE, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
        if before is not None:
            fields.append(engine.calc(before, now, None))
        before = now
    return FieldSeries(np.stack(fields), rate, name="PETS")


if __name__ == "__main__":
    main()
