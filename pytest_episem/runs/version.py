"""The protocol's version: bumped when the meaning of any recorded or reported value changes."""

PROTOCOL_VERSION = "1.0"
