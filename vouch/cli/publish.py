"""Write results in the formats of other tools."""

import argparse
import gzip
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import scipy
import yaml

from vouch.cli.command import argument, command, one_of, path_argument
from vouch.cli.leaderboard import warn_if_outdated
from vouch.cli.printing import plain
from vouch.library.estimates import PUBLISHED, results
from vouch.models.released.samples import HARNESSES, LogRecord
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import replacing, write_text
from vouch.pipeline.hub import BRANCH, one_line
from vouch.pipeline.records import intact
from vouch.tables.answered import RESPONSES, letters_path
from vouch.tables.asked import ITEMS, ORIGINAL, OUTPUTS, PROMPTS, items_path, prompt_for, prompts_path

if TYPE_CHECKING:
    import pandas as pd

REPORTS = Path("reports")
TOKEN = "HF_TOKEN"
Prompt = Mapping[str, Any]
Answer = tuple[tuple[str, ...], tuple[float | str, ...]]
"""Scored continuations and the log-likelihood of each in nats, or no continuations and one text."""


@command(
    "publish export",
    "a model's answers as a log of lm-evaluation-harness or lmms-eval",
    argument("model", names="models", help="a model of params.yaml"),
    argument("dataset", names="datasets", help="a dataset of params.yaml"),
    argument("--form", choices=list(HARNESSES), required=True, help="whose log of samples to write"),
    path_argument("--out", required=True, metavar="FILE", help="the file to write"),
    argument("--output", choices=OUTPUTS, help="which request type, if the model has answers of several"),
    argument("--variation", names="variations", default=ORIGINAL, help="default: original"),
)
def run_export(options: argparse.Namespace) -> int:
    """Write a model's answers as the log of samples that lm-evaluation-harness or lmms-eval would write.

    Letters become choices; their log-likelihoods are the log-softmax over the letters of the prompt's
    options. Likelihoods become choices with the negated NLL. Texts: only greedy ones. Prompts without an
    answer are left out. The same answers give the same bytes, and a file named *.gz is compressed.

    Examples:
      vouch publish export my_model mmbench --form lm_eval --out samples.jsonl
    """
    folder = letters_path("x", options.dataset).parent
    check_name("dataset", options.dataset, [path.name for path in folder.parent.glob("*")], folder.parent)
    known = {path.name.partition(".")[0] for path in folder.glob("*.parquet")}
    check_name("model", options.model, known, folder)
    prompts = _prompts(options.dataset, options.variation, options.model)
    output, answers_by_prompt = _answers(options, prompts)
    answers = {prompt: answer for prompt, answer in answers_by_prompt.items() if answer}
    items = {item["id"]: item for item in ITEMS.read(intact(items_path(options.dataset))).to_pylist()}
    harness = HARNESSES[options.form]
    records = _records(prompts, items, answers)
    _write(options.out, (json.dumps(harness.sample(record), ensure_ascii=False) for record in records))
    print(f"export: {len(answers)} samples of {output} in {plain(options.out)}")
    if len(answers_by_prompt) > len(answers):
        print(f"export: left out {len(answers_by_prompt) - len(answers)} prompts without an answer")
    return 0


def _prompts(dataset: str, variation: str, model: str) -> dict[str, Prompt]:
    path = prompts_path(dataset)
    rows = PROMPTS.read(intact(path)).to_pylist()
    check_name("variation", variation, {row["variation"] for row in rows}, path)
    return {row["id"]: prompt_for(model, row) for row in rows if row["variation"] == variation}


def _answers(
    options: argparse.Namespace, prompts: Mapping[str, Prompt]
) -> tuple[str, dict[str, Answer | None]]:
    """The request type that has answers, and each prompt's answer, or None if it is missing."""
    by_output: dict[str, dict[str, Answer | None]] = {}
    for output in [options.output] if options.output else OUTPUTS:
        table, path = RESPONSES[output]
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in table.read(intact(path(options.model, options.dataset))).to_pylist():
            if row["prompt"] in prompts:
                rows.setdefault(row["prompt"], []).append(row)
        if rows:
            by_output[output] = {
                prompt: _CONVERT[output](prompts[prompt], own) for prompt, own in rows.items()
            }
    files = f"data/responses/{options.dataset}/{options.model}.*.parquet"
    if len(by_output) > 1:
        raise UserError(f"{files}: holds {' and '.join(by_output)}; choose one of them with --output")
    for output, answers in by_output.items():
        if any(answers.values()):
            return output, answers
    raise UserError(
        f"{files}: no answers of {options.output or 'any kind'} to {options.variation}; choose what was asked"
    )


def _of_letters(prompt: Prompt, rows: Sequence[Mapping[str, Any]]) -> Answer | None:
    logits = (rows[0]["logits"] or [])[: len(prompt["options"])]
    if rows[0]["problem"] or not any(map(math.isfinite, logits)):
        return None
    return tuple(prompt["labels"]), tuple(scipy.special.log_softmax(logits).tolist())


def _of_likelihood(prompt: Prompt, rows: Sequence[Mapping[str, Any]]) -> Answer | None:
    nll = {row["option"]: row["nll"] for row in rows}
    if None in nll.values() or nll.keys() != set(range(len(prompt["options"]))):
        return None
    return tuple(prompt["options"]), tuple(0.0 - nll[option] for option in sorted(nll))


def _of_text(_prompt: Prompt, rows: Sequence[Mapping[str, Any]]) -> Answer | None:
    greedy = [row["text"] for row in rows if row["temperature"] == 0 and row["text"] is not None]
    return ((), (greedy[0],)) if greedy else None


_CONVERT = dict(zip(OUTPUTS, (_of_letters, _of_likelihood, _of_text), strict=True))


def _records(
    prompts: Mapping[str, Prompt], items: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Answer]
) -> Iterator[LogRecord]:
    """A record for each answer. doc_id: the position of the prompt among those of its variation."""
    for position, (name, prompt) in enumerate(prompts.items()):
        if name not in answers:
            continue
        continuations, values = answers[name]
        item = items[prompt["item"]]
        doc = {key: item[key] for key in ("id", "source_id", "question", "hint", "references")}
        targets = _targets(prompt, item, bool(continuations))
        metrics = {}
        if continuations:
            metrics["acc"] = float(values.index(max(values)) in prompt["answers"])
        yield LogRecord(
            doc_id=position,
            doc=doc | {"options": prompt["options"], "answers": prompt["answers"]},
            target=str(targets[0] if len(targets) == 1 else targets),
            context=prompt["text"],
            continuations=continuations,
            answers=values,
            metrics=metrics,
        )


def _targets(prompt: Prompt, item: Mapping[str, Any], scored: bool) -> list[Any]:
    """The correct answers, as the log names them.

    For scored choices, these are indices; for a text, the labels of the options, or their words if they
    have no labels; for an open question, its references.
    """
    if not prompt["options"]:
        return list(item["references"])
    if scored:
        return list(prompt["answers"])
    return [(prompt["labels"] or prompt["options"])[index] for index in prompt["answers"]]


def _write(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as temporary, temporary.open("wb") as raw:
        # the header has neither a name nor a time, so that the same lines give the same file
        sink = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
        for line in lines:
            sink.write(line.encode() + b"\n")
        if sink is not raw:
            sink.close()


@command(
    "publish hub",
    "all tables of the report as a dataset of the hub",
    one_of(
        argument("repo", nargs="?", metavar="OWNER/NAME", help="a dataset of the hub"),
        path_argument("--folder", help="write the files here, and send nothing"),
        required=True,
    ),
)
def run_hub(options: argparse.Namespace) -> int:
    """Write the report's tables as a dataset of the hub: for each a Parquet file and a configuration, and one
    card.

    If the repository does not exist, it is created as a private one. The token is read from the environment
    variable HF_TOKEN.

    Examples:
      vouch publish hub me/my-results
      vouch publish hub --folder results           write the files only, and send nothing
    """
    for path in (REPORTS / "tables").glob("*.csv"):
        intact(path)
    try:
        # `datasets` cannot load a table without rows
        tables = {name: table for name, table in results(REPORTS).items() if len(table)}
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    if options.folder:
        others = {path.name for path in options.folder.glob("*")} - {"README.md", Path(PUBLISHED).parts[0]}
        if others:
            raise UserError(f"{plain(options.folder)}: holds {plain(min(others))}; name a folder of its own")
        write_dataset(options.folder, tables, options.folder.name)
        print(f"hub: {len(tables)} tables in {plain(options.folder)}")
    else:
        print(f"hub: {len(tables)} tables in {_send_to_hub(options.repo, tables)}")
    warn_if_outdated()
    return 0


def write_dataset(folder: Path, tables: "dict[str, pd.DataFrame]", name: str) -> None:
    """Writes a dataset that `datasets.load_dataset(name, TABLE)` and `vouch.results(folder)` can load."""
    import datasets

    datasets.disable_progress_bars()
    for table, frame in tables.items():
        with replacing(folder / PUBLISHED.format(table)) as temporary:
            datasets.Dataset(_arrow(frame)).to_parquet(temporary)
    write_text(folder / "README.md", dataset_card(tables, name))


def _arrow(frame: "pd.DataFrame") -> Any:
    """A table whose texts are of one type: that of pandas depends on what was imported before it."""
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    large = pa.types.is_large_string
    fields = [one.with_type(pa.string()) if large(one.type) else one for one in table.schema]
    return table.cast(pa.schema(fields))


def dataset_card(tables: "dict[str, pd.DataFrame]", name: str) -> str:
    """The text of a dataset card: metadata between lines of dashes, then Markdown."""
    configs: list[dict[str, Any]] = [
        {"config_name": table, "data_files": PUBLISHED.format(table)} for table in tables
    ]
    first = "headline" if "headline" in tables else next(iter(tables))
    configs[list(tables).index(first)]["default"] = True
    metadata = yaml.safe_dump({"tags": ["vouch"], "configs": configs}, sort_keys=False)
    rows = "".join(
        f"| {table} | {len(frame):,} | {', '.join(frame.columns)} |\n" for table, frame in tables.items()
    )
    return (
        f"---\n{metadata}---\n\n# How far can these models' answers be trusted?\n\n"
        "Tables of a report of Vouch: accuracy, prediction sets, calibration, robustness and rankings "
        "of vision-language models.\n\n"
        f'```python\ndatasets.load_dataset("{name}", "{first}", split="train")\n```\n\n'
        f"| table | rows | columns |\n|---|---:|---|\n{rows}"
    )


def _send_to_hub(repo: str, tables: "dict[str, pd.DataFrame]") -> str:
    from huggingface_hub import HfApi

    token = os.environ.get(TOKEN)
    if not token:
        raise UserError(f"{repo}: no token; set {TOKEN} to a token that may write there")
    hub = HfApi(token=token)
    with TemporaryDirectory() as folder, one_line(repo, BRANCH, f"vouch publish hub {repo}", "the command"):
        write_dataset(Path(folder), tables, repo)
        address = hub.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        hub.upload_folder(
            repo_id=repo, folder_path=folder, repo_type="dataset", commit_message="Results of Vouch",
            delete_patterns=PUBLISHED.format("*"),
        )  # fmt: skip
    return str(address)
