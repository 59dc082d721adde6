"""`marey body stream`: characters that move for ever, and how fast."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.stream import MotionStream
from marey.cli._typer import Json, check_apart, check_folder, emit, load_with_bar, note, progress_bar
from marey.cli.body._inputs import figure_of, frame_at, load_clip
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.io._files import atomic_write, atomic_write_files, check_target

NAME = "stream"

Array = NDArray[np.float64]

FILMS, PICTURES = (".mp4", ".webm", ".gif"), (".png",)
NUMBERED = "%d.bvh"
SIZE = (1280, 720)
MOST_DRAWN = 30
# Seconds, a day: nobody waits for more.
LONGEST = 86_400.0
# Bytes of coordinates that may be held to be written.
LARGEST_RECORD = 2 << 30
EXAMPLE = "1.5=walk.bvh@0.4"


def run(
    source: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model of marey body learn, or a clip to learn from.")
    ],
    characters: Annotated[int, typer.Option(metavar="N", help="How many, each on its own.")] = 1,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long to simulate.")] = 10.0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="Clip (.bvh, .glb, …), several: a folder of .bvh; film; picture; numbers (.npz).",
        ),
    ] = None,
    pin: Annotated[
        list[str] | None,
        typer.Option(metavar="T=CLIP[@S]", help="At T seconds everybody is in CLIP's pose at S seconds."),
    ] = None,
    modes: Annotated[
        int | None, typer.Option(metavar="K", help="Learning from a clip: numbers a pose has.")
    ] = None,
    decode: Annotated[
        bool, typer.Option("--decode", help="Make every joint's rotation in every frame too, and time it.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same motion.")] = 0,
    json: Json = False,
) -> None:
    """Let characters move for ever in the manner of one clip.

    [bold]Examples[/bold]

    marey body stream walk.mry --characters 10000 --seconds 5

    marey body stream walk.mry --seconds 60 -o endless.bvh

    marey body stream walk.mry --characters 12 --seconds 8 -o crowd.mp4

    marey body stream walk.mry --seconds 10 --pin 4=walk.bvh@0.5 -o pinned.glb

    Nobody is in step with another; poses that are asked for are met without a jump.
    """
    if characters < 1 or not 0 < seconds <= LONGEST:
        raise InputError(f"give --characters N above 0 and --seconds S above 0, up to {LONGEST:g}")
    if seed < 0:
        raise InputError(f"--seed {seed}: not below 0")
    _check_out(out, characters)
    pins = [_parsed_pin(text) for text in pin or []]
    if out is not None:
        check_apart(out, source, *(path for _, path, _ in pins))
    model = _model(source, modes)
    frames = max(1, round(seconds * model.frame_rate))
    if out is not None and frames * characters * model.modes * 8 > LARGEST_RECORD:
        raise InputError(f"{out}: {characters} characters for {seconds:g} s are too much for one file")
    stream = MotionStream(model, np.random.default_rng(seed), characters=characters)
    for at, path, moment in pins:
        if not 0 <= at <= seconds:
            raise InputError(f"--pin {at:g}={path}: the simulation goes from 0 to {seconds:g} seconds")
        pose = load_clip(path)
        stream.constrain_pose(at, model.poses.encode(pose)[frame_at(pose, moment, f"{path} at")])
    made, elapsed = _simulated(stream, frames, decode, record=out is not None)
    if out is not None and made is not None:
        _write(stream, made, out)
    result = {
        "frames_per_second": frames / elapsed,
        "characters": characters,
        "modes": model.modes,
        "frames": frames,
        "milliseconds_per_frame": 1e3 * elapsed / frames,
        "times_real_time": frames / model.frame_rate / elapsed,
        "decoded": decode,
        "out": None if out is None else str(out),
    }
    emit(result, as_json=json, title=f"{source}: {characters} character{'s' * (characters > 1)}")


class _Made:
    """What a simulation left: coordinates `(frames, characters, modes)`, and where each began."""

    def __init__(self, coordinates: Array, starts: Array, headings: Array) -> None:
        self.coordinates, self.starts, self.headings = coordinates, starts, headings


def _simulated(
    stream: MotionStream, frames: int, decode: bool, *, record: bool
) -> tuple[_Made | None, float]:
    """Run; the time includes neither what is kept for writing nor the first frame, when code is compiled."""
    starts, headings = stream.upcoming()
    kept = np.empty((frames if record else 0, stream.characters, stream.model.modes))
    elapsed = 0.0
    with progress_bar("simulating") as progress:
        for t in range(frames):
            before = time.perf_counter()
            coordinates = stream.step()
            if decode:
                stream.poses()
            elapsed += time.perf_counter() - before if t or frames == 1 else 0.0
            if record:
                kept[t] = coordinates
            progress(t + 1, frames)
    elapsed *= frames / max(frames - 1, 1)
    return (_Made(kept, starts, headings) if record else None), elapsed


def _write(stream: MotionStream, made: _Made, out: Path) -> None:
    ending = out.suffix.lower()
    if ending == ".npz":
        with atomic_write(out) as draft, draft.open("wb") as file:
            np.savez(
                file,
                coordinates=made.coordinates,
                starts=made.starts,
                headings=made.headings,
                frame_rate=stream.model.frame_rate,
            )
        return
    poses, rate = stream.model.poses, stream.model.frame_rate
    clips = [
        poses.decode_motion(
            made.coordinates[:, n], rate, start=made.starts[n], heading=float(made.headings[n])
        )
        for n in range(stream.characters)
    ]
    if ending in FILMS + PICTURES:
        _draw(clips, out)
    elif len(clips) == 1:
        with progress_bar(f"writing {out.name}") as progress:
            save(clips[0], out, progress=progress)
    else:
        names = [f"{n:0{len(str(len(clips) - 1))}d}.bvh" for n in range(len(clips))]
        with (
            atomic_write_files(out / NUMBERED, names) as draft,
            progress_bar(f"writing {out.name}") as progress,
        ):
            for n, (clip, name) in enumerate(zip(clips, names, strict=True)):
                save(clip, draft / name)
                progress(n + 1, len(clips))


def _draw(clips: list[Motion], out: Path) -> None:
    from marey.io.images import encode_image
    from marey.io.video import write_frames
    from marey.views.actors import group
    from marey.views.render import clip_rate
    from marey.views.shots import clip, strip

    if out.suffix.lower() in PICTURES:
        shown = clips if len(clips) == 1 else [one[one.frames - 1 :] for one in clips]
        with atomic_write(out) as draft:
            draft.write_bytes(encode_image(strip(group(shown), SIZE), out.suffix))
        return
    rate = clip_rate(clips[0].frame_rate)
    shown = [one if np.isclose(rate, one.frame_rate) else one.resample(rate) for one in clips]
    with progress_bar(f"drawing {out.name}") as progress:
        images = clip(group(shown), SIZE)
        write_frames(images, out, frame_rate=rate, progress=progress, total=shown[0].frames)


def _check_out(out: Path | None, characters: int) -> None:
    if out is None:
        return
    ending = out.suffix.lower()
    check_folder(out)
    if ending in FILMS + PICTURES:
        if characters > MOST_DRAWN:
            raise InputError(f"{out}: a picture has room for {MOST_DRAWN} characters, not {characters}")
    elif characters > 1 and ending not in ("", ".npz"):
        raise InputError(f"{out}: several characters are written to a folder (a name without an ending)")
    elif characters > 1 and ending == "":
        check_target(out / NUMBERED)
    elif ending != ".npz" and (characters == 1 and "Motion" not in format_to_write(out).writes):
        raise InputError(f"{out}: write a clip (.bvh, .glb, .usd, .mry), a film, a picture or .npz")


def _model(source: Path, modes: int | None) -> MotionModel:
    thing = load_with_bar(source, clip=None)
    if isinstance(thing, MotionModel):
        if modes is not None:
            raise InputError(f"--modes {modes}: {source} is a model already, with {thing.modes} modes")
        return thing
    if isinstance(thing, PoseModel):
        raise InputError(f"{source}: a pose model does not tell how poses follow; see marey body learn")
    motion = figure_of(thing, source, raw=False)
    note(f"learning from {source.name}; marey body learn keeps the model for later")
    with progress_bar("learning"):
        return MotionModel.fit(motion, modes=modes)


def _parsed_pin(text: str) -> tuple[float, Path, float]:
    moment, equals, rest = text.partition("=")
    path, at, when = rest.rpartition("@")
    try:
        if not (equals and rest):
            raise ValueError
        return float(moment), Path(path if at else rest), float(when) if at else 0.0
    except ValueError:
        raise InputError(f"--pin {text}: write e.g. {EXAMPLE}") from None
