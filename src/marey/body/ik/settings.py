"""Numbers of inverse kinematics, with their units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IKSettings:
    """How targets, priors and steps are weighed against each other.

    Args:
        tolerance: metres, how exactly targets are meant.
        rough_tolerance: the same in a pose model if the pose is refined afterwards.
        refined_tolerance: the same by the refinement.
        root_radians, root_metres, joint_radians: how far a free root, or a joint without a model, goes as
            readily as a pose coordinate by one standard deviation.
        canonical_metres: metres that count like a radian in the canonical metric, as in Tournier's files.
        metres_per_radian: how much a turn of an effector counts beside a shift.
        limit_weight: metres a unit of excess beyond a joint's limit.
        cold, warm: damping to begin with, far from the solution and near it. Cold starts that are damped
            little end more often in a wrong minimum.
        iterations: at most so many of the compiled solver for a pose.
        hierarchy_iterations: at most so many where targets have priorities, or limits are not compiled.
        trajectory_steps: at most so many for a whole clip.
        equal_metres: two errors of targets of one priority that differ by less count as equal.
        free_share: directions that move targets of a priority by less than this share of the largest effect
            are left to lesser priorities.
        reached_metres, reached_degrees: a target that is as near as this is reported as reached.
    """

    tolerance: float = 0.005
    rough_tolerance: float = 0.02
    refined_tolerance: float = 1e-4
    root_radians: float = 0.3
    root_metres: float = 0.15
    joint_radians: float = 1.0
    canonical_metres: float = 0.0254 / 0.45
    metres_per_radian: float = 0.17
    limit_weight: float = 0.1
    cold: float = 0.3
    warm: float = 1e-3
    iterations: int = 50
    hierarchy_iterations: int = 100
    trajectory_steps: int = 12
    equal_metres: float = 1e-4
    free_share: float = 1e-4
    reached_metres: float = 0.01
    reached_degrees: float = 3.0


SETTINGS = IKSettings()
