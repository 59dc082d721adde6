"""`marey body fill`: fill gaps of a clip."""

from typing import Literal

from marey.cli._console import warn
from marey.cli._options import Clip, Figure, Gap, Names, Out, Seed, Time, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(writes="Motion", reports="frames_filled, band_cm")
def fill(
    run: Run,
    motion: Clip,
    out: Out,
    gap: list[Gap] = option((), "Frames of IN, A up to, without, B; or times: 1.5s:2s, 800ms:1s.", "A:B"),
    auto: bool = option(False, "Fill where the clip only repeats a frame for over 0.1 s."),
    joints: Names | None = option(None, "Only these are missing; whole frames if not given.", "J1,J2,…"),
    samples: int = option(0, "Also write N alternatives, OUT-1, OUT-2, … beside OUT.", "N", min=0, max=1000),
    method: Literal["joint", "gp", "hermite", "slerp", "linear"] = option("joint", "How gaps are filled."),
    example: list[Clip] = option((), "Another clip of the skeleton to learn from.", "CLIP"),
    seed: Seed = 0,
    figure: Figure = None,
) -> Output:
    """Fill gaps of a clip, with samples of their content and its uncertainty.

    Examples:
        marey body fill take.bvh whole.bvh --gap 120:160
        marey body fill take.bvh whole.bvh --gap 1.2s:1.5s --gap 3s:3.2s --joints LeftArm,LeftForeArm,LeftHand
        marey body fill take.bvh whole.bvh --gap 120:160 --samples 4 --figure band.png
        marey body fill take.bvh whole.bvh --auto --example other_take.bvh

    Frames are numbered as in the file, from 0, also when an artificial T-pose was dropped; times count from
    the first frame kept. What the clip says within a gap is not used. The figure shows the least certain
    joints and their band.
    """
    from marey import body
    from marey.body.fill import find_frozen
    from marey.io import save

    if samples and method not in ("joint", "gp"):
        raise InputError(f"--samples: {method} knows one content only; use joint or gp")
    if not gap and not auto:
        raise InputError("say what is missing: --gap A:B (frames, or 1.5s:2s), or --auto")

    def numbered(frames: tuple[int, int]) -> str:
        return ":".join(str(motion.first_frame + frame) for frame in frames)

    def frame(time: Time) -> int:
        return (
            int(time.value) - motion.first_frame if time.in_frames else round(time.value * motion.frame_rate)
        )

    gaps = [(frame(start), frame(stop)) for start, stop in gap]
    for start, stop in gaps:
        if not 0 <= start < stop <= motion.frames:
            whole = f"frames {numbered((0, motion.frames))} ({motion.duration:.3g} s)"
            raise InputError(
                f"--gap {numbered((start, stop))}: it must begin before it ends, within the clip's {whole}"
            )
    if auto:
        frozen = find_frozen(motion)
        warn(f"{len(frozen)} frozen stretches" + "".join(f" {numbered(one)}" for one in frozen))
        gaps += frozen
    filled = run.call("filling", body.fill, motion, gaps, examples=example)
    others = [out.with_stem(f"{out.stem}-{i}") for i in range(1, samples + 1)]
    for path, sample in zip(others, filled.samples, strict=True):
        save(sample, path)
    report = {
        "frames_filled": filled.frames_filled,
        "band_cm": round(100 * filled.mean_radius, 4),
        "method": method,
        "gaps": [numbered(one) for one in gaps],
    }
    return Output(filled.motion, report, ("credible_bands", filled), files=[out, *others])
