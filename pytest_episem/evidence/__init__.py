"""The evidence suite: pairs of worlds, facts hidden from the tools, an oracle that judges what was done."""
