"""`marey crowd walk`: people of tracks as whole walking bodies."""

from pathlib import Path
from typing import TYPE_CHECKING

from marey.cli._console import stage, warn
from marey.cli._inputs import Given, whole_clip
from marey.cli._options import Crowd, Out, Seed, option
from marey.cli._run import Output, Run, check_ending, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.crowd.tracks import Tracks

BODIES, VIEWS = (".glb", ".gltf"), (".html", ".mp4", ".gif", ".png")


@command(reports="people, slide_cm_s")
def walk(
    run: Run,
    tracks: Crowd,
    out: Out = option(..., "Bodies (.glb, .gltf), a page (.html), .mp4, .gif or .png.", "OUT"),
    walk: list[Path] = option((), "A captured walk or run (.bvh …), once for each clip.", "CLIP", role="in"),
    people: int | None = option(None, "At most this many, taken evenly; all if not given.", "N", min=1),
    seconds: float | None = option(None, "The first S seconds; all if not given.", "S", above=0, max=3600),
    start: float = option(0.0, "Seconds that are left out before.", "S", min=0, max=86_400),
    deviation: float = option(0.3, "How far everyone is from the captured walks, 0 to 1.", "D"),
    frame_rate: float = option(20.0, "Frames per second.", "F"),
    person: int | None = option(None, "Write one of the people as a clip: OUT is .bvh, .csv …", "N"),
    seed: Seed = 0,
) -> Output:
    """Give the people of tracks whole bodies that walk.

    Examples:
        marey crowd walk people.csv -o people.glb
        marey crowd walk people.parquet -o people.html --people 1000 --seconds 20
        marey crowd walk people.csv -o people.glb --walk slow.bvh --walk brisk.bvh --walk run.bvh
        marey crowd walk people.csv -o one.bvh --person 3

    Everyone walks differently, at their speed, feet planted: walks are blended, step length follows speed,
    and people slower than 0.15 m/s stand still.
    """
    from marey import stage as staging
    from marey.io import save
    from marey.views import view

    if person is not None:
        check_ending(out, ["Motion"])
    elif out.suffix.lower() not in BODIES + VIEWS:
        raise InputError(f"{out}: walking bodies are written as {', '.join(BODIES + VIEWS)}")
    clips = [whole_clip(path, Given(raw=True)) for path in walk] or None
    chosen = _chosen(tracks, people, start, seconds)
    crowd = run.call("walking", staging.walk, chosen, clips)
    spent = round(run.seconds, 3)
    if any(crowd.origin):
        x, y = crowd.origin
        warn(f"coordinates are large; bodies are written relative to ({x:.0f}, {y:.0f})")
    with stage(f"writing {out.name}") as progress:
        if person is not None:
            save(crowd.person(person), out)
        elif out.suffix.lower() in BODIES:
            crowd.save(out, progress=progress)
        else:
            view(crowd, out, progress=progress)
    skate, captured = crowd.foot_skate(), crowd.source_skate
    report = {
        "people": crowd.people,
        "frames": crowd.frames,
        "frame_rate": crowd.frame_rate,
        "seconds": round(crowd.duration, 4),
        "slide_cm_s": round(100 * skate, 3),
        "slide_captured_cm_s": round(100 * captured, 3),
        "foot_slide_ratio": round(skate / captured, 4) if captured > 0 else None,
        "path_error": round(crowd.path_error, 4),
        "heights": [round(float(height), 3) for height in (crowd.heights.min(), crowd.heights.max())],
        "seconds_spent": spent,
        "bytes": out.stat().st_size,
    }
    return Output(None, report)


def _chosen(tracks: "Tracks", people: int | None, start: float, seconds: float | None) -> "Tracks":
    """The people and times asked for."""
    first = round(start * tracks.frame_rate)
    if first >= tracks.frames:
        raise InputError(f"--start {start:g}: the tracks end after {tracks.duration:.4g} s")
    last = tracks.frames if seconds is None else first + max(round(seconds * tracks.frame_rate), 2)
    if last > tracks.frames:
        warn(f"the tracks end after {tracks.duration:.4g} s")
    if first > 0 or seconds is not None:
        tracks = tracks[first:last]
    return tracks if people is None else tracks.thinned(people)
