"""report: a site of a few pages, tables, figures and numbers for `dvc metrics` and `dvc plots`.

evidence.py  the tables of the earlier stages, and look-ups in them
tables/      NAME.py: build(evidence) -> frame, written to reports/tables/NAME.csv
figures/     NAME.py: draw(evidence, dataset) -> chart, in reports/figures: NAME-DATASET.svg, .png, .pdf
papers/      NAME/: tables and figures of a paper, the latter NAME-figure-NUMBER-PLACE.svg and so on
sections/    NAME.py: build(evidence) -> view of one section
templates/   NAME.html.j2 turns that view into HTML
pages/       NAME.py: which sections a page shows, and where it stands
static/      what the pages load, copied to reports/assets
"""
