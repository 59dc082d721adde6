"""The codec of Tournier 2011, chapter 9: a pose model, and coarse curves of root and end effectors."""

from marey.body.codec.tournier.choose import encode_within
from marey.body.codec.tournier.clip import TournierClip, decode
from marey.body.codec.tournier.edit import Pin, displace
from marey.body.codec.tournier.encode import encode
from marey.body.codec.tournier.sizes import coarse_length, level_count, published_ratio

__all__ = [
    "Pin",
    "TournierClip",
    "coarse_length",
    "decode",
    "displace",
    "encode",
    "encode_within",
    "level_count",
    "published_ratio",
]
