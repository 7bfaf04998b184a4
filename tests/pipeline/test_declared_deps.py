"""Declared deps against real imports: every module that a stage imports is a dep, and no dep is idle."""

import ast
from functools import cache
from pathlib import Path

import pytest

from vouch.datasets.fetch.origin import REMOTE
from vouch.models.engine import ENGINES
from vouch.pipeline.dag import CODE, Dag, Stage, read_dag

ROOT = Path(__file__).parents[2]
KERNELS = "vouch/pipeline/processor.py"  # every stage loads it; it changes what models compute
# can refuse and record, never change an output
NEUTRAL = ("vouch/pipeline/", "vouch/params/", "vouch/datasets/fetch/")


def module_file(name: str) -> Path | None:
    path = ROOT / name.replace(".", "/")
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").is_file() else None


@cache
def imported(file: Path) -> set[Path]:
    """Files of this project that a file imports anywhere in its text."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = {module_file(name) for name in names if name.split(".")[0] in ("stages", "vouch")}
    return {file for file in files if file}


def closure(starts: list[Path]) -> set[str]:
    """Files reached from `starts`, without result-neutral code and without bare package files."""
    todo, seen = list(starts), set(starts)
    while todo:
        file = todo.pop()
        for found in imported(file) - seen:
            if not str(found.relative_to(ROOT)).startswith(NEUTRAL):
                seen.add(found)
                todo.append(found)
    return {str(f.relative_to(ROOT)) for f in seen if not (f.name == "__init__.py" and only_docstring(f))}


def only_docstring(file: Path) -> bool:
    body = ast.parse(file.read_text("utf-8")).body
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


# what a stage loads by name lies in these of the folders that it names as deps
PLUGINS = (
    *(
        "vouch/datasets/loaders",
        "vouch/datasets/built_choices.py",
        "vouch/datasets/options.py",
        "vouch/demo",
        "vouch/metrics",
        "vouch/models/encoders",
    ),
    *("vouch/prompts/rewrites", "vouch/prompts/variations"),
    *("vouch/papers", "vouch/report"),
)


def plugins(stage: Stage) -> list[Path]:
    """Files that a stage loads by name."""
    own = [dep for dep in stage.deps if dep.startswith(PLUGINS)]
    if stage.name.startswith("extract@"):
        own += [kind.module.replace(".", "/") + ".py" for kind in ENGINES.values()]
    paths = [ROOT / dep for dep in own]
    return [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]


@pytest.fixture(scope="module")
def dag(tmp_path_factory) -> Dag:
    """One stage of every group."""
    folder = tmp_path_factory.mktemp("deps")
    files = (ROOT / "vouch/datasets/loaders").glob("*.py")
    loaders = [
        p.stem for p in files if p.stem != "__init__" and "vouch.demo.scenes" not in p.read_text("utf-8")
    ]
    text = (ROOT / "profiles/small.yaml").read_text("utf-8")
    text = text.replace("helpers: {}", "helpers: {p: ../weights}")
    text = text.replace(
        "datasets:",
        "datasets:\n  own: {loader: jsonl, source: o, template: plain, settings: {}}\n"
        "  rel: {loader: released, source: o, template: plain, settings: {}}\n"
        + "".join(
            f"  of_{loader}: {{loader: {loader}, source: vouch/datasets/fetch, template: plain}}\n"
            for loader in loaders
        )
        + "  mirrored: {loader: mmbench, source: ../mirror, template: plain}",
    )
    (folder / "params.yaml").write_text(text, "utf-8")
    (folder / "models.lock").write_text("models: {p: {}}\n", "utf-8")
    (folder / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
    return read_dag(folder)


def test_every_import_is_declared_and_every_dep_is_used(dag):
    groups = {stage.name.partition("@")[0] for stage in dag.stages.values()}
    assert len(groups) >= 10
    for stage in dag.stages.values():
        main = ROOT / Path(*stage.cmd.split()[2].split(".")).with_suffix(".py")
        needed = closure([main, *plugins(stage)])
        code = [
            dep
            for dep in stage.deps
            if dep.startswith(CODE)
            and dep not in (REMOTE, KERNELS)  # REMOTE: the source of what is fetched
            and not dep.startswith(("vouch/prompts/templates/", "vouch/models/chat/templates"))
        ]
        missing = {file for file in needed if not any(file == d or file.startswith(d + "/") for d in code)}
        assert not missing, f"{stage.name} imports what dvc.yaml does not list: {sorted(missing)}"
        idle = {d for d in code if not any(file == d or file.startswith(d + "/") for file in needed)}
        assert not idle, f"{stage.name} lists what it does not import: {sorted(idle)}"


def test_neutral_code_is_not_declared(dag):
    for stage in dag.stages.values():
        assert not [dep for dep in stage.deps if dep.startswith(NEUTRAL) and dep != KERNELS]


def test_the_kernels_are_an_input_of_what_runs_models(dag):
    """Not of `train`: it would be trained again."""
    groups = {stage.name.partition("@")[0] for stage in dag.stages.values() if KERNELS in stage.deps}
    assert groups == {"rewrite", "extract", "judge", "embed", "embed_texts"}


def test_commands_are_one_plain_line(dag):
    for stage in dag.stages.values():
        assert not set(stage.cmd) & set("|&;<>$`\"'\\\n"), stage.cmd
