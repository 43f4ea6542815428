"""Intervals, limits, baselines and comparisons of a run's numbers."""
