"""BVH text made from a plain description, and where its joints are by 4 x 4 matrices: an oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AXES = "XYZ"


@dataclass
class Figure:
    """A tree in depth-first order with channels and a table of values; `ends` are (joint, offset)."""

    parents: list[int]
    offsets: list[list[float]]
    channels: list[list[str]]
    table: np.ndarray
    ends: list[tuple[int, list[float]]]
    frame_time: str = "0.0333333"

    def text(self, *, gap: str = " ", line_end: str = "\n") -> str:
        lines = ["HIERARCHY"]
        depths: list[int] = []
        for joint, parent in enumerate(self.parents):
            depth = 0 if parent < 0 else depths[parent] + 1
            lines += ["}"] * (0 if joint == 0 else depths[-1] - depth + 1)
            depths.append(depth)
            lines += [f"{'JOINT' if depth else 'ROOT'} joint{joint}", "{"]
            lines.append(gap.join(["OFFSET", *map(repr, self.offsets[joint])]))
            lines.append(gap.join(["CHANNELS", str(len(self.channels[joint])), *self.channels[joint]]))
            for _, offset in (end for end in self.ends if end[0] == joint):
                lines += ["End Site", "{", gap.join(["OFFSET", *map(repr, offset)]), "}"]
        lines += ["}"] * (depths[-1] + 1)
        lines += ["MOTION", f"Frames: {len(self.table)}", f"Frame Time: {self.frame_time}"]
        lines += [gap.join(map(repr, row)) for row in self.table.tolist()]
        return line_end.join(lines) + line_end

    def positions(self) -> np.ndarray:
        """World positions `(frames, joints, 3)`, by the meaning of the format alone."""
        result = np.empty((len(self.table), len(self.parents), 3))
        for frame, row in enumerate(self.table):
            world: list[np.ndarray] = []
            values = iter(row)
            for joint, parent in enumerate(self.parents):
                place = np.array(self.offsets[joint], dtype=float)
                turn = np.eye(3)
                for channel in self.channels[joint]:
                    value, axis = next(values), AXES.index(channel[0].upper())
                    if channel[1:].lower() == "position":
                        place[axis] = value
                    else:
                        turn = turn @ turn_about(axis, value)
                local = np.eye(4)
                local[:3, :3], local[:3, 3] = turn, place
                world.append(local if parent < 0 else world[parent] @ local)
                result[frame, joint] = world[-1][:3, 3]
        return result


def turn_about(axis: int, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = c
    turn[i, j], turn[j, i] = -s, s
    return turn
