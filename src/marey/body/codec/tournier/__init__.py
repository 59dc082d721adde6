"""The codec of Tournier 2011, chapter 9: a pose model, and coarse curves of root and end effectors."""

from marey.body.codec.tournier.clip import Pin, TournierClip, coarse_length, decode, displace, published_ratio
from marey.body.codec.tournier.encode import encode, encode_within

__all__ = [
    "Pin",
    "TournierClip",
    "coarse_length",
    "decode",
    "displace",
    "encode",
    "encode_within",
    "published_ratio",
]
