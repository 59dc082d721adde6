"""A clip run forward by a few inputs a frame, as published (Courty 2013, section 2.3.1).

`x_t = A_1 x_{t-1} + … + A_m x_{t-m} + B u_t` from the example's first m frames, about its mean: with its own
inputs the model gives the example back, exactly with as many inputs as coordinates, roughly with few; with
others it does something else. `marey.body.learn(..., inputs=C)` learns A by least squares, its order by the
Bayesian criterion, B and u by the singular values of what is left. O(frames · order · modes²).
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from marey._report import Report, Result, rounded
from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.errors import InputError
from marey.statistics.autoregression.fit import Control


@dataclass(frozen=True)
class DriveReport(Report):
    """What drove a clip.

    Attributes:
        frames: Of the clip.
        inputs: How many there are a frame.
        order: Frames that the model looks back.
        error: How far the clip of the example's own inputs is off, of its deviation from its mean.
        one_step_error: The same of each frame by itself, from the example's own frames before it.
    """

    frames: int
    inputs: int
    order: int
    error: float
    one_step_error: float


@dataclass(frozen=True, eq=False)
class DriveResult(Result):
    """A driven clip.

    Attributes:
        motion: The clip.
        report: What was measured.
    """

    motion: Motion
    report: DriveReport


def drive(model: MotionModel, inputs: ArrayLike | None = None) -> DriveResult:
    """The clip that inputs drive from the example's first frames.

    Args:
        model: Learned with `inputs`.
        inputs: `(steps, inputs)`; the example's own if None.

    >>> import marey
    >>> model = marey.body.learn(marey.samples.walk(seconds=3), modes=4, inputs=4)
    >>> driven = drive(model)
    >>> driven.motion.frames, driven.report.error < 1e-9
    (180, True)
    """
    control = driven_by(model)
    series = control.driven(inputs)
    motion = model.decode(series + model.trend_at(len(series)))
    report = DriveReport(
        motion.frames,
        control.dimensions,
        control.model.order,
        rounded(control.open_loop_error),
        rounded(control.one_step_error),
    )
    return DriveResult(motion, report)


def driven_by(model: MotionModel) -> Control:
    """What drives a model; one that was learned without inputs is an :class:`InputError`."""
    if model.control is None:
        raise InputError("the model has no inputs; learn it with some (marey body learn --inputs C)")
    return model.control
