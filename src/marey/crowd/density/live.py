"""Density and danger of a video that is still running: some seconds late, in memory that does not grow.

The last seconds of images are kept for the background; every second or two their new ones are captured and
handed on. Delay: a chunk, a window of the assimilation and the reach of the capture. Memory: the images kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from marey.crowd.cameras import Camera
from marey.crowd.capture import CapturePlan, plan_capture
from marey.crowd.capture.framing import View, working_size
from marey.crowd.density.danger import Alarm, Danger
from marey.crowd.density.estimate import Moment
from marey.crowd.density.measure import plan_density
from marey.crowd.density.view import MIDDLE
from marey.crowd.fields import Footage, Image
from marey.crowd.scales import FlowFrame
from marey.crowd.scenes import Scene
from marey.errors import InputError


@dataclass(frozen=True)
class LiveSettings:
    """Seconds: of images that are kept for the background, and of those that are captured together."""

    kept: float = 20.0
    chunk: float = 2.0


SETTINGS = LiveSettings()


def follow(
    images: Iterable[Image],
    frame_rate: float,
    scene: Scene,
    *,
    camera: View = None,
    size: int | None = None,
    live: LiveSettings = SETTINGS,
    **options: object,
) -> Iterator[tuple[Moment, Danger, list[Alarm]]]:
    """The crowd, its dangers and the alarms up to then, frame by frame, while images arrive.

    Args:
        images: `(rows, columns, 3)`, as they come; the first `live.kept` seconds are waited for.
        frame_rate: Of them.
        scene: Walls and goals.
        camera: As of :func:`~marey.crowd.density.density`.
        size: Longer side of the working grid; None = 320.
        live: How long images are kept.
        options: Others of :func:`~marey.crowd.density.plan_density`.
    """
    source = iter(images)
    known = list(islice(source, max(round(live.kept * frame_rate), 2)))
    if len(known) < 2:
        raise InputError("video: it ended before there was motion")
    shape = known[0].shape
    columns, rows = working_size((shape[1], shape[0]), size)

    def small(image: Image) -> Image:
        from cv2 import INTER_AREA, resize

        return np.asarray(resize(image, (columns, rows), interpolation=INTER_AREA))

    if camera is not None and not isinstance(camera, Camera):
        matrix = np.asarray(getattr(camera, "homography", camera), dtype=np.float64)
        camera = matrix @ np.diag([shape[1] / columns, shape[0] / rows, 1.0])
    first = [small(image) for image in known]
    plan = plan_density(_footage(first, frame_rate), scene, camera=camera, size=size, **options)  # type: ignore[arg-type]

    def captured(shown: list[Image]) -> CapturePlan:
        height = MIDDLE if isinstance(camera, Camera) else 0.0
        return plan_capture(
            _footage(shown, frame_rate), size=size, camera=plan.view.homography if camera is None else camera,
            plane_height=height, scale="crowd",
        )  # fmt: skip

    def flow() -> Iterator[FlowFrame]:
        shown, done, left = first, 0, map(small, source)
        while True:
            yield from captured(shown).fields(done, len(shown) - 1)
            more = list(islice(left, max(round(live.chunk * frame_rate), 1)))
            if not more:
                return
            gone = max(len(shown) - len(first), 0)
            done, shown = len(shown) - 1 - gone, list(chain(shown[gone:], more))

    running = replace(plan, flow=flow, frames=1 << 60)
    for moment, danger in running.moments():
        yield moment, danger, running.watch.alarms


def _footage(images: list[Image], frame_rate: float) -> Footage:
    rows, columns = images[0].shape[:2]
    return Footage(len(images), rows, columns, frame_rate, lambda a, b, s: iter(images[a:b:s]))
