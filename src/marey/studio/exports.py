"""Taking away what is shown: the files that formats and views make of data, and a button that makes one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from marey._work import Progress
from marey.errors import InputError
from marey.studio.room import Export
from marey.studio.settings import LIMITS
from marey.studio.text import safe_filename
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from marey.views.render import Viewable

NOTHING = "nothing yet"
# Endings of formats that a browser can be handed as one file.
ENDINGS = (
    ".bvh", ".glb", ".usd", ".npz", ".pc2", ".csv", ".parquet", ".sqlite", ".json", ".zarr", ".mry"
)  # fmt: skip
VIEWS = {".mp4": "video", ".png": "image", ".html": "page"}


def files_of(
    what: str, data: object, stem: str, *, without: tuple[str, ...] = (), still: bool = False
) -> list[Export]:
    """Every file that formats hold `data` in, then the views of it.

    what: for users: "motion"; stem: of the files' names; without: endings that are left out
    still: whether the views are only an image

    >>> import marey
    >>> [export.label for export in files_of("clip", marey.samples.walk(1), "walk")][:5]
    ['clip (BVH)', 'clip (GLB)', 'clip (USD)', 'clip (MRY)', 'clip video (MP4)']
    """
    from marey.io import FORMATS
    from marey.views import render

    kind = type(data).__name__
    held = {ending for known in FORMATS if kind in known.writes for ending in known.endings}
    labels = {ending: what for ending in ENDINGS if ending in held}
    if isinstance(data, tuple(render.VIEWS)):
        shown = (".png",) if still else tuple(VIEWS)
        labels |= {ending: f"{what} {VIEWS[ending]}" for ending in shown}
    return [
        made(label, f"{stem}{ending}", lambda _: data)
        for ending, label in labels.items()
        if ending not in without
    ]


def made(label: str, name: str, make: Callable[[Progress], object], kind: str | None = None) -> Export:
    """What is made when it is exported, then saved or drawn by the ending of its name; a folder is zipped.

    kind: of an image, as of :func:`marey.views.view`
    """
    ending = Path(name).suffix

    def write(path: Path, progress: Progress) -> None:
        from marey.io import FORMATS, save
        from marey.views.render import view

        data = make(progress)
        target = path.with_suffix("") if ending == ".zarr" else path
        if ending in VIEWS:
            view(cast("Viewable", data), target, kind=kind, progress=progress)
        elif hasattr(data, "save") and not any(type(data).__name__ in known.writes for known in FORMATS):
            data.save(target, progress=progress)
        else:
            save(data, target, progress=progress)
        if ending == ".zarr":
            shutil.make_archive(str(target), "zip", target.parent, target.name)

    shown = {".zarr": "Zarr, ZIP", ".parquet": "Parquet"}.get(ending, ending[1:].upper())
    return Export(f"{label} ({shown})", f"{name}.zip" if ending == ".zarr" else name, write)


class Exporter:
    """A choice of files and a button; the file is made aside and handed to the browser."""

    def __init__(self, workspace: Workspace, exports: Callable[[], Sequence[Export]]):
        self._workspace = workspace
        self._exports = exports
        self._choice = workspace.gui.add_dropdown("File", (NOTHING,), hint="What to make of what is shown")
        self._button = workspace.gui.add_button("Export", icon="download")
        self._button.on_click(workspace.callback(lambda _: self.run()))

    def refresh(self) -> None:
        """Offer what can be made of what is shown now."""
        labels = tuple(export.label for export in self._exports()) or (NOTHING,)
        if tuple(self._choice.options) != labels:
            chosen = self._choice.value
            self._choice.options = labels
            self._choice.value = chosen if chosen in labels else labels[0]

    def run(self) -> None:
        """Make the chosen file."""
        chosen = [export for export in self._exports() if export.label == self._choice.value]
        if not chosen:
            raise InputError("there is nothing to export yet: open a file or a sample first")
        export = chosen[0]

        def make(progress: Progress) -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / safe_filename(export.name)
                export.write(path, progress)
                if path.stat().st_size > LIMITS.download_bytes:
                    raise InputError(f"{export.name} is too large for the browser; use the command line")
                return path.read_bytes()

        def hand_over(content: bytes) -> None:
            self._workspace.download(export.name, content)

        self._workspace.jobs.run(f"making {export.name}", make, hand_over, self._button)
