"""`marey body particles`: motions that reach, look and stand, found by particles."""

import math
from dataclasses import replace
from typing import Any

from marey.cli._console import stage, warn
from marey.cli._inputs import check_joints, frame_at
from marey.cli._options import Clip, Out, Point, PoseModelFile, Seed, option
from marey.cli._run import Output, command
from marey.errors import InputError


@command(writes="Motion", views=(".png",), reports="error_cm")
def particles(
    motion: Clip,
    out: Out = option(..., "Clip or image (.png) to write.", "OUT"),
    reach: list[Point] = option((), "Bring a joint to a place, metres.", "JOINT=X,Y,Z"),
    move: list[Point] = option((), "Move a joint by so much, metres.", "JOINT=X,Y,Z"),
    look_at: list[Point] = option((), "Let a joint, e.g. Head, face a point.", "JOINT=X,Y,Z"),
    floor: bool = option(False, "Plant feet that are on the ground and keep balance."),
    at: float = option(0.0, "Which moment to start from, seconds.", "T"),
    particles: int = option(300, "Number of particles.", "N", min=10),
    steps: int = option(60, "Number of steps: frames of the result.", "M", min=2),
    model: PoseModelFile | None = option(None, "Pose model (marey body fit): keep to likely poses.", "MODEL"),
    dynamics: bool = option(False, "Move as the clip does: dynamics learned from it."),
    solutions: int = option(1, "Different motions: OUT-1, OUT-2, …", "K", min=1),
    polish: bool = option(False, "Meet targets in the end as exactly as limits and feet allow."),
    frame_rate: float = option(30.0, "Frames per second of the result.", "F", above=0),
    seed: Seed = 0,
) -> Output:
    """A motion to a pose that meets targets, found by particles within joint limits.

    Examples:
        marey body particles walk.bvh reach.bvh --reach LeftHand=0.4,1.2,0.5 --floor
        marey body particles walk.bvh reach.png --move RightHand=0,-0.5,0.3 --floor --polish
        marey body particles walk.bvh up.bvh --move LeftHand=0,0.4,0.2 --solutions 3 --seed 7
        marey body particles walk.bvh turn.bvh --look-at Head=2,1.5,0 --model walk.mry

    Places are in metres, y up. Knees and elbows are hinges, other joints turn within cones; these limits are
    never left, only widened to hold the poses of the clip.
    """
    import numpy as np

    from marey.body import particles as method
    from marey.body.ik.targets import find_point
    from marey.body.particles.constraints import foot_drift, largest_errors
    from marey.io import save
    from marey.views.render import draw_figures

    if motion.translations is not None:
        warn("joints that slide are posed with the bones of the skeleton at rest")
        motion = replace(motion, translations=None)
    frame = frame_at(motion, at, "--at")
    rows = slice(frame, frame + 1)
    first = method.PoseBatch(motion.skeleton, np.array(motion.rotations[rows]), np.array(motion.root[rows]))
    chain = method.ArticulatedChain.human(motion.skeleton).widened_to(motion)
    for one in (*reach, *move, *look_at):
        find_point(motion.skeleton, one.joint)
    targets: list[Any] = [method.Reach(one.joint, one.values) for one in reach]
    targets += [method.Reach(one.joint, one.values + first.point(one.joint)[0]) for one in move]
    targets += [method.LookAt(one.joint, one.values) for one in look_at]
    if not targets:
        raise InputError("nothing to do: give a target, e.g. --reach LeftHand=0.3,1.4,0.5")
    feet = method.feet_on_floor(first) if floor else []
    held = [*feet, method.Balance([foot.target.joint for foot in feet])] if floor else []
    prior: Any = method.NearPose(first.rotations[0])
    if model is not None:
        check_joints(model, motion)
        prior = method.PosePrior(model)
    options: dict[str, Any] = (
        {"evolution": method.LearnedDynamics.of_clip(chain, motion, frame_rate)} if dynamics else {}
    )
    with stage("solving") as solving:
        found = method.solve_many(
            chain, [*targets, *held, prior], solutions, start=first.rotations[0], root=first.root[0],
            rng=seed, particles=particles, steps=steps, **options,
        )  # fmt: skip
        results = [one.motion.motion(frame_rate) for one in found]
        if polish:
            results = [method.polished(chain, one, held, targets) for one in results]
    like = {name: getattr(motion, name) for name in ("name", "convention", "channels")}
    results = [replace(one, **like) for one in results]
    files = [out.with_stem(f"{out.stem}-{i}") for i in range(1, len(results) + 1)] if solutions > 1 else [out]
    places = np.array([one.position for one in targets if isinstance(one, method.Reach)]).reshape(-1, 3)
    for path, result in zip(files, results, strict=True):
        if path.suffix.lower() == ".png":
            draw_figures([result], path, marks=np.repeat(places[None], result.frames, axis=0))
        else:
            save(result, path)
    errors = [largest_errors(one, targets) for one in results]
    if errors[0][0] > 0.02:
        warn(f"a target is missed by {100 * errors[0][0]:.1f} cm: it may be out of reach; try more --steps")
    report: dict[str, Any] = {
        "error_cm": round(100 * errors[0][0], 4),
        "error_degrees": round(math.degrees(errors[0][1]), 4),
        "foot_drift_cm": round(100 * foot_drift(results[0], feet), 4) if floor else None,
        "seconds": round(solving.seconds, 3),
        "particles": particles,
        "effective": round(float(found[0].motion.effective.mean()), 1),
        "steps": steps,
        "freedoms": chain.freedoms,
    }
    if solutions > 1:
        report["errors_cm"] = [round(100 * error, 4) for error, _ in errors]
    return Output(None, report, files=files)
