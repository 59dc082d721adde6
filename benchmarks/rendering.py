"""Frames per second at 1280 × 720 without a screen: marey's renderer beside PyVista (VTK).

Three subjects: a figure of a walking clip, a textured mesh of 10,000 vertices, 1,000 people. PyVista draws
the very same meshes over a plane in the way its manual shows first: clear, add, screenshot; once plainly
(8-fold multisampling, no shadow), once with what marey draws always (shadow of a light, ambient occlusion,
supersampling). Both in one process, both with all cores; encoding is not counted. PyVista needs a graphics
driver (Mesa's libEGL or libOSMesa will do) and is left out where there is none: VTK would crash.

    python benchmarks/rendering.py
"""

from __future__ import annotations

import ctypes.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _ledger import record

from marey import samples
from marey.crowd.tracks import Tracks
from marey.surface.sequence import MeshSequence, Texture
from marey.views import pedestrians
from marey.views.actors import actor
from marey.views.renderer import Renderer
from marey.views.shots import clip

SIZE = (1280, 720)
FRAMES, PEER_FRAMES = 40, 6


def main() -> None:
    peers = ("plain", "same look") if pyvista_can_draw() else ()
    if not peers:
        print("no libEGL and no libOSMesa here: PyVista is left out")
    print(f"{'frames per second':24}{'marey':>8}" + "".join(f"{f'PyVista, {p}':>22}{'x':>7}" for p in peers))
    for name, make in SUBJECTS.items():
        ours = rate(make(), FRAMES)
        line = f"{name:24}{ours:8.1f}"
        for look in peers:
            theirs = rate(in_pyvista(drawn_meshes(make), same_look=look == "same look"), PEER_FRAMES)
            line += f"{theirs:22.1f}{ours / theirs:7.1f}"
            record(f"an image of 1280 × 720, {name}", 1 / ours, 1 / theirs, peer=f"PyVista, {look}")
        print(line)


def walking_figure() -> Iterator[Any]:
    return clip(actor(samples.walk(seconds=2, frame_rate=30)), SIZE)


def textured_mesh() -> Iterator[Any]:
    """A body of 10,000 vertices that ripples, in a chequered texture of 1024 × 1024."""
    around, up = np.meshgrid(np.linspace(0, 2 * np.pi, 126), np.linspace(0.01, np.pi - 0.01, 80))
    phase = np.linspace(0, 2 * np.pi, FRAMES)[:, None, None]
    radius = 0.8 + 0.05 * np.sin(6 * up + phase) * np.sin(5 * around)
    point = np.stack([np.sin(up) * np.cos(around), np.cos(up), np.sin(up) * np.sin(around)], axis=-1)
    vertices = (radius[..., None] * point * [0.3, 1, 0.3] + [0, 0.9, 0]).reshape(FRAMES, -1, 3)
    a = (np.arange(79)[:, None] * 126 + np.arange(125)).ravel()
    faces = np.concatenate([np.stack([a, a + 1, a + 127], 1), np.stack([a, a + 127, a + 126], 1)])
    uv = np.stack([around / (2 * np.pi), 1 - up / np.pi], axis=-1).reshape(-1, 2)
    tiles = np.kron(np.indices((16, 16)).sum(axis=0) % 2, np.ones((64, 64)))
    texture = np.where(tiles[..., None] > 0, [200, 120, 90], [230, 225, 215]).astype(np.uint8)
    return clip(
        actor(MeshSequence(vertices, faces, 30, uv=uv, textures=(Texture.from_image(texture),))), SIZE
    )


def thousand_people() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    start, velocity = rng.uniform(-20, 20, (1000, 2)), rng.normal(0, 1, (1000, 2))
    return pedestrians.tracks_clip(Tracks(start + velocity * np.arange(FRAMES)[:, None, None] / 30, 30), SIZE)


SUBJECTS: dict[str, Callable[[], Iterator[Any]]] = {
    "figure, 26 joints": walking_figure,
    "textured, 10k vertices": textured_mesh,
    "1,000 people": thousand_people,
}


def rate(images: Iterator[Any], frames: int) -> float:
    """Frames per second after the first (which compiles, allocates, looks the clip through)."""
    next(images)
    start, count = time.perf_counter(), 0
    for _ in images:
        count += 1
        if count == frames - 1:
            break
    return count / (time.perf_counter() - start)


def drawn_meshes(make: Callable[[], Iterator[Any]]) -> list[tuple[Any, Any, Any, Any, Any]]:
    """What marey was asked to draw: vertices, faces, texture and its coordinates, camera of each frame."""
    asked: list[tuple[Any, Any, Any, Any, Any]] = []
    drawn = Renderer.render

    def note(scene: Renderer, vertices: Any, camera: Any, **options: Any) -> Any:
        texture = options.get("textures")
        asked.append((np.array(vertices), scene.look.faces, texture, scene.look.uv, camera))
        return None

    Renderer.render = note  # type: ignore[method-assign, assignment]
    try:
        for _, _ in zip(range(PEER_FRAMES), make(), strict=False):
            pass
    finally:
        Renderer.render = drawn  # type: ignore[method-assign]
    return asked


def in_pyvista(meshes: list[tuple[Any, Any, Any, Any, Any]], *, same_look: bool) -> Iterator[Any]:
    """The same frames the straightforward way: clear, add, screenshot."""
    import pyvista

    plotter = pyvista.Plotter(off_screen=True, window_size=SIZE)
    plotter.set_background("white")
    for vertices, faces, texture, uv, camera in meshes:
        plotter.clear_actors()
        mesh = pyvista.PolyData(vertices, np.column_stack([np.full(len(faces), 3), faces]).ravel())
        painted = None
        if texture is not None:
            mesh.active_texture_coordinates = np.asarray(uv, dtype=np.float32)
            painted = pyvista.Texture(texture[0])
        plotter.add_mesh(mesh, color="lightgrey", texture=painted, smooth_shading=True)
        plotter.add_mesh(pyvista.Plane(direction=(0, 1, 0), i_size=60, j_size=60), color="white")
        plotter.camera.position = tuple(camera.position)
        plotter.camera.focal_point = tuple(camera.position + camera.forward)
        plotter.camera.up = (0, 1, 0)
        plotter.camera.view_angle = float(np.degrees(camera.field_of_view))
        plotter.camera.reset_clipping_range()
        if same_look:
            plotter.enable_shadows()
            plotter.enable_ssao(kernel_size=32)
            plotter.enable_anti_aliasing("ssaa")
        else:
            plotter.enable_anti_aliasing("msaa", multi_samples=8)
        yield plotter.screenshot(return_img=True)
    plotter.close()


def pyvista_can_draw() -> bool:
    """Whether VTK finds a driver; it ends the process if not."""
    try:
        import pyvista  # noqa: F401
    except ImportError:
        return False
    return any(ctypes.util.find_library(name) for name in ("EGL", "OSMesa"))


if __name__ == "__main__":
    main()
