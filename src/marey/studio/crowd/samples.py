"""Crowds to try in the studio without a file: people, films, a flow, and places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import samples
from marey.crowd import scenes
from marey.crowd.footage import Footage

Image = NDArray[np.uint8]

FILM = (384, 288)
SECONDS, FRAME_RATE = 6.0, 12.5


def crowd_samples() -> dict[str, Callable[[], Any]]:
    """What makes each sample, by name."""
    made: dict[str, Callable[[], Any]] = {
        "street (people)": samples.crowd,
        "street (film)": lambda: samples.video(samples.crowd(seconds=6, people=36)),
        "square (film)": filmed_square,
        "whirls (flow)": samples.field,
    }
    for name in scenes.SCENES:
        made[f"{name} (place)"] = partial(scenes.preset, name)
    return made


def filmed_square() -> Footage:
    """A simulated crowd filmed from a roof; pictures are made when they are looked at.

    >>> film = filmed_square()
    >>> film.rows, film.columns
    (288, 384)
    """
    from marey.crowd.simulation.simulate import simulate
    from marey.filming.pedestrians import RenderedPedestrians
    from marey.filming.renderer import CrowdRenderer, camera_of

    scene = scenes.preset("crossing").with_people(60)
    crowd = simulate(scene, seconds=scene.hold + SECONDS, frame_rate=FRAME_RATE)
    walking = crowd.tracks[round(scene.hold * FRAME_RATE) :]
    made: list[Any] = []

    def frames(start: int, stop: int, step: int) -> Iterator[Image]:
        if not made:
            camera = camera_of(scene, "above", size=FILM)
            made[:] = [CrowdRenderer(scene, camera), RenderedPedestrians(walking)]
        renderer, people = made
        for frame in range(start, stop, step):
            yield renderer.render(people, frame).image

    return Footage(walking.frames, FILM[1], FILM[0], FRAME_RATE, frames, name="square")
