"""Gaussian processes in time: covariances, their fit, and simulation with and without constraints."""
