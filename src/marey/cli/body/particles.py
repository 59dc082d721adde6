"""`marey body particles`: motions that reach, look and stand, found by particles."""

from typing import Literal

from marey.cli._console import warn
from marey.cli._options import (
    Clip,
    LimitsFile,
    LookAt,
    Move,
    Orientation,
    Out,
    PoseModelFile,
    Reach,
    Seed,
    option,
)
from marey.cli._run import Output, Run, command


@command(writes="Motion", views=(".png",), reports="error_cm")
def particles(
    run: Run,
    motion: Clip,
    out: Out = option(..., "Clip or image (.png) to write.", "OUT"),
    reach: Reach = (),
    move: Move = (),
    look_at: LookAt = (),
    aim: list[Orientation] = option((), "Turn a joint so, in the world.", "JOINT=W,X,Y,Z"),
    floor: bool = option(False, "Plant feet that are on the ground and keep balance."),
    at: float = option(0.0, "Which moment to start from, seconds.", "T"),
    particles: int = option(300, "Number of particles.", "N", min=10),
    steps: int = option(60, "Number of steps: frames of the result.", "M", min=2),
    method: Literal["guided", "published"] = option(
        "guided", "guided: steps look at the targets; published: they are random (Courty 2013, 3.1)."
    ),
    model: PoseModelFile | None = option(None, "Pose model (marey body fit): keep to likely poses.", "MODEL"),
    dynamics: bool = option(False, "Move as the clip does: dynamics learned from it."),
    solutions: int = option(1, "Different motions: OUT-1, OUT-2, …", "K", min=1),
    polish: bool = option(False, "Meet targets in the end as exactly as limits and feet allow."),
    limits: LimitsFile | None = option(None, "Joint limits to keep as well (marey body limits).", "LIMITS"),
    frame_rate: float = option(30.0, "Frames per second of the result.", "F", above=0),
    seed: Seed = 0,
) -> Output:
    """A motion to a pose that meets targets, found by particles within joint limits.

    Examples:
        marey body particles walk.bvh reach.bvh --reach LeftHand=0.4,1.2,0.5 --floor
        marey body particles walk.bvh reach.png --move RightHand=0,-0.5,0.3 --floor --polish
        marey body particles walk.bvh up.bvh --move LeftHand=0,0.4,0.2 --solutions 3 --seed 7
        marey body particles walk.bvh hand.bvh --aim RightHand=1,0,0,0 --method published --particles 2000
        marey body particles walk.bvh turn.bvh --look-at Head=2,1.5,0 --model walk.mry

    Places are in metres, y up. Knees and elbows are hinges, other joints turn within cones; these limits are
    never left, only widened to hold the poses of the clip.
    """
    from marey import body
    from marey.io import save
    from marey.views.render import draw_figures

    found = run.call("solving", body.particles, motion)
    files = [out.with_stem(f"{out.stem}-{i}") for i in range(1, solutions + 1)] if solutions > 1 else [out]
    for path, result in zip(files, found.motions, strict=False):
        if path.suffix.lower() == ".png":
            draw_figures([result], path, marks=found.places[None].repeat(result.frames, axis=0))
        else:
            save(result, path)
    measured = found.report.as_dict()
    if found.report.error_cm > 2:
        warn(
            f"a target is missed by {found.report.error_cm:.1f} cm: it may be out of reach; try more --steps"
        )
    if solutions == 1:
        del measured["errors_cm"]
    report = {**measured, "seconds": round(run.seconds, 3), "particles": particles, "steps": steps}
    return Output(None, report, files=files[: len(found.motions)])
