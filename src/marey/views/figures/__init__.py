"""Figures of every scale: functions that return a matplotlib `Figure`.

>>> import marey
>>> from marey.views import figures
>>> len(figures.curves(marey.samples.walk()).axes)
6
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    "motion": ("aligned_clips", "before_and_after", "credible_bands", "curves", "trajectory"),
    "models": ("mode_variance", "pose_modes", "pose_sweep", "process_model", "sweep_frames"),
    "crowd": (
        "contact_sheet", "crowd_paths", "crowd_streaks", "directed", "footage_clip", "scene_plan", "tracks",
    ),
    "density": ("DensityPainter", "density_map", "worst_frame", "write_map"),
    "surface": (
        "InBetweens", "agreement", "blend_paths", "distance_map", "draw_in_betweens", "graph_picture",
        "in_between_clip", "in_between_rows", "path_from_above", "timeline", "warp_path",
    ),
    "fields": (
        "divergence", "field_errors", "flow", "flow_clip", "flow_colours", "flow_lines", "flow_parts",
        "layout_picture", "spectrum", "texture_matrix", "texture_picture", "vorticity",
    ),
}  # fmt: skip
__all__ = sorted(name for names in HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"marey.views.figures.{home}"), name)
    raise AttributeError(f"marey.views.figures has no {name!r}")


def __dir__() -> list[str]:
    return __all__
