"""`marey surface animate`: new animations of a captured subject, made to order."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from marey.cli._console import warn, warn_of_skate
from marey.cli._options import NUMBER, Graph, Numbers, Out, Parsed, Seed, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from marey.geometry.planar import Behaviour
    from marey.geometry.planar import Path as Curve


def _behaviour(text: str) -> "Behaviour":
    from marey.geometry.planar import LONGEST, Behaviour

    found = re.fullmatch(rf"([^=]+)(?:=({NUMBER}):({NUMBER}))?", text.strip())
    if found is None:
        raise ValueError
    labels = tuple(label.strip() for label in found[1].split(","))
    return Behaviour(labels, float(found[2] or 0.0), float(found[3] or LONGEST))


BehaviourRange = Annotated[
    "Behaviour", Parsed(_behaviour, "write LABEL=A:B, metres along the path, e.g. run=5:12")
]


@command(
    writes="MeshSequence",
    views=(".png", ".mp4", ".gif"),
    reports="frames, captured_frames, path_error, label_violations, time_errors",
)
def animate(
    run: Run,
    graph: Graph,
    out: Out = option(
        ..., "Meshes (.glb, .usdc, .npz, .mry, %04d.obj, …), a clip (.mp4) or an image (.png).", "OUT"
    ),
    path: Path | None = option(
        None, "Follow a curve: columns x, z (or x, y, z) and, if wanted, label.", "P.csv", role="in"
    ),
    poses: Path | None = option(
        None, "Take poses at times: columns pose (SEQ:FRAME) and time (seconds).", "P.csv", role="in"
    ),
    steer: Path | None = option(
        None, "Steered while playing: columns time, x, z (a direction).", "S.csv", role="in"
    ),
    random: bool = option(False, "Without aim: random transitions for --seconds."),
    start: str | None = option(None, "The captured frame to begin with.", "SEQ:FRAME", "--from"),
    end: str | None = option(None, "The captured frame to end with.", "SEQ:FRAME", "--to"),
    seconds: float | None = option(
        None, "How long: with --from and --to, with --steer, or with --random.", "S", above=0, max=3600
    ),
    seed: Seed = 0,
    behaviour: list[BehaviourRange] = option(
        (),
        "What to show from A to B metres of the path: run=5:12; or all along it: walk,turn.",
        "LABEL[=A:B]",
    ),
    follow_vertices: Numbers | None = option(
        None, "Vertices whose middle keeps to the path; else the body's.", "V,V,…"
    ),
    accuracy: float = option(5.0, "Weight of keeping to the path beside few transitions.", "W"),
    tolerance: float = option(
        0.0, "Seconds by which poses may miss their times to deform less.", "S", min=0, max=3600
    ),
    search: Literal["beam", "published"] = option(
        "beam", "published: branch and bound, or from both ends (Boukhayma 2017, 3.5); for small graphs."
    ),
    provenance: Path | None = option(
        None, "Also a table: where each frame comes from, captured or blended.", "P.csv", role="also"
    ),
) -> Output:
    """Animate a captured subject: along a path, through poses, steered or free.

    Examples:
        marey surface animate subject.mry -o walk.glb --path path.csv
        marey surface animate subject.mry -o walk.mp4 --path path.csv --behaviour run=4:9
        marey surface animate subject.mry -o dance.glb --poses keys.csv
        marey surface animate subject.mry -o dance.glb --poses keys.csv --search published
        marey surface animate subject.mry -o go.glb --from walk:10 --to jump:40 --seconds 4
        marey surface animate subject.mry -o steered.mp4 --steer directions.csv --seconds 10
        marey surface animate subject.mry -o about.mp4 --random --seconds 20 --seed 3

    A clip shows captured frames green and blended ones red; an image shows the path from above.
    """
    from marey import surface
    from marey.io import constraints_csv

    if behaviour and path is None:
        raise InputError("--behaviour: goes with --path")
    curve = None if path is None else _curve(path, behaviour)
    keys = None
    if poses is not None:
        frames, times = constraints_csv.read_key_poses(poses, graph.library)
        keys = list(zip(frames, times.tolist(), strict=True))
    made = run.call(
        "animating",
        surface.animate,
        graph,
        path=curve,
        poses=keys,
        steer=None if steer is None else constraints_csv.read_directions(steer),
        follow_vertices=None if follow_vertices is None else [int(vertex) for vertex in follow_vertices],
    )
    if provenance is not None:
        constraints_csv.write_provenance(made, graph.library, provenance)
    report = made.report
    assert report is not None
    if report.label_violations:
        warn(f"{report.label_violations} frames show a behaviour that was not asked for there")
    warn_of_skate(report.foot_skate_ratio)

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, 4)

    facts = {
        "frames": made.sequence.frames,
        "seconds": round(made.sequence.frames / made.sequence.frame_rate, 3),
        "captured_frames": made.provenance.captured_frames,
        "transitions": report.transitions,
        "cost": round(report.cost, 6),
        "path_error": rounded(report.path_error),
        "path_error_max": rounded(report.path_error_max),
        "label_violations": report.label_violations,
        "time_errors": report.time_errors and [round(error, 4) for error in report.time_errors],
        "foot_slide_ratio": round(report.foot_skate_ratio, 3),
    }
    asked = None if curve is None else curve.points[:, 0::2]
    return Output(made, facts, image=("path_from_above", made, {"curve": asked}))


def _curve(path: Path, behaviours: "Sequence[Behaviour]") -> "Curve":
    """The path asked for, with the behaviours of the options in place of its own labels."""
    from marey.io.constraints_csv import read_path

    curve = read_path(path)
    for part in behaviours:
        if part.start >= curve.length:
            labels = ",".join(part.labels)
            raise InputError(
                f"--behaviour {labels}={part.start:g}:{part.stop:g}: the path is {curve.length:.2f} m long"
            )
    return replace(curve, behaviours=tuple(behaviours)) if behaviours else curve
