"""Tests of the motion codecs."""
