"""Sections of the page. NAME.py defines `build(evidence) -> view`; templates/NAME.html.j2 shows it."""
