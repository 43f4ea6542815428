"""Templates and assignments from files, and the checks they must pass (workflow protocol, section 4)."""
