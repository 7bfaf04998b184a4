"""Tables. NAME.py defines `build(evidence) -> frame`; nothing is rounded."""
