"""The demo: marey on its built-in samples (and on real data when MAREY_DATA is set), as a gallery to open.

Each example is data: commands to run, and what to show of what they made and reported.
"""

from __future__ import annotations

from marey.demo.gallery import Gallery, make_gallery

__all__ = ["Gallery", "make_gallery"]
