"""The report: a site of a few pages, and its numbers as tables, as figures and as files for DVC.

From the tables of the earlier stages to the site:

loading.py, evidence.py     read the tables into `Evidence`, which every other file looks numbers up in
numbers.py                  a number with its interval, the difference of two models; both by name
gates.py, claims.py         rules for what may be shown or claimed; the claims about models that pass them
leaders.py                  which models lead, which is preferred, and the dataset of the first page
cards.py, news.py           the tiles of the first page; bad news about the preferred model
caveats.py                  sentences on models and texts that need a warning
costs.py                    the cost of each variation of the prompt for a model; names of variations
table.py, table_files.py    tables on a page; the same as CSV and LaTeX, and all of reports/tables
vegalite.py, drawing.py     charts as vega-lite; charts as SVG, PNG and PDF
page.py, pages/             the parts of a page; one file for each page, or for a large part of one
site.py                     finds the pages and writes everything under reports/ except reports/items
templates/, static/         Jinja templates; scripts and styles, which become reports/assets

Separate rooms make the tables and figures of published studies (vouch/papers) and the data of the page
Items, reports/items (vouch/browse).
"""
