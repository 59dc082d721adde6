"""`marey crowd simulate`: people walk through a scene by social forces."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.cli._typer import Json, check_folder, emit, note, progress_bar
from marey.cli.crowd._scene_argument import scene_of
from marey.crowd.evaluation import overlaps
from marey.crowd.scene import Scene
from marey.crowd.scenes import SCENES
from marey.crowd.simulation.simulate import SimulatedCrowd, Simulation
from marey.errors import InputError
from marey.io import format_to_write, load, save

NAME = "simulate"

VIEWS = (".png", ".mp4", ".gif")
# Seconds of computing between two checkpoints.
KEEP_EVERY = 30.0
SLOWEST_RATE, FASTEST_RATE = 0.1, 1000.0


def run(
    scene: Annotated[
        str | None, typer.Argument(metavar="SCENE", help=f"{', '.join(SCENES)}, or a JSON file.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="TRACKS", help=".csv, .parquet, .txt, .sqlite, .mry, .mp4, .png …"
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="How long; the scene's own length if left out.")
    ] = None,
    people: Annotated[int | None, typer.Option(metavar="N", help="How many at the start.")] = None,
    speed: Annotated[float, typer.Option(metavar="FACTOR", help="Of everyone's desired speed.")] = 1.0,
    panic: Annotated[
        bool, typer.Option("--panic", help="The dataset's panic: four times the speed.")
    ] = False,
    constants: Annotated[
        str,
        typer.Option(
            metavar="SET",
            help="dataset (pressed bodies), everyday (speeds of real people) or helbing (hard bodies).",
        ),
    ] = "dataset",
    frame_rate: Annotated[float, typer.Option(metavar="F", help="Frames per second of the result.")] = 25.0,
    seed: Annotated[int, typer.Option(metavar="SEED", help="Other seeds give other people.")] = 0,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on from TRACKS if it is a .mry, or from an interrupted run's .part.mry."
        ),
    ] = False,
    names: Annotated[bool, typer.Option("--list", help="Only list the scenes.")] = False,
    json: Json = False,
) -> None:
    """Simulate a crowd by social forces: walls, goals, groups.

    [bold]Examples[/bold]

    marey crowd simulate escape -o escape.csv          through a door

    marey crowd simulate escape --panic -o panic.mp4   four times as fast, a clip

    marey crowd simulate corridor --people 100 -o corridor.sqlite    for PedPy

    marey crowd simulate room.json -o room.mry --seconds 600    your own

    marey crowd simulate room.json -o room.mry --seconds 900 --resume

    marey crowd simulate --list
    """
    if names:
        _list(as_json=json)
        return
    if scene is None or out is None:
        raise InputError(
            f"give a scene ({', '.join(SCENES)}, or a JSON file) and -o TRACKS; --list tells more"
        )
    place = _scene(scene, panic=panic, speed=speed, people=people)
    _check(out, frame_rate)
    length = place.seconds if seconds is None else seconds
    part = out.with_name(f"{out.stem}.part.mry")
    if part.exists() and not resume:
        raise InputError(f"{part}: an interrupted simulation lies there; go on with --resume or delete it")
    begun = _so_far(out, part) if resume else None
    before = 0 if begun is None else begun.person_steps
    going = Simulation(place, frame_rate=frame_rate, rng=seed, parameters=constants, resume=begun)
    started = time.perf_counter()
    _simulate(going, length, part)
    spent = time.perf_counter() - started
    crowd = going.crowd()
    _write(crowd, out)
    part.unlink(missing_ok=True)
    emit(_report(crowd, spent, crowd.person_steps - before, out), as_json=json)


def _scene(text: str, *, panic: bool, speed: float, people: int | None) -> Scene:
    if not 0 < speed <= 20:
        raise InputError(f"--speed {speed:g}: a factor, more than 0 and at most 20")
    place = scene_of(text, panic=panic)
    if people is not None:
        if people < 1:
            raise InputError(f"--people {people}: at least 1")
        place = place.with_people(people)
    return place if speed == 1 else place.faster(speed)


def _check(out: Path, frame_rate: float) -> None:
    """What would fail in the end fails before the work."""
    check_folder(out)
    if not SLOWEST_RATE <= frame_rate <= FASTEST_RATE:
        raise InputError(f"--frame-rate {frame_rate:g}: from {SLOWEST_RATE:g} to {FASTEST_RATE:g}")
    if out.suffix.lower() in VIEWS:
        return
    chosen = format_to_write(out)
    if not {"Tracks", "SimulatedCrowd"} & set(chosen.writes):
        raise InputError(
            f"{out}: a {chosen.title} file cannot hold a crowd; .csv, .parquet, .txt, .sqlite, .data and "
            f".mry can, and {', '.join(VIEWS)} show it"
        )


def _so_far(out: Path, part: Path) -> SimulatedCrowd | None:
    """The crowd to go on from, if there is one."""
    for path in (part, out):
        if path.exists() and path.suffix.lower() == ".mry":
            crowd = load(path)
            if not isinstance(crowd, SimulatedCrowd):
                raise InputError(f"{path}: holds no simulated crowd to go on from")
            return crowd
    return None


def _simulate(going: Simulation, seconds: float, part: Path) -> None:
    """To the end; what is done so far is kept now and then, and when the user interrupts."""
    kept = time.perf_counter()
    with progress_bar("simulating") as progress:
        try:
            for done, total in going.until(seconds):
                progress(done, total)
                if time.perf_counter() - kept > KEEP_EVERY:
                    save(going.crowd(), part)
                    kept = time.perf_counter()
        except KeyboardInterrupt:
            save(going.crowd(), part)
            note(f"interrupted; {part} keeps what is done: go on with --resume")
            raise


def _write(crowd: SimulatedCrowd, out: Path) -> None:
    if out.suffix.lower() not in VIEWS:
        save(crowd, out)
        return
    from marey.views import view

    with progress_bar(f"drawing {out.name}") as progress:
        view(crowd, out, progress=progress)


def _report(crowd: SimulatedCrowd, spent: float, person_steps: int, out: Path) -> dict[str, Any]:
    touching = overlaps(crowd.tracks, crowd.radius, tolerance=1.0)
    speed = np.linalg.norm(crowd.velocities[round(crowd.scene.hold * crowd.frame_rate) :], axis=-1)
    return {
        "people": crowd.agents,
        "steps": crowd.steps,
        "microseconds_per_person_step": round(1e6 * spent / max(person_steps, 1), 3),
        "frames": crowd.frames,
        "frame_rate": crowd.frame_rate,
        "left": crowd.departed,
        "collisions": overlaps(crowd.tracks, crowd.radius).as_dict(),
        "deepest_overlap": round(touching.deepest_share, 3),
        "mean_speed": round(float(np.nanmean(speed)), 3) if np.isfinite(speed).any() else 0.0,
        "seconds": round(spent, 2),
        "path": str(out),
    }


def _list(*, as_json: bool) -> None:
    told = {}
    for name, make in SCENES.items():
        scene = replace(make(), name=name)
        people = sum(group.people for group in scene.groups)
        purpose = (make.__doc__ or "").split(": ", 1)[-1].rstrip(".")
        told[name] = f"{scene.size[0]:g} × {scene.size[1]:g} m, {people} people: {purpose}"
    emit(told, as_json=as_json)
