"""Sections of the pages. NAME.py defines

TITLE                    how a page's list of contents names it
build(evidence) -> view  a `Section`, or what templates/NAME.html.j2 shows; None where there is nothing to say
"""
