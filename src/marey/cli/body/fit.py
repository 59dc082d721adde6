"""`marey body fit`: a pose model of clips."""

from typing import Literal

from marey.cli._console import stage
from marey.cli._options import ClipFiles, Length, Modes, Out, Variance, option
from marey.cli._run import Output, command


@command(writes="PoseModel", reports="modes, variance, frames")
def fit(
    clips: ClipFiles,
    out: Out = option(..., "The model, a .mry file.", "MODEL"),
    modes: Modes = None,
    variance: Variance = None,
    error: Length | None = option(None, "Fewest modes with this mean joint error, e.g. 1cm.", "LENGTH"),
    max_error: Length | None = option(None, "Fewest modes with no joint further off than this.", "LENGTH"),
    method: Literal["linear", "exact", "second-kind", "pca"] = option(
        "linear",
        "linear: tangent space at the mean; exact: true projections; second-kind: a product of turns "
        "(Tournier 2011, 8.1 and 8.2); pca: of rotation vectors (Courty 2013, 2.2.1).",
        "METHOD",
    ),
    scheme: Literal["variance", "error", "deflation"] | None = option(
        None, "Of exact: most varying, nearest (if not given), or one by one with products.", "SCHEME"
    ),
    metric: Literal["kinetic", "lever", "canonical"] | None = option(
        None, "What variance counts; kinetic if not given, with other methods canonical.", "METRIC"
    ),
    root_motion: Literal["none", "heading", "world"] = option("none", "Learn how the root travels."),
) -> Output:
    """Learn a pose model: a mean pose and the directions in which poses vary.

    Examples:
        marey body fit walk.bvh -o walk.mry                        99 % of the variance
        marey body fit walk.bvh -o walk.mry --error 1cm            as few modes as 1 cm allows
        marey body fit corpus/ -o all.mry --modes 20               many clips, larger than memory
        marey body fit walk.bvh -o walk.mry --root-motion heading  with how the body travels
        marey body fit walk.bvh -o walk.mry --method exact --scheme variance --modes 6
        marey view walk.mry -o modes.png                           look at the modes
    """
    import numpy as np

    from marey import body

    with stage("learning") as clips.progress:
        model = body.fit(
            clips, modes=modes, variance=variance, error=error, max_error=max_error, metric=metric,
            root=root_motion, method=method, scheme=scheme,
        )  # fmt: skip
    milliseconds = clips.progress.milliseconds
    with stage("measuring") as clips.progress:
        errors = [model.joint_errors(motion)[:, 1:].ravel() for motion in clips]
    all_errors = 100 * np.concatenate([*errors, np.zeros(0)])
    report = {
        "modes": model.modes,
        "variance": round(model.variance, 6),
        "frames": model.frames,
        "files": len(clips.files),
        "metric": model.metric,
        "method": model.method,
        "root": model.root,
        "error_mean_cm": round(float(all_errors.mean()), 4) if len(all_errors) else 0.0,
        "error_max_cm": round(float(all_errors.max(initial=0.0)), 4),
        "milliseconds": milliseconds,
        "shares": np.diff(model.geodesics.explained, prepend=0.0).round(5),
        "wrap_hazards": list(model.wrap_hazards),
    }
    return Output(model, report)
