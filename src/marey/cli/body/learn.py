"""`marey body learn`: how a clip moves, as a model to simulate, steer and stream from."""

from typing import Annotated, Literal

from marey.cli._options import Clip, Modes, Out, Parsed, Variance, bounded, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


def _period(text: str) -> object:
    return {"auto": "auto", "none": None}[text] if text in ("auto", "none") else _SECONDS(text)


_SECONDS = bounded(float, None, None, 0)
Period = Annotated[object, Parsed(_period, "seconds, or auto, or none")]


@command(writes="MotionModel", reports="modes, log_likelihood, method")
def learn(
    run: Run,
    motion: Clip,
    out: Out = option(..., "The model, a .mry file.", "MODEL"),
    method: Literal["joint", "gp"] = option(
        "joint", "joint: correlated modes; gp: one Gaussian process a mode (Courty & Cuzol 2010).", "METHOD"
    ),
    kernel: Literal["se", "matern12", "matern32", "matern52"] | None = option(
        None, "Covariance of --method gp; se, the squared exponential, if not given.", "KERNEL"
    ),
    modes: Modes = None,
    variance: Variance = None,
    inputs: int | None = option(
        None, "With C inputs a frame to drive it by, as published (Courty 2013, 2.3.1).", "C", min=0
    ),
    period: Period = option(
        "auto", "Length of a cycle; none has none; auto finds it (with gp: none, as published).", "SECONDS"
    ),
) -> Output:
    """Learn the dynamics of a clip: its poses, its cycle, and how frames follow.

    Examples:
        marey body learn walk.bvh -o walk.mry
        marey body learn walk.bvh -o walk.mry --modes 20 --period none
        marey body learn walk.bvh -o walk.mry --method gp              the published model
        marey body learn walk.bvh -o walk.mry --method gp --kernel matern52
        marey body learn walk.bvh -o walk.mry --modes 5 --inputs 2     for marey body drive
        marey body stream walk.mry --characters 10 --seconds 5         characters that go on moving
    """
    from marey import body

    if kernel is not None and method != "gp":
        raise InputError(f"--kernel {kernel}: only with --method gp")
    model = run.call("learning", body.learn, motion, kernel=kernel or "se")
    found = model.trend.period
    report = {
        "modes": model.modes,
        "log_likelihood": round(model.log_likelihood(motion), 3),
        "method": model.method,
        **model.measures(),
        "period": None if found is None else round(found, 4),
        "frames": motion.frames,
        "milliseconds": run.milliseconds(),
    }
    return Output(model, report)
