"""`marey crowd direct`: a crowd that meets constraints."""

from pathlib import Path
from typing import Literal

from marey.cli._console import describe, warn
from marey.cli._inputs import Given, read
from marey.cli._inputs import scene as scene_of
from marey.cli._options import Figure, Out, Seed, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(
    writes="Tracks",
    views=(".png", ".mp4", ".gif"),
    reports="iterations, seconds, method, constraints, overlap_max_m, control_rms",
)
def direct(
    run: Run,
    scene: str = argument(
        "A preset (rendezvous, letters, transfer, crossing), a scene, or a JSON file.", "SCENE"
    ),
    constraints: Path | None = argument(
        "What people should do, as JSON; a preset has its own.", "CONSTRAINTS", None
    ),
    out: Out | None = option(None, ".csv, .parquet, .sqlite, .mry, .mp4, .png …", "TRACKS"),
    write: Path | None = option(None, "Write the preset's constraints as a file to change.", "FILE.json"),
    method: Literal["auto", "shooting", "collocation", "process1", "process2"] = option(
        "auto", "auto: the better of shooting and collocation; process1 and process2 as published.", "METHOD"
    ),
    iterations: int = option(400, "At most.", "N", min=1),
    runs: int = option(1, "Starts whose mean cost is minimised, for shooting.", "N", min=1, max=64),
    start: Path | None = option(None, "Tracks of an earlier run, .mry, to go on from.", "TRACKS"),
    people: int | None = option(None, "How many people of a scene.", "N", min=1),
    seed: Seed = 0,
    figure: Figure = None,
) -> Output:
    """Make a crowd do what constraints say, by the least control.

    Examples:
        marey crowd direct rendezvous -o meeting.mp4              two people meet behind the others
        marey crowd direct letters -o letters.mry                 two groups pass and form letters
        marey crowd direct letters --write mine.json              its constraints, to change
        marey crowd direct letters mine.json -o mine.mp4
        marey crowd direct corridor mine.json -o tracks.csv --people 40
        marey crowd direct letters mine.json -o more.mry --start letters.mry

    Constraints are places, paths, formations, velocities, vorticity, divergence and density: see the docs.
    Ctrl+C keeps the best so far.
    """
    from marey import crowd
    from marey.crowd.direct import PRESETS, Preview, preset
    from marey.crowd.scenes import SCENES
    from marey.io import direction_json

    if write is not None:
        if scene not in PRESETS or out is not None or constraints is not None:
            raise InputError(f"--write goes with a preset alone: {', '.join(PRESETS)}")
        direction_json.write(preset(scene).constraints, write)
        return Output(report={"path": str(write)}, files=[write], timed=False)
    if out is None:
        raise InputError("give -o TRACKS, or --write FILE.json for the constraints of a preset")
    asked = None if constraints is None else direction_json.read(constraints)
    if scene in PRESETS:
        if people is not None:
            raise InputError("--people: has no effect on a preset, whose people stand at places of their own")
        place: object = preset(scene, seed)
    else:
        if not Path(scene).suffix and scene not in SCENES:
            raise InputError(
                f"there is no scene {scene!r}; presets: {', '.join(PRESETS)}; scenes: {', '.join(SCENES)}; "
                "or give a JSON file"
            )
        whole = scene_of(scene)
        place = whole if people is None else whole.with_people(people)
    before = None if start is None else read(start, Given())

    def tell(now: Preview) -> None:
        errors = ", ".join(f"{error:.3g}" for error in now.errors)
        describe(f"directing: cost {now.cost:.4g}, errors {errors}")

    found = run.call("directing", crowd.direct, place, asked, start=before, preview=tell)
    if found.report.interrupted:
        warn(f"interrupted: {out} holds the best so far; --start {out} goes on from there")
    report = {key: value for key, value in found.report.as_dict().items() if key != "costs"}
    return Output(found.tracks, report, ("directed", found))
