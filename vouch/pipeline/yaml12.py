"""YAML read the way DVC (ruamel.yaml) reads it: version 1.2 scalars, safe types, no duplicate keys.

PyYAML implements YAML 1.1, where `12e4567`, `0123456`, `1:30`, `yes` and `on` mean something else
than they do for DVC. Both runners and every stage must see one value, so the resolvers are
replaced by those of the 1.2 core schema as ruamel.yaml has them (digits may hold `_`). A plain date is
refused: DVC turns it into an object, and no parameter may be one. Standard library and PyYAML only: the
Snakefile uses it.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import yaml

from vouch.pipeline.errors import UserError


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """SafeLoader (written in C, if available) with the implicit resolvers of YAML 1.2's core schema."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^(?:[-+]?[0-9_]+|[-+]?0o[0-7_]+|[-+]?0x[0-9a-fA-F_]+|[-+]?0b[01_]+)$", "-+0123456789"),
    (
        "float",
        r"^(?:[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+.0123456789",
    ),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN"),
    ("timestamp", r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?$", "0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))
_Loader.yaml_implicit_resolvers.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile(r"^$")))


_MOST_REPEATED = 100_000  # values that aliases may repeat
_MOST_DEEP = 100  # levels of nested lists and mappings
_MOST_DIGITS = 100  # more than any parameter needs, few enough to be printed


def _refused(problem: str, where: yaml.Node | yaml.Event) -> yaml.constructor.ConstructorError:
    mark: Any = where.start_mark  # its class is that of the C parser or of the other one
    return yaml.constructor.ConstructorError(None, None, problem, mark)


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    try:
        if len(text) > _MOST_DIGITS:
            raise ValueError
        return int(text, 0) if text.lstrip("+-").startswith(("0o", "0x", "0b")) else int(text, 10)
    except ValueError:  # `0x_`, or a tag on something else
        raise _refused(f"{node.value[:40]} is no integer that can be read", node) from None


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).replace("_", "").lower()
    try:
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise _refused(f"{node.value[:40]} is no number that can be read", node) from None


def _timestamp(_loader: _Loader, node: yaml.ScalarNode) -> None:
    raise _refused(f"write {node.value} in quotes", node)


def _str(loader: _Loader, node: yaml.ScalarNode) -> str:
    text = str(loader.construct_scalar(node))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused("a text holds half a surrogate pair, which UTF-8 has no form for", node) from None
    return text


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    if not isinstance(node, yaml.MappingNode):  # a tag on something else
        raise _refused("expected a mapping", node)
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _refused("a key must be a plain name, not a list or mapping", key_node)
        key = loader.construct_object(key_node)
        if key == "<<":  # not part of YAML 1.2, but DVC would merge
            raise _refused("merge keys (<<) are not read, write the keys out", key_node)
        if key in seen:
            raise _refused(f"key {key!r} stands twice", key_node)
        seen.add(key)
    return dict(loader.construct_mapping(node, deep=True))


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)
_Loader.add_constructor("tag:yaml.org,2002:str", _str)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _check_aliases(whole: yaml.Node) -> None:
    """Raises ConstructorError if aliases form a circle, or repeat far more values than anybody would write.

    A few lists, each with the one before it ten times, amount to billions of values.
    """
    sizes: dict[int, int] = {}  # of each node, 0 while it is being counted

    def size(node: yaml.Node) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 0
            scalar, mapping = isinstance(node, yaml.ScalarNode), isinstance(node, yaml.MappingNode)
            parts = () if scalar else itertools.chain(*node.value) if mapping else node.value
            sizes[id(node)] = 1 + sum(map(size, parts))
        elif not sizes[id(node)]:
            raise _refused("an alias stands inside of what it stands for", node)
        return sizes[id(node)]

    if size(whole) - len(sizes) > _MOST_REPEATED:
        raise _refused(f"its aliases stand for more than {_MOST_REPEATED:,} values", whole)


def _most_levels(line: str) -> int:
    """The most blocks that can end in a line: at most two begin in a column or at one of - ? :."""
    return 2 * (len(line) - len(line.lstrip(" ")) + sum(map(line.count, "-?:")))


def _check_depth(text: str) -> None:
    """Raises ConstructorError if lists and mappings are nested too deep.

    The C parser follows them by recursion, which ends the process, and its time grows with the square of the
    depth; the events of the same text come one by one.
    """
    deepest = max(map(_most_levels, text.split("\n")))
    if text.count("[") + text.count("{") + deepest <= _MOST_DEEP:
        return
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEEP:
            raise _refused(f"more than {_MOST_DEEP} lists and mappings in each other", event)


def _is_tab(text: str, mark: Any) -> bool:
    """Whether a line begins with a tab, perhaps after spaces: YAML indents with spaces alone."""
    lines = text.split("\n")
    return mark.line < len(lines) and re.match(r" *\t", lines[mark.line]) is not None


def loads(text: str, where: str) -> Any:
    """The value of one YAML document; `where` names it in errors. Raises UserError."""
    try:
        _check_depth(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        if "&" in text and "*" in text:
            _check_aliases(node)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        if mark and _is_tab(text, mark):
            raise UserError(
                f"{where}{line}: not valid YAML: indented with a tab; write spaces there"
            ) from None
        if re.search("^<<<<<<< ", text, re.MULTILINE):
            problem = "a merge conflict; take what you want of its two sides"
        raise UserError(f"{where}{line}: not valid YAML: {problem}; correct the file") from None
    except (
        ValueError,
        KeyError,
        RecursionError,
    ) as error:  # tags on values they do not fit, brackets too deep
        raise UserError(f"{where}: not YAML that can be read ({error!s:.80}); correct the file") from None


def load(path: Path) -> Any:
    """The value of a YAML file. Raises UserError if it is missing or not valid."""
    return loads(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of a YAML file. Raises UserError if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; restore it from version control") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); it must be UTF-8 text") from None


def dumped(document: Any, yaml: Any = None) -> str:
    """The text of a document as ruamel.yaml writes it; yaml: one of its writers, with settings of its own."""
    from io import StringIO

    from ruamel.yaml import YAML

    text = StringIO()
    (yaml or YAML()).dump(document, text)
    return text.getvalue()
