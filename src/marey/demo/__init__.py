"""The demo: marey on its built-in samples (and on real data when MAREY_DATA is set), as a gallery to open.

Each chapter is a function that writes files into a folder and says what it measured.
"""

from __future__ import annotations

from marey.demo.gallery import Gallery, make_gallery

__all__ = ["Gallery", "make_gallery"]
