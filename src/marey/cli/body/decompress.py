"""`marey body decompress`: a compressed clip back as a file of any format for skeleton motion."""

from pathlib import Path

from marey.cli._console import stage
from marey.cli._options import FrameRange, Out, Unit, Up, argument, option
from marey.cli._run import Output, command
from marey.errors import FormatError


@command(writes="Motion", reports="frames, milliseconds_per_frame")
def decompress(
    source: Path = argument("A compressed clip.", "IN.mry", role="in"),
    out: Out = option(..., "File to write; its ending chooses the format.", "OUT"),
    frames: FrameRange | None = option(None, "Only frames A to B-1; only these are decoded.", "A:B"),
    up: Up = None,
    unit: Unit = None,
) -> Output:
    """Get a compressed clip back, whole or in part.

    Examples:
        marey body decompress walk.mry walk.bvh
        marey body decompress walk.mry walk.glb --frames 100:200
    """
    from marey.io import container, save

    if not container.is_compressed(source):
        raise FormatError("not a compressed clip; marey convert reads other files", path=source)
    clip = container.read_compressed(source)
    try:
        clip.decode(0)  # so that compilation is not counted
        with stage("decoding") as decoding:
            motion = clip.decode(frames)
    except FormatError as error:
        raise FormatError(str(error), path=source) from error
    with stage(f"writing {out.name}") as progress:
        save(motion, out, unit=unit, up=up, progress=progress)
    per_frame = round(1e3 * decoding.seconds / motion.frames, 5)
    return Output(None, {"frames": motion.frames, "milliseconds_per_frame": per_frame})
