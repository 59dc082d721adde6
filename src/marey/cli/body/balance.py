"""`marey body balance`: a character that stands by internal forces alone."""

from pathlib import Path
from typing import Literal

from marey.cli._options import Clip, Numbers, Out, PoseModelFile, Reach, option
from marey.cli._run import Output, Run, command
from marey.cli.body.simulate import Blow
from marey.errors import InputError


@command(
    writes="Motion",
    views=(".png", ".mp4", ".html"),
    reports="stood_seconds, fell, com_error_cm, root_wrench_max, steps_taken, microseconds_per_step",
)
def balance(
    run: Run,
    motion: Clip,
    out: Out = option(..., "Clip, image, video or page to write.", "OUT"),
    frame: int = option(0, "Frame of the clip to start at.", "N", min=0),
    seconds: float = option(5.0, "How long.", "S", above=0),
    support: Literal["both", "left", "right"] = option("both", "What it stands on."),
    push: list[Blow] = option((), "Blow on a joint, impulse in N·s.", "JOINT@T=IX,IY,IZ"),
    reach: Reach = (),
    look_at: Numbers | None = option(None, "Let the head face a point, metres.", "X,Y,Z"),
    events: Path | None = option(
        None, "Pushes, balls, handles, looks, changes of support and of features, as JSON.", "E.json"
    ),
    follow: bool = option(False, "Go on with the gestures of the clip."),
    method: Literal["modes", "A", "B", "C"] = option(
        "modes", "Control by exact contact modes, or by one of the published relaxations."
    ),
    basis: Literal["geodesics", "hybrid", "full"] = option(
        "hybrid", "Coordinates: of the pose model, with free legs, or of every joint."
    ),
    model: PoseModelFile | None = option(None, "Pose model (marey body fit); else learned from IN.", "MODEL"),
    mass: float = option(75.0, "Mass of the body, kg.", "KG", above=0),
) -> Output:
    """Stand from a frame of a clip on, by internal forces alone.

    Examples:
        marey body balance walk.bvh stand.bvh --frame 20
        marey body balance walk.bvh pushed.mp4 --push Spine1@1=10,0,0
        marey body balance walk.bvh reach.bvh --reach LeftHand=0.3,1.2,0.4 --look-at 0,1.6,3
        marey body balance walk.bvh stork.bvh --support left --events events.json
    """
    from marey.body.control.actuation import ActuationSettings
    from marey.body.control.balance import BalanceSettings
    from marey.body.control.balance import balance as balanced
    from marey.body.control.events import Event, read_events

    if look_at is not None and len(look_at) != 3:
        raise InputError("--look-at: write it as X,Y,Z, metres")
    found = read_events(events) if events is not None else []
    found += [Event(time, "push", joint, values) for joint, time, values in push]
    settings = BalanceSettings()
    if method != "modes":
        settings = BalanceSettings(actuation=ActuationSettings.published(method))
    places = {point.joint: point.values for point in reach}
    made = run.call("balancing", balanced, motion, events=found, reach=places, settings=settings)
    return Output(made.motion, made.report)
