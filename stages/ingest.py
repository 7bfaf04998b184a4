"""ingest: `python -m stages.ingest MODEL DATASET` takes in what others released of a model.

Inputs   the released file, data/prompts/DATASET.parquet, data/items/DATASET.parquet
Outputs  data/responses/MODEL/DATASET.letters.parquet from logits, .likelihood.parquet or .text.parquet from
         logs of samples; the others without rows
"""

import importlib
import pkgutil
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from vouch.models.released import forms
from vouch.models.released.config import Config
from vouch.models.released.join import letters
from vouch.models.released.sample_join import join_samples, likelihood_rows, text_rows
from vouch.models.released.samples import read_samples
from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.stage import Run
from vouch.tables.items import ITEMS, items_path
from vouch.tables.prompts import LETTERS, LIKELIHOOD, PROMPTS, TEXT, prompts_path
from vouch.tables.text import RESPONSES

MAX_BYTES = 256 * 2**20


def form_of(path: Path, name: str | None = None) -> ModuleType:
    """The file form of that name, or the one that the suffix stands for. Raises UserError."""
    names = [form.name for form in pkgutil.iter_modules(forms.__path__)]
    if name is not None and name not in names:
        raise UserError(f"{path}: unknown form {name}; {did_you_mean(name, names)}")
    modules = {form: importlib.import_module(f"{forms.__name__}.{form}") for form in names}
    if name is not None:
        return modules[name]
    fitting = [form for form, module in modules.items() if path.suffix in module.SUFFIXES]
    if len(fitting) > 1:
        raise UserError(
            f"{path}: {' and '.join(fitting)} write such files; say which in its entry of ingest, e.g. "
            f"`form: {fitting[0]}`"
        )
    if not fitting:
        suffixes = ", ".join(sorted({suffix for module in modules.values() for suffix in module.SUFFIXES}))
        raise UserError(f"{path}: files ending in {path.suffix or 'nothing'} are not read; valid: {suffixes}")
    return modules[fitting[0]]


def read_bytes(path: Path, key: str) -> bytes:
    """The whole file. Raises UserError where it is missing, no plain file or too large."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; correct ingest.{key}.file in params.yaml")
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"{path}: larger than {MAX_BYTES:,} bytes; leave out what is not needed")
    return path.read_bytes()


def main(run: Run) -> None:
    """Writes the three tables, all or none."""
    model, dataset = run.keys
    config = Config.model_validate(run.params["ingest"][f"{model}-{dataset}"])
    path = Path(config.file)
    form = form_of(path, config.form)
    data = read_bytes(path, f"{model}-{dataset}")
    prompts = PROMPTS.read(prompts_path(dataset), ["id", "item", "variation", "options"])
    answers, pairs = RESPONSES[LETTERS].table.schema.empty_table(), []
    if hasattr(form, "responses"):
        items = ITEMS.read(items_path(dataset), ["id", "source_id"]).to_pylist()
        samples = read_samples(data, str(path), form, config.key, config.filter)
        pairs = join_samples(samples, prompts.to_pylist(), items, config.key is not None, str(path), dataset)
    elif config.key or config.filter:
        raise UserError(f"{path}: key and filter are for logs of samples only; leave them out")
    else:
        answers = letters(form.parse(data, str(path)), prompts, answers.schema, str(path), dataset)
    rows = {LIKELIHOOD: likelihood_rows(pairs), TEXT: text_rows(pairs)}
    with ExitStack() as stack:
        count = answers.num_rows
        for output, (table, place) in RESPONSES.items():
            schema = answers.schema if output == LETTERS else table.schema
            writer = stack.enter_context(table.writer(place(model, dataset), schema))
            if output == LETTERS:
                writer.table(answers)
            for row in rows.get(output, ()):
                writer.row(row)
                count += 1
    run.note("rows", count)


if __name__ == "__main__":
    run_stage("ingest", main)
