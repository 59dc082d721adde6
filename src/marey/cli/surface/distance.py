"""`marey surface distance`: how far every captured pose is from every other."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from marey.cli._inputs import DEFAULT_RATE, clip, library
from marey.cli._options import OF_MESHES, Figure, Out, Triangles, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(writes="DistanceMatrix", reports="frames, seconds")
def distance(
    run: Run,
    sources: list[Path] = argument(
        "Mesh sequences of one subject, or skeleton clips.", "SEQ…", role="in", reads=OF_MESHES
    ),
    out: Out = option(..., "The matrix: .npz, or .mry.", "D.npz"),
    metric: Literal["surface", "surface-2.13", "euclidean", "planar", "skeleton"] = option(
        "surface",
        "surface: triangles turn and stretch; surface-2.13: its first form (Boukhayma 2017); "
        "euclidean: vertices, in metres; planar: as seen from above; skeleton: joints turn.",
        "METRIC",
    ),
    exact: bool = option(False, "Surface metric from every pair's own deformation; slow."),
    triangles: Triangles = None,
    stretch_weight: float = option(0.01, "Weight of stretch beside rotation.", "W"),
    frame_rate: float | None = option(
        None,
        "Frames per second at which skeletons are compared; 30, as they are skinned.",
        "F",
        above=0,
        max=1000,
    ),
    figure: Figure = None,
) -> Output:
    """Distances between all poses of captured sequences.

    Examples:
        marey surface distance walk.npz run.npz jump.npz -o poses.npz
        marey surface distance walk.glb run.glb -o poses.npz --triangles 1000 --figure poses.png
        marey surface distance walk.npz run.npz -o metres.npz --metric euclidean
        marey surface distance walk.bvh run.bvh -o joints.npz --metric skeleton

    Poses are compared wherever they stand and in whatever direction they face. The figure shows the matrix.
    """  # fmt: skip
    from marey import surface
    from marey.body.compare import distance_of_clips
    from marey.surface.distances import mean_strain

    given, stretch = run.given, {}
    surfaces = metric in ("surface", "surface-2.13")
    if not surfaces and (exact or triangles is not None):
        raise InputError(f"--exact and --triangles: for the surface metric, not for {metric}")
    if metric == "skeleton" and (given.character is not None or given.vertices is not None):
        raise InputError("--character and --vertices: for meshes, not for the skeleton metric")
    if metric != "skeleton" and frame_rate is not None:
        raise InputError("--frame-rate: for the skeleton metric; meshes are compared frame by frame")
    if metric == "skeleton":
        # Cleaned and at a rate as those that are skinned, so that both have the same frames.
        clips = [replace(clip(source, given), name=source.stem) for source in sources]
        rate = frame_rate or DEFAULT_RATE
        found = run.call("comparing poses", distance_of_clips, clips, frame_rate=rate)
    else:
        meshes = library(sources, given)
        found = run.call("comparing poses", surface.distance, meshes)
        if surfaces:
            stretch = {"stretch": round(mean_strain(meshes), 4)}
    pairs = found.frames * (found.frames - 1) // 2
    report = {
        "frames": found.frames,
        "sequences": len(found.names),
        "metric": found.metric,
        "seconds": round(run.seconds, 4),
        "pairs_per_second": round(pairs / max(run.seconds, 1e-9)),
        "mean": round(float(found.values.sum(dtype="float64")) / max(2 * pairs, 1), 6),
        "largest": round(float(found.values.max()), 6),
        **stretch,
    }
    return Output(found, report, ("distance_map", found))
