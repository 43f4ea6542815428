"""Templates and assignments from files, and the checks they must pass (outcome protocol, section 4)."""
