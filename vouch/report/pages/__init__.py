"""Pages of the site. NAME.py, shown as reports/pages/NAME.html (`index`: reports/index.html), defines

PLACE        where it stands in the navigation, ascending
TITLE        one or two words: the link in the navigation, and the heading of the page
DESCRIPTION  one sentence: what the page answers
SECTIONS     names of files in sections/, in the order of the page
SCRIPTS      names of files in static/ that the page loads, if it needs any

A page none of whose sections has anything to say is left out, links to it included. Its frame is
templates/pages/NAME.html.j2 where that exists, else templates/page.html.j2.
"""
