"""The gallery: every example of the demo, made by its commands, on a page that fills as they finish.

Takes about two minutes on two cores for the built-in samples when compiled code is not kept yet.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from marey.demo import examples
from marey.demo.examples import Example
from marey.demo.page import Shown, page
from marey.io._files import check_folder_target, draft_folder, move_into, resolve_link

Report = dict[str, object]
Run = Callable[[Path, str], Report]
"""Runs a command line in a folder and returns its JSON object."""

Progress = Callable[[int, int, str], None]
"""Called before each example with how many are done, how many there are, and the title of the next."""


@dataclass
class Gallery:
    """What a demo made so far."""

    folder: Path
    examples: list[Shown] = field(default_factory=list)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        entries = [shown.as_dict() for shown in self.examples]
        return {"path": str(self.folder), "seconds": round(self.seconds, 2), "entries": entries}


def make_gallery(
    folder: Path,
    run: Run,
    *,
    plan: tuple[Example, ...] | None = None,
    progress: Progress | None = None,
) -> Gallery:
    """Make every example and put it into `folder`, whose page is there from the start and fills.

    Args:
        folder: New, empty, or of an earlier gallery.
        run: How command lines are run.
        plan: Which examples; if None those on the built-in samples and, if `MAREY_DATA` is set, on real data.
        progress: Told of each step.
    """
    check_folder_target(folder)
    folder, start = resolve_link(folder), time.perf_counter()
    plan = _plan() if plan is None else plan
    gallery, published = Gallery(folder), set[Path]()
    with tempfile.TemporaryDirectory(prefix="marey-demo-") as made:
        work = Path(made)
        _publish(gallery, work, published, len(plan))
        for done, example in enumerate(plan):
            if progress is not None:
                progress(done, len(plan), example.title)
            for name in example.inputs:
                if not (work / name).exists():
                    examples.INPUTS[name](work / name)
            reports = [run(work, line) for line in example.commands]
            gallery.examples.append(Shown.of(example, reports, work))
            gallery.seconds = time.perf_counter() - start
            _publish(gallery, work, published, len(plan))
    return gallery


def _plan() -> tuple[Example, ...]:
    """The samples, and after those of each scale the real captures."""
    every = (*examples.SAMPLES, *(examples.REAL if os.environ.get("MAREY_DATA") else ()))
    scales = list(dict.fromkeys(example.scale for example in every))
    return tuple(sorted(every, key=lambda example: scales.index(example.scale)))


def _publish(gallery: Gallery, work: Path, published: set[Path], total: int) -> None:
    """Put what is new in `work` and the page into the gallery; at every moment its page is whole."""
    with draft_folder(gallery.folder, gallery.folder) as draft:
        new = [path.relative_to(work) for path in work.rglob("*") if path.is_file()]
        for name in (name for name in new if name not in published):
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(work / name, draft / name)
            published.add(name)
        text = page(gallery.examples, work, gallery.seconds, total)
        (draft / "index.html").write_text(text, encoding="utf-8")
        move_into(gallery.folder, draft, None)
