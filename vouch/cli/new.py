"""`vouch new`: a profile of your own data and models."""

import argparse
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli import ahead
from vouch.cli.command import FILES, argument, command
from vouch.cli.new_model import (
    HUB,
    ITEMS,
    SERVER,
    check_folders,
    first_file,
    model_of,
    relative,
    slug_of,
    without_images,
    without_letters,
)
from vouch.cli.printing import plain, plain_lines
from vouch.cli.schema import FOLDER
from vouch.cli.use import MODELINE, PROFILES, as_params, edited, editor, flow, flowing
from vouch.datasets.config import DatasetEntry
from vouch.datasets.loaders import jsonl
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.forms import ENDINGS
from vouch.datasets.read.images import leads_out
from vouch.metrics.config import ScoreConfig
from vouch.metrics.conformal.sets import fewest_groups
from vouch.params.check import TRAINED, check_params
from vouch.params.project import MODELS, PARAMS, Project
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.validation import NAME
from vouch.pipeline.yaml12 import load, loads
from vouch.report import formatting
from vouch.report.gates import MINIMUM
from vouch.tables.asked import LETTERS, TEXT

LINES = ".jsonl"
TABLES = [ending for ending in ENDINGS if not ending.startswith(".json")]
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
TEMPLATE = "plain"  # adds no options to those that the user wrote


def _absolute(given: str) -> str:
    """A folder as an absolute path: the command changes to the root of the checkout before it runs."""
    if not given.strip():
        raise argparse.ArgumentTypeError("is empty")
    if re.match(r"[\w.-]+:\d+(/|$)", given) and not os.path.exists(given):
        raise argparse.ArgumentTypeError(f"{given}: write the address of a server with http:// before it")
    away = given.startswith(HUB) or SERVER.match(given)
    return given if away else os.path.abspath(os.path.expanduser(given))


@command(
    "new",
    "begin with your own data and models (writes a profile)",
    argument("name", help="name of the profile: profiles/NAME.yaml"),
    argument(
        *("--data", "-d"),
        names=FILES,
        action="append",
        required=True,
        type=_absolute,
        metavar="FOLDER|FILE",
        help=f"a folder that holds {ITEMS}, or a file of such lines",
    ),
    argument(
        *("--model", "-m"),
        names=FILES,
        action="append",
        required=True,
        type=_absolute,
        metavar="FOLDER|hub:OWNER/NAME|URL",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Begin with your own data and models: write a profile that names only these.

    Every other key has a default; `vouch use` writes them all into params.yaml. A data folder holds
    items.jsonl and images; a file of such lines may be given itself. A table (CSV, Parquet) needs an entry by
    hand, with `loader: table` and a meaning for each column (docs/add-a-dataset.md). A model is one of these:
    a folder of weights or of released answers; a repository of the hub, which is pinned in models.lock and
    needs the network; or a server that speaks OpenAI's protocol, which becomes an entry of models.lock (write
    URL#NAME if it serves several models). A server is asked once, in a few requests of one token, whether it
    takes images and gives log-probabilities; if it gives none, the profile asks for texts as well.

    Examples:
      vouch new mine --data ../kites --model ../weights/my-model
      vouch new mine --data ../kites --data ../signs --model hub:OWNER/NAME --model http://127.0.0.1:8000/v1
      then: vouch use mine; dvc repro
    """
    path = _free_path(options.name)
    data = [lines_of(given) for given in options.data]
    questions = [count(path) for path in data]
    names = _distinct(
        "--data", [str(path) for path in data], [slug_of(_called(path), "data") for path in data]
    )
    datasets = dict(zip(names, map(_entry, data), strict=True))
    lock, named, notes = MODELS.read_text(encoding="utf-8"), list[tuple[str, str]](), list[str]()
    for wanted in options.model:
        lock, name, source = model_of(wanted, lock, notes)
        named.append((name, source))
    _distinct("--model", options.model, [name for name, _ in named])
    models = dict(named)
    trained = dict(_trained(models))
    letterless = without_letters(models, lock)
    outputs = [*([] if len(letterless) == len(models) else [LETTERS]), TEXT] if letterless else None
    text = _profile(options.name, datasets, models, trained, outputs)
    project = _checked(text, path, lock, models)
    write_text(path, text)
    asks = f"{path} has `outputs: [{', '.join(outputs or ())}]`, so that its texts are scored"
    notes = [*_abilities(without_images(models, lock), letterless, asks), *notes, *_of_trained(trained)]
    _report(path, project, dict(zip(datasets, questions, strict=True)), notes)
    return 0


def _abilities(blind: Iterable[str], letterless: Mapping[str, str], asks: str) -> Iterator[str]:
    """What models cannot do. letterless: name -> why it gives no letters. asks: what is asked of these."""
    yield from (f"{name} takes no images: it is asked the questions without them" for name in blind)
    yield from (f"{name} gives no letters: {why}; {asks}" for name, why in letterless.items())


def _of_trained(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield (
            f"{name}: `train.{name}` in the profile is how it was trained; `dvc pull` brings its weights, so "
            "it is not trained again"
        )


def _free_path(name: str) -> Path:
    """The file of a new profile. Raises UserError if the name cannot be taken."""
    path = PROFILES / f"{name}.yaml"
    if not re.fullmatch(NAME, name):
        raise UserError(f"{name[:80]}: a name is a lower-case letter, then lower-case letters, digits, _")
    if path.exists():
        raise UserError(f"{path}: exists already; take another name, or delete it")
    return path


def _checked(text: str, path: Path, lock: str, models: dict[str, str]) -> Project:
    """The project of a profile's text, with models.lock written. Raises UserError; then that is as before."""
    before = MODELS.read_text(encoding="utf-8")
    try:
        if lock != before:
            write_text(MODELS, lock)
        project = check_params(loads(as_params(text, str(path)), str(path)), str(path))
        check_folders(models, lock)
    except UserError:
        write_text(MODELS, before)
        raise
    return project


def _report(path: Path, project: Project, questions: dict[str, int], notes: list[str]) -> None:
    """Prints what was written, what to know of it, and what comes next. questions: by dataset."""
    refused = {name: why for name, entry in project.datasets.items() if (why := _refused(name, entry))}
    counted = ", ".join(
        f"{formatting.plural(n, 'line' if name in refused else 'question')} of {name}"
        for name, n in questions.items()
    )
    next_steps = "switches to it, `dvc repro` runs it and builds reports/index.html"
    if refused:
        next_steps = "switches to it; correct the lines before `dvc repro`"
    print(f"new: {path}: {plain(counted)}, for {plain(', '.join(project.models))}")
    few = [
        f"{name}: {what}"
        for name, n in questions.items()
        if name not in refused and (what := _too_few(n, project.score))
    ]
    stops = [f"prepare@{name} will stop: {why}" for name, why in refused.items()]
    print(plain_lines(f"new: {note}" for note in [*notes, *few, *stops]), end="")
    print(f"new: `vouch use {path.stem}` {next_steps}")


def _too_few(questions: int, score: ScoreConfig) -> str:
    """What cannot be said from so few questions, even if each is independent; empty if they are enough."""
    sets = fewest_groups(score.main_alpha, score.calibration)
    lacking = {
        f"no prediction set can leave out an option (that takes {sets} independent questions)": sets,
        f"no model can be called better than another or than a guess ({MINIMUM})": MINIMUM,
    }
    cannot = [what for what, needed in lacking.items() if questions < needed]
    with_so_few = f"with {formatting.plural(questions, 'question')}, accuracies get wide intervals"
    more = "add questions; docs/small-data.md says how many"
    return f"{', '.join([with_so_few, *cannot])}; {more}" if cannot else ""


def lines_of(given: str) -> Path:
    """The file of questions that --data means: the given one, or a folder's items.jsonl. Raises UserError."""
    path = Path(given)
    if path.is_file() and path.suffix.lower() == LINES:
        return path
    if (path / ITEMS).is_file():
        return path / ITEMS
    raise UserError(f"{_not_data(given, path)} (docs/add-a-dataset.md)")


def _not_data(given: str, path: Path) -> str:
    """What is wrong with --data, and what to do."""
    if given.startswith(HUB) or SERVER.match(given):
        return f"{given}: is not on this machine; write the entry into a profile by hand, with an `origin`"
    if not path.exists():
        return f"{path}: no such folder or file; --data names a folder that holds {ITEMS}"
    if table := first_file(path, TABLES):
        return (
            f"{table}: is a table, of which only you know what each column holds; name its folder in a "
            "profile with `loader: table` and `settings: {columns: ...}`"
        )
    if (path / "config.json").is_file():
        return f"{path}: is a model; give it with --model, and the folder of your questions with --data"
    if lines := first_file(path, [LINES]):
        return f"{path}: has no {ITEMS}, but {lines.name}; give that file: --data {relative(str(lines))}"
    if other := first_file(path, [".json"]):
        return f"{other}: is one JSON document; write {ITEMS}, with one JSON object on each line"
    if image := first_file(path, IMAGES):
        return f"{image}: is an image; write the questions into {ITEMS} beside it, one on each line"
    return f"{path}: has no {ITEMS}; write your questions into it, one JSON object on each line"


def count(path: Path) -> int:
    """The number of questions in a file of lines. Raises UserError if there are none."""
    if leads_out(path, path.parent):
        there = path.resolve()
        given = there.parent if there.name == ITEMS else there
        raise UserError(
            f"{path}: is a link that leads out of its folder; copy the file into the folder, or give what it "
            f"leads to: --data {relative(str(given))}"
        )
    questions = jsonl.count(SourceFiles(path.parent), "", jsonl.Settings(file=path.name))
    if not questions:
        raise UserError(f"{path}: is empty; put one JSON object per line into it (docs/add-a-dataset.md)")
    return questions


def _refused(name: str, entry: DatasetEntry) -> str:
    """Why `prepare` will stop at the questions, as far as their words tell; empty if it will not."""
    try:
        ahead.questions(name, entry)
    except UserError as error:
        return str(error)
    return ""


def _called(path: Path) -> str:
    """The name of a dataset: that of its folder, or of a file with another name than is usual."""
    return path.parent.name if path.name == ITEMS else path.stem


def _entry(path: Path) -> dict[str, Any]:
    """A dataset's entry in the profile."""
    settings = {} if path.name == ITEMS else {"settings": flow(file=path.name)}
    return {"source": relative(str(path.parent)), "template": TEMPLATE, **settings}


def _trained(models: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """The entries of `train` for models that a stage makes: from params.yaml, or else from a profile.

    Raises UserError if none of them has such an entry.
    """
    for source in map(Path, models.values()):
        if source.parent == TRAINED:
            entries = (load(path).get("train") or {} for path in (PARAMS, *sorted(PROFILES.glob("*.yaml"))))
            known = next((train for train in entries if source.name in train), None)
            if known is None:
                raise UserError(
                    f"{source}: no profile trains {source.name}, and {TRAINED} is only for what the stage "
                    "train makes; move the folder elsewhere, or correct its name"
                )
            yield source.name, known[source.name]


def _distinct(kind: str, given: list[str], names: list[str]) -> list[str]:
    """The names. Raises UserError if two are the same."""
    first: dict[str, str] = {}
    for each, name in zip(given, names, strict=True):
        if first.get(name) == each:
            raise UserError(f"{kind}: {each}: is given twice; name it once")
        if name in first:
            advice = _renaming(first[name], each)
            raise UserError(f"{kind}: {first[name]} and {each} would both be called {name}; {advice}")
        first[name] = each
    return names


def _renaming(*given: str) -> str:
    """What to do about two that would have one name: only a folder can be renamed."""
    folders = [one for one in given if not (one.startswith(HUB) or SERVER.match(one))]
    if folders:
        return "rename a folder" if len(folders) > 1 else f"rename {folders[0]}"
    return f"leave one out, and write it into {MODELS} and the profile under another name"


def _profile(
    name: str,
    datasets: dict[str, dict[str, Any]],
    models: dict[str, str],
    train: dict[str, Any],
    outputs: Sequence[str] | None,
) -> str:
    document = editor().load(
        f"{MODELINE}../{FOLDER}/params.json\n"
        "# Data and models; every other key has a default, which `vouch use` writes out (docs/profiles.md).\n"
        f"profile: {name}\ndatasets: {{}}\nmodels: {{}}\n"
    )
    for section in (document["datasets"], document["models"]):
        section.fa.set_block_style()
    document["datasets"].update({key: flow(**entry) for key, entry in datasets.items()})
    document["models"].update(models)
    if outputs:
        document["outputs"] = flowing(outputs)
    if train:
        document["train"] = {key: flow(**values) for key, values in train.items()}
    return edited(document)
