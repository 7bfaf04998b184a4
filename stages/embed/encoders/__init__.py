"""Encoders without weights, one file each. A file defines load() -> Encoder."""
