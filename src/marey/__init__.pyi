"""Names that notebooks and editors show; `__init__.py` imports each when it is first used."""

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
from marey.body.markers import Markers as Markers
from marey.body.motion import Motion as Motion
from marey.body.pose_model import PoseModel as PoseModel
from marey.body.skeleton import Skeleton as Skeleton
from marey.character import Character as Character
from marey.conversion import convert as convert
from marey.crowd.fields import FieldSeries as FieldSeries
from marey.crowd.fields import Footage as Footage
from marey.crowd.tracks import Tracks as Tracks
from marey.describe import info as info
from marey.errors import FormatError as FormatError
from marey.errors import InputError as InputError
from marey.errors import MareyError as MareyError
from marey.installation import doctor as doctor
from marey.io import load as load
from marey.io import save as save
from marey.surface.sequence import MeshSequence as MeshSequence
from marey.surface.skinning import SkinnedMesh as SkinnedMesh
from marey.views import view as view

__version__: str
