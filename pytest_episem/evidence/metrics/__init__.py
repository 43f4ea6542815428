"""Pure functions from a run's plan and records to numbers, each with what it was computed on (protocol, 5 to 7)."""
