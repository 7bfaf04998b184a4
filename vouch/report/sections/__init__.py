"""Sections of the pages. NAME.py defines

TITLE                    how a page's list of contents names it
build(evidence) -> view  false where there is nothing to say; templates/NAME.html.j2 shows it
"""
