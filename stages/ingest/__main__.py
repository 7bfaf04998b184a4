"""ingest: `python -m stages.ingest MODEL DATASET` takes in logits that others released.

Inputs   the released file, data/prompts/DATASET.parquet
Outputs  data/responses/MODEL/DATASET.letters.parquet, and without rows .likelihood.parquet, .text.parquet
"""

import importlib
import pkgutil
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from stages.contracts.letters import LETTERS, letters_path
from stages.contracts.likelihood import LIKELIHOOD, likelihood_path
from stages.contracts.prompts import PROMPTS, prompts_path
from stages.contracts.text import TEXT, text_path
from stages.ingest import forms
from stages.ingest.config import Config
from stages.ingest.join import letters
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage

MAX_BYTES = 256 * 2**20


def form_of(path: Path) -> ModuleType:
    """The file form that a suffix stands for. Raises UserError listing the suffixes there are."""
    suffixes: dict[str, str] = {}
    for form in pkgutil.iter_modules(forms.__path__):
        module = importlib.import_module(f"{forms.__name__}.{form.name}")
        if path.suffix in module.SUFFIXES:
            return module
        suffixes.update(dict.fromkeys(module.SUFFIXES, form.name))
    found = path.suffix or "nothing"
    raise UserError(f"{path}: files ending in {found} are not read; valid: {', '.join(suffixes)}")


def read_bytes(path: Path, key: str) -> bytes:
    """The whole file. Raises UserError where it is missing, no plain file or too large."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; correct ingest.{key}.file in params.yaml")
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"{path}: larger than {MAX_BYTES:,} bytes; keep the columns id and logits only")
    return path.read_bytes()


def main(run: Run) -> None:
    """Writes the three tables, all or none."""
    model, dataset = run.keys
    key = f"{model}-{dataset}"
    config = Config.model_validate(run.params["ingest"][key])
    path = Path(config.file)
    form = form_of(path)
    rows = form.parse(read_bytes(path, key), str(path))
    prompts = PROMPTS.read(prompts_path(dataset), ["id", "item", "variation", "options"])
    answers = letters(rows, prompts, LETTERS.schema, str(path), dataset)
    with ExitStack() as stack:
        stack.enter_context(LETTERS.writer(letters_path(model, dataset), answers.schema)).table(answers)
        stack.enter_context(LIKELIHOOD.writer(likelihood_path(model, dataset)))
        stack.enter_context(TEXT.writer(text_path(model, dataset)))
    run.note("rows", answers.num_rows)


if __name__ == "__main__":
    run_stage("ingest", main)
