"""Motion compression: the default codec, that of Tournier 2011, and the file format of both."""

from marey.body.codec import tournier
from marey.body.codec.clip import CompressedMotion, channel_bytes, compress, decompress, engine_bytes

__all__ = ["CompressedMotion", "channel_bytes", "compress", "decompress", "engine_bytes", "tournier"]
