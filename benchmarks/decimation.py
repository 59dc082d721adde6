"""Decimation of a moving body beside VTK's: how near the proxy stays in every pose, and how long it takes.

VTK's quadric decimation moves vertices, so it serves one frame; its DecimatePro keeps vertices of the mesh,
as ours does, and its proxy can be posed like ours. Errors are distances of the mesh's vertices to the proxy,
over poses that neither has seen. Seconds are those of the processor, which other work does not lengthen.

    python benchmarks/decimation.py [--data DIR]

The CC0 human on a jump; the built-in human on its jump without the data. Needs the extra "view" (pyvista).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _ledger import record
from numpy.typing import NDArray

import marey
from marey.geometry import mesh
from marey.io import mpfb
from marey.samples.human import gaits
from marey.stage import skin_clip
from marey.surface.decimation import Decimation

VERTICES, ROUNDS = (5000, 2000, 800), 3
# Times DecimatePro's error at most, and seconds for the largest proxy.
BAR_ERROR, BAR_SECONDS = 1.0, 2.0


def main() -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    body = moving_body(parser.parse_args().data)
    seen, unseen = body[0 : body.frames : 2], body[1 : body.frames : 12]
    print(f"{body.name}: {body.vertices.shape[1]} vertices, {body.frames} frames, {unseen.frames} compared")
    met = True
    for count in (n for n in VERTICES if n < body.vertices.shape[1]):
        proxy, ours = timed(lambda n=count: Decimation.of(seen, vertices=n))
        kept, theirs = timed(lambda n=count: decimate_pro(body, n))
        moved, quadric = timed(lambda n=count: quadric_decimation(body, n))
        errors = [error(unseen, *p) for p in ((proxy.kept, proxy.faces), kept)]
        print(f"{count} vertices")
        print(f"  ours             {len(proxy.kept):6} {1e3 * errors[0]:7.2f} mm in all poses {ours:8.2f} s")
        print(f"  VTK DecimatePro  {len(kept[0]):6} {1e3 * errors[1]:7.2f} mm in all poses {theirs:8.2f} s")
        print(f"  VTK quadric      {len(moved):6}      – (one frame only)    {quadric:8.2f} s")
        work = f"a moving body in {count} vertices, error in all poses"
        record(work, 1e3 * errors[0], 1e3 * errors[1], peer="VTK DecimatePro", unit="mm", bar=BAR_ERROR)
        met &= errors[0] <= BAR_ERROR * errors[1] and ours <= BAR_SECONDS
    print(f"bars (error at most DecimatePro's, {BAR_SECONDS:g} s): {'met' if met else 'MISSED'}")
    return not met


def moving_body(given: Path | None) -> marey.MeshSequence:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    data = given or Path(os.environ.get("MAREY_DATA", beside))
    human, clip = data / "mesh4d" / "mpfb2_human_CC0", data / "skeleton" / "cmu_corpus" / "105_42.bvh"
    if human.is_dir() and clip.is_file():
        return skin_clip(mpfb.read(human), marey.load(clip)[1:].resample(30)).pose()
    print("the MPFB human or its clip is not there: the built-in human jumps", file=sys.stderr)
    return marey.samples.human(gaits()["jump"][1]).pose()


def decimate_pro(body: marey.MeshSequence, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Vertices kept by VTK from the first frame, and faces between them."""
    surface = as_vtk(body)
    surface.point_data["number"] = np.arange(surface.n_points)
    share = 1 - count / surface.n_points
    small = surface.decimate_pro(share, preserve_topology=True, boundary_vertex_deletion=False)
    return np.asarray(small.point_data["number"]), small.faces.reshape(-1, 4)[:, 1:]


def quadric_decimation(body: marey.MeshSequence, count: int) -> NDArray[np.float64]:
    surface = as_vtk(body)
    return np.asarray(surface.decimate(1 - count / surface.n_points, volume_preservation=True).points)


def as_vtk(body: marey.MeshSequence) -> Any:
    import pyvista

    faces = np.column_stack([np.full(len(body.faces), 3), body.faces])
    return pyvista.PolyData(np.array(body.vertices[0], np.float64), faces.ravel())


def error(body: marey.MeshSequence, kept: NDArray[np.int64], faces: NDArray[Any]) -> float:
    """Root of the mean squared distance of the body's vertices to the proxy, over all frames, metres."""
    import pyvista

    corners = np.column_stack([np.full(len(faces), 3), faces]).ravel()
    areas = np.zeros(body.vertices.shape[1])
    np.add.at(areas, body.faces.ravel(), np.repeat(mesh.face_areas(body.vertices[0], body.faces) / 3, 3))
    squares = []
    for frame in body.vertices:
        points = pyvista.PolyData(np.array(frame, np.float64))
        gaps = points.compute_implicit_distance(pyvista.PolyData(np.array(frame[kept], np.float64), corners))
        squares.append(np.average(np.square(gaps.point_data["implicit_distance"]), weights=areas))
    return float(np.sqrt(np.mean(squares)))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and seconds of the quickest of several rounds, after one to warm up."""
    result, times = work(), []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return result, min(times)


if __name__ == "__main__":
    sys.exit(main())
