"""`marey body stream`: characters that move for ever, and how fast."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from marey.cli._console import stage, warn
from marey.cli._inputs import Given, clip
from marey.cli._options import ModelOrClip, Out, Parsed, Seed, option
from marey.cli._run import Output, Run, Values, check_ending, check_place, command, save_files
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.stream import Recording

IMAGES = (".png", ".mp4", ".webm", ".gif")
MAX_DRAWN = 30
# Bytes of coordinates that may be held to be written.
MAX_RECORD = 2 << 30


def _pin(text: str) -> tuple[float, Path, float]:
    moment, equals, rest = text.partition("=")
    path, _, when = rest.rpartition("@")
    if not (equals and rest):
        raise ValueError
    if path and not Path(rest).exists():
        return float(moment), Path(path), float(when)
    return float(moment), Path(rest), 0.0


def _check(values: Values) -> None:
    if values["out"] is not None:
        check_place(values["out"], [path for _, path, _ in values["pin"]])
        _check_kind(values["out"], values["characters"])


@command(reports="frames_per_second", before=_check)
def stream(
    source: ModelOrClip,
    run: Run,
    out: Out | None = option(
        None, "Clip (.bvh, .glb, …), for several a folder of .bvh; clip or image; numbers (.npz).", "OUT"
    ),
    characters: int = option(1, "How many, each on its own.", "N", above=0),
    seconds: float = option(10.0, "How long to simulate.", "S", above=0, max=86_400),
    pin: list[Annotated[tuple[float, Path, float], Parsed(_pin, "write e.g. 1.5=walk.bvh@0.4")]] = option(
        (), "At T seconds all characters are in CLIP's pose at S seconds.", "T=CLIP[@S]"
    ),
    modes: int | None = option(None, "Learning from a clip: numbers a pose has.", "K"),
    decode: bool = option(False, "Make every joint's rotation in every frame too, and time it."),
    seed: Seed = 0,
) -> Output:
    """Let characters move for ever in the manner of one clip.

    Examples:
        marey body stream walk.mry --characters 10000 --seconds 5
        marey body stream walk.mry --seconds 60 -o endless.bvh
        marey body stream walk.mry --characters 12 --seconds 8 -o crowd.mp4
        marey body stream walk.mry --seconds 10 --pin 4=walk.bvh@0.5 -o pinned.glb

    Reports frames per second. No two characters are in step; pinned poses are met without a jump.
    """
    from marey import body
    from marey.body.dynamics import MotionModel

    if not isinstance(source, MotionModel):
        warn(f"learning from {run.path('source').name}; marey body learn keeps the model for later")
        source = run.call("learning", body.learn, source)
    elif modes is not None:
        raise InputError(
            f"--modes {modes}: {run.path('source')} is a model already, with {source.modes} modes"
        )
    if out is not None and seconds * source.frame_rate * characters * source.modes * 8 > MAX_RECORD:
        raise InputError(f"{out}: {characters} characters for {seconds:g} s are too much for one file")
    pins = [(at, clip(path, Given()), moment) for at, path, moment in pin]
    recorded = run.call("simulating", body.stream, source, pin=pins, modes=None, keep=out is not None)
    frames = recorded.frames
    files = [] if out is None else _written(recorded, out)
    report = {
        "frames_per_second": frames / recorded.seconds,
        "characters": characters,
        "modes": source.modes,
        "frames": frames,
        "milliseconds_per_frame": 1e3 * recorded.seconds / frames,
        "times_real_time": frames / source.frame_rate / recorded.seconds,
        "decoded": decode,
    }
    return Output(None, report, files=files)


def _check_kind(out: Path, characters: int) -> None:
    ending = out.suffix.lower()
    if ending in IMAGES and characters > MAX_DRAWN:
        raise InputError(f"{out}: an image has room for {MAX_DRAWN} characters, not {characters}")
    if characters > 1 and ending not in ("", ".npz", *IMAGES):
        raise InputError(f"{out}: several characters are written to a folder (a name without an ending)")
    if characters == 1:
        check_ending(out, ["Motion"], (".npz", *IMAGES))
    elif not ending:
        from marey.io._files import check_target

        check_target(out / "%d.bvh")


def _written(recorded: "Recording", out: Path) -> list[Path]:
    import numpy as np

    from marey.io import save
    from marey.io._files import atomic_write

    ending = out.suffix.lower()
    if ending == ".npz":
        names = ("coordinates", "starts", "headings")
        arrays = {name: getattr(recorded, name) for name in names}
        with atomic_write(out) as draft, draft.open("wb") as file:
            np.savez(file, **arrays, frame_rate=recorded.model.frame_rate)
        return [out]
    clips = recorded.clips()
    if ending in IMAGES:
        from marey.views.render import draw_figures

        shown = clips if len(clips) == 1 or ending != ".png" else [one[one.frames - 1 :] for one in clips]
        with stage(f"drawing {out.name}") as progress:
            draw_figures(shown, out, progress=progress)
    elif len(clips) > 1:
        digits = len(str(len(clips) - 1))
        return save_files(clips, out / "%d.bvh", [f"{n:0{digits}d}.bvh" for n in range(len(clips))])
    else:
        with stage(f"writing {out.name}") as progress:
            save(clips[0], out, progress=progress)
    return [out]
