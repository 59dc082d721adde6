"""Universal Scene Description: mesh sequences in and out as moving points; motions, characters out.

Needs the extra `usd`. All meshes of a stage are read as one, placed in the world; frames are the time samples
where those are evenly spaced and six a second at least, else the stage's own; USD interpolates in between.
Skinned meshes move with their skeletons, polygons are cut into fans. Written are metres, y up; frame i is
time code i. Several materials become one image (`_atlas`); an image goes beside the layer, with `_texture` at
the end of its name. Cost: linear in the arrays.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey import _arrays
from marey._arrays import Array, FloatArray, IntArray, Integers, read_only
from marey.body.kinematics import local_positions
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import FormatError, InputError, MareyError, MareyWarning, require
from marey.geometry import rotations as rot
from marey.geometry.colour import from_srgb, to_srgb
from marey.geometry.convention import UNITS, Convention, UpAxis, unit_size
from marey.geometry.mesh import fans
from marey.io import _isolated
from marey.io._atlas import Look
from marey.io._files import Untyped, atomic_write, atomic_write_files, check_readable, quoted, unique_names
from marey.io._gltf_nodes import even_rate
from marey.io._limits import LIMITS
from marey.io._meshes import IMAGE_MARK, Mesh, image_ending, image_type, with_materials
from marey.io._rig import bones, local_at_rest, pose_of_bind, with_single_bindings, world_at_rest
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh

with suppress(ImportError):  # without the extra, `read` and `write` say what to install
    from pxr import Ar, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdSkel, Vt

UNSAVED_BYTES = 256 << 20

# A sound file is read at over 20 MB a second; frames go to disk.
ALLOWANCE = _isolated.Allowance(60.0, 1e6, reserved_bytes=2 << 30, bytes_per_byte=20, memory="DATA")

UNEVEN = 0.01


def read(
    path: Path,
    *,
    frame_rate: float | None = None,
    unit: str | float | None = None,
    up: UpAxis | None = None,
) -> MeshSequence:
    """The meshes of a stage as one sequence, in the world; skinned ones as their skeletons move them.

    They are read in a process of its own: a damaged file can make the native library take all memory.

    frame_rate: if None, that of the time samples, or of the stage where they are uneven
    unit, up: if None, as the stage says, which is centimetres where it says nothing

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.usda"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> read(path).frames, read(path).frame_rate
    (2, 25.0)
    """
    require("pxr", extra="usd")
    path = Path(path)
    check_readable(path)
    options = {"frame_rate": frame_rate, "unit": unit, "up": up}
    return _isolated.read(read_meshes, path, ALLOWANCE, kind="USD", **options)


def write(data: Character | Motion | MeshSequence, path: Path) -> None:
    """Write `.usdc` or `.usd` (binary) or `.usda` (text).

    A motion comes with a figure of simple bones, so that there is something to see. Of a character's
    motions the first plays; the others are beside it under their names.

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.usda"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> "timeCodesPerSecond = 25" in path.read_text()
    True
    """
    require("pxr", extra="usd")
    path, image = Path(path), _image(data)
    beside = {} if image is None else {f"{path.stem}{IMAGE_MARK}{image_ending(image)}": image.encoded()}
    with atomic_write_files(path, [path.name, *beside]) if beside else atomic_write(path) as draft:
        try:
            for name, encoded in beside.items():
                (draft / name).write_bytes(encoded)
            _write(data, draft / path.name if beside else draft, next(iter(beside), None))
        except Tf.ErrorException as error:
            raise InputError(f"{path}: cannot be written: is the disk full?") from error


def _image(data: Character | Motion | MeshSequence) -> Texture | None:
    """The image that is written: a layer has one for all frames."""
    if isinstance(data, MeshSequence):
        if len(data.textures) > 1:
            note = "USD files of marey have one image; that of the first frame is written"
            warnings.warn(MareyWarning(note), stacklevel=3)
        return data.texture(0)
    return data.skin.texture if isinstance(data, Character) else None


def _write(data: Character | Motion | MeshSequence, path: Path, image: str | None) -> None:
    stage = Usd.Stage.CreateNew(str(path))
    clip = data.motion if isinstance(data, Character) else data
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(clip.frame_rate)
    stage.SetFramesPerSecond(clip.frame_rate)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(clip.frames - 1)
    if isinstance(data, MeshSequence):
        mesh = _write_sequence(stage, data)
    elif isinstance(data, Motion):
        mesh = _write_motion(stage, data)
    else:
        mesh = _write_character(stage, data)
    if image is not None:
        _set_image(stage, mesh, image)
    stage.GetRootLayer().Save()


def _write_sequence(stage: Untyped, sequence: MeshSequence) -> Untyped:
    mesh = UsdGeom.Mesh.Define(stage, f"/{_identifier(sequence.name, 'sequence')}")
    stage.SetDefaultPrim(mesh.GetPrim())
    unsaved = 0
    for frame, vertices in enumerate(sequence.vertices):
        points = vertices.astype(np.float32)
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(points), frame)
        extent = np.stack([points.min(axis=0), points.max(axis=0)])
        mesh.GetExtentAttr().Set(Vt.Vec3fArray.FromNumpy(extent), frame)
        unsaved += points.nbytes
        if unsaved > UNSAVED_BYTES:
            # What is saved in the binary form leaves memory.
            stage.GetRootLayer().Save()
            unsaved = 0
    _set_faces(mesh, sequence.faces)
    _set_appearance(mesh, sequence)
    return mesh


def _write_motion(stage: Untyped, motion: Motion) -> Untyped:
    identity, root = rot.identity(motion.joints), motion.skeleton.offsets[0]
    rest, bind = (place(motion.skeleton, identity, root) for place in (local_at_rest, world_at_rest))
    top = _write_rig(stage, motion.skeleton, rest, bind, (motion,), motion.name)
    corners, joints = bones(motion)
    faces = np.arange(len(corners)).reshape(-1, 3)
    mesh = _write_mesh(stage, top, "bones", corners + bind[joints, :3, 3], faces)
    _bind_mesh(mesh, joints[:, None], np.ones((len(joints), 1)))
    return mesh


def _write_character(stage: Untyped, character: Character) -> Untyped:
    character = with_single_bindings(character)
    skin, skeleton = character.skin, character.motion.skeleton
    rotations, root = pose_of_bind(skin, skeleton)
    rest = local_at_rest(skeleton, rotations, root)
    bind = world_at_rest(skeleton, rotations, root)
    slots = skeleton.indices(skin.joint_names)
    bind[slots] = skin.bind
    top = _write_rig(stage, skeleton, rest, bind, character.motions, character.name)
    mesh = _write_mesh(stage, top, "skin", skin.vertices, skin.faces)
    _set_appearance(mesh, skin)
    _bind_mesh(mesh, np.array(slots)[skin.influences], skin.weights)
    return mesh


def _write_rig(
    stage: Untyped, skeleton: Skeleton, rest: Array, bind: Array, motions: tuple[Motion, ...], name: str
) -> str:
    """A skeleton and its animations below a new SkelRoot, whose path is returned."""
    top = f"/{_identifier(name, 'character')}"
    root = UsdSkel.Root.Define(stage, top)
    stage.SetDefaultPrim(root.GetPrim())
    paths = _joint_paths(skeleton)
    rig = UsdSkel.Skeleton.Define(stage, f"{top}/skeleton")
    rig.GetJointsAttr().Set(Vt.TokenArray(paths))
    rig.GetRestTransformsAttr().Set(_matrices(rest))
    rig.GetBindTransformsAttr().Set(_matrices(bind))
    names = unique_names([_identifier(motion.name, "motion") for motion in motions])
    for number, (motion, clip) in enumerate(zip(motions, names)):
        animation = UsdSkel.Animation.Define(stage, f"{top}/skeleton/{clip}")
        animation.GetJointsAttr().Set(Vt.TokenArray(paths))
        _set_motion(animation, motion, motions[0].frame_rate)
        if number == 0:
            binding = UsdSkel.BindingAPI.Apply(rig.GetPrim())
            binding.CreateAnimationSourceRel().SetTargets([animation.GetPrim().GetPath()])
    return top


def _set_motion(animation: Untyped, motion: Motion, codes_per_second: float) -> None:
    turns = np.roll(rot.continuous(motion.rotations, axis=0), -1, axis=-1).astype(np.float32)
    places = local_positions(motion).astype(np.float32)
    animation.GetScalesAttr().Set(Vt.Vec3hArray.FromNumpy(np.ones((motion.joints, 3), dtype=np.float16)))
    for frame in range(motion.frames):
        code = frame * codes_per_second / motion.frame_rate
        animation.GetRotationsAttr().Set(Vt.QuatfArray.FromNumpy(turns[frame]), code)
        animation.GetTranslationsAttr().Set(Vt.Vec3fArray.FromNumpy(places[frame]), code)


def _write_mesh(stage: Untyped, top: str, name: str, vertices: FloatArray, faces: IntArray) -> Untyped:
    mesh = UsdGeom.Mesh.Define(stage, f"{top}/{name}")
    mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(vertices.astype(np.float32)))
    _set_faces(mesh, faces)
    return mesh


def _bind_mesh(mesh: Untyped, influences: IntArray, weights: FloatArray) -> None:
    """Bind a mesh to the skeleton beside it; influences are joints of that."""
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([mesh.GetPath().GetParentPath().AppendChild("skeleton")])
    columns = influences.shape[1]
    indices = Vt.IntArray.FromNumpy(np.ascontiguousarray(influences, dtype=np.int32).reshape(-1))
    binding.CreateJointIndicesPrimvar(False, columns).Set(indices)
    shares = Vt.FloatArray.FromNumpy(np.ascontiguousarray(weights, dtype=np.float32).reshape(-1))
    binding.CreateJointWeightsPrimvar(False, columns).Set(shares)


def _set_faces(mesh: Untyped, faces: IntArray) -> None:
    mesh.GetFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(np.full(len(faces), 3, dtype=np.int32)))
    mesh.GetFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(faces.astype(np.int32).reshape(-1)))
    mesh.GetSubdivisionSchemeAttr().Set(UsdGeom.Tokens.none)


def _set_appearance(mesh: Untyped, look: MeshSequence | SkinnedMesh) -> None:
    if look.colours is not None:
        light = from_srgb(look.colours).astype(np.float32)
        mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(Vt.Vec3fArray.FromNumpy(light))
    if look.uv is not None and look.uv_faces is not None:
        primvars = UsdGeom.PrimvarsAPI(mesh)
        st = primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying)
        st.Set(Vt.Vec2fArray.FromNumpy(look.uv.astype(np.float32)))
        st.SetIndices(Vt.IntArray.FromNumpy(look.uv_faces.astype(np.int32).reshape(-1)))


def _set_image(stage: Untyped, mesh: Untyped, image: str) -> None:
    """A material whose diffuse colour is an image beside the layer, as USD's own preview shaders read it."""
    kinds = Sdf.ValueTypeNames
    material = UsdShade.Material.Define(stage, mesh.GetPath().AppendChild("material"))
    nodes = {}
    for name, shader in (
        ("surface", "UsdPreviewSurface"),
        ("image", "UsdUVTexture"),
        ("uv", "UsdPrimvarReader_float2"),
    ):
        nodes[name] = UsdShade.Shader.Define(stage, material.GetPath().AppendChild(name))
        nodes[name].CreateIdAttr(shader)
    nodes["uv"].CreateInput("varname", kinds.String).Set("st")
    nodes["image"].CreateInput("file", kinds.Asset).Set(f"./{image}")
    nodes["image"].CreateInput("sourceColorSpace", kinds.Token).Set("sRGB")
    coordinates = nodes["uv"].CreateOutput("result", kinds.Float2)
    nodes["image"].CreateInput("st", kinds.Float2).ConnectToSource(coordinates)
    colour = nodes["image"].CreateOutput("rgb", kinds.Float3)
    nodes["surface"].CreateInput("diffuseColor", kinds.Color3f).ConnectToSource(colour)
    nodes["surface"].CreateInput("roughness", kinds.Float).Set(1.0)
    surface = nodes["surface"].CreateOutput("surface", kinds.Token)
    material.CreateSurfaceOutput().ConnectToSource(surface)
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)


def _matrices(transforms: Array) -> Untyped:
    """USD multiplies row vectors: its matrices are the transposes of ours."""
    return Vt.Matrix4dArray.FromNumpy(np.ascontiguousarray(np.swapaxes(transforms, -1, -2)))


def _joint_paths(skeleton: Skeleton) -> list[str]:
    """Paths such as `Hips/Spine/Neck`; names become identifiers and stay different."""
    paths: list[str] = []
    names = unique_names([_identifier(name, "joint") for name in skeleton.names])
    for own, parent in zip(names, skeleton.parents):
        paths.append(own if parent < 0 else f"{paths[parent]}/{own}")
    return paths


def _identifier(name: str, default: str) -> str:
    return str(Tf.MakeValidIdentifier(name)) if name else default


@dataclass(frozen=True)
class _Part:
    """One mesh of the stage: its prim, how many points it has, and its triangles.

    corners: `(faces, 3)`, which of the polygons' corners each triangle's are
    polygons: `(faces,)`, which of the polygons each triangle is of
    """

    mesh: Untyped
    points: int
    faces: Integers
    corners: Integers
    polygons: Integers


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
        root, outside = _without_outside(path)
        stage = _opened(root, path)
        convention = _convention(stage, unit, up)
        parts = [_part(mesh, path) for mesh in _meshes(stage)]
        if not parts:
            drawn = (prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Gprim))
            shapes = [str(prim.GetTypeName()) for prim in drawn if not prim.IsA(UsdGeom.Mesh)]
            why = f", but a {shapes[0]}, which is not read" if shapes else ""
            raise FormatError(f"holds no mesh{why}{_outside(outside)}", path=path)
        if outside:
            warnings.warn(MareyWarning(_outside(outside).removeprefix("; ")), stacklevel=2)
        codes, rate = _frames(stage, parts, frame_rate, path)
        vertices = _placed(stage, parts, codes, convention, path)
        look = _appearance(parts, vertices[0], path)
        return MeshSequence(
            read_only(vertices),
            look.faces,
            rate,
            uv=look.uv,
            uv_faces=look.uv_faces,
            colours=look.colours,
            textures=() if look.texture is None else (look.texture,),
            convention=convention,
            name=str(stage.GetDefaultPrim().GetName()) if stage.GetDefaultPrim() else path.stem,
        )
    except FormatError:
        raise
    except MareyError as error:
        raise FormatError(str(error), path=path) from error
    except Exception as error:  # the library raises its own errors, many lines long
        raise FormatError(f"cannot be read as USD ({_reason(error, path)})", path=path) from error


def _reason(error: Exception, path: Path) -> str:
    try:
        # The library says where in its code each error was found, then what: the first is the cause.
        text = " ".join(str(error).split()).replace(str(path), path.name)
        return (re.findall(r" : '(.*?)'(?= |$)", text) or [text])[0][:160] or type(error).__name__
    except UnicodeDecodeError:  # the library quotes the bytes it did not understand
        return type(error).__name__


def _without_outside(path: Path) -> tuple[Untyped, list[str]]:
    """The layer of a file, in memory without references out of its folder, and what these were."""
    root, home = Sdf.Layer.FindOrOpen(str(path)), path.parent.resolve()
    if root is None:
        raise FormatError("holds no USD layer at its beginning", path=path)
    waiting, known, outside = [root], set[str](), list[str]()
    while waiting:
        layer = waiting.pop()
        for asset in filter(None, layer.GetCompositionAssetDependencies()):
            place = str(Sdf.ComputeAssetPathRelativeToLayer(layer, asset))
            file = Path(place.partition("[")[0]).resolve()
            if not file.is_relative_to(home):
                if not layer.UpdateCompositionAssetDependency(asset, ""):
                    raise FormatError(f"refers to {quoted(asset)}, which lies outside its folder", path=path)
                outside += [asset] if "://" in asset or file.exists() else []
            elif place not in known:
                known.add(place)
                with suppress(Tf.ErrorException):  # is missing or damaged, which the stage passes over
                    waiting += filter(None, [Sdf.Layer.FindOrOpen(place)])
    return root, outside


def _outside(assets: list[str]) -> str:
    if not assets:
        return ""
    return (
        f"; refers to {quoted(assets[0])}, outside its folder, which is not opened (usdcat --flatten joins)"
    )


def _opened(root: Untyped, path: Path) -> Untyped:
    stage = Usd.Stage.Open(root)
    codes_per_second = float(stage.GetTimeCodesPerSecond())
    if not 0 < codes_per_second < float("inf"):
        raise FormatError(f"its timeCodesPerSecond is {codes_per_second:g}", path=path)
    # What is baked goes to a layer in memory, never to the file; without its rate, times would be scaled.
    stage.GetSessionLayer().timeCodesPerSecond = codes_per_second
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            UsdSkel.BakeSkinning(UsdSkel.Root(prim))
    return stage


def _convention(stage: Untyped, unit: str | float | None, up: UpAxis | None) -> Convention:
    own: UpAxis = "z" if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z else "y"
    stated = float(stage.GetMetadata("metersPerUnit"))  # of 32 bits in some files
    # A float of 32 bits is 0.01 but for rounding.
    known = next((size for size in UNITS.values() if abs(stated - size) < 1e-6 * size), stated)
    return Convention(known if unit is None else unit_size(unit), own if up is None else up)


def _meshes(stage: Untyped) -> list[Untyped]:
    """Meshes that are shown; those in prototypes of instances count where they are instanced."""
    prims = Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies())
    meshes = [UsdGeom.Mesh(prim) for prim in prims if prim.IsA(UsdGeom.Mesh)]
    purposes = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    visible = [m for m in meshes if m.ComputeVisibility() != UsdGeom.Tokens.invisible]
    shown = [m for m in visible if m.ComputePurpose() in purposes]
    points = (mesh.GetPointsAttr().Get(Usd.TimeCode.EarliestTime()) for mesh in shown or meshes)
    return [
        m for m, p in zip(shown or meshes, points, strict=True) if isinstance(p, Vt.Vec3fArray) and len(p)
    ]


def _part(mesh: Untyped, path: Path) -> _Part:
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
    corners = fans(counts).astype(np.int64, copy=False)
    mirrored = mesh.ComputeLocalToWorldTransform(first).GetDeterminant() < 0
    if mirrored != (mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded):
        corners = corners[:, [0, 2, 1]]
    polygons = np.repeat(np.arange(len(counts)), counts)[corners[:, 0]]
    return _Part(mesh, points, indices[corners], corners, polygons)


def _frames(
    stage: Untyped, parts: list[_Part], frame_rate: float | None, path: Path
) -> tuple[NDArray[np.float64], float]:
    """Time codes of the frames, and frames per second."""
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
    own = even_rate(times / codes_per_second)
    rate = frame_rate or own or round(float(stage.GetFramesPerSecond()), 6)
    count = (times[-1] - times[0]) / codes_per_second * rate
    if not 0 <= count <= max(LIMITS.frames, 2 * len(times)):
        raise FormatError(
            f"its time samples make {count:.3g} frames; give a lower frame_rate (--from-frame-rate)",
            path=path,
        )
    if own == rate and len(times) == round(count) + 1:
        return times, rate
    return times[0] + np.arange(int(count + UNEVEN) + 1) * (codes_per_second / rate), rate


def _placed(
    stage: Untyped,
    parts: list[_Part],
    codes: NDArray[np.float64],
    convention: Convention,
    path: Path,
) -> NDArray[np.float32]:
    starts = _starts(parts)
    vertices: NDArray[np.float32] = _arrays.empty((len(codes), starts[-1], 3), np.float32)
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


def _appearance(parts: list[_Part], vertices: Array, path: Path) -> Mesh:
    """All parts as one mesh, with the image or the colours of their materials."""
    starts = _starts(parts)
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)])
    rows, corners, used, bare = [np.zeros((1, 2))], [], [], []
    looks: list[Look] = []
    count = 1  # the first texture coordinates are of parts that have none
    for part in parts:
        uv, chosen = _uv(part) or (np.empty((0, 2)), np.full_like(part.faces, -count))
        rows.append(uv)
        corners.append(chosen + count)
        bare.append(np.full(len(part.faces), not len(uv)))
        own, numbers = _looks(part, path)
        used.append(numbers + len(looks))
        looks += own
        count += len(uv)
    colours = [_colours(part) for part in parts]
    without = np.concatenate(bare)
    spare = int(not without.any())
    uv, uv_faces = np.concatenate(rows)[spare:], np.concatenate(corners) - spare
    mesh = Mesh(
        vertices,
        faces,
        uv=None if without.all() else uv,
        uv_faces=None if without.all() else uv_faces,
        colours=np.concatenate(colours) if all(one is not None for one in colours) else None,  # type: ignore[arg-type]
    )
    return with_materials(mesh, looks, np.concatenate(used), uv[uv_faces], without)


def _looks(part: _Part, path: Path) -> tuple[list[Look], Integers]:
    """The materials of a mesh and of its subsets, and which one each triangle has."""
    binding = UsdShade.MaterialBindingAPI(part.mesh)
    looks, used = [_look(binding.ComputeBoundMaterial()[0], path)], np.zeros(len(part.faces), np.int64)
    for subset in binding.GetMaterialBindSubsets():
        chosen = np.isin(part.polygons, np.array(subset.GetIndicesAttr().Get() or (), dtype=np.int64))
        used[chosen] = len(looks)
        looks.append(_look(UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()[0], path))
    return looks, used


def _look(material: Untyped, path: Path) -> Look:
    """The image or the colour that a material's surface takes as diffuse colour, else white."""
    shader = material.ComputeSurfaceSource()[0] if material else None
    given = shader.GetInput("diffuseColor") if shader else None
    for attribute in given.GetValueProducingAttributes() if given else ():
        source = UsdShade.Shader(attribute.GetPrim())
        if source.GetIdAttr().Get() == "UsdUVTexture":
            asset = source.GetInput("file").Get() if source.GetInput("file") else None
            place = asset.resolvedPath if asset else ""
            inside = Path(place.partition("[")[0]).resolve().is_relative_to(path.parent.resolve())
            found = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(place)) if place and inside else None
            data = bytes(found.GetBuffer()) if found else b""
            if image_type(data) is not None:
                return Look(Texture(data=data), np.ones(3))
            name = quoted(asset.path) if asset else material.GetPath()
            note = f"its image {name} is missing, outside its folder or no PNG or JPEG; left out"
            warnings.warn(MareyWarning(note), stacklevel=2)
        elif attribute.Get() is not None:
            return Look(None, np.clip(np.array(attribute.Get(), dtype=np.float64), 0.0, 1.0))
    return Look(None, np.ones(3))


def _uv(part: _Part) -> tuple[NDArray[np.float64], Integers] | None:
    """Texture coordinates, and those of each triangle's corners; of the first primvar that holds any."""
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
    flat = part.mesh.GetDisplayColorPrimvar().ComputeFlattened(Usd.TimeCode.EarliestTime())
    values = np.array(flat if flat is not None else (), dtype=np.float64).reshape(-1, 3)
    return to_srgb(values) if len(values) == part.points else None
