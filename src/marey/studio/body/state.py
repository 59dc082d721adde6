"""What the body panel shows: a clip, what was made of it, and what people marked in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.codec.clip import CompressedMotion
from marey.body.compare import JointError
from marey.body.fill import FillResult
from marey.body.motion import Motion
from marey.body.steer import SteerResult
from marey.character import Character


@dataclass(frozen=True, eq=False)
class Small:
    """The clip in few bytes: the bytes, what comes back of them, how far off that is.

    bound: metres that were allowed
    """

    clip: CompressedMotion
    motion: Motion
    error: JointError
    bound: float


@dataclass(frozen=True, eq=False)
class Aim:
    """Where an end of the figure should be at a frame; `place` `(3,)`, metres."""

    end: int
    frame: int
    place: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class State:
    """What is shown.

    motion: the clip as it is now
    character: the mesh that follows it, if there is one
    pins: frames whose pose variants keep
    variants: other versions of the clip to choose from
    gap: first and last frame of a marked gap
    filling: how the gap was filled, while that is shown
    small: the clip compressed, while that is shown
    aim: what an end of the figure should reach, and `steered` how it did
    slid: frame whose pose the sliders of modes changed last, so that one undo takes all of it back
    """

    motion: Motion
    character: Character | None = None
    pins: tuple[int, ...] = ()
    variants: tuple[Motion, ...] = ()
    gap: tuple[int, int] | None = None
    filling: FillResult | None = None
    small: Small | None = None
    aim: Aim | None = None
    steered: SteerResult | None = None
    slid: int | None = None

    def moved(self, motion: Motion, **more: Any) -> State:
        """The state with another clip; what was made of the one before is no longer shown."""
        past: dict[str, Any] = {"variants": (), "filling": None, "small": None, "steered": None, "slid": None}
        return replace(self, **(past | {"motion": motion} | more))
