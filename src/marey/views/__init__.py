"""Images, figures, videos and pages of all data types, drawn without a screen.

>>> import marey, tempfile
>>> from pathlib import Path
>>> out = Path(tempfile.mkdtemp()) / "angles.png"
>>> marey.views.view(marey.samples.walk(seconds=1), out, kind="curves")
>>> out.exists()
True
"""

from __future__ import annotations

from marey.views import figures
from marey.views.render import figure, page, view

__all__ = ["figure", "figures", "page", "view"]
