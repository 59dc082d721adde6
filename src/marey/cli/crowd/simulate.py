"""`marey crowd simulate`: people walk through a scene by social forces."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from marey.cli._console import warn
from marey.cli._inputs import Given, read
from marey.cli._inputs import scene as scene_of
from marey.cli._options import Out, Seed, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from marey._work import Progress
    from marey.crowd.scenes import Scene
    from marey.crowd.simulation.simulate import SimulatedCrowd, Simulation

# Seconds of computing between two checkpoints.
KEEP_EVERY = 30.0


@command(
    writes=("Tracks", "SimulatedCrowd"),
    views=(".png", ".mp4", ".gif"),
    reports="people, steps, microseconds_per_person_step",
)
def simulate(
    run: Run,
    scene: str | None = argument("Name of a scene (--list), or a JSON file.", "SCENE", None),
    out: Out | None = option(None, ".csv, .parquet, .txt, .sqlite, .mry, .mp4, .png …", "TRACKS"),
    seconds: float | None = option(None, "How long; the scene's own length if left out.", "S"),
    hold: float | None = option(None, "How long people rest at the start; 3 as published.", "S", min=0),
    people: int | None = option(None, "How many at the start.", "N", min=1),
    speed: float = option(1.0, "Factor of everyone's desired speed.", "FACTOR", above=0, max=20),
    panic: bool = option(False, "The dataset's panic: four times the speed."),
    constants: Literal["dataset", "everyday", "helbing"] = option(
        "dataset",
        "dataset (pressed bodies), everyday (speeds of real people) or helbing (hard bodies).",
        "SET",
    ),
    frame_rate: float = option(25.0, "Frames per second of the result.", "F", min=0.1, max=1000),
    seed: Seed = 0,
    resume: bool = option(
        False, "Continue from TRACKS if it is a .mry, or from an interrupted run's .part.mry."
    ),
    list: bool = option(False, "Only list the scenes."),
) -> Output:
    """Simulate a crowd by social forces: walls, goals, groups.

    Examples:
        marey crowd simulate escape -o escape.csv                   through a door
        marey crowd simulate escape --panic -o panic.mp4            four times as fast, a clip
        marey crowd simulate corridor --people 100 -o corridor.sqlite    for PedPy
        marey crowd simulate room.json -o room.mry --seconds 600    your own
        marey crowd simulate room.json -o room.mry --seconds 900 --resume
        marey crowd simulate --list

    Reproducible, and any length in parts.
    """
    from marey.crowd.evaluation.fields import simulation_report
    from marey.crowd.scenes import SCENES
    from marey.crowd.simulation.simulate import Simulation

    if list:
        return Output(report={name: _about(make) for name, make in SCENES.items()}, timed=False)
    if scene is None or out is None:
        raise InputError(
            f"give a scene ({', '.join(SCENES)}, or a JSON file) and -o TRACKS; --list shows them"
        )
    place = scene_of(scene, panic=panic, hold=hold)
    place = place if people is None else place.with_people(people)
    place = place if speed == 1 else place.faster(speed)
    part = out.with_name(f"{out.stem}.part.mry")
    if part.exists() and not resume:
        raise InputError(f"{part}: an interrupted simulation lies there; use --resume or delete it")
    begun = _begun(part, out) if resume else None
    if begun is not None and hold is None:
        place = replace(place, hold=begun.scene.hold)
    simulation = Simulation(place, frame_rate=frame_rate, rng=seed, parameters=constants, resume=begun)
    length = place.seconds if seconds is None else seconds
    run.call("simulating", _finish, simulation, length, part)
    crowd = simulation.crowd()
    part.unlink(missing_ok=True)
    person_steps = crowd.person_steps - (0 if begun is None else begun.person_steps)
    report = {
        **simulation_report(crowd),
        "microseconds_per_person_step": round(1e6 * run.seconds / max(person_steps, 1), 3),
        "seconds": round(run.seconds, 2),
    }
    return Output(crowd, report)


def _begun(*paths: Path) -> "SimulatedCrowd | None":
    """The crowd to continue, if there is one."""
    from marey.crowd import SimulatedCrowd

    for path in paths:
        if path.exists() and path.suffix.lower() == ".mry":
            crowd = read(path, Given())
            if not isinstance(crowd, SimulatedCrowd):
                raise InputError(f"{path}: holds no simulated crowd to go on from")
            return crowd
    return None


def _finish(simulation: "Simulation", seconds: float, part: Path, *, progress: "Progress") -> None:
    """To the end; what is done so far is kept now and then, and when the user interrupts."""
    from marey.io import save

    kept = time.perf_counter()
    try:
        for done, total in simulation.until(seconds):
            progress(done, total)
            if time.perf_counter() - kept > KEEP_EVERY:
                save(simulation.crowd(), part)
                kept = time.perf_counter()
    except KeyboardInterrupt:
        save(simulation.crowd(), part)
        warn(f"interrupted; {part} keeps what is done: go on with --resume")
        raise


def _about(make: "Callable[[], Scene]") -> str:
    scene = make()
    people = sum(group.people for group in scene.groups)
    purpose = (make.__doc__ or "").split(": ", 1)[-1].rstrip(".")
    return f"{scene.size[0]:g} × {scene.size[1]:g} m, {people} people: {purpose}"
