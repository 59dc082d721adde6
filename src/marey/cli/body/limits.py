"""`marey body limits`: joint limits learned from clips."""

from marey.cli._console import stage
from marey.cli._options import ClipFiles, Out, option
from marey.cli._run import Output, command


@command(writes="LearnedLimits", reports="joints, frames, outliers, violations")
def limits(
    clips: ClipFiles,
    out: Out = option(..., "The limits, a .json file.", "LIMITS"),
    jump: float = option(1.0, "Leave out what lies between jumps of so many radians.", "RADIANS", above=0),
    grow: float = option(1.0, "Factor on the size of the limits.", "F", above=0),
) -> Output:
    """Learn how far joints turn: the smallest ellipsoid around the rotations of each.

    Examples:
        marey body limits walk.bvh -o limits.json                  of one clip
        marey body limits corpus/ -o limits.json                   of many, one after the other
        marey body simulate walk.bvh drop.bvh --limits limits.json
    """
    from marey.body.limits.learned import LearnSettings, learn

    with stage("learning") as clips.progress:
        found = learn(clips, LearnSettings(jump=jump, grow=grow))
    return Output(found, found.report)
