"""Files that commands are given, as data: read with a progress bar, checked, cut and cleaned.

Each loader takes a path, or several, and the reader's options that were given, by their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marey.cli._console import stage, warn
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.motion import Motion
    from marey.crowd.scenes import Scene
    from marey.surface.sequence import Library, MeshSequence

DEFAULT_RATE = 30.0

Given = dict[str, Any]


@dataclass(frozen=True)
class FrameReference:
    """A frame of a file; `frame` counts from 0, or below 0 from the end; None if none was written."""

    file: Path
    frame: int | None = None
    clip: str | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.clip, self.frame) if part is not None)


def read(path: Path, given: Given, *kinds: str, hint: str = "", **options: Any) -> Any:
    """What is in a file, of the clip that was asked for; an error unless it is of one of `kinds`."""
    from marey.io import load

    clip = given.get("clip")
    in_reader = clip is not None and path.suffix.lower() in (".glb", ".gltf")
    options |= {name: given.get(f"from_{name}") for name in ("unit", "up", "frame_rate")}
    with stage(f"reading {path.name}") as progress:
        data = load(
            path, clip=clip if in_reader else None, root=given.get("root"), progress=progress, **options
        )
    if clip is not None and not in_reader:
        if type(data).__name__ != "Character":
            raise InputError(f"--clip {clip}: {path} has no named clips")
        data = data.with_motion(data.clip(clip))
    if kinds and type(data).__name__ not in kinds:
        raise InputError(f"{path}: holds a {type(data).__name__}, not {hint}")
    return data


def slice_frames(data: Any, frames: slice | None) -> Any:
    """Only those frames; those of a clip are numbered as in its file, −1 is the last one."""
    if frames is None:
        return data
    if not hasattr(data, "__getitem__"):
        raise InputError(f"--frames: a {type(data).__name__} has no frames to choose from")
    if first := getattr(data, "first_frame", 0):
        frames = in_clip(frames, first)
        if not range(*frames.indices(data.frames)):
            raise InputError(
                f"--frames: none of them is in the clip, which has {first}:{first + data.frames}"
            )
    return data[frames]


def in_clip(frames: slice, first: int) -> slice:
    """Frames numbered as in a file as those of a clip that begins with number `first`.

    >>> in_clip(slice(100, -1), 1), in_clip(slice(0, 3), 1)
    (slice(99, -1, None), slice(0, 2, None))
    """
    ends = (end if end is None or end < 0 else max(end - first, 0) for end in (frames.start, frames.stop))
    return slice(*ends)


def anything(path: Path, given: Given) -> Any:
    """Any data, some frames of it; skeleton motion is cleaned unless `raw`."""
    data = read(path, given)
    if type(data).__name__ == "Motion":
        data = cleaned(data, path, given)
    return slice_frames(data, given.get("frames"))


def whole_clip(path: Path, given: Given) -> Motion:
    """The skeleton motion of a file with all its joints, cleaned unless `raw`."""
    return slice_frames(cleaned(_motion(read(path, given), path), path, given), given.get("frames"))


def clip(path: Path, given: Given) -> Motion:
    """The skeleton motion of a file from the joint that travels downwards, cleaned unless `raw`."""
    return figure_of(read(path, given), path, given)


def clips(paths: Sequence[Path], given: Given) -> list[Motion]:
    """Several clips, each as by :func:`clip`."""
    return [clip(path, given) for path in paths]


def figure_of(data: Any, path: Path, given: Given) -> Motion:
    """The clip of what a file holds, without joints that only carry the figure, cleaned unless `raw`."""
    from marey.body.root_motion import moving_root

    motion = _motion(data, path)
    if top := moving_root(motion):
        names = motion.skeleton.names
        warn(f"left out {', '.join(names[:top])}: {names[top]} below travels by itself")
        motion = motion.subtree(names[top])
    return slice_frames(cleaned(motion, path, given), given.get("frames"))


def cleaned(motion: Motion, path: Path, given: Given) -> Motion:
    """The clip without artificial T-pose and glitches, unless `raw` was given."""
    if given.get("raw"):
        return motion
    from marey.body.clean import clean

    motion, report = clean(motion)
    given["cleaning"] = report
    for line in report.lines() if report.changed else ():
        warn(f"{path}: {line}")
    return motion


class ClipFiles:
    """Clips of files and folders, read when they are asked for, and kept while there is room."""

    ENDINGS = (".bvh", ".amc", ".glb", ".gltf")
    KEPT = 256 << 20

    def __init__(self, paths: Sequence[Path], given: Given) -> None:
        self.given, self.files, self.room = (
            given,
            [file for path in paths for file in self._in(path)],
            self.KEPT,
        )
        self.progress: Any = None
        self.kept: dict[Path, list[Motion]] = {}

    def _in(self, path: Path) -> list[Path]:
        if not path.is_dir():
            return [path]
        found = sorted(file for file in path.iterdir() if file.suffix.lower() in self.ENDINGS)
        if not found:
            raise InputError(f"{path}: no {', '.join(self.ENDINGS)} files in this folder")
        return found

    def __iter__(self) -> Iterator[Motion]:
        for done, path in enumerate(self.files, start=1):
            yield from self.kept.get(path) or self._read(path)
            if self.progress is not None:
                self.progress(done, len(self.files))

    def _read(self, path: Path) -> list[Motion]:
        """All clips of a file: a character may have several."""
        data = read(path, self.given)
        found = data.motions if type(data).__name__ == "Character" else [data]
        motions = [figure_of(motion, path, self.given) for motion in found]
        self.room -= sum(motion.rotations.nbytes for motion in motions)
        if self.room >= 0:
            self.kept[path] = motions
        return motions


def model_or_clip(path: Path, given: Given) -> Any:
    """A model of a clip's dynamics, or a clip to learn one from."""
    data = read(path, given)
    if type(data).__name__ == "PoseModel":
        raise InputError(f"{path}: a pose model does not tell how poses follow; see marey body learn")
    return data if type(data).__name__ == "MotionModel" else figure_of(data, path, given)


def check_joints(model: Any, motion: Motion) -> None:
    """A pose model of another skeleton than the clip's is an error."""
    if model.skeleton.names != motion.skeleton.names:
        raise InputError("--model: its joints differ from those of the clip")


def frame_at(motion: Motion, seconds: float, what: str) -> int:
    """The frame of a clip at a time; `what` asked for it, in case there is none."""
    frame = round(seconds * motion.frame_rate)
    if not 0 <= frame < motion.frames:
        last = (motion.frames - 1) / motion.frame_rate
        raise InputError(f"{what} {seconds:g}: the clip goes from 0 to {last:g} seconds")
    return frame


def _motion(data: Any, path: Path) -> Motion:
    if type(data).__name__ == "Character":
        if len(data.motions) > 1:
            first, *others = (motion.name for motion in data.motions)
            warn(f"{path}: taking one clip, {first}; --clip chooses {' or '.join(others)}")
        return data.motion
    if type(data).__name__ != "Motion":
        raise InputError(f"{path}: skeleton motion is needed, this is a {type(data).__name__}")
    return data


def fields(path: Path, given: Given) -> Any:
    """Velocity fields."""
    hint = "velocity fields (.zarr, .mry, .flo); marey crowd capture makes them"
    return read(path, given, "FieldSeries", hint=hint)


def tracks(path: Path, given: Given) -> Any:
    """Tracks, also those of a simulated crowd."""
    hint = "tracks; marey crowd simulate makes some"
    return getattr(data := read(path, given, "Tracks", "SimulatedCrowd", hint=hint), "tracks", data)


def video(path: Path, given: Given) -> Any:
    """Frames of a video or of a folder of images."""
    return slice_frames(read(path, given, "Footage", hint="a video or images"), given.get("frames"))


def distances(path: Path, given: Given) -> Any:
    """Pose distances."""
    return read(path, given, "DistanceMatrix", hint="pose distances; make them with `marey surface distance`")


def graph(path: Path, given: Given) -> Any:
    """A motion graph of a captured subject."""
    return read(path, given, "SurfaceGraph", hint="a graph; make one with `marey surface graph`")


def pose_model(path: Path, given: Given) -> Any:
    """A pose model."""
    return read(path, {}, "PoseModel", hint="a pose model; see marey body fit")


def scene(text: str, *, panic: bool = False) -> Scene:
    """The scene that a name, a number of the dataset or a JSON file stands for.

    >>> scene("4").name, scene("escape", panic=True).name
    ('escape', 'escape-panic')
    """
    from marey.crowd.scenes import PANIC, SCENES, preset
    from marey.io import scene_json

    names = list(SCENES)
    if text.isdecimal() and 1 <= int(text) <= len(names):
        text = names[int(text) - 1]
    if text in SCENES:
        return preset(text, panic=panic)
    if not Path(text).suffix:
        raise InputError(f"there is no scene {text!r}; there are {', '.join(names)}, or give a JSON file")
    found = scene_json.read(Path(text))
    return replace(found.faster(PANIC), name=f"{found.name}-panic") if panic else found


def library(paths: Sequence[Path], given: Given) -> Library:
    """Mesh sequences of one subject, named after their files; the word `sample` is the built-in subject.

    Skeleton clips are put on the character of `--character`, and `--vertices` decimates everything alike.
    """
    from marey.surface.decimation import decimate
    from marey.surface.sequence import Library

    vertices = given["vertices"]
    if [str(path) for path in paths] == ["sample"] and not paths[0].exists():
        from marey.samples import mesh_library

        return mesh_library() if vertices is None else mesh_library(vertices=vertices)
    loaded = [read(path, given) for path in paths]
    if all(type(one).__name__ == "Motion" for one in loaded):
        clips = [_named(one, path, given) for one, path in zip(loaded, paths, strict=True)]
        return skinned(clips, given["character"], vertices=vertices)
    found = [one for several in _sequences(loaded, paths, given) for one in several]
    joined = Library(tuple(found))
    return joined if vertices is None else decimate(joined, vertices=vertices)


def mesh_frames(references: Sequence[FrameReference], given: Given) -> list[tuple[MeshSequence, int]]:
    """The sequence each frame belongs to, and its number there; files are read once and at one frame rate."""
    files = list(dict.fromkeys(reference.file for reference in references))
    found = _sequences([read(file, given) for file in files], files, given)
    by_file = dict(zip(files, found, strict=True))
    return [_located(by_file[reference.file], reference) for reference in references]


def skinned(
    clips: Sequence[Motion], character: str | None, *, frame_rate: float = DEFAULT_RATE, **options: Any
) -> Library:
    """Skeleton clips on a character (the built-in human, a file, or a folder of MPFB), as mesh sequences."""
    from marey.stage import mesh_library

    wearer: Any
    if character in (None, "human"):
        from marey.samples import human

        wearer = human()
    elif Path(character or "").is_dir():
        from marey.io import mpfb

        wearer = mpfb.read(Path(character or ""))
    else:
        hint = "a rigged mesh; --character is human, a .glb with a skin, or a folder of MPFB"
        wearer = read(Path(character or ""), {}, "Character", hint=hint)
    with stage("posing") as progress:
        return mesh_library(wearer, clips, frame_rate=frame_rate, progress=progress, **options)


def _sequences(loaded: Sequence[Any], paths: Sequence[Path], given: Given) -> list[list[MeshSequence]]:
    """Meshes as they are; clips of characters and skeletons at the meshes' rate, or at one of theirs."""
    kinds = [type(one).__name__ for one in loaded]
    if given.get("character") is not None and "Motion" not in kinds:
        raise InputError(f"--character {given['character']}: there is no skeleton clip for it to wear")
    meshes = [one.frame_rate for one in loaded if type(one).__name__ == "MeshSequence"]
    clips = [clip.frame_rate for one in loaded for clip in getattr(one, "motions", ())]
    rate = float(meshes[0] if meshes else max(clips, default=DEFAULT_RATE))
    return [
        _posed(one, kind, path, given, rate) for one, kind, path in zip(loaded, kinds, paths, strict=True)
    ]


def _posed(data: Any, kind: str, path: Path, given: Given, rate: float) -> list[MeshSequence]:
    if kind == "MeshSequence":
        return [replace(data, name=path.stem)]
    if kind == "Motion":
        clips = [_named(data, path, given)]
        return list(skinned(clips, given.get("character"), frame_rate=rate).sequences)
    if kind != "Character":
        raise InputError(f"{path}: holds a {kind}, not a mesh sequence, a character or a skeleton clip")
    if not data.motions:
        raise InputError(f"{path}: this character has no clip; `marey surface skin` puts clips on it")
    found = []
    for motion in data.motions:
        if abs(motion.frame_rate - rate) > 1e-5 * rate:
            name = motion.name or "clip"
            warn(f"{path}: {name}: {motion.frame_rate:g} frames per second resampled to {rate:g}")
            motion = motion.resample(rate)
        name = path.stem if len(data.motions) == 1 else f"{path.stem}-{motion.name}"
        found.append(data.pose(motion).renamed(name))
    return found


def _named(motion: Motion, path: Path, given: Given) -> Motion:
    return replace(figure_of(motion, path, given), name=path.stem)


def _located(sequences: list[MeshSequence], reference: FrameReference) -> tuple[MeshSequence, int]:
    names = [one.name.removeprefix(f"{reference.file.stem}-") for one in sequences]
    if reference.clip is None and len(sequences) == 1:
        sequence = sequences[0]
    elif reference.clip in names:
        sequence = sequences[names.index(reference.clip)]
    else:
        wrong = "has several clips" if reference.clip is None else f"has no clip {reference.clip!r}"
        raise InputError(
            f"{reference.file}: {wrong}; write {reference.file}:CLIP:FRAME, of {', '.join(names)}"
        )
    frame, frames = reference.frame, sequence.frames
    if frame is None and frames > 1:
        raise InputError(f"{reference}: it has {frames} frames; write {reference}:FRAME, e.g. {reference}:0")
    if not -frames <= (frame or 0) < frames:
        raise InputError(f"{reference}: there is no frame {frame}; it has {frames}, counted from 0")
    return sequence, (frame or 0) % frames
