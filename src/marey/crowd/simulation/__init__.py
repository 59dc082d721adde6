"""Simulated crowds: pedestrians who walk to their goals among walls and each other by social forces."""
