"""The demo's world: scenes drawn and rendered from a seed, and questions whose answers are known."""
