"""Feet on the ground: when they are in contact, how much they skate, and clips in which they stay."""

from marey.body.feet.contacts import (
    ContactProfile,
    FeetSettings,
    contact_targets,
    contacts,
    contacts_like,
    foot_joints,
    ground_heights,
    skate,
    slide_speed,
)
from marey.body.feet.plant import PlantSettings, bend_legs, plant

__all__ = [
    "ContactProfile",
    "FeetSettings",
    "PlantSettings",
    "bend_legs",
    "contact_targets",
    "contacts",
    "contacts_like",
    "foot_joints",
    "ground_heights",
    "plant",
    "skate",
    "slide_speed",
]
