"""`marey convert`: any format to any other."""

from pathlib import Path
from typing import Any

from marey.cli._console import stage, warn
from marey.cli._inputs import cleaned, read, slice_frames
from marey.cli._options import OF_CLIPS, Length, Out, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(reports="kind, frames")
def convert(
    run: Run,
    source: Path = argument("File or folder to read.", "IN", reads=OF_CLIPS),
    out: Out = option(..., "File to write; its ending chooses the format. frames/%04d.obj for many.", "OUT"),
    frame_rate: float | None = option(None, "Resample to this many frames per second.", "F"),
    up: str | None = option(None, "Up axis of the file written.", "y|z"),
    unit: str | None = option(None, "Unit of the file written: m, cm, mm, in, or metres.", "UNIT"),
    faces_from: Path | None = option(
        None, "The OBJ or PLY a point cache moves, if not the one beside it.", "MESH"
    ),
    max_error: Length | None = option(
        None, "Of meshes in GLB: how far a vertex may move for fewer shapes, e.g. 1mm; 0: not.", "LENGTH"
    ),
    mirror: bool = option(False, "Swap left and right."),
) -> Output:
    """Convert any format to any other.

    Examples:
        marey convert walk.bvh walk.glb            open it in Blender or a game engine
        marey convert walk.bvh short.bvh --frames 100:400 --frame-rate 30
        marey convert walk.bvh walk_z.bvh --unit cm --up z
        marey convert 11_01.amc kick.bvh --raw     11.asf is found beside it; T-pose and glitches stay
        marey convert capture.npz frames/pose_%04d.obj
        marey convert cache.pc2 cache.glb --faces-from body.obj
        marey convert photos/ clip.mp4 --from-frame-rate 12
        marey convert obsmat.txt people.parquet

    BVH, ASF/AMC, C3D, glTF, USD, OBJ, PLY, CSV, Parquet, video, images, flow.
    """
    from marey.describe import describe
    from marey.io import format_to_write, save, writable_part

    writes = format_to_write(out).writes  # says so before a long read if there is none
    data = read(source, run.given, faces_from=faces_from)
    if type(data).__name__ == "Character" and "Character" not in writes:
        data = _only_clip(data, out, "Motion" in writes)
    if type(data).__name__ == "Motion":
        data = cleaned(data, source, run.given)
    data = slice_frames(data, run.given["frames"])
    if frame_rate is not None:
        data = _method(data, "resample", "--frame-rate: a {} cannot be resampled")(frame_rate)
    if mirror:
        data = _method(data, "mirror", "--mirror: a {} cannot be mirrored")()
    data = writable_part(data, out)
    with stage(f"writing {out.name}") as progress:
        save(data, out, unit=unit, up=up, max_error=max_error, progress=progress)
    facts = describe(data)
    report = {"kind": facts["kind"], "frames": facts["frames"]}
    if run.json and "cleaning" in run.given:
        report["clean"] = run.given["cleaning"].as_dict()
    return Output(None, report)


def _only_clip(character: Any, out: Path, as_motion: bool) -> Any:
    """The first clip, for a file that holds one: as skeleton motion where the format takes that."""
    if len(character.motions) > 1:
        first, *others = (motion.name for motion in character.motions)
        warn(f"{out} holds one clip, {first}; --clip chooses {' or '.join(others)}")
    return character.motion if as_motion else character.with_motion(character.motion)


def _method(data: Any, name: str, message: str) -> Any:
    if not hasattr(data, name):
        raise InputError(message.format(type(data).__name__))
    return getattr(data, name)
