"""A joint tree as text: names, and control characters between them that say what hangs on what.

    \\x01…\\x0e  before a name: how far up the parent is, less one - steps from the joint before where joints
               come limb by limb, else how many joints back; each \\x0f in front of it adds 14
    \\x1c \\x1d  after a name: one end site less, or more, than usual (usual: one on joints without children)
    \\x1e c     before a name: from here on, each joint mirrors the one `ord(c) - 32` before it (0: none)
    \\x1b c     the control character `chr(ord(c) - 64)` in a name

The trees that are known by number are in `marey.body.conventions`. Cost: linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from marey.body.conventions import joint_trees
from marey.body.mirroring import mirror_partners
from marey.errors import FormatError

_MOST = 14
_LESS, _MORE, _MIRROR, _ESCAPE = "\x1c", "\x1d", "\x1e", "\x1b"
_CONTROL = re.compile("[\x00-\x1f]")
_UP = re.compile(r"\x0f*[\x01-\x0e]")
_JOINT = re.compile(r"(\x1e(?P<mirror>.))?(?P<name>([^\x00-\x1f]|\x1b.)*)(?P<ends>[\x1c\x1d]*)", re.DOTALL)


class Tree(NamedTuple):
    """A joint tree.

    names, parents: of the joints
    ends: how many end sites each has
    mirrored: how far back the joint is that each mirrors, 0 if none
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    ends: tuple[int, ...]
    mirrored: tuple[int, ...]


def tree_text(tree: Tree, *, limb_by_limb: bool, usual_ends: int) -> str:
    """The tree as text."""
    branching = set(tree.parents)
    parts: list[str] = []
    mirrored = 0
    for joint, name in enumerate(tree.names):
        if joint:
            steps = _steps_up(tree.parents, joint) if limb_by_limb else joint - 1 - tree.parents[joint]
            rounds, rest = divmod(steps, _MOST)
            parts.append(chr(_MOST + 1) * rounds + chr(1 + rest))
        if tree.mirrored[joint] != mirrored:
            mirrored = tree.mirrored[joint]
            parts.append(_MIRROR + chr(32 + mirrored))
        parts.append(_CONTROL.sub(lambda found: _ESCAPE + chr(64 + ord(found.group())), name))
        more = tree.ends[joint] - (0 if joint in branching else usual_ends)
        parts.append(_MORE * more if more > 0 else _LESS * -more)
    return "".join(parts)


def tree_of_text(text: str, *, limb_by_limb: bool, usual_ends: int) -> Tree:
    """Inverse of :func:`tree_text`; anything else is a :class:`FormatError`."""
    names: list[str] = []
    parents: list[int] = []
    mirrored: list[int] = []
    extra: list[int] = []
    place, distance = 0, 0
    while place < len(text) or not names:
        joint = len(names)
        if joint == 0:
            parents.append(-1)
        elif up := _UP.match(text, place):
            steps = _MOST * (len(up.group()) - 1) + ord(up.group()[-1]) - 1
            parents.append(_parent_above(parents, joint - 1, steps) if limb_by_limb else joint - 1 - steps)
            place = up.end()
        if len(parents) == joint or (joint and parents[-1] < 0):
            raise FormatError("the compressed clip is damaged: its joints make no tree")
        found = _JOINT.match(text, place)
        assert found is not None, "an empty name is one"
        place = found.end()
        if found["mirror"] is not None:
            distance = ord(found["mirror"]) - 32
        if not 0 <= distance <= joint:
            raise FormatError("the compressed clip is damaged: a joint mirrors none")
        mirrored.append(distance)
        names.append(re.sub("\x1b(.)", _unescaped, found["name"], flags=re.DOTALL))
        extra.append(found["ends"].count(_MORE) - found["ends"].count(_LESS))
    branching = set(parents)
    ends = tuple(more + (0 if j in branching else usual_ends) for j, more in enumerate(extra))
    if min(ends) < 0 or len(set(names)) < len(names):
        raise FormatError(
            "the compressed clip is damaged: joints of the same name, or fewer end sites than none"
        )
    return Tree(tuple(names), tuple(parents), ends, tuple(mirrored))


def is_limb_by_limb(parents: Sequence[int]) -> bool:
    """Whether each joint's parent is the joint before or one above that.

    >>> is_limb_by_limb([-1, 0, 1, 0]), is_limb_by_limb([-1, 0, 0, 1])
    (True, False)
    """
    for joint in range(1, len(parents)):
        above = joint - 1
        while above > parents[joint]:
            above = parents[above]
        if above != parents[joint]:
            return False
    return True


def mirrored_by_name(names: Sequence[str]) -> tuple[int, ...]:
    """For each joint, how far before it its counterpart on the other side is; 0 where none is before it.

    >>> mirrored_by_name(["Hips", "LeftLeg", "LeftFoot", "RightLeg", "RightFoot"])
    (0, 0, 0, 2, 2)
    """
    return tuple(max(j - int(partner), 0) for j, partner in enumerate(mirror_partners(names)))


@cache
def known_trees() -> tuple[str, ...]:
    """Text of the trees that files may name by number, with one end site on joints without children."""
    found = []
    for names, parents in joint_trees().values():
        ends = tuple(int(j not in parents) for j in range(len(names)))
        tree = Tree(names, parents, ends, mirrored_by_name(names))
        found.append(tree_text(tree, limb_by_limb=is_limb_by_limb(parents), usual_ends=1))
    return tuple(found)


@cache
def dictionary() -> bytes:
    """What deflate may refer to; the most likely stands last."""
    return "".join(known_trees()).encode()


def _steps_up(parents: Sequence[int], joint: int) -> int:
    steps, above = 0, joint - 1
    while above != parents[joint]:
        above = parents[above]
        steps += 1
    return steps


def _parent_above(parents: Sequence[int], joint: int, steps: int) -> int:
    for _ in range(min(steps, len(parents) + 1)):
        if joint < 0:
            break
        joint = parents[joint]
    return joint


def _unescaped(found: re.Match[str]) -> str:
    code = ord(found.group(1)) - 64
    if not 0 <= code < 32:
        raise FormatError("the compressed clip is damaged: its names are no text")
    return chr(code)
