"""Universal Scene Description: mesh sequences in and out as moving points; motions, characters out.

Written are metres, y up; frame i is time code i. Needs the extra `usd`. Textures are left out, since a USD
layer only refers to image files; colours and texture coordinates are kept. Cost: linear in the arrays.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _child
from marey._arrays import FloatArray, IntArray
from marey._extras import require
from marey.body.kinematics import local_positions
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry import rotations as rot
from marey.geometry.convention import UpAxis
from marey.io import container
from marey.io._figure import bones
from marey.io._files import check_readable, write_beside
from marey.io._gltf_meshes import linear_from_display
from marey.io._rig import local_at_rest, pose_of_bind, with_single_bindings, world_at_rest
from marey.io._text import all_different
from marey.surface.sequence import MeshSequence
from marey.surface.skin import SkinnedMesh

Array = NDArray[np.float64]

UNSAVED_BYTES = 256 << 20
# A sound file is read at over 20 MB a second.
START_SECONDS, BYTES_PER_SECOND = 60.0, 1e6


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
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / f"{path.stem}.mry"
        seconds = START_SECONDS + path.stat().st_size / BYTES_PER_SECOND
        arguments = (str(result), json.dumps(options))
        said = _child.read("marey.io._usd_child", path, *arguments, kind="USD", seconds=seconds)
        answer = json.loads(said.splitlines()[-1])
        for message in answer["warnings"]:
            warnings.warn(MareyWarning(f"{path}: {message}"), stacklevel=2)
        if "error" in answer:
            raise FormatError(answer["error"], path=path)
        sequence: MeshSequence = container.read(result)
        return sequence


def write(thing: Character | Motion | MeshSequence, path: Path) -> None:
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
    from pxr import Tf

    path = Path(path)
    with write_beside(path) as draft:
        try:
            _write(thing, draft)
        except Tf.ErrorException as error:
            raise InputError(f"{path}: cannot be written: is the disk full?") from error


def _write(thing: Character | Motion | MeshSequence, path: Path) -> None:
    from pxr import Usd

    stage = Usd.Stage.CreateNew(str(path))
    if isinstance(thing, MeshSequence):
        _set_up(stage, thing.frames, thing.frame_rate)
        _write_sequence(stage, thing)
    elif isinstance(thing, Motion):
        _set_up(stage, thing.frames, thing.frame_rate)
        _write_motion(stage, thing)
    else:
        _set_up(stage, thing.motion.frames, thing.motion.frame_rate)
        _write_character(stage, thing)
    stage.GetRootLayer().Save()


def _set_up(stage: Any, frames: int, frame_rate: float) -> None:
    from pxr import UsdGeom

    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(frame_rate)
    stage.SetFramesPerSecond(frame_rate)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(frames - 1)


def _write_sequence(stage: Any, sequence: MeshSequence) -> None:
    from pxr import UsdGeom, Vt

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


def _write_motion(stage: Any, motion: Motion) -> None:
    identity, root = rot.identity(motion.joints), motion.skeleton.offsets[0]
    rest, bind = (place(motion.skeleton, identity, root) for place in (local_at_rest, world_at_rest))
    top = _write_rig(stage, motion.skeleton, rest, bind, (motion,), motion.name)
    corners, joints = bones(motion)
    mesh = _write_mesh(
        stage, top, "bones", corners + bind[joints, :3, 3], np.arange(len(corners)).reshape(-1, 3)
    )
    _bind_mesh(mesh, joints[:, None], np.ones((len(joints), 1)))


def _write_character(stage: Any, character: Character) -> None:
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


def _write_rig(
    stage: Any, skeleton: Skeleton, rest: Array, bind: Array, motions: tuple[Motion, ...], name: str
) -> str:
    """A skeleton and its animations below a new SkelRoot, whose path is returned."""
    from pxr import UsdSkel, Vt

    top = f"/{_identifier(name, 'character')}"
    root = UsdSkel.Root.Define(stage, top)
    stage.SetDefaultPrim(root.GetPrim())
    paths = _joint_paths(skeleton)
    rig = UsdSkel.Skeleton.Define(stage, f"{top}/skeleton")
    rig.GetJointsAttr().Set(Vt.TokenArray(paths))
    rig.GetRestTransformsAttr().Set(_matrices(rest))
    rig.GetBindTransformsAttr().Set(_matrices(bind))
    names = all_different([_identifier(motion.name, "motion") for motion in motions])
    for number, (motion, clip) in enumerate(zip(motions, names)):
        animation = UsdSkel.Animation.Define(stage, f"{top}/skeleton/{clip}")
        animation.GetJointsAttr().Set(Vt.TokenArray(paths))
        _set_motion(animation, motion, motions[0].frame_rate)
        if number == 0:
            binding = UsdSkel.BindingAPI.Apply(rig.GetPrim())
            binding.CreateAnimationSourceRel().SetTargets([animation.GetPrim().GetPath()])
    return top


def _set_motion(animation: Any, motion: Motion, codes_per_second: float) -> None:
    from pxr import Vt

    turns = np.roll(rot.continuous(motion.rotations, axis=0), -1, axis=-1).astype(np.float32)
    places = local_positions(motion).astype(np.float32)
    animation.GetScalesAttr().Set(Vt.Vec3hArray.FromNumpy(np.ones((motion.joints, 3), dtype=np.float16)))
    for frame in range(motion.frames):
        code = frame * codes_per_second / motion.frame_rate
        animation.GetRotationsAttr().Set(Vt.QuatfArray.FromNumpy(turns[frame]), code)
        animation.GetTranslationsAttr().Set(Vt.Vec3fArray.FromNumpy(places[frame]), code)


def _write_mesh(stage: Any, top: str, name: str, vertices: FloatArray, faces: IntArray) -> Any:
    from pxr import UsdGeom, Vt

    mesh = UsdGeom.Mesh.Define(stage, f"{top}/{name}")
    mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(vertices.astype(np.float32)))
    _set_faces(mesh, faces)
    return mesh


def _bind_mesh(mesh: Any, influences: IntArray, weights: FloatArray) -> None:
    """Bind a mesh to the skeleton beside it; influences are joints of that."""
    from pxr import UsdSkel, Vt

    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([mesh.GetPath().GetParentPath().AppendChild("skeleton")])
    columns = influences.shape[1]
    indices = Vt.IntArray.FromNumpy(np.ascontiguousarray(influences, dtype=np.int32).reshape(-1))
    binding.CreateJointIndicesPrimvar(False, columns).Set(indices)
    shares = Vt.FloatArray.FromNumpy(np.ascontiguousarray(weights, dtype=np.float32).reshape(-1))
    binding.CreateJointWeightsPrimvar(False, columns).Set(shares)


def _set_faces(mesh: Any, faces: IntArray) -> None:
    from pxr import UsdGeom, Vt

    mesh.GetFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(np.full(len(faces), 3, dtype=np.int32)))
    mesh.GetFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(faces.astype(np.int32).reshape(-1)))
    mesh.GetSubdivisionSchemeAttr().Set(UsdGeom.Tokens.none)


def _set_appearance(mesh: Any, look: MeshSequence | SkinnedMesh) -> None:
    from pxr import Sdf, UsdGeom, Vt

    if look.colours is not None:
        light = linear_from_display(look.colours).astype(np.float32)
        mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(Vt.Vec3fArray.FromNumpy(light))
    if look.uv is not None and look.uv_faces is not None:
        primvars = UsdGeom.PrimvarsAPI(mesh)
        st = primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying)
        st.Set(Vt.Vec2fArray.FromNumpy(look.uv.astype(np.float32)))
        st.SetIndices(Vt.IntArray.FromNumpy(look.uv_faces.astype(np.int32).reshape(-1)))


def _matrices(transforms: Array) -> Any:
    """USD multiplies row vectors: its matrices are the transposes of ours."""
    from pxr import Vt

    return Vt.Matrix4dArray.FromNumpy(np.ascontiguousarray(np.swapaxes(transforms, -1, -2)))


def _joint_paths(skeleton: Skeleton) -> list[str]:
    """Paths such as `Hips/Spine/Neck`; names become identifiers and stay different."""
    paths: list[str] = []
    names = all_different([_identifier(name, "joint") for name in skeleton.names])
    for own, parent in zip(names, skeleton.parents):
        paths.append(own if parent < 0 else f"{paths[parent]}/{own}")
    return paths


def _identifier(name: str, default: str) -> str:
    from pxr import Tf

    return str(Tf.MakeValidIdentifier(name)) if name else default
