"""Field series in few bytes: space–time wavelets, rounding, a range coder; any block of frames on its own."""

from marey.crowd.codec.series import CompressedFields, compress

__all__ = ["CompressedFields", "compress"]
