"""`marey body simulate`: drop and push a character."""

from typing import Annotated, Literal

from marey.cli._options import Clip, LimitsFile, Out, Pair, Parsed, PoseModelFile, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


def timed(text: str) -> tuple[str, float, list[float]]:
    """Joint, seconds and three numbers of `JOINT@T=IX,IY,IZ`."""
    joint, at, rest = text.partition("@")
    time, _, values = rest.partition("=")
    found = [float(value) for value in values.split(",")]
    if not (at and joint.strip() and len(found) == 3 and float(time) >= 0):
        raise ValueError
    return joint.strip(), float(time), found


def _ball(text: str) -> tuple[str, float, list[float]]:
    """Joint, seconds, velocity, and mass and radius where given, of `JOINT@T=VX,VY,VZ[,KG[,M]]`."""
    joint, at, rest = text.partition("@")
    time, _, values = rest.partition("=")
    found = [float(value) for value in values.split(",")]
    if not (at and joint.strip() and 3 <= len(found) <= 5 and float(time) > 0 and min([*found[3:], 1]) > 0):
        raise ValueError
    return joint.strip(), float(time), found


Thrown = Annotated[
    tuple[str, float, list[float]],
    Parsed(_ball, "write it as JOINT@T=VX,VY,VZ[,KG[,RADIUS]], velocity in m/s"),
]
Blow = Annotated[
    tuple[str, float, list[float]], Parsed(timed, "write it as JOINT@T=IX,IY,IZ, impulse in N·s")
]


@command(
    writes="Motion",
    views=(".png", ".mp4", ".html"),
    reports="frames, steps, microseconds_per_step, linear_momentum_drift, angular_momentum_drift, "
    "energy_ratio_min, energy_ratio_max, penetration_max_mm, limit_excess_max",
)
def simulate(
    run: Run,
    motion: Clip,
    out: Out = option(..., "Clip, image, video or page to write.", "OUT"),
    seconds: float = option(3.0, "How long.", "S", above=0),
    start: float = option(0.0, "Start at this time of the clip, seconds.", "T", min=0),
    height: float = option(0.0, "Lift the character by so much first, metres.", "M", min=0),
    push: list[Blow] = option((), "Blow on a joint, impulse in N·s.", "JOINT@T=IX,IY,IZ"),
    ball: list[Thrown] = option(
        (),
        "Throw a ball at where a joint begins: there at T with this velocity.",
        "JOINT@T=VX,VY,VZ[,KG[,M]]",
    ),
    limits: LimitsFile | None = option(None, "Joint limits (marey body limits).", "LIMITS"),
    basis: Literal["geodesics", "hybrid", "full"] = option(
        "geodesics", "Coordinates: of the pose model, with free legs, or of every joint."
    ),
    model: PoseModelFile | None = option(None, "Pose model (marey body fit); else learned from IN.", "MODEL"),
    integrator: Literal["variational", "exact", "constant", "identity", "naive"] = option(
        "variational", "How time is stepped."
    ),
    damping: Pair = option(("energetic", "3"), "energetic, kinematic or uniform=RATE.", "KIND=RATE"),
    step: float = option(0.01, "Time step, seconds.", "S", above=0),
    mass: float = option(75.0, "Mass of the body, kg.", "KG", above=0),
    gravity: bool = option(True, "Whether it falls."),
    ground: bool = option(True, "Whether there is a ground."),
) -> Output:
    """Let go of a character: it falls, is pushed, and keeps to the poses that were learned.

    Examples:
        marey body simulate walk.bvh drop.bvh --height 1
        marey body simulate walk.bvh hit.mp4 --push LeftHand@0.2=0,0,6
        marey body simulate walk.bvh ball.html --ball Spine1@0.4=0,0,-12,1
        marey body simulate walk.bvh float.bvh --no-gravity --no-ground --push Head@0=3,0,0
    """
    from marey.body.physics.simulate import Push, SimulationSettings, Throw
    from marey.body.physics.simulate import simulate as simulated

    try:
        rate = float(damping[1])
    except ValueError:
        raise InputError(f"--damping {damping[0]}={damping[1]}: write a rate, e.g. energetic=3") from None
    settings = SimulationSettings(
        step=step, integrator=integrator, damping=damping[0], rate=rate, gravity=gravity, ground=ground
    )
    pushes = [Push(*blow) for blow in push]
    throws = [Throw(joint, time, v[:3], *v[3:]) for joint, time, v in ball]
    found = run.call("simulating", simulated, motion, pushes=pushes, throws=throws, settings=settings)
    return Output(found.motion, found.report)
