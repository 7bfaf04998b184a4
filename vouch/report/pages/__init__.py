"""Pages of the site. A file declares, and the site finds in it:

PAGE              a `Page`: title, a sentence on what it answers, place in the navigation, sections
NAME_SECTION      a `PageSection`, beside the functions that build it
NAME_FIGURE       a `DatasetFigure`, beside the functions that draw it and put it in words

A new page is a new file here; a new section an object in a file, and its place in the sections of a page.
"""
