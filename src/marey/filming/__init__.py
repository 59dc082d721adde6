"""Rendered videos of simulated crowds with their ground truth (Courty 2013, section 6.3)."""

from marey.filming.dataset import Dataset, Report, View, film_crowd, read_dataset, write_dataset

__all__ = ["Dataset", "Report", "View", "film_crowd", "read_dataset", "write_dataset"]
