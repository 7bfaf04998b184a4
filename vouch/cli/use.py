"""`vouch use`: turns another profile into params.yaml. Profiles keep their comments, order and quotes."""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

from vouch.cli.command import argument, command
from vouch.cli.printing import plain
from vouch.cli.prune import Pruning, prune
from vouch.cli.revision import run as run_program
from vouch.cli.store import record
from vouch.datasets.fetch.origin import REMOTE
from vouch.models.released.files import released_models
from vouch.params.check import TRAINED, check_params
from vouch.params.project import MODELS, Project, Released, left_out
from vouch.pipeline.dag import PARAMS, read_dag
from vouch.pipeline.errors import UserError, check_name, did_you_mean, meant, rename_key, renamed_keys
from vouch.pipeline.files import BEFORE, UNUSED, replacing, write_text
from vouch.pipeline.records import LOCK, parse_lock
from vouch.pipeline.runners import none_at_work
from vouch.pipeline.state import states
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import dumped, load, loads, text_of
from vouch.report.formatting import plural
from vouch.tables.results import model_slug

PROFILES = Path("profiles")
MODELINE = "# yaml-language-server: $schema="  # gives editors the schema's path from the file's folder
_DEFAULTS = "\nDefaults that `vouch use` wrote out; docs/profiles.md"
RESTORE = "`vouch store restore` brings them back"


@command(
    "use",
    "switch to another profile (writes params.yaml)",
    argument("name", names="profiles", help="a file in profiles/, without .yaml"),
    argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one value, e.g. score.alpha=0.2",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Switch to a profile: check it, write params.yaml, and remove results that do not belong to it.

    A profile is a params.yaml in profiles/. Results are recorded first, so `dvc repro` restores them without
    computing anything when you switch back. If no profile equals your params.yaml, a copy of it is kept in
    .vouch/params. A profile may have a section `released` ({path, datasets}) that names a folder of released
    answers, as `vouch released` makes it; the datasets and models in it are then written into params.yaml.

    If the last commit has the params.yaml of the profile, its dvc.lock comes back as well, so `dvc pull`
    brings its results: this is the way back to the demo.

    Examples:
      vouch use small
      vouch use demo --set score.alpha=0.2
      vouch use released --set released.path=FOLDER
    """
    text = profile_text(options.name, options.set)
    for old, new in renamed_keys(load(PROFILES / f"{options.name}.yaml")):
        print(f"use: key {old} of the profile is now {new}; params.yaml has the new name")
    project = check_params(loads(text, PARAMS), f"profiles/{options.name}.yaml")
    dag = None
    with suppress(UserError):  # if params.yaml cannot be read, no stage ran with it
        dag = read_dag()
    if dag:
        record(states(dag))  # so that switching loses no results
    with none_at_work():
        pruning, committed = _switch(options.name, text)
    print(f"use: params.yaml is now {options.name}")
    if pruning.removed:
        print(f"use: removed {_files(pruning.removed)} of the previous profile; DVC's cache keeps them")
    if pruning.moved:
        print(f"use: moved {_files(pruning.moved)} that DVC's cache does not hold to {UNUSED}; {RESTORE}")
    for path in pruning.left:
        print(f"use: left {plain(path)}: no record says that a stage made it")
    for line in (*absent_data(project), *absent_models(project)):
        print(f"use: {plain(line)}")
    print(f"use: {_COMMITTED if committed else _NEXT}")
    return 0


def _files(paths: Sequence[str]) -> str:
    return plural(len(paths), "file")


_NEXT = "`vouch plan` says what would run; `dvc repro` runs it, and restores what was computed before"
_COMMITTED = f"{PARAMS} and {LOCK} are those of the last commit; `dvc pull` brings its results"


def _restore_lock(text: str) -> bool:
    """Takes dvc.lock from the last commit if params.yaml has this text there; whether it was taken.

    What dvc.lock held before is in DVC's records of runs (`prune`), so `dvc repro` restores it.
    """
    lock = run_program("git", "show", f"HEAD:./{LOCK}")
    params = run_program("git", "show", f"HEAD:./{PARAMS}")
    if lock.returncode or params.returncode or params.stdout != text:
        return False
    try:
        parse_lock(lock.stdout, str(LOCK))
    except UserError:  # DVC could not read it either
        return False
    write_text(LOCK, lock.stdout)
    return True


def absent_data(project: Project) -> Iterator[str]:
    """Lines about sources of datasets that are not here, such as misspelt ones."""
    for name, entry in project.datasets.items():
        if entry.source != REMOTE:
            yield from _absent(f"datasets.{name}.source", entry.source)


def absent_models(project: Project) -> Iterator[str]:
    """The same for the folders of models and helpers."""
    for section, models in (("models", project.models), ("helpers", project.helpers)):
        for name, source in models.items():
            if source != str(MODELS) and Path(source).parent != TRAINED:
                yield from _absent(f"{section}.{name}", source)


def _absent(key: str, source: str) -> Iterator[str]:
    path = Path(source)
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = meant(path.name, beside)
        yield f"{key}: {source} is not here; {hint}correct it in {PARAMS}, or put it there before `dvc repro`"


def _switch(name: str, text: str) -> tuple[Pruning, bool]:
    """Prunes, takes dvc.lock from the last commit if that has this text, and writes params.yaml.

    In this order: params.yaml still differs from the profile until all is done, so the same command goes on
    where it was killed. Also returns whether dvc.lock was taken. Raises UserError.
    """
    before = Path(PARAMS).read_bytes() if Path(PARAMS).exists() else None  # bytes: the file may be damaged
    if before is not None and not copies_of(before):
        kept = BEFORE / f"{hashlib.sha256(before).hexdigest()[:12]}.yaml"
        with replacing(kept) as temporary:
            temporary.write_bytes(before)
        print(f"use: the previous params.yaml is kept as {kept}")
    try:
        pruning = prune(read_dag(params=loads(text, PARAMS)))
    except OSError as error:
        raise UserError(
            f"{error.filename}: cannot be removed ({error.strerror}), and {PARAMS} is not {name} yet; make "
            "the folder writable, then run it again"
        ) from None
    committed = before != text.encode() and _restore_lock(text)
    write_text(Path(PARAMS), text)
    return pruning, committed


def profile_text(name: str, settings: list[str]) -> str:
    """The text of params.yaml for a profile, with `--set` applied. Raises UserError."""
    check_name("profile", name, [file.stem for file in PROFILES.glob("*.yaml")], PROFILES)
    path = PROFILES / f"{name}.yaml"
    text = as_params(text_of(path), str(path))
    values = loads(text, str(path))
    if not isinstance(values, dict):
        raise UserError(f"{path}: holds no keys; see docs/profiles.md, or begin with `vouch new`")
    if not settings and "released" not in values:
        return text
    yaml = YAML()
    yaml.width = 200
    document = yaml.load(text)
    for setting in settings:
        _set(document, setting, str(path))
    if "released" in document:
        _expand_released(document, str(path))
    return dumped(document, yaml)


def _set(document: CommentedMap, setting: str, where: str) -> None:
    key, equals, text = setting.partition("=")
    if not equals:
        raise UserError(f"--set {setting}: no `=`; write KEY=VALUE, e.g. score.alpha=0.2")
    *parents, last = key.split(".")
    level: Any = document
    for parent in parents:
        level = level.get(parent) if isinstance(level, dict) else None
    if not isinstance(level, dict) or last not in level:
        known = map(str, level if isinstance(level, dict) else document)
        check_name("key", last, list(known), f"--set {key}: {where}")
    level[last] = loads(text, f"--set {key}")


def _expand_released(document: dict[str, Any], where: str) -> None:
    """Replaces the section `released` by entries of `datasets` and `models`. Raises UserError."""
    released = validated(Released, document.pop("released"), f"{where}: released")
    folder = Path(released.path)
    here = [path.stem.removeprefix("items-") for path in sorted(folder.glob("items-*.parquet"))]
    if not here:
        raise UserError(
            f"{folder}/items-DATASET.parquet: no such file; point released.path to a folder as "
            "`vouch released` makes it (docs/add-a-model.md): `vouch use released --set released.path=FOLDER`"
        )
    for dataset in released.datasets or here:
        if dataset not in here:
            raise UserError(
                f"{folder}/items-{dataset:.60}.parquet: no such file; {did_you_mean(dataset, here)}"
            )
        models = released_models(folder, dataset)
        if not models:
            raise UserError(
                f"{folder}: no logits-{dataset}/*.parquet and no pickles/*.{dataset}.pkl; nothing to score"
            )
        document["datasets"][model_slug(dataset, f"{folder}: dataset name")] = {
            "loader": "released",
            "source": str(folder),
            "template": "kostumov",
            "settings": {"dataset": dataset, **_copies(folder / f"items-{dataset}.parquet")},
        }
        document["models"].update(dict.fromkeys(sorted(models), str(folder)))


def _copies(items: Path) -> dict[str, None]:
    """The setting of a dataset without circular copies: only ids that are integers can tell copies."""
    try:
        kind = pq.read_schema(items).field("id").type
    except (OSError, KeyError, pa.ArrowException):
        return {}  # the stage prepare says what is wrong with the file
    return {} if pa.types.is_integer(kind) else {"copies_modulus": None}


def as_params(text: str, where: str) -> str:
    """The text of params.yaml from that of a profile: renamed keys get their new names, missing ones their
    defaults. Raises UserError if it is not YAML."""
    text = text.replace(f"{MODELINE}../", MODELINE, 1)
    values = loads(text, where)
    renamed = list(renamed_keys(values))
    for old, new in renamed:
        rename_key(values, old, new)
    missing = dict(left_out(values))
    if not missing and not renamed:
        return text
    document = editor().load(text)
    for old, new in renamed:
        rename_key(document, old, new)
    for key, value in missing.items():
        *parents, last = key.split(".")
        level = document
        for parent in parents:
            level = level[parent]
        level[last] = flowing(value)
    first = next((key for key in missing if "." not in key), None)
    if first:
        document.yaml_set_comment_before_after_key(first, before=_DEFAULTS)
    return edited(document)


def copies_of(params: bytes) -> list[Path]:
    """The profiles of which params.yaml is a copy: as they are, or as `vouch use` writes them."""

    def forms(profile: Path) -> tuple[bytes, ...]:
        content = profile.read_bytes()
        try:
            return content, as_params(content.decode(), str(profile)).encode()
        except (UserError, UnicodeDecodeError):
            return (content,)

    return [profile for profile in sorted(PROFILES.glob("*.yaml")) if params in forms(profile)]


def flowing(value: Any) -> Any:
    """A mapping or list that is written on one line."""
    if isinstance(value, dict):
        return flow(**{key: flowing(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        sequence = CommentedSeq(value)
        sequence.fa.set_flow_style()
        return sequence
    return value


def editor() -> YAML:
    """A reader and writer of YAML that keeps comments, order, quotes and null."""
    yaml = YAML()
    yaml.Representer = type("Representer", (RoundTripRepresenter,), {})
    yaml.Representer.add_representer(
        type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    yaml.preserve_quotes = True
    yaml.width = 100_000  # so that digests stay on their lines
    return yaml


def edited(document: Any) -> str:
    """The text of a document that was read with `editor`."""
    return dumped(document, editor())


def flow(**values: Any) -> CommentedMap:
    """A mapping of these keys that is written on one line, in braces."""
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping
