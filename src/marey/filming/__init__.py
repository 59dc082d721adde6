"""Rendered videos of simulated crowds with their ground truth (Courty 2013, section 6.3)."""

from marey.filming.dataset import Report, film_crowd, write_dataset
from marey.filming.reading import Dataset, View, read_dataset

__all__ = ["Dataset", "Report", "View", "film_crowd", "read_dataset", "write_dataset"]
