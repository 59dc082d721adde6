"""Meshes out of Universal Scene Description: points with time samples, and prims that move.

All meshes of the stage become one, placed in the world. Frames are the time samples where those are evenly
spaced, else the stage's own frames; USD interpolates in between. Skinned meshes move with their skeletons.
Polygons are cut into fans. Cost: one pass over the points of every frame.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _scratch
from marey._arrays import handed_over
from marey.errors import FormatError, MareyError, MareyWarning
from marey.geometry.convention import Convention, UpAxis, unit_size
from marey.io._files import check_readable
from marey.io._gltf_meshes import display_from_linear
from marey.surface.sequence import MeshSequence

Integers = NDArray[np.int64]

# More frames than an hour at 100 a second come of a slip in the time codes.
MOST_FRAMES = 400_000
UNEVEN = 0.01


@dataclass(frozen=True)
class _Part:
    """One mesh of the stage: its prim, how many points it has, and its triangles.

    corners: `(faces, 3)`, which of the polygons' corners each triangle's are
    """

    mesh: Any
    points: int
    faces: Integers
    corners: Integers


def read_meshes(
    path: Path,
    *,
    frame_rate: float | None,
    unit: str | float | None,
    up: UpAxis | None,
) -> MeshSequence:
    """The meshes of a stage as one sequence."""
    check_readable(path)
    try:
        stage = _opened(path)
        convention = _convention(stage, unit, up)
        parts = [_part(mesh, path) for mesh in _meshes(stage)]
        if not parts:
            raise FormatError("holds no mesh", path=path)
        codes, rate = _frames(stage, parts, frame_rate, path)
        vertices = _placed(stage, parts, codes, convention, path)
        return MeshSequence(
            handed_over(vertices),
            np.concatenate([part.faces + start for part, start in zip(parts, _starts(parts), strict=False)]),
            rate,
            **_appearance(parts),
            convention=convention,
            name=str(stage.GetDefaultPrim().GetName()) if stage.GetDefaultPrim() else path.stem,
        )
    except FormatError:
        raise
    except MareyError as error:
        raise FormatError(str(error), path=path) from error
    except Exception as error:  # the library raises its own errors, many lines long
        raise FormatError(f"cannot be read as USD ({_reason(error)})", path=path) from error


def _reason(error: Exception) -> str:
    try:
        return " ".join(str(error).split())[:160] or type(error).__name__
    except UnicodeDecodeError:  # the library quotes the bytes it did not understand
        return type(error).__name__


def _opened(path: Path) -> Any:
    from pxr import Usd, UsdSkel

    stage = Usd.Stage.Open(str(path))
    # What is baked goes to a layer in memory, never to the file.
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            UsdSkel.BakeSkinning(UsdSkel.Root(prim))
    return stage


def _convention(stage: Any, unit: str | float | None, up: UpAxis | None) -> Convention:
    from pxr import UsdGeom

    own: UpAxis = "z" if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z else "y"
    size = float(UsdGeom.GetStageMetersPerUnit(stage)) if unit is None else unit_size(unit)
    return Convention(size, own if up is None else up)


def _meshes(stage: Any) -> list[Any]:
    """Meshes that are shown; those in prototypes of instances count where they are instanced."""
    from pxr import Usd, UsdGeom

    prims = Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies())
    meshes = [UsdGeom.Mesh(prim) for prim in prims if prim.IsA(UsdGeom.Mesh)]
    shown = [m for m in meshes if m.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)]
    return [m for m in shown or meshes if len(m.GetPointsAttr().Get(Usd.TimeCode.EarliestTime()) or ())]


def _part(mesh: Any, path: Path) -> _Part:
    from pxr import Usd, UsdGeom

    first = Usd.TimeCode.EarliestTime()
    where = mesh.GetPath()
    if mesh.GetFaceVertexIndicesAttr().GetNumTimeSamples() > 1:
        raise FormatError(f"the faces of {where} change over time; a sequence needs constant ones", path=path)
    points = len(mesh.GetPointsAttr().Get(first))
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get(first) or (), dtype=np.int64)
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get(first) or (), dtype=np.int64)
    if counts.sum() != len(indices) or (len(counts) and counts.min() < 0):
        raise FormatError(f"the faces of {where} do not fit together", path=path)
    if len(indices) and not (indices.min() >= 0 and indices.max() < points):
        raise FormatError(f"the faces of {where} refer to points that are not there", path=path)
    corners = fans(counts)
    if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        corners = corners[:, [0, 2, 1]]
    return _Part(mesh, points, indices[corners], corners)


def fans(counts: Integers) -> Integers:
    """Polygons of so many corners as triangles `(triangles, 3)` of their corners, counted through.

    >>> fans(np.array([3, 4])).tolist()
    [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    """
    starts = np.cumsum(counts) - counts
    cut = np.maximum(counts - 2, 0)
    first = np.repeat(starts, cut)
    number = np.arange(cut.sum()) - np.repeat(np.cumsum(cut) - cut, cut)
    return np.stack([first, first + number + 1, first + number + 2], axis=1)


def _frames(
    stage: Any, parts: list[_Part], frame_rate: float | None, path: Path
) -> tuple[NDArray[np.float64], float]:
    """Time codes of the frames, and frames per second."""
    from pxr import UsdGeom

    samples: set[float] = set()
    for part in parts:
        samples.update(part.mesh.GetPointsAttr().GetTimeSamples())
        prim = part.mesh.GetPrim()
        while prim and not prim.IsPseudoRoot():
            if prim.IsA(UsdGeom.Xformable):
                samples.update(UsdGeom.Xformable(prim).GetTimeSamples())
            prim = prim.GetParent()
    codes_per_second = float(stage.GetTimeCodesPerSecond())
    times = np.array(sorted(samples), dtype=np.float64)
    if len(times) < 2:
        return np.array([times[0] if len(times) else 0.0]), frame_rate or float(stage.GetFramesPerSecond())
    gaps = np.diff(times)
    even = np.ptp(gaps) <= UNEVEN * gaps.mean()
    own = codes_per_second / gaps.mean() if even else float(stage.GetFramesPerSecond())
    rate = frame_rate or round(own, 6)
    count = (times[-1] - times[0]) / codes_per_second * rate
    if not 0 <= count <= MOST_FRAMES:
        raise FormatError(f"its time samples make {count:.3g} frames; give a lower frame_rate", path=path)
    if even and rate == round(own, 6):
        return times, rate
    return times[0] + np.arange(int(count + UNEVEN) + 1) * (codes_per_second / rate), rate


def _placed(
    stage: Any,
    parts: list[_Part],
    codes: NDArray[np.float64],
    convention: Convention,
    path: Path,
) -> NDArray[np.float32]:
    from pxr import UsdGeom

    starts = _starts(parts)
    vertices: NDArray[np.float32] = _scratch.empty((len(codes), starts[-1], 3), np.float32)
    cache = UsdGeom.XformCache()
    for frame, code in enumerate(codes):
        cache.SetTime(code)
        for part, start in zip(parts, starts, strict=False):
            points = np.asarray(part.mesh.GetPointsAttr().Get(code), dtype=np.float64)
            if points.shape != (part.points, 3):
                raise FormatError(
                    f"{part.mesh.GetPath()} has {len(points)} points at time code {code:g} and {part.points} "
                    "at first; a sequence needs as many in all frames",
                    path=path,
                )
            # Row vectors: the translation is the last row.
            matrix = np.array(cache.GetLocalToWorldTransform(part.mesh.GetPrim()))
            world = points @ matrix[:3, :3] + matrix[3, :3]
            with np.errstate(over="ignore"):
                vertices[frame, start : start + part.points] = convention.to_marey(world)
    return vertices


def _starts(parts: list[_Part]) -> list[int]:
    return [int(n) for n in np.cumsum([0, *(part.points for part in parts)])]


def _appearance(parts: list[_Part]) -> dict[str, Any]:
    """Texture coordinates and colours, if all parts have them."""
    coordinates = [_uv(part) for part in parts]
    looks: dict[str, Any] = {}
    if all(found is not None for found in coordinates):
        rows, corners = zip(*(found for found in coordinates if found is not None), strict=True)
        starts = np.cumsum([0, *map(len, rows)])
        looks["uv"] = np.concatenate(rows)
        looks["uv_faces"] = np.concatenate([c + s for c, s in zip(corners, starts, strict=False)])
    elif any(found is not None for found in coordinates):
        warnings.warn(MareyWarning("some meshes have no texture coordinates; all are left out"), stacklevel=2)
    colours = [_colours(part) for part in parts]
    if all(found is not None for found in colours):
        looks["colours"] = np.concatenate([found for found in colours if found is not None])
    return looks


def _uv(part: _Part) -> tuple[NDArray[np.float64], Integers] | None:
    """Texture coordinates, and those of each triangle's corners; of the first primvar that holds any."""
    from pxr import Sdf, Usd, UsdGeom

    first = Usd.TimeCode.EarliestTime()
    for primvar in UsdGeom.PrimvarsAPI(part.mesh).GetPrimvarsWithValues():
        kind = primvar.GetTypeName().scalarType
        if kind not in (Sdf.ValueTypeNames.TexCoord2f, Sdf.ValueTypeNames.Float2):
            continue
        values = np.array(primvar.Get(first), dtype=np.float64).reshape(-1, 2)
        indices = np.array(primvar.GetIndices(first) or np.arange(len(values)), dtype=np.int64)
        wanted = part.corners if primvar.GetInterpolation() == UsdGeom.Tokens.faceVarying else part.faces
        if wanted.size and wanted.max() < len(indices):
            chosen = indices[wanted]
            if chosen.min() >= 0 and chosen.max() < len(values):
                return values, chosen
    return None


def _colours(part: _Part) -> NDArray[np.float64] | None:
    from pxr import Usd

    flat = part.mesh.GetDisplayColorPrimvar().ComputeFlattened(Usd.TimeCode.EarliestTime())
    values = np.array(flat if flat is not None else (), dtype=np.float64).reshape(-1, 3)
    return display_from_linear(values) if len(values) == part.points else None
