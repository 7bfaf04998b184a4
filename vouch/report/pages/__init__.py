"""The pages of the site. A file declares, and the site finds:

PAGE              a `Page`: title, one sentence on what it answers, its place in the navigation, its sections
NAME_SECTION      a `PageSection`, beside the functions that build it
NAME_FIGURE       a `DatasetFigure`, beside the functions that draw and describe it

A new page is a new file here. A new section is an object in a file, listed in the sections of its page.
"""
