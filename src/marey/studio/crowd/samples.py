"""Crowds to try in the studio without a file: people, videos, a flow, and scenes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

from marey import samples
from marey._arrays import Bytes
from marey.crowd import scenes
from marey.crowd.fields import Footage
from marey.studio.room import Samples

if TYPE_CHECKING:
    from marey.filming.pedestrians import RenderedPedestrians
    from marey.filming.renderer import CrowdRenderer


def crowd_samples() -> Samples:
    """What makes each sample, by name."""
    return {
        "street (people)": samples.crowd,
        "street (video)": lambda: samples.video(samples.crowd(seconds=6, people=36)),
        "square (video)": rendered_square,
        "vortices (flow)": samples.field,
        **{f"{name} (scene)": partial(scenes.preset, name) for name in scenes.SCENES},
    }


def rendered_square() -> Footage:
    """A simulated crowd seen from a roof; images are rendered when they are shown.

    >>> video = rendered_square()
    >>> video.rows, video.columns
    (288, 384)
    """
    from marey.crowd.simulation.simulate import simulate
    from marey.filming.pedestrians import RenderedPedestrians
    from marey.filming.renderer import CrowdRenderer, camera_of

    seconds, rate, size = 6.0, 12.5, (384, 288)
    scene = scenes.preset("crossing").with_people(60)
    crowd = simulate(scene, seconds=scene.hold + seconds, frame_rate=rate)
    walking = crowd.tracks[round(scene.hold * rate) :]

    @cache
    def rendering() -> tuple[CrowdRenderer, RenderedPedestrians]:
        return CrowdRenderer(scene, camera_of(scene, "above", size=size)), RenderedPedestrians(walking)

    def frames(start: int, stop: int, step: int) -> Iterator[Bytes]:
        renderer, people = rendering()
        for frame in range(start, stop, step):
            yield renderer.render(people, frame).image

    return Footage(walking.frames, size[1], size[0], rate, frames, name="square")
