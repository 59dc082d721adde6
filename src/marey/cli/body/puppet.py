"""`marey body puppet`: a clip that reacts to pushes, balls and handles."""

from pathlib import Path
from typing import Annotated, Literal

from marey.cli._options import Clip, Out, Parsed, PoseModelFile, option
from marey.cli._run import Output, Run, command
from marey.cli.body.simulate import Blow, timed

Handle = Annotated[tuple[str, float, list[float]], Parsed(timed, "write it as JOINT@T=X,Y,Z, metres")]


@command(
    writes="Motion",
    views=(".png", ".mp4", ".html"),
    reports="error_mean_cm, error_max_cm, peak_deviation_cm, recovery_seconds, root_force_n, "
    "microseconds_per_step",
)
def puppet(
    run: Run,
    motion: Clip,
    out: Out = option(..., "Clip, image, video or page to write.", "OUT"),
    strength: float = option(0.9, "From 0, a ragdoll, to 1, the clip.", "0..1", min=0, max=1),
    push: list[Blow] = option((), "Blow on a joint, impulse in N·s.", "JOINT@T=IX,IY,IZ"),
    handle: list[Handle] = option((), "From T on, pull a joint to a place, metres.", "JOINT@T=X,Y,Z"),
    events: Path | None = option(None, "Pushes, balls, handles and looks, as JSON.", "E.json"),
    method: Literal["metric", "modal"] = option(
        "metric", "Strings at root and pose, or each coordinate of the pose by itself."
    ),
    basis: Literal["geodesics", "hybrid", "full"] = option(
        "geodesics", "Coordinates: of the pose model, with free legs, or of every joint."
    ),
    model: PoseModelFile | None = option(None, "Pose model (marey body fit); else learned from IN.", "MODEL"),
    modes: int = option(20, "Modes of the model that is learned.", "K", min=1),
    mass: float = option(75.0, "Mass of the body, kg.", "KG", above=0),
) -> Output:
    """Play a clip as a puppet that reacts to pushes, balls, the floor and handles.

    Examples:
        marey body puppet walk.bvh hit.bvh --push Spine1@1=0,0,15
        marey body puppet walk.bvh soft.mp4 --strength 0.6
        marey body puppet walk.bvh reach.bvh --handle LeftHand@0.5=0.3,1.5,0.4
        marey body puppet walk.bvh out.bvh --events events.json
    """
    from marey.body.control.events import Event, read_events
    from marey.body.control.puppet import PuppetSettings
    from marey.body.control.puppet import puppet as played

    found = read_events(events) if events is not None else []
    found += [Event(time, "push", joint, values) for joint, time, values in push]
    found += [Event(time, "handle", joint, values) for joint, time, values in handle]
    settings = PuppetSettings(method=method)
    made = run.call("playing", played, motion, events=found, settings=settings)
    return Output(made.motion, made.report)
