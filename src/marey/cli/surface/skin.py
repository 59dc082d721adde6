"""`marey surface skin`: skeleton clips on a rigged mesh, as mesh sequences."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from marey.cli._inputs import skinned
from marey.cli._options import OF_CLIPS, Clips, Out, argument, option
from marey.cli._run import Output, Run, Values, check_ending, command
from marey.errors import InputError


def _files(sources: Sequence[Path], out: Path) -> list[Path]:
    """A file a clip: OUT itself, or .npz files in the folder OUT."""
    stems = [path.stem for path in sources]
    if out.suffix and not out.is_dir():
        if len(stems) > 1:
            raise InputError(f"{out}: {len(stems)} clips go to a folder; give a name without an ending")
        return [out]
    if twice := next((stem for stem in stems if stems.count(stem) > 1), None):
        raise InputError(f"two clips are called {twice}: their meshes would have one name; rename one")
    return [out / f"{stem}.npz" for stem in stems]


def _check(values: Values) -> None:
    from marey.io._files import check_folder_target

    out, files = values["out"], _files(values["motions"], values["out"])
    if files == [out]:
        check_ending(out, ["MeshSequence"])
    else:
        check_folder_target(out, [file.name for file in files])


@command(before=_check)
def skin(
    run: Run,
    motions: Clips = argument("Clips of skeletons.", "IN…", reads=(*OF_CLIPS, "character", "vertices")),
    out: Out = option(
        ..., "Of one clip a file (.npz, .zarr, .glb, .usd, .mry); of several a folder, one .npz each.", "OUT"
    ),
    method: Literal["linear", "dual_quaternion"] = option(
        "linear", "linear, or dual_quaternion, which keeps volume in twists.", "METHOD"
    ),
    frame_rate: float = option(30.0, "Frames per second of the meshes.", "F", min=1, max=1000),
) -> Output:
    """Put skeleton clips on a rigged mesh, as mesh sequences.

    Examples:
        marey surface skin walk.bvh -o walk.npz
        marey surface skin walk.bvh run.bvh jump.bvh -o subject --vertices 2000
        marey surface skin walk.bvh -o walk.glb --character hero.glb --method dual_quaternion
        marey surface skin *.bvh -o subject --character mpfb_human --vertices 5000

    Any motion capture becomes 4D data of one subject. Joints are matched by name; the path is scaled to the
    character's legs, and its feet stand on the ground.
    """
    import numpy as np

    from marey.io import save
    from marey.io._files import atomic_write_folder

    sources = run.several("motions")
    files = _files(sources, out)
    clips = [replace(motion, name=path.stem) for motion, path in zip(motions, sources, strict=True)]
    given = run.given
    library = run.call("skinning", skinned, clips, given.character, vertices=given.vertices)
    if files == [out]:
        save(library.sequences[0], out)
    else:
        with atomic_write_folder(out, [file.name for file in files]) as draft:
            for sequence, file in zip(library.sequences, files, strict=True):
                save(sequence, Path(draft) / file.name)
    lowest = np.concatenate([sequence.vertices[..., 1].min(axis=1) for sequence in library.sequences])
    report = {
        "sequences": len(library),
        "frames": library.frames,
        "vertices": library.vertices(0).shape[0],
        "faces": len(library.faces),
        "frame_rate": library.frame_rate,
        "ground_cm": round(100 * float(np.median(lowest)), 3),
        "seconds": round(run.seconds, 4),
    }
    return Output(None, report, files=files)
