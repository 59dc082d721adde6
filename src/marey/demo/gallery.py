"""The gallery: every example of the demo, made by its commands, on a page that fills as they finish.

Several examples are made at a time, each after those whose files it reads.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    runs: Sequence[Run],
    *,
    stop: Callable[[], None] = lambda: None,
    plan: tuple[Example, ...] | None = None,
    progress: Progress | None = None,
) -> Gallery:
    """Make every example and put it into `folder`, whose page is there from the start and fills.

    Args:
        folder: New, empty, or of an earlier gallery.
        runs: How command lines are run; as many examples are made at a time, each by one of these.
        stop: Called when one fails or the user interrupts, so that the other runs end.
        plan: Which examples; if None those on the built-in samples and, if `MAREY_DATA` is set, on real data.
        progress: Told of each step.
    """
    check_folder_target(folder)
    folder, start = resolve_link(folder), time.perf_counter()
    plan = _plan() if plan is None else plan
    order = sorted(plan, key=lambda example: example.turn)
    made: dict[Example, Shown] = {}
    begun, changed, failed = list[Example](), threading.Condition(), threading.Event()
    gallery, published = Gallery(folder), set[Path]()
    with tempfile.TemporaryDirectory(prefix="marey-demo-") as temporary:
        work = Path(temporary)

        def next_example() -> Example | None:
            """The next one whose files are there, when there is one; None when all have begun."""
            with changed:
                while len(begun) < len(plan) and not failed.is_set():
                    for example in order:
                        if example not in begun and _needs(example, plan) <= made.keys():
                            if progress is not None:
                                progress(len(begun), len(plan), example.title)
                            begun.append(example)
                            for name in example.inputs:
                                if not (work / name).exists():
                                    examples.INPUTS[name](work / name)
                            return example
                    changed.wait()
            return None

        def make(run: Run) -> None:
            try:
                while (example := next_example()) is not None:
                    shown = Shown.of(example, [run(work, line) for line in example.commands], work)
                    with changed:
                        made[example] = shown
                        gallery.examples = [made[one] for one in plan if one in made]
                        gallery.seconds = time.perf_counter() - start
                        _publish(gallery, work, example.mentions, published, len(plan))
                        changed.notify_all()
            except BaseException:
                failed.set()
                with changed:
                    changed.notify_all()
                raise

        _publish(gallery, work, set(), published, len(plan))
        with ThreadPoolExecutor(len(runs)) as pool:
            try:
                for future in [pool.submit(make, run) for run in runs]:
                    future.result()
            except BaseException:
                failed.set()
                stop()
                raise
    return gallery


def _needs(example: Example, plan: tuple[Example, ...]) -> set[Example]:
    """The examples whose files the commands of this one read."""
    words = {word for line in example.commands for word in shlex.split(line)}
    return {other for other in plan if other is not example and words & other.makes}


def _plan() -> tuple[Example, ...]:
    """The samples, and after those of each scale the real captures."""
    every = (*examples.SAMPLES, *(examples.REAL if os.environ.get("MAREY_DATA") else ()))
    scales = list(dict.fromkeys(example.scale for example in every))
    return tuple(sorted(every, key=lambda example: scales.index(example.scale)))


def _publish(gallery: Gallery, work: Path, names: set[str], published: set[Path], total: int) -> None:
    """Put what is new under these names in `work`, and the page, into the gallery, always whole."""
    with draft_folder(gallery.folder, gallery.folder) as draft:
        files = (path.relative_to(work) for path in work.rglob("*") if path.is_file())
        new = [file for file in files if file.parts[0] in names]
        for name in (name for name in new if name not in published):
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(work / name, draft / name)
            published.add(name)
        text = page(gallery.examples, work, gallery.seconds, total)
        (draft / "index.html").write_text(text, encoding="utf-8")
        move_into(gallery.folder, draft, None)
