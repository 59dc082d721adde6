"""Motion compression: the default codec, the source's, and what both are measured by."""

from marey.body.codec.clip import CompressedMotion
from marey.body.codec.distortion import (
    Distortion,
    FootSkate,
    JointError,
    bone_length_drift,
    foot_skate,
    joint_error,
    position_errors,
    relative_distortion,
    shell_error,
)
from marey.body.codec.encoding import compress, decompress
from marey.body.codec.end_joints import EndJoint, end_joints
from marey.body.codec.sizes import channel_bytes, coarse_length, engine_bytes, level_count, source_ratio
from marey.body.codec.source import SourceClip, decompress_source
from marey.body.codec.source_choice import choose_source
from marey.body.codec.source_editing import Pin, displace
from marey.body.codec.source_encoder import compress_source

__all__ = [
    "CompressedMotion",
    "Distortion",
    "EndJoint",
    "FootSkate",
    "JointError",
    "Pin",
    "SourceClip",
    "bone_length_drift",
    "channel_bytes",
    "choose_source",
    "coarse_length",
    "compress",
    "compress_source",
    "decompress",
    "decompress_source",
    "displace",
    "end_joints",
    "engine_bytes",
    "foot_skate",
    "joint_error",
    "level_count",
    "position_errors",
    "relative_distortion",
    "shell_error",
    "source_ratio",
]
