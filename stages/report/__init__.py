"""report: one page, tables, figures and numbers for `dvc metrics` and `dvc plots`.

evidence.py  the tables of the earlier stages, and look-ups in them
tables/      NAME.py: build(evidence) -> frame, written to reports/tables/NAME.csv
figures/     NAME.py: draw(evidence, dataset) -> chart, written to reports/figures/NAME-DATASET.svg and .png
sections/    NAME.py: build(evidence) -> view of one section of the page
templates/   NAME.html.j2 turns that view into HTML
"""
