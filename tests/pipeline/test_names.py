"""One thing, one word: the name of a class stands for one class."""

import ast
from collections import defaultdict
from pathlib import Path

SHARED = {
    "Column",  # of a table, in the terminal and on a page
    "Question",  # of the demo's scenes, and what an engine is asked
    "Settings",  # every loader declares its own (docs/add-a-dataset.md)
}


def test_every_class_has_a_name_of_its_own() -> None:
    files_of = defaultdict[str, list[str]](list)
    for file in sorted(path for folder in ("stages", "vouch") for path in Path(folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                files_of[node.name].append(str(file))
    shared = {name: files for name, files in files_of.items() if len(files) > 1}
    assert shared.keys() == SHARED, {name: shared.get(name) for name in shared.keys() ^ SHARED}
