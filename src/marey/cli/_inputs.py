"""Files that commands are given, as data: read with a progress bar, checked, cut and cleaned.

Each loader takes a path, or several, and the reader's options that were given, by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from marey.cli._console import Stage, stage, warn
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.clean import CleanReport
    from marey.body.dynamics import MotionModel
    from marey.body.motion import Motion
    from marey.character import Character
    from marey.crowd.fields import Footage
    from marey.crowd.scenes import Scene
    from marey.crowd.tracks import Tracks
    from marey.surface.sequence import Library, MeshSequence

DEFAULT_RATE = 30.0
Data = TypeVar("Data")


@dataclass
class Given:
    """What was asked of readers: the options in `_options.READ`, and what cleaning then did."""

    from_unit: str | None = None
    from_up: str | None = None
    from_frame_rate: float | None = None
    root: str | None = None
    clip: str | None = None
    frames: slice | None = None
    raw: bool = False
    character: str | None = None
    vertices: int | None = None
    cleaning: CleanReport | None = None

    @property
    def convention(self) -> dict[str, object]:
        """Unit, up axis and frame rate of the input, as :func:`marey.load` takes them."""
        return {"unit": self.from_unit, "up": self.from_up, "frame_rate": self.from_frame_rate}


@dataclass(frozen=True)
class FrameReference:
    """A frame of a file; `frame` counts from 0, or below 0 from the end; None if none was written."""

    file: Path
    frame: int | None = None
    clip: str | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.clip, self.frame) if part is not None)


def read(path: Path, given: Given, **options: object) -> object:
    """What is in a file, of the clip that was asked for; `sample:NAME` is built-in data."""
    from marey.character import Character
    from marey.io import load

    if (sample := sample_name(path)) is not None:
        from marey import samples

        return samples.named(sample)
    clip = given.clip
    in_reader = clip is not None and path.suffix.lower() in (".glb", ".gltf")
    options |= {"clip": clip if in_reader else None, "root": given.root, **given.convention}
    with stage(f"reading {path.name}") as progress:
        data: object = load(path, None, clean=False, progress=progress, **options)
    if clip is not None and not in_reader:
        if not isinstance(data, Character):
            raise InputError(f"--clip {clip}: {path} has no named clips")
        data = data.with_motion(data.clip(clip))
    return data


def read_as(kind: type[Data], path: Path, given: Given, hint: str) -> Data:
    """What is in a file; an error that ends with `hint` unless it is of this kind."""
    data = read(path, given)
    if not isinstance(data, kind):
        raise InputError(f"{path}: holds a {type(data).__name__}, not {hint}")
    return data


def of_kind(name: str, hint: str) -> Callable[[Path, Given], Any]:
    """A loader of one data type, which is imported when a file is read: `marey.crowd.fields.FieldSeries`."""

    def load(path: Path, given: Given) -> object:
        module, _, kind = name.rpartition(".")
        return read_as(getattr(import_module(module), kind), path, Given(), hint)

    return load


fields = of_kind(
    "marey.crowd.fields.FieldSeries", "velocity fields (.zarr, .mry, .flo); marey crowd capture makes them"
)
distances = of_kind(
    "marey.statistics.graphs.graph.DistanceMatrix", "pose distances; make them with `marey surface distance`"
)
graph = of_kind(
    "marey.surface.synthesis.animate.SurfaceGraph", "a graph; make one with `marey surface graph`"
)
joint_limits = of_kind("marey.body.limits.learned.LearnedLimits", "joint limits; see marey body limits")
pose_model = of_kind("marey.body.pose_model.PoseModel", "a pose model; see marey body fit")


def sample_name(path: Path) -> str | None:
    """The name of built-in data that `path` asks for, as in `sample:walk`; None of a file."""
    head, colon, name = str(path).partition(":")
    return name if head == "sample" and colon and not path.exists() else None


def slice_frames(data: Data, frames: slice | None) -> Data:
    """Only those frames; those of a clip are numbered as in its file, −1 is the last one."""
    if frames is None:
        return data
    choose = getattr(data, "__getitem__", None)
    if choose is None:
        raise InputError(f"--frames: a {type(data).__name__} has no frames to choose from")
    if first := getattr(data, "first_frame", 0):
        frames, count = in_clip(frames, first), getattr(data, "frames", 0)
        if not range(*frames.indices(count)):
            raise InputError(f"--frames: none of them is in the clip, which has {first}:{first + count}")
    chosen: Data = choose(frames)
    return chosen


def in_clip(frames: slice, first: int) -> slice:
    """Frames numbered as in a file as those of a clip that begins with number `first`.

    >>> in_clip(slice(100, -1), 1), in_clip(slice(0, 3), 1)
    (slice(99, -1, None), slice(0, 2, None))
    """
    ends = (end if end is None or end < 0 else max(end - first, 0) for end in (frames.start, frames.stop))
    return slice(*ends)


def anything(path: Path, given: Given) -> object:
    """Any data, some frames of it; skeleton motion is cleaned unless `raw`."""
    from marey.body.motion import Motion

    data = read(path, given)
    return slice_frames(cleaned(data, path, given) if isinstance(data, Motion) else data, given.frames)


def whole_clip(path: Path, given: Given) -> Motion:
    """The skeleton motion of a file with all its joints, cleaned unless `raw`."""
    return slice_frames(cleaned(_motion(read(path, given), path), path, given), given.frames)


def clip(path: Path, given: Given) -> Motion:
    """The skeleton motion of a file from the joint that travels downwards, cleaned unless `raw`."""
    return figure_of(read(path, given), path, given)


def clips(paths: Sequence[Path], given: Given) -> list[Motion]:
    """Several clips, each as by :func:`clip`."""
    return [clip(path, given) for path in paths]


def figure_of(data: object, path: Path, given: Given) -> Motion:
    """The clip of what a file holds, without joints that only carry the figure, cleaned unless `raw`."""
    from marey.body.root_motion import moving_root

    motion = _motion(data, path)
    if top := moving_root(motion):
        names = motion.skeleton.names
        warn(f"left out {', '.join(names[:top])}: {names[top]} below travels by itself")
        motion = motion.subtree(names[top])
    return slice_frames(cleaned(motion, path, given), given.frames)


def cleaned(motion: Motion, path: Path, given: Given) -> Motion:
    """The clip without artificial T-pose and glitches, unless `raw` was given."""
    if given.raw:
        return motion
    from marey.body.clean import clean

    motion, report = clean(motion)
    given.cleaning = report
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
        self.progress: Stage | None = None
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
        from marey.character import Character

        data = read(path, self.given)
        found = data.motions if isinstance(data, Character) else [data]
        motions = [figure_of(motion, path, self.given) for motion in found]
        self.room -= sum(motion.rotations.nbytes for motion in motions)
        if self.room >= 0:
            self.kept[path] = motions
        return motions


def model_or_clip(path: Path, given: Given) -> MotionModel | Motion:
    """A model of a clip's dynamics, or a clip to learn one from."""
    from marey.body import MotionModel, PoseModel

    data = read(path, given)
    if isinstance(data, PoseModel):
        raise InputError(f"{path}: a pose model does not say how poses follow; see marey body learn")
    return data if isinstance(data, MotionModel) else figure_of(data, path, given)


def _motion(data: object, path: Path) -> Motion:
    from marey.body.motion import Motion
    from marey.character import Character

    if isinstance(data, Character):
        return first_clip(data, f"{path}: taking")
    if not isinstance(data, Motion):
        raise InputError(f"{path}: skeleton motion is needed, this is a {type(data).__name__}")
    return data


def first_clip(character: Character, what: str) -> Motion:
    """The first clip of a character, with a note if there are others."""
    if len(character.motions) > 1:
        first, *others = (motion.name for motion in character.motions)
        warn(f"{what} one clip, {first}; --clip chooses {' or '.join(others)}")
    return character.motion


def tracks(path: Path, given: Given) -> Tracks:
    """Tracks, also those of a simulated crowd."""
    from marey.crowd import SimulatedCrowd, Tracks

    data = read(path, given)
    if not isinstance(data, Tracks | SimulatedCrowd):
        raise InputError(
            f"{path}: holds a {type(data).__name__}, not tracks; marey crowd simulate makes some"
        )
    return data.tracks if isinstance(data, SimulatedCrowd) else data


def video(path: Path, given: Given) -> Footage:
    """Frames of a video or of a folder of images."""
    from marey.crowd.fields import Footage

    return slice_frames(read_as(Footage, path, given, "a video or images"), given.frames)


def scene(text: str, *, panic: bool = False, hold: float | None = None) -> Scene:
    """The scene that a name, a number of the dataset or a JSON file stands for; `hold`: not the scene's own.

    >>> scene("4").name, scene("escape", panic=True).name
    ('escape', 'escape-panic')
    """
    from marey.crowd.scenes import PANIC, SCENES, preset
    from marey.io import scene_json

    names = list(SCENES)
    if text.isdecimal() and 1 <= int(text) <= len(names):
        text = names[int(text) - 1]
    if text in SCENES:
        return preset(text, panic=panic, hold=hold or 0.0)
    if not Path(text).suffix:
        raise InputError(f"there is no scene {text!r}; there are {', '.join(names)}, or give a JSON file")
    found = scene_json.read(Path(text))
    found = found if hold is None else replace(found, hold=hold)
    return replace(found.faster(PANIC), name=f"{found.name}-panic") if panic else found


def library(paths: Sequence[Path], given: Given) -> Library:
    """Mesh sequences of one subject, named after their files; `sample:library` is the built-in one.

    Skeleton clips are put on the character of `--character`, and `--vertices` decimates all of it.
    """
    from marey.body.motion import Motion
    from marey.surface.decimation import decimate
    from marey.surface.sequence import Library

    vertices = given.vertices
    loaded = [read(path, given) for path in paths]
    if all(isinstance(one, Motion) for one in loaded):
        clips = [_named(one, path, given) for one, path in zip(loaded, paths, strict=True)]
        return skinned(clips, given.character, vertices=vertices)
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
    clips: Sequence[Motion],
    character: str | None,
    *,
    vertices: int | None = None,
    frame_rate: float = DEFAULT_RATE,
    method: str = "linear",
) -> Library:
    """Skeleton clips on a character (the built-in human, a file, or a folder of MPFB), as mesh sequences."""
    from marey.stage import skin

    wearer = _character(character)
    with stage("posing") as progress:
        return skin(wearer, clips, vertices=vertices, frame_rate=frame_rate, method=method, progress=progress)


def _character(name: str | None) -> Character:
    from marey.character import Character

    if name is None or name == "human":
        from marey.samples import human

        return human()
    if Path(name).is_dir():
        from marey.io import mpfb

        return mpfb.read(Path(name))
    hint = "a rigged mesh; --character is human, a .glb with a skin, or a folder of MPFB"
    return read_as(Character, Path(name), Given(), hint)


def _sequences(loaded: Sequence[object], paths: Sequence[Path], given: Given) -> list[list[MeshSequence]]:
    """Meshes as they are; clips of characters and skeletons at the meshes' rate, or at one of theirs."""
    from marey.body.motion import Motion
    from marey.character import Character
    from marey.surface.sequence import Library, MeshSequence

    if given.character is not None and not any(isinstance(one, Motion) for one in loaded):
        raise InputError(f"--character {given.character}: there is no skeleton clip for it to wear")
    meshes = [one.frame_rate for one in loaded if isinstance(one, MeshSequence)]
    clips = [clip.frame_rate for one in loaded if isinstance(one, Character) for clip in one.motions]
    rate = float(meshes[0] if meshes else max(clips, default=DEFAULT_RATE))
    found: list[list[MeshSequence]] = []
    for data, path in zip(loaded, paths, strict=True):
        if isinstance(data, MeshSequence):
            found.append([replace(data, name=path.stem)])
        elif isinstance(data, Library):
            found.append(list(data.sequences))
        elif isinstance(data, Motion):
            clip = _named(data, path, given)
            found.append(list(skinned([clip], given.character, frame_rate=rate).sequences))
        elif isinstance(data, Character):
            found.append(_posed(data, path, rate))
        else:
            kind = type(data).__name__
            raise InputError(f"{path}: holds a {kind}, not a mesh sequence, a character or a skeleton clip")
    return found


def _posed(character: Character, path: Path, rate: float) -> list[MeshSequence]:
    found = []
    for motion in character.motions:
        if abs(motion.frame_rate - rate) > 1e-5 * rate:
            name = motion.name or "clip"
            warn(f"{path}: {name}: {motion.frame_rate:g} frames per second resampled to {rate:g}")
            motion = motion.resample(rate)
        name = path.stem if len(character.motions) == 1 else f"{path.stem}-{motion.name}"
        found.append(character.pose(motion).renamed(name))
    return found


def _named(motion: object, path: Path, given: Given) -> Motion:
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
