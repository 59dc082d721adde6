"""`marey convert`: any format to any other."""

from pathlib import Path

from marey.cli._inputs import cleaned, first_clip, read, slice_frames
from marey.cli._options import OF_CLIPS, Length, Out, Unit, Up, argument, option
from marey.cli._run import Output, Run, command


@command(reports="kind, frames")
def convert(
    run: Run,
    source: Path = argument("File or folder to read.", "IN", reads=OF_CLIPS),
    out: Out = option(..., "File to write; its ending chooses the format. frames/%04d.obj for many.", "OUT"),
    frame_rate: float | None = option(None, "Resample to this many frames per second.", "F"),
    up: Up = None,
    unit: Unit = None,
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
    from marey.body.motion import Motion
    from marey.character import Character
    from marey.conversion import convert as convert_data
    from marey.describe import info
    from marey.io import format_to_write

    writes = format_to_write(out).writes  # says so before a long read if there is none
    data = read(source, run.given, faces_from=faces_from)
    if isinstance(data, Character) and "Character" not in writes:
        clip = first_clip(data, f"{out} holds")
        data = clip if "Motion" in writes else data.with_motion(clip)
    if isinstance(data, Motion):
        data = cleaned(data, source, run.given)
    data = slice_frames(data, run.given.frames)
    facts = info(run.call(f"writing {out.name}", convert_data, data, out))
    report = {"kind": facts["kind"], "frames": facts["frames"]}
    if run.json and run.given.cleaning is not None:
        report["clean"] = run.given.cleaning.as_dict()
    return Output(None, report)
