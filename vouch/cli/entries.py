"""models.lock and profiles, edited: comments, order of keys and quotes stay as people left them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

from vouch.params.project import left_out
from vouch.pipeline.errors import UserError, rename_key, renamed_keys
from vouch.pipeline.yaml12 import dumped, loads

PROFILES = Path("profiles")
MODELINE = "# yaml-language-server: $schema="  # tells editors where the schema is, from the file's own folder
_DEFAULTS = "\nDefaults that `vouch use` wrote out; docs/profiles.md"


def editor() -> YAML:
    """A reader and writer of YAML that keeps comments, order, quotes and null."""
    yaml = YAML()
    yaml.Representer = type("Representer", (RoundTripRepresenter,), {})
    yaml.Representer.add_representer(
        type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    yaml.preserve_quotes = True
    yaml.width = 100_000  # digests stay on their lines
    return yaml


def edited(document: Any) -> str:
    """The text of a document that `editor` read."""
    return dumped(document, editor())


def as_params(text: str, where: str) -> str:
    """The text of params.yaml that a profile gives: renamed keys have their new names, missing ones their
    defaults. Raises UserError for no YAML."""
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
        level[last] = _flowing(value)
    first = next((key for key in missing if "." not in key), None)
    if first:
        document.yaml_set_comment_before_after_key(first, before=_DEFAULTS)
    return edited(document)


def copies_of(params: bytes) -> list[Path]:
    """The profiles that params.yaml is a copy of: as they are, or as `vouch use` writes them."""

    def forms(profile: Path) -> tuple[bytes, ...]:
        content = profile.read_bytes()
        try:
            return content, as_params(content.decode(), str(profile)).encode()
        except (UserError, UnicodeDecodeError):
            return (content,)

    return [profile for profile in sorted(PROFILES.glob("*.yaml")) if params in forms(profile)]


def _flowing(value: Any) -> Any:
    """A mapping or list on one line."""
    if isinstance(value, dict):
        return flow(**{key: _flowing(inner) for key, inner in value.items()})
    if isinstance(value, list):
        sequence = CommentedSeq(value)
        sequence.fa.set_flow_style()
        return sequence
    return value


def as_block(models: CommentedMap, name: str) -> CommentedMap:
    """The entry of a model, over several lines if it was on one; a comment behind it stays behind it."""
    entry: CommentedMap = models[name]
    if entry.fa.flow_style():
        entry.fa.set_block_style()
        if name in models.ca.items:
            entry.ca.items[next(reversed(entry))] = models.ca.items.pop(name)
            entry.ca.comment = None  # ruamel.yaml keeps the same comment here
    return entry


def fill(
    entry: CommentedMap, files: dict[str, str], dtype: str, parameters: int, facts: Mapping[str, str]
) -> None:
    """Replaces the digests of an entry, and adds the keys that are missing."""
    _put(entry, "engine", "transformers")
    _put(entry, "dtype", dtype)
    _put(entry, "parameters", parameters)
    if facts:
        _put(entry, "facts", flow())
        for key, value in facts.items():
            if entry["facts"].get(key) is None:
                entry["facts"].pop(key, None)
                _put(entry["facts"], key, value)
    if "files" not in entry:
        _put(entry, "files", CommentedMap())
    entry["files"] = _digests(entry["files"], files)


def _put(entry: CommentedMap, key: str, value: Any) -> None:
    """Adds a missing key, before the last one if a comment follows that one: it belongs to the next entry."""
    if key not in entry:
        entry.insert(max(len(entry) - 1, 0) if _has_tail(entry) else len(entry), key, value)


def _has_tail(entry: CommentedMap) -> bool:
    """Whether a comment or an empty line follows the last line of a mapping."""
    last = next(reversed(entry), None)
    value = entry.get(last)
    if isinstance(value, CommentedMap) and not value.fa.flow_style():
        return _has_tail(value)
    return last in entry.ca.items


def _digests(old: CommentedMap, files: dict[str, str]) -> CommentedMap:
    """Sorted digests, with the comments beside the old ones and behind the last of them."""
    new = CommentedMap((name, files[name]) for name in sorted(files))
    last = next(reversed(old), None)
    for name, comment in old.ca.items.items():
        if name in new and name != last:
            new.ca.items[name] = comment
    if last in old.ca.items:
        new.ca.items[next(reversed(new))] = old.ca.items[last]
    return new


def flow(**values: Any) -> CommentedMap:
    """These keys as a mapping that is written in one line, in braces."""
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping
