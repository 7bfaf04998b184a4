"""The pages of the site. A file declares, and the site finds:

PAGE              a `Page`: title, one sentence on what it answers, its place in the navigation
NAME_SECTION      a `PageSection`, beside the functions that build it; it names its page and its place there
NAME_FIGURE       a `DatasetFigure`, beside the functions that draw and describe it
"""
