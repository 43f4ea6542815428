"""What a run leaves behind: its header, its trials, and their store (protocol, section 8)."""
