"""Files in and out: one module a format; :func:`load` and :func:`save` pick it.

Every module of this folder that is a format offers `read(path, **options)` and, where it can,
`write(data, path, **options)`. `FORMATS` is the whole registry.
"""

from marey.io._limits import LIMITS, Limits
from marey.io.formats import FORMATS, Format, format_of, format_to_write, header, load, save, writable_part

__all__ = ["FORMATS", "LIMITS", "Format", "Limits", "format_of", "format_to_write", "header", "load", "save"]
__all__ += ["writable_part"]
