"""Figures. NAME.py defines

TITLE                                       heading of the figure
draw(evidence, dataset) -> chart or None    None where there is nothing to draw
describe(evidence, dataset) -> str          what it shows, for people who cannot see it
narrow(evidence, dataset) -> chart or None  the same for narrow screens, where it is shown there
"""
