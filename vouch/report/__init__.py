"""The report: a site of a few pages, and the same numbers as tables, figures and files for DVC.

From the tables of the earlier stages to the site:

loading.py, evidence.py     read the tables into `Evidence`, which every other file looks numbers up in
gates.py, claims.py         what may be shown or said at all; which claims about models pass
cards.py, caveats.py        the tiles of the first page; sentences on models and texts that need a warning
costs.py                    what each variation of the prompt costs a model, and the names of variations
table.py, table_files.py    tables on a page; the same as CSV and LaTeX, and all of reports/tables
vegalite.py, drawing.py     charts as vega-lite; charts as SVG, PNG and PDF
page.py, pages/             what a page is made of; one file for each page, or for a large part of one
site.py                     finds the pages and writes everything under reports/ except reports/items
templates/, static/         Jinja templates; scripts and styles, which become reports/assets

Rooms of their own are the tables and figures of published studies (vouch/papers) and the data of the page
Items, reports/items (vouch/browse).
"""
