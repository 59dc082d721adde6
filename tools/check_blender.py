"""Do the files marey writes open in Blender, with every joint where marey has it?

    python tools/check_blender.py --blender-python PYTHON [CLIP...]

Each clip (a file marey reads as a motion or a character; always the built-in walk) is written as BVH and
as GLB. A second process, the Python that has `bpy`, imports both, steps through all frames and compares
the heads of the bones with marey's forward kinematics; characters are compared vertex by vertex as well.
So are the walking bodies of twenty people of a crowd, some of whom come and go. A subject
of captured meshes goes from a walk to a run and back, as a GLB with every frame, as one with few shapes, and
as USD, and so does a square with an image. Exit code 1 if anything is off by more than 0.1 mm, or with few
shapes, than what they were allowed, or a colour by more than 2 of 255.

Blender is only ever run as that separate process: its licence (GPL) and its size stay there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-4  # metres
CROWD = "crowd.glb"
MESHES = {"meshes.glb": 0.0, "shapes.glb": 1e-3, "meshes.usdc": 0.0}
"""Animations of meshes and how far off their vertices may be, metres."""
COLOUR = 2 / 255


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clips", nargs="*", type=Path, help="motions or characters to try as well")
    parser.add_argument("--blender-python", type=Path, help="a Python that can import bpy")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside is not None:
        return compare_in_blender(arguments.inside)
    if arguments.blender_python is None:
        parser.error("--blender-python is needed: a Python that can import bpy")
    with tempfile.TemporaryDirectory() as folder:
        write_files(arguments.clips, Path(folder))
        command = [str(arguments.blender_python), __file__, "--inside", folder]
        return subprocess.run(command, check=False).returncode


def write_files(clips: list[Path], folder: Path) -> None:
    """In marey's Python: the files to import and, in `jobs.json` and `.npz`, what should come out."""
    import marey

    jobs: list[dict[str, Any]] = []
    for number, thing in enumerate([marey.samples.walk(), *map(marey.load, clips)]):
        character = isinstance(thing, marey.Character)
        motion = thing.motion if character else thing
        stem = folder / f"{number}_{motion.name or 'walk'}"
        expected = stem.with_suffix(".npz")
        arrays = {"positions": joint_positions(motion)}
        if character:
            arrays["vertices"] = thing.pose().vertices
        np.savez(expected, **arrays)
        common = {
            "label": motion.name or "walk",
            "expected": str(expected),
            "names": motion.skeleton.names,
            "frame_rate": motion.frame_rate,
        }
        for ending in (".bvh", ".glb"):
            file = stem.with_suffix(ending)
            marey.save(motion if ending == ".bvh" else thing, file)
            convention = {"unit": motion.convention.unit, "up": motion.convention.up}
            jobs.append(
                {**common, **convention, "file": str(file), "vertices": character and ending == ".glb"}
            )
    (folder / "jobs.json").write_text(json.dumps(jobs))
    write_crowd(folder)
    write_meshes(folder)


def write_meshes(folder: Path) -> None:
    """A captured subject made to walk, run and walk again, and a square with an image."""
    from PIL import Image

    import marey
    from marey.surface.sequence import Texture

    subject = marey.surface.graph(marey.samples.mesh_library(vertices=800), alpha=0.02)
    orders = [("walk:20", 0.0), ("run:20", 2.5), ("walk:30", 5.0)]
    made = subject.animate(poses=orders).sequence
    for name, allowed in MESHES.items():
        marey.save(made, folder / name, **({} if name.endswith("usdc") else {"max_error": allowed}))
    np.savez(folder / "meshes.npz", vertices=made.vertices, frame_rate=made.frame_rate, colours=made.colours)
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    pixels = np.random.default_rng(0).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    faces = [[0, 1, 2], [0, 2, 3]]
    uv = corners[:, :2] * 0.75 + 0.125  # the middles of the outer pixels
    Image.fromarray(pixels).save(folder / "square.png")
    image = Texture(folder / "square.png")
    square = marey.MeshSequence([corners] * 2, faces, 25, uv=uv, uv_faces=faces, textures=[image])
    for ending in ("glb", "usdc"):
        marey.save(square, folder / f"square.{ending}")
    at = np.minimum((uv * 4).astype(int), 3)
    np.savez(folder / "square.npz", colours=pixels[3 - at[:, 1], at[:, 0]] / 255)


def write_crowd(folder: Path) -> None:
    """Twenty people carried by the built-in field, as walking bodies."""
    import marey
    from marey.stage import walk

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.stage.playback import played

    crowd = walk(
        marey.crowd.animate(marey.samples.field(), people=20, seconds=4, frame_rate=20, rng=1).tracks
    )
    crowd.save(folder / CROWD)
    kept = played(crowd)
    places = np.full((crowd.frames, crowd.people, crowd.skeleton.joints, 3), np.nan)
    for number in range(crowd.people):
        here = kept.present[:, number]
        first, last = np.flatnonzero(here)[[0, -1]]
        places[first : last + 1, number] = joint_positions(kept.person(number))
        places[~here, number] = np.nan
    np.savez(folder / "crowd.npz", positions=places, ids=crowd.ids, names=crowd.skeleton.names)


def joint_positions(motion: Any) -> np.ndarray:
    """`(frames, joints, 3)` in metres, y up."""
    from marey.body.kinematics import forward_kinematics

    return forward_kinematics(motion).positions


def compare_in_blender(folder: Path) -> int:
    """In Blender's Python: import every file, compare every frame, print the largest differences."""
    worst = 0.0
    for job in json.loads((folder / "jobs.json").read_text()):
        expected = dict(np.load(job["expected"]))
        armature, mesh = imported(job)
        bones = [armature.pose.bones[name] for name in job["names"]]
        errors = []
        for frame in range(len(expected["positions"])):
            show_frame(job, frame)
            heads = np.array([armature.matrix_world @ bone.head for bone in bones])
            errors.append(np.abs(heads - z_up(expected["positions"][frame])).max())
            if job["vertices"]:
                vertices = expected["vertices"][frame][vertex_numbers(mesh)]
                errors.append(np.abs(posed_vertices(mesh) - z_up(vertices)).max())
        print(
            f"{job['label']:32} {Path(job['file']).suffix}  {frame + 1:6} frames  {max(errors):.1e} m",
            flush=True,
        )
        worst = max(worst, *errors)
    worst = max(worst, compare_crowd(folder), *(compare_meshes(folder, name) for name in MESHES))
    painted = max(compare_colours(folder, name) for name in (*MESHES, "square.glb", "square.usdc"))
    print(
        f"largest difference {worst:.2e} m, {'within' if worst <= TOLERANCE else 'MORE THAN'} {TOLERANCE} m; "
        f"of colours {255 * painted:.1f} of 255, {'within' if painted <= COLOUR else 'MORE THAN'} 2"
    )
    return 0 if worst <= TOLERANCE and painted <= COLOUR else 1


def compare_crowd(folder: Path) -> float:
    """Largest distance of a joint of anybody who is there from marey's, metres."""
    import bpy

    expected = dict(np.load(folder / "crowd.npz"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 20
    bpy.ops.import_scene.gltf(filepath=str(folder / CROWD))
    people = [bpy.context.scene.objects[f"person {number}"] for number in expected["ids"]]
    errors = []
    for frame in range(0, len(expected["positions"]), 3):
        bpy.context.scene.frame_set(frame)
        bpy.context.view_layer.update()
        for person, places in zip(people, expected["positions"][frame], strict=True):
            if np.isfinite(places).all():
                bones = [person.pose.bones[name] for name in expected["names"]]
                heads = np.array([person.matrix_world @ bone.head for bone in bones])
                errors.append(np.abs(heads - z_up(places)).max())
            elif max(person.matrix_world.to_scale()) > TOLERANCE:
                errors.append(float("inf"))
    off = float(max(errors))
    print(f"{'crowd':32} .glb  {len(people):6} people  {off:.1e} m", flush=True)
    return off


def compare_meshes(folder: Path, name: str) -> float:
    """Largest distance of a vertex from marey's, metres, less what was allowed."""
    import bpy

    expected = dict(np.load(folder / "meshes.npz"))
    mesh = imported_mesh(folder / name, round(float(expected["frame_rate"])))
    errors = []
    for frame in range(0, len(expected["vertices"]), 7):
        bpy.context.scene.frame_set(frame)
        vertices = expected["vertices"][frame][vertex_numbers(mesh)]
        errors.append(np.abs(posed_vertices(mesh) - z_up(vertices)).max())
    off = float(max(errors))
    print(f"{'meshes':32} {name:12} {len(errors):4} frames  {off:.1e} m", flush=True)
    return max(off - MESHES[name], 0.0)


def compare_colours(folder: Path, name: str) -> float:
    """Largest difference of a vertex' colour, or of its pixel of the image, from marey's, 0 … 1."""
    import bpy

    stem = "square" if name.startswith("square") else "meshes"
    expected = np.load(folder / f"{stem}.npz")["colours"]
    mesh = imported_mesh(folder / name, 25)
    loops = np.empty(len(mesh.data.loops), dtype=np.int32)
    mesh.data.loops.foreach_get("vertex_index", loops)
    images = [
        node.image
        for slot in mesh.material_slots
        if slot.material and slot.material.node_tree
        for node in slot.material.node_tree.nodes
        if node.type == "TEX_IMAGE" and node.outputs["Color"].is_linked
    ]
    if stem == "square":
        uv = np.empty(2 * len(loops), dtype=np.float32)
        mesh.data.uv_layers.active.data.foreach_get("uv", uv)
        wide, high = images[0].size
        pixels = np.array(images[0].pixels[:]).reshape(high, wide, -1)[..., :3]  # from the bottom up
        at = np.minimum((uv.reshape(-1, 2) * (wide, high)).astype(int), (wide - 1, high - 1))
        seen = pixels[at[:, 1], at[:, 0]]
    else:
        layer = mesh.data.color_attributes[0]
        values = np.empty(4 * len(layer.data), dtype=np.float32)
        layer.data.foreach_get("color_srgb", values)
        seen = values.reshape(-1, 4)[:, :3]
        seen = seen if layer.domain == "CORNER" else seen[loops]
    off = float(np.abs(seen - expected[vertex_numbers(mesh)[loops]]).max())
    print(f"{'colours':32} {name:12} {bpy.app.version_string}  {255 * off:.1f} of 255", flush=True)
    return off


def imported_mesh(file: Path, frame_rate: int) -> Any:
    """The mesh of a file in an empty scene."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = frame_rate
    if file.suffix == ".usdc":
        bpy.ops.wm.usd_import(filepath=str(file))
    else:
        bpy.ops.import_scene.gltf(filepath=str(file))
    return next(one for one in bpy.context.scene.objects if one.type == "MESH")


def imported(job: dict[str, Any]) -> tuple[Any, Any]:
    """The armature of the file in an empty scene, and its mesh if it has one."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = round(job["frame_rate"])
    if job["file"].endswith(".bvh"):
        axes = {"y": ("-Z", "Y"), "z": ("Y", "Z")}[job["up"]]
        bpy.ops.import_anim.bvh(
            filepath=job["file"], global_scale=job["unit"], axis_forward=axes[0], axis_up=axes[1]
        )
    else:
        bpy.ops.import_scene.gltf(filepath=job["file"])
    objects = bpy.context.scene.objects
    armature = next(o for o in objects if o.type == "ARMATURE")
    skinned = [o for o in objects if o.type == "MESH" and any(m.type == "ARMATURE" for m in o.modifiers)]
    return armature, next(iter(skinned), None)


def show_frame(job: dict[str, Any], frame: int) -> None:
    """Go to a frame of the clip; a BVH starts at Blender's frame 1, glTF times are seconds from 0."""
    import bpy

    scene = bpy.context.scene
    at = 1 + frame if job["file"].endswith(".bvh") else frame / job["frame_rate"] * scene.render.fps
    scene.frame_set(int(at), subframe=at - int(at))


def posed_vertices(mesh: Any) -> np.ndarray:
    """`(vertices, 3)` of a mesh as it is shown, in the world."""
    import bpy

    shown = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.empty(3 * len(shown.data.vertices))
    shown.data.vertices.foreach_get("co", points)
    world = np.array(shown.matrix_world)
    return points.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


def vertex_numbers(mesh: Any) -> np.ndarray:
    """Which of marey's vertices each of Blender's is: a file has several where the texture has a seam."""
    split = mesh.data.attributes.get("_MAREY_VERTEX")
    if split is None:
        return np.arange(len(mesh.data.vertices))
    numbers = np.empty(len(mesh.data.vertices))
    split.data.foreach_get("value", numbers)
    return numbers.astype(int)


def z_up(points: np.ndarray) -> np.ndarray:
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


if __name__ == "__main__":
    sys.exit(main())
