"""Animations along drawn paths, with behaviours on their parts (Boukhayma 2017, figures 3.15 and 3.16).

The source's actor TOMAS cannot be had; ours is the CC0 human in real walks, runs, turns and jumps. A figure
eight and a square with anything allowed and with walking and turning alone (figure 3.16), and a winding
course through space with a run and a jump on parts of it (figure 3.15), at three prices of time. The source
gives pictures and no figures; its claim is that more transitions follow more closely and look less real. It
says a smaller alpha makes for more of them, where it must be a larger one. Pictures go to the folder.

    python reproduce/path_following.py [--data DIR] [--out DIR] [--quick]
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import _cmu
import numpy as np
from _locomotion import locomotion
from _repertoires import measured, repertoire

from marey.geometry import planar
from marey.geometry.planar import Behaviour, centroid, figure_eight, square
from marey.statistics.graphs.path_search import PathWalk, follow
from marey.statistics.graphs.root_motion import EdgeMotion
from marey.surface.contacts import compare_foot_skate
from marey.surface.sequence import Library
from marey.surface.synthesis.animate import Player, synthesize
from marey.surface.synthesis.placement import edge_motion
from marey.views import figures, style

ALPHAS = (0.01, 0.05, 0.2)
WALKING = ("walk", "turn-left", "turn-right")
SLIDE = 1.2
HEADINGS = (
    "mean cm",
    "worst cm",
    "wrong",
    "border",
    "transitions",
    "captured",
    "rad/m",
    "slide",
    "s",
    "search s",
)


@dataclass(frozen=True)
class Result:
    """What is measured of an animation along a curve; lengths in metres, times in seconds."""

    mean: float
    worst: float
    wrong: int
    at_borders: int
    transitions: int
    captured: float
    deformation: float
    slide: float
    lasts: float
    search: float

    def __str__(self) -> str:
        return (
            f"{100 * self.mean:8.1f}{100 * self.worst:9.1f}{self.wrong:6}{self.at_borders:7}"
            f"{self.transitions:12}{self.captured:9.0%}{self.deformation:7.2f}{self.slide:6.2f}"
            f"{self.lasts:6.1f}{self.search:9.1f}"
        )


def main() -> int:
    given = _cmu.arguments(__doc__)
    given.out.mkdir(parents=True, exist_ok=True)
    library = locomotion(data=given.data)
    distances = measured(library, "locomotion", given.out)
    paths = courses(library)
    results: dict[str, list[Result]] = {name: [] for name in paths}
    alphas = ALPHAS[1:2] if given.quick else ALPHAS
    labels = ", ".join(dict.fromkeys(library.labels))
    print(f"{library.frames} frames, {len(library)} sequences, labels {labels}")
    for alpha in alphas:
        made = repertoire(library, distances, alpha)
        player = Player.prepare(made)
        motion = edge_motion(made, player.ground)
        print(f"alpha {alpha:g}: {made.graph.edges} edges, density {made.graph.density:.2%}")
        print(f"  {'':22}" + "".join(f"{title:>{len(title) + 2}}" for title in HEADINGS))
        for name, curve in paths.items():
            result = along(player, motion, curve, given.out / f"path-{name.replace(', ', '-')}-{alpha:g}")
            results[name].append(result)
            print(f"  {name:22}{result}", flush=True)
    return 0 if judged(results) else 1


def courses(library: Library) -> dict[str, planar.Path]:
    """The curves to follow by name; behaviours the library does not show are left out."""
    shown = set(library.labels)
    walking = tuple(label for label in WALKING if label in shown)
    found = {}
    for name, curve in (("eight", figure_eight(4.0)), ("square", square(4.0))):
        found[f"{name}, anything"] = curve
        found[f"{name}, walking"] = replace(curve, behaviours=(Behaviour(walking, 0.0, curve.length),))
    parts = (
        Behaviour(walking, 0.0, 4.0), Behaviour(("run",), 4.0, 9.0), Behaviour(walking, 9.0, 12.0),
        Behaviour(("jump",), 12.0, 14.5), Behaviour(walking, 14.5, 17.5),
    )  # fmt: skip
    found["course"] = winding(library, [part for part in parts if set(part.labels) <= shown])
    return found


def winding(library: Library, behaviours: list[Behaviour]) -> planar.Path:
    """A winding way through space at the height of a walking body, higher where one jumps."""
    x = np.linspace(0, 17, 341)
    z = 0.8 * np.sin(x / 17 * 2 * np.pi)
    way = np.concatenate([[0], np.cumsum(np.hypot(np.diff(x), np.diff(z)))])
    walks = [s for s, label in zip(library.sequences, library.labels, strict=True) if label in WALKING]
    height = float(np.median([sequence.vertices[..., 1].mean() for sequence in walks]))
    y = height + 0.2 * np.sin(np.pi * np.clip((way - 12.0) / 2.5, 0, 1)) ** 2
    return planar.Path.through(np.stack([x, y, z], axis=1), behaviours=behaviours)


def along(player: Player, motion: EdgeMotion, curve: planar.Path, picture: Path) -> Result:
    """Search, play, measure and draw one curve."""
    made = player.subject
    began = time.process_time()
    found = follow(made.graph, motion, curve)
    search = time.process_time() - began
    animation = synthesize(player, found.walk, start=found.start)
    middles = np.array([centroid(vertices) for vertices in animation.sequence.vertices])
    strayed = np.abs(middles - found.positions[:, 0::2]).max()
    if strayed > 0.05:
        print(f"  the meshes are up to {100 * strayed:.0f} cm from where the search had them")
    slid = compare_foot_skate(animation, made.library, player.ground.contacts)
    style.save(
        figures.path_from_above(animation, curve=curve.points[:, 0::2]),
        picture.with_name(f"{picture.name}.png"),
    )
    style.save(figures.timeline(animation, made.library), picture.with_name(f"{picture.name}-time.png"))
    graph, taken = made.graph, made.graph.synthetic[found.walk.edges]
    return Result(
        found.path_error,
        float(found.errors.max()),
        found.label_violations,
        wrong_labels(
            made.library, curve, found, animation.provenance.sources, animation.provenance.destinations
        ),
        int(taken.sum()),
        animation.provenance.captured_frames / animation.sequence.frames,
        float(graph.deformation[found.walk.edges].sum()) / curve.length,
        slid.ratio,
        animation.sequence.frames / made.library.frame_rate,
        search,
    )


def wrong_labels(library: Library, curve: planar.Path, found: PathWalk, *ends: np.ndarray) -> int:
    """Frames of which neither pose is of a behaviour asked for there, borders' tolerance not granted."""
    labels = np.array(library.labels)[library.clip_of]
    wrong = np.zeros(len(found.arc_length), bool)
    for asked in curve.behaviours:
        inside = (found.arc_length > asked.start) & (found.arc_length < asked.stop)
        wrong |= inside & ~np.any([np.isin(labels[frames], asked.labels) for frames in ends], axis=0)
    return int(wrong.sum())


def judged(results: dict[str, list[Result]]) -> bool:
    """Whether the bars are met and the source's trend is seen."""
    every = [result for row in results.values() for result in row]
    checks = {
        "no frame of a behaviour that was not asked for": all(result.wrong == 0 for result in every),
        f"feet slide at most {SLIDE} times as fast as captured": all(r.slide <= SLIDE for r in every),
    }
    if len(next(iter(results.values()))) > 1:
        means = np.mean([[result.mean for result in row] for row in results.values()], axis=0)
        dear = np.mean([[result.deformation for result in row] for row in results.values()], axis=0)
        print("mean distance, all paths: " + ", ".join(f"{100 * mean:.1f} cm" for mean in means))
        print("deformation a metre, all paths: " + ", ".join(f"{cost:.2f} rad" for cost in dear))
        checks["a larger alpha follows more closely"] = bool(means[-1] < means[0])
        checks["a larger alpha deforms more"] = bool(dear[-1] > dear[0])
    for claim, holds in checks.items():
        print(f"  {claim}: {'yes' if holds else 'NO'}")
    return all(checks.values())


if __name__ == "__main__":
    sys.exit(main())
