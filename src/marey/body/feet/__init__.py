"""Feet on the ground: when they are in contact, how much they skate, and clips in which they stay."""

from marey.body.feet.contacts import (
    ContactProfile,
    FeetSettings,
    contacts,
    contacts_like,
    foot_joints,
    ground_heights,
)
from marey.body.feet.plant import PlantSettings, plant
from marey.body.feet.skate import skate, slide_speed
from marey.body.feet.targets import contact_targets
from marey.body.feet.two_bone import bend_leg

__all__ = [
    "ContactProfile",
    "FeetSettings",
    "PlantSettings",
    "bend_leg",
    "contact_targets",
    "contacts",
    "contacts_like",
    "foot_joints",
    "ground_heights",
    "plant",
    "skate",
    "slide_speed",
]
