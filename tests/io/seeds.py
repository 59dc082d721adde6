"""Small valid files of every format, for `tests.io.mutation` to damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import marey
from marey.body import codec
from marey.body.dynamics import MotionModel
from marey.body.markers import Markers
from marey.body.pose_model import PoseModel
from marey.crowd import codec as field_codec
from marey.crowd import scenes as presets
from marey.crowd import spectrum
from marey.crowd.cameras import Camera, Homography
from marey.crowd.simulation.simulate import simulate
from marey.crowd.tracks import Tracks
from marey.io import cameras, tiling_json, trackers_csv
from tests.io import (
    test_acclaim,
    test_bvh_fuzz,
    test_cameras,
    test_container,
    test_deepmimic,
    test_gltf_fuzz,
    test_trc,
)
from tests.io.mutation import Format, with_crc
from tests.io.test_crowd_fuzz import ROOM, SEEDS, TILES, WALKABLE
from tests.io.test_mesh_fuzz import MESH, TEXT_PLY

RNG = np.random.default_rng(0)
FIELD = marey.FieldSeries(
    RNG.normal(size=(5, 4, 6, 2)).astype(np.float32),
    25,
    mask=np.ones((4, 6), bool),
    homography=np.eye(3),
    foreground=RNG.integers(0, 255, (5, 4, 6)).astype(np.uint8),
)
MOVING = marey.MeshSequence(
    RNG.normal(size=(4, 5, 3)).astype(np.float32),
    [[0, 1, 2], [2, 3, 4]],
    25,
    colours=RNG.random((5, 3)),
    uv=RNG.random((5, 2)),
    uv_faces=[[0, 1, 2], [2, 3, 4]],
)
WALK = marey.samples.walk()[:20]
TRACKS = Tracks(np.cumsum(RNG.normal(size=(12, 3, 2)), axis=0), 10, ids=[7, 3, 5], first_frame=12)
CAMERA = Camera.looking((1, -9, 5), (2, 3, 0), size=(640, 480), field_of_view=0.8, name="side")


def written(**files: bytes | str | Callable[[Path], Any]) -> Callable[[Path], list[Path]]:
    """What writes the files, `walk_bvh` as `walk.bvh`, into a folder each."""

    def write(folder: Path) -> list[Path]:
        paths = []
        for number, (name, content) in enumerate(files.items()):
            path = folder / str(number) / ".".join(name.rsplit("_", 1))
            path.parent.mkdir()
            if callable(content):
                content(path)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
            paths.append(path)
        return paths

    return write


def saved(thing: Any, **options: Any) -> Callable[[Path], None]:
    return lambda path: marey.save(thing, path, **options)


def take(path: Path) -> None:
    (path.parent / "test.asf").write_text(test_acclaim.ASF)
    path.write_text(test_acclaim.AMC)


def frames(path: Path) -> None:
    """Two frames in a folder, which is what the reader is given."""
    path.mkdir()
    for number in range(2):
        marey.save(MESH, path / f"{number}.obj")


def big_endian(path: Path) -> None:
    marey.save(MESH, path)
    head, body = path.read_bytes().split(b"end_header\n", 1)
    vertex = np.dtype([("p", "<f8", 3), ("c", "u1", 3)])
    face = np.dtype([("n", "u1"), ("v", "<i4", 3), ("m", "u1"), ("t", "<f8", 6)])
    points = np.frombuffer(body, vertex, 6).astype(vertex.newbyteorder(">"))
    faces = np.frombuffer(body, face, 7, 6 * vertex.itemsize).astype(face.newbyteorder(">"))
    path.write_bytes(head.replace(b"little", b"big") + b"end_header\n" + points.tobytes() + faces.tobytes())


def others_store(path: Path) -> None:
    """Meshes in a store of version 2 that another program could have written, in chunks of their own."""
    import zarr

    group = zarr.open_group(path, mode="w", zarr_format=2)
    group.create_array("vertices", data=np.asarray(MOVING.vertices), chunks=(2, 3, 3))
    group.create_array("faces", data=np.asarray(MOVING.faces), chunks=(2, 3))


def tiling(path: Path) -> None:
    marey.save(FIELD, path.parent / "a.zarr")
    path.write_text(json.dumps(TILES))


def markers(path: Path) -> None:
    from tests.io import test_c3d

    test_c3d.write(path, test_c3d.standing())


def trackers(path: Path) -> None:
    path.write_text(
        "time,hand_x,hand_y,hand_z,hand_qw,hand_qx,hand_qy,hand_qz,foot_x,foot_y,foot_z\n"
        + "".join(f"{i / 30},{i},1,2,1,0,0,0,,{i}.5,0\n" for i in range(8))
    )


SDD = "".join(f'{i % 3} 10 20 30 40 {i} 0 0 1 "Pedestrian"\n' for i in range(9))
VSP = "2 - splines\n2 - points\n0.0 10.0 0 90.0\n9.0 9.0 50 90.0 -\n1\n-5.0 2.0 10 0.0\n"
NDJSON = '{"scene": {"fps": 2.5}}\n' + "".join(
    f'{{"track": {{"f": {i}, "p": 7, "x": {i}.5, "y": 1}}}}\n' for i in range(9)
)
MARKERS = Markers(("head", "toe"), RNG.normal(size=(5, 2, 3)), 100)
SCENE = presets.preset("escape").with_people(5)
MODELS = (MotionModel.fit(WALK, modes=3), PoseModel.fit([WALK], modes=3), SCENE, simulate(SCENE, seconds=0.5))
CONTAINERS = {type(thing).__name__: thing for thing in (*test_container.everything(), *MODELS)}

FORMATS = (
    Format(
        "bvh",
        written(a_bvh=test_bvh_fuzz.WALK, walk_bvh=saved(WALK[:3])),
        words=tuple(test_bvh_fuzz.SPLINTERS),
    ),
    Format("acclaim", written(take_amc=take)),
    Format("deepmimic", written(a_json=json.dumps({"Loop": "wrap", "Frames": [test_deepmimic.frame()] * 3}))),
    Format("gltf", written(**{f"{name}_glb": saved(make()) for name, make in test_gltf_fuzz.THINGS.items()})),
    Format("obj", written(a_obj=saved(MESH), frames_obj=frames)),
    Format("ply", written(a_ply=saved(MESH), b_ply=TEXT_PLY, c_ply=big_endian)),
    Format("npz", written(a_npz=saved(MOVING), b_npz=saved(CONTAINERS["DistanceMatrix"]))),
    Format("point cache", written(a_pc2=saved(MOVING), a_mdd=saved(MOVING))),
    Format(
        "tracks",
        written(**{name.replace(".", "_"): text for name, text in SEEDS.items()}, a_csv=saved(TRACKS)),
    ),
    Format("tracker table", written(a_csv=trackers), trackers_csv.read),
    Format(
        "scene",
        written(a_json=json.dumps(ROOM), b_json=json.dumps(WALKABLE), c_json=saved(SCENE)),
    ),
    Format(
        "camera",
        written(
            a_json=lambda path: cameras.write(CAMERA, path),
            b_json=lambda path: cameras.write(Homography(np.eye(3)), path),
            c_xml=test_cameras.TSAI,
            H_txt="0 0.1 0\n-0.1 0 0\n0 0 1\n",
        ),
        cameras.read,
    ),
    Format("c3d", written(a_c3d=markers, b_c3d=saved(MARKERS))),
    Format("trc", written(a_trc=test_trc.HEAD + "100\t100\t2\t3\tmm\n" + test_trc.NAMES + test_trc.ROWS)),
    Format("annotations", written(a_txt=SDD, a_vsp=VSP, a_ndjson=NDJSON)),
    Format("sqlite", written(a_sqlite=saved(TRACKS))),
    Format("flow", written(a_flo=saved(marey.FieldSeries(FIELD.velocities[:1], 25)))),
    Format("fields", written(a_zarr=saved(FIELD))),
    Format("meshes", written(a_zarr=saved(MOVING), b_zarr=others_store)),
    Format("tiling", written(a_json=tiling), tiling_json.read),
    Format("mry", written(**{f"{name}_mry": saved(thing) for name, thing in CONTAINERS.items()})),
    Format(
        "compressed clip",
        written(
            a_mry=saved(codec.compress(WALK)),
            b_mry=saved(codec.compress(WALK, method="tournier", modes=4)),
        ),
        mended=with_crc,
    ),
    Format(
        "compressed fields",
        written(a_mry=saved(field_codec.compress(FIELD, max_error=0.05))),
        mended=with_crc,
    ),
    Format("fourier fields", written(a_mry=saved(spectrum.compress(FIELD, keep=0.5)))),
)

# Read by processes of their own, which takes a third of a second each time.
SLOW_FORMATS = (Format("usd", written(a_usda=saved(MOVING), a_usdc=saved(MOVING))),)
