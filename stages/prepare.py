"""prepare: `python -m stages.prepare NAME` reads the source of one dataset.

Inputs   the source that datasets.NAME of params.yaml names, fetched if it has an origin; the dataset's
         prompt template, vouch/prompts/templates/TEMPLATE.yaml: which parts of a question a prompt can show
Outputs  data/items, data/images, data/rejects, data/defects, data/published: NAME.parquet each
"""

import sys
from contextlib import ExitStack

from vouch.datasets.first_pass import Dataset, FirstPass
from vouch.datasets.second_pass import Findings, flagged, normalised
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.prompts.config import template_name
from vouch.prompts.fit import Fit
from vouch.prompts.template import read_template
from vouch.tables.asked import (
    DEFECTS,
    IMAGES,
    ITEMS,
    REJECTS,
    defects_path,
    images_path,
    items_path,
    rejects_path,
)
from vouch.tables.results import PUBLISHED, published_path


def main(run: Run) -> None:
    """Writes the five tables, all or none."""
    (name,) = run.keys
    dataset = Dataset.of(name, run.params["datasets"][name])
    config = dataset.config
    template = read_template(config.template, config.variant)
    fit = Fit(template, template_name(config.template, config.variant), counted=config.options is None)
    findings = Findings()
    with ExitStack() as stack:
        items = stack.enter_context(ITEMS.writer(items_path(name)))
        images = stack.enter_context(IMAGES.writer(images_path(name)))
        rejects = stack.enter_context(REJECTS.writer(rejects_path(name)))
        defects = stack.enter_context(DEFECTS.writer(defects_path(name)))
        published = stack.enter_context(PUBLISHED.writer(published_path(name)))
        first = FirstPass(dataset, images, rejects, findings, fit.problem)
        first.read(run)
        kept, options = first.kept, config.options
        if options:
            kept = normalised(kept, options, rejects.count, name, dataset.source.path)
        for table in flagged(kept, first.known, fit.flags):
            items.table(table)
            findings.items(table)
        for row in findings.rows():
            defects.row(row)
        for number in dataset.published():
            published.row(number)
    if first.without_image:
        which = f"{first.without_image} of {items.count} items"
        print(
            f"prepare {name}: {which} have no image, so models are asked with the text alone", file=sys.stderr
        )
    if dataset.source.revision:
        run.note("revision", dataset.source.revision)
    run.note("items", items.count)
    run.note("items_without_image", first.without_image)
    run.note("images", images.count)
    run.note("rejects", rejects.count)


if __name__ == "__main__":
    run_stage("prepare", main)
