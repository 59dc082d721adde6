"""Names that notebooks and editors show; `__init__.py` imports each when it is first used."""

from os import PathLike
from typing import overload

from marey import body as body
from marey import crowd as crowd
from marey import datasets as datasets
from marey import filming as filming
from marey import geometry as geometry
from marey import io as io
from marey import samples as samples
from marey import stage as stage
from marey import statistics as statistics
from marey import surface as surface
from marey import views as views
from marey._work import Progress
from marey.body.codec.clip import CompressedMotion
from marey.body.dynamics import MotionModel
from marey.body.limits.learned import LearnedLimits
from marey.body.markers import Markers as Markers
from marey.body.motion import Motion as Motion
from marey.body.pose_model import PoseModel as PoseModel
from marey.body.skeleton import Skeleton as Skeleton
from marey.body.trackers import Trackers
from marey.character import Character as Character
from marey.conversion import convert as convert
from marey.crowd.codec.series import CompressedFields
from marey.crowd.fields import FieldSeries as FieldSeries
from marey.crowd.fields import Footage as Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.spectrum import FourierFields
from marey.crowd.tracks import Tracks as Tracks
from marey.describe import info as info
from marey.errors import FormatError as FormatError
from marey.errors import InputError as InputError
from marey.errors import MareyError as MareyError
from marey.geometry.convention import UpAxis
from marey.installation import doctor as doctor
from marey.io import load as load
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.sequence import MeshSequence as MeshSequence
from marey.surface.skinning import SkinnedMesh as SkinnedMesh
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation
from marey.views import view as view

_Path = str | PathLike[str]
_Unit = str | float | None

@overload
def save(
    data: Motion | Character | MeshSequence | Animation,
    path: _Path,
    *,
    unit: _Unit = ...,
    up: UpAxis | None = ...,
    normals: bool = ...,
    max_error: float | None = ...,
    progress: Progress | None = ...,
) -> None: ...
@overload
def save(
    data: Markers, path: _Path, *, unit: _Unit = ..., up: UpAxis | None = ..., progress: Progress | None = ...
) -> None: ...
@overload
def save(
    data: Tracks | SimulatedCrowd,
    path: _Path,
    *,
    scene: Scene | None = ...,
    progress: Progress | None = ...,
) -> None: ...
@overload
def save(
    data: FieldSeries
    | Footage
    | Scene
    | Trackers
    | PoseModel
    | MotionModel
    | LearnedLimits
    | CompressedMotion
    | CompressedFields
    | FourierFields
    | DistanceMatrix
    | SurfaceGraph,
    path: _Path,
    *,
    progress: Progress | None = ...,
) -> None: ...

__version__: str
