"""Characters that move without end, frame by frame, each by itself, from a model of one clip.

Coordinates follow the model's dynamics (:mod:`marey.statistics.autoregression.stream`) about its trend,
each character with its own phase, so a crowd is not in step; poses can be constrained while it runs
(Courty & Cuzol 2010, section 5.2). Roots move by their velocities. A step costs O(characters · order ·
modes²), decoding all poses O(characters · modes · joints), however long it runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked, derived
from marey._random import Rng
from marey._work import Progress
from marey.body.dynamics import MotionModel
from marey.body.ik.ik import frame_at
from marey.body.motion import Motion
from marey.errors import InputError


class Poses(NamedTuple):
    """One frame: local rotations `(characters, joints, 4)`, and the roots' positions `(characters, 3)`."""

    rotations: Array
    positions: Array


class Recording(NamedTuple):
    """What a stream simulated.

    Attributes:
        model: How the characters move.
        coordinates: `(frames, characters, modes)`.
        starts: `(characters, 3)`, metres, where each began.
        headings: `(characters,)`, radians about y.
        seconds: Time it took, without the first frame's compilation.
        frames: How many were simulated.
    """

    model: MotionModel
    coordinates: Array
    starts: Array
    headings: Array
    seconds: float
    frames: int

    def clips(self) -> list[Motion]:
        """A clip for each character."""
        poses, rate = self.model.poses, self.model.frame_rate
        return [
            poses.decode_motion(self.coordinates[:, n], rate, start=start, heading=float(heading))
            for n, (start, heading) in enumerate(zip(self.starts, self.headings, strict=True))
        ]


def stream(
    source: MotionModel | Motion,
    *,
    characters: int = 1,
    seconds: float = 10.0,
    pin: Sequence[tuple[float, Motion, float]] = (),
    modes: int | None = None,
    decode: bool = False,
    keep: bool = True,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Recording:
    """Let characters move in the manner of one clip.

    Args:
        source: A model, or a clip to learn one from.
        characters: How many, each on its own.
        seconds: How long.
        pin: Times, and for each a clip and a time in it whose pose everybody has then; seconds.
        modes: Learning from a clip: numbers a pose has.
        decode: Make the rotations of all joints in every frame too.
        keep: Keep the coordinates, for clips.
        rng: Seed or generator.

    >>> import marey
    >>> stream(marey.samples.walk(seconds=6), seconds=1, modes=8, rng=0).clips()[0].frames
    60
    """
    if isinstance(source, MotionModel) and modes is not None:
        raise InputError(f"modes {modes}: the model has {source.modes} modes already")
    model = source if isinstance(source, MotionModel) else MotionModel.fit(source, modes=modes)
    simulated = MotionStream(model, np.random.default_rng(rng), characters=characters)
    for moment, clip, time_in_clip in pin:
        if not 0 <= moment <= seconds:
            raise InputError(f"pin {moment:g}: the simulation goes from 0 to {seconds:g} seconds")
        frame = frame_at(clip, time_in_clip, f"pin {moment:g}={clip.name} at")
        simulated.constrain_pose(moment, model.poses.encode(clip)[frame])
    frames = max(1, round(seconds * model.frame_rate))
    return simulated.record(frames, decode=decode, keep=keep, progress=progress)


class MotionStream:
    """A running simulation of one or many characters.

    Args:
        model: How they move.
        rng: Seed or generator.
        characters: Number of characters.

    >>> import marey
    >>> model = MotionModel.fit(marey.samples.walk(seconds=6), modes=8)
    >>> stream = MotionStream(model, rng=0, characters=100)
    >>> for _ in range(30):
    ...     coordinates = stream.step()
    >>> coordinates.shape, stream.poses().rotations.shape == (100, model.poses.skeleton.joints, 4)
    ((100, 8), True)
    """

    def __init__(self, model: MotionModel, rng: Rng = None, *, characters: int = 1) -> None:
        if isinstance(characters, bool) or characters < 1:
            raise InputError(f"characters: at least one, got {characters}")
        rng = np.random.default_rng(rng)
        self.model = model
        self.characters = int(characters)
        self._rest = model.stream(self.characters, rng=rng)
        period = model.trend.period
        # Where in the model's cycle each is, seconds.
        self.phases = rng.uniform(0.0, period or 1.0, self.characters)
        # On a square grid of 2 m about the example's start.
        row, column = np.divmod(np.arange(characters), int(np.ceil(np.sqrt(characters))))
        places = 2.0 * np.stack([column, np.zeros(characters), row], axis=1)
        self._positions = model.start + (places - places.mean(axis=0))
        self._yaws = np.full(self.characters, model.heading)
        self._next = (self._positions.copy(), self._yaws.copy())
        self._coordinates: Array | None = None
        self._directions = np.ascontiguousarray(model.poses.geodesics.directions.reshape(model.modes, -1))

    time = derived(int, "_rest.time", "The number of the next frame.")

    def step(self) -> Array:
        """Go on by one frame; its coordinates `(characters, modes)`."""
        found = self._trend(self.time, self.phases) + self._rest.step()
        self._coordinates = found
        self._positions, self._yaws = self._next
        # Height of the roots in this frame, position and yaw in the next.
        motion, rate, positions, yaws = (
            self.model.poses.root_motion, self.model.frame_rate, self._positions, self._yaws
        )  # fmt: skip
        assert motion is not None
        features = motion.decode(found)
        if self.model.poses.root == "world":
            self._next = (positions + features / rate, yaws)
            return found
        positions[:, 1] = features[:, 2]
        cosine, sine = np.cos(yaws), np.sin(yaws)
        x, z = features[:, 0], features[:, 1]
        moved = positions.copy()
        moved[:, 0] += (cosine * x + sine * z) / rate
        moved[:, 2] += (cosine * z - sine * x) / rate
        self._next = (moved, yaws + features[:, 3] / rate)
        return found

    def poses(self) -> Poses:
        """The poses of the last frame, in the world."""
        if self._coordinates is None:
            raise InputError("there is no frame yet: take a step")
        from marey.body._kernels import decode

        model = self.model.poses
        rotations = np.empty((self.characters, model.skeleton.joints, 4))
        half = 0.5 * self._yaws if model.root == "heading" else np.zeros(self.characters)
        mean = np.array(model.geodesics.mean)
        cosines, sines = np.cos(half), np.sin(half)
        # Few at a time, so that their numbers stay in the processor's cache.
        for first in range(0, self.characters, 256):
            last = min(first + 256, self.characters)
            tangents = self._coordinates[first:last] @ self._directions
            part = slice(first, last)
            decode(tangents, mean, cosines[part], sines[part], rotations[part])
        return Poses(rotations, self._positions.copy())

    def constrain_pose(
        self, time: float, pose: Motion | ArrayLike, *, characters: Sequence[int] | None = None
    ) -> None:
        """Constrain the pose at a time; the motion before and after it follows the model.

        Args:
            time: Seconds from the start of the simulation.
            pose: The first frame of a clip, as far as the model can show it, with the root's velocity towards
                the second (0 without one); or coordinates `(modes,)`.
            characters: Indices of the characters; all if None.
        """
        if not np.isfinite(time):
            raise InputError(f"time {time}: seconds")
        frame = round(time * self.model.frame_rate)
        if frame < self.time:
            soonest = self.time / self.model.frame_rate
            raise InputError(f"{time} s has passed: the next frame is at {soonest:g} s")
        coded = self.model.poses.encode(pose)[0] if isinstance(pose, Motion) else pose
        wanted = checked("pose", coded, (self.model.modes,))
        who = np.arange(self.characters) if characters is None else np.asarray(characters, dtype=np.intp)
        if who.size and (who.min() < 0 or who.max() >= self.characters):
            raise InputError(f"characters: numbers from 0 to {self.characters - 1}")
        asked = wanted - self._trend(frame, self.phases[who])
        self._rest.constrain(frame, asked, characters=who.tolist())

    def clips(self, frames: int) -> list[Motion]:
        """The next frames as a clip for each character."""
        return self.record(frames).clips()

    def record(
        self, frames: int, *, decode: bool = False, keep: bool = True, progress: Progress | None = None
    ) -> Recording:
        """Simulate the next frames and measure how long that takes.

        Args:
            frames: Number of frames.
            decode: Make the rotations of all joints in every frame too.
            keep: Keep the coordinates, for clips.
            progress: Called with (done, total).
        """
        starts, headings = (part.copy() for part in self._next)
        kept = np.empty((frames if keep else 0, self.characters, self.model.modes))
        elapsed = 0.0
        for t in range(frames):
            before = time.perf_counter()
            coordinates = self.step()
            if decode:
                self.poses()
            # Code may be compiled in the first frame.
            elapsed += time.perf_counter() - before if t or frames == 1 else 0.0
            if keep:
                kept[t] = coordinates
            if progress is not None:
                progress(t + 1, frames)
        return Recording(self.model, kept, starts, headings, elapsed * frames / max(frames - 1, 1), frames)

    def _trend(self, frame: int, phases: Array) -> Array:
        """The trend `(characters, modes)` at a frame; the drift is that of the example's end."""
        return self.model.trend.at(frame / self.model.frame_rate + phases)
