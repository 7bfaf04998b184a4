"""Data and models hold no code that could run: nothing in the code unpickles, evaluates or trusts it."""

import ast
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vouch.models.config import ExtractConfig
from vouch.models.decoder.engine import load_model, shared_prefix
from vouch.models.model_folder import check_model_folder
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[2]
RESTRICTED = "vouch/models/released/logits.py"
SOURCES = [
    path for name in ("stages", "vouch", "tools", "benchmarks") for path in (ROOT / name).rglob("*.py")
]
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "imp",
    "code",
    "codeop",
}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
METHODS = {
    *("torch.load", "np.load", "numpy.load", "pd.read_pickle", "pandas.read_pickle", "yaml.unsafe_load"),
    *("yaml.full_load", "yaml.load_all", "os.system", "os.popen", "os.execv", "subprocess.getoutput"),
    *("runpy.run_path", "runpy.run_module", "Unpickler", "jinja2.Template"),
}  # fmt: skip


def faults(source: str) -> Iterator[str]:
    """What a file does that could run others' code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            yield from (f"{node.lineno}: imports {name}" for name in names if name.split(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            called, keywords = ast.unparse(node.func), {word.arg: word.value for word in node.keywords}
            if (
                called == "torch.load"
                and ast.unparse(keywords.get("weights_only", ast.Constant(None))) == "True"
            ):
                continue  # `vouch convert`, tests/cli/test_convert.py: tensors and plain containers, no code
            if called in CALLS | METHODS or called.endswith(
                (".load_module", ".unsafe_load", ".set_default_verify")
            ):
                yield f"{node.lineno}: calls {called}"
            if (
                called == "yaml.load"
                and "Loader" in keywords
                and ast.unparse(keywords["Loader"]) not in ("_Loader",)
            ):
                yield f"{node.lineno}: another loader of YAML"
            shell = keywords.get("shell")
            if shell is not None and ast.unparse(shell) != "False":
                yield f"{node.lineno}: a shell"
            if called.endswith(".from_pretrained") and not _local(node):
                yield f"{node.lineno}: {called} may run code or ask the network"
        named = isinstance(node, ast.keyword) and node.arg == "trust_remote_code" and node.value
        if isinstance(node, ast.Dict):
            keys = [ast.unparse(key) if key else "" for key in node.keys]
            named = dict(zip(keys, node.values, strict=True)).get("'trust_remote_code'", named)
        if named and ast.unparse(named) != "False":  # type: ignore[arg-type]
            yield f"{getattr(node, 'lineno', 0)}: trusts code of a model"


def _local(call: ast.Call) -> bool:
    """Whether a model or processor is loaded from this machine, without code of its own."""
    for word in call.keywords:
        if word.arg is None and ast.unparse(word.value) == "LOCAL":
            return True
        if word.arg == "local_files_only" and ast.unparse(word.value) == "True":
            return True
    return False


@pytest.mark.parametrize(
    "source",
    [
        *("import pickle", "from pickle import loads", "from joblib import load", "eval('1')", "torch.load(f)"),
        *("torch.load(f, weights_only=False)", "torch.load(f, weights_only=safe)"),
        *("np.load(f)", "pd.read_pickle(f)", "yaml.load(t, Loader=yaml.Loader)", "subprocess.run('x', shell=True)"),
        *("AutoModel.from_pretrained(f)", "AutoModel.from_pretrained(f, trust_remote_code=True, **LOCAL)"),
        *("LOCAL = {'trust_remote_code': True}", "os.system('x')", "pickle.Unpickler\nfrom marshal import x"),
    ],
)  # fmt: skip
def test_what_is_looked_for_is_found(source: str) -> None:
    assert list(faults(source))


def test_nothing_of_ours_runs_what_it_reads() -> None:
    assert len(SOURCES) > 300
    found = {str(path.relative_to(ROOT)): list(faults(path.read_text("utf-8"))) for path in SOURCES}
    # one file has an unpickler, of names and steps that it lists itself; tests/models/released/test_pickle.py attacks it
    (own,) = found.pop(RESTRICTED)
    assert own.endswith("imports pickle")
    used = set(re.findall(r"pickle\.(\w+)", (ROOT / RESTRICTED).read_text("utf-8")))
    assert {name for name in used if not name.isupper()} == {"_Unpickler", "Unpickler"}, "no load, no loads"
    assert {name: each for name, each in found.items() if each} == {}


class Runs:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self._folder,)


def _pickled(folder: Path, ran: Path) -> None:
    """Weights as a pickle beside those that are safe, under every name that transformers knows."""
    for name in (
        "pytorch_model.bin",
        "training_args.bin",
        "optimizer.pt",
        "consolidated.00.pth",
        "model.ckpt",
    ):
        (folder / name).write_bytes(pickle.dumps({"a": Runs(ran)}))


def _only_pickled(folder: Path, ran: Path) -> None:
    (folder / "model.safetensors").unlink()
    _pickled(folder, ran)


def _code(name: str, entry: dict[str, object]) -> Callable[[Path, Path], None]:
    def plant(folder: Path, ran: Path) -> None:
        (folder / "evil.py").write_text(f"import os\nos.mkdir({str(ran)!r})\nclass Evil: pass\n", "utf-8")
        path = folder / name
        values = json.loads(path.read_text("utf-8")) if path.exists() else {}
        path.write_text(json.dumps({**values, **entry}), "utf-8")

    return plant


_MODEL = {"auto_map": {"AutoConfig": "evil.Evil", "AutoModelForImageTextToText": "evil.Evil"}}
_PROCESSOR = {"auto_map": {"AutoProcessor": "evil.Evil", "AutoImageProcessor": "evil.Evil"}}


@pytest.mark.parametrize(
    ("plant", "refused"),
    [
        (_pickled, None),
        (_only_pickled, r"only pickled weights \(.*\), which can run code"),
        (_code("config.json", {**_MODEL, "model_type": "evil"}), r"config\.json: asks for code of its own \(auto_map\)"),
        # transformers has classes of its own for these
        (_code("config.json", _MODEL), None),
        (_code("processor_config.json", _PROCESSOR), None),
        (_code("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}}), None),
        (_code("preprocessor_config.json", _PROCESSOR), None),
    ],
)  # fmt: skip
def test_code_that_comes_with_a_model_never_runs(
    tiny: Path, tmp_path: Path, plant: Callable[[Path, Path], None], refused: str | None
) -> None:
    """Refused where it is pinned; and were that left out, it would not run where the model is loaded."""
    folder, ran = Path(shutil.copytree(tiny, tmp_path / "model")), tmp_path / "ran"
    plant(folder, ran)
    if refused is None:
        check_model_folder(folder)
    else:
        with pytest.raises(UserError, match=refused):
            check_model_folder(folder)
    try:
        load_model(folder, "float32", None, ExtractConfig(batch=1, bucket=8, threads=1, device="cpu"))
    except UserError as error:
        assert refused and "Traceback" not in str(error)
    assert not ran.exists()


def test_a_tokenizer_whose_regular_expression_has_no_end(tiny: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny, tmp_path / "model"))
    path = folder / "tokenizer.json"
    values = json.loads(path.read_text("utf-8"))
    values["pre_tokenizer"]["pattern"] = {"Regex": "(?:(.|.)+)+$(?!.|)"}
    path.write_text(json.dumps(values), "utf-8")
    config = ExtractConfig(batch=1, bucket=8, threads=1, device="cpu")
    with pytest.raises(UserError, match=r"retry-limit.*correct (chat_template\.jinja|tokenizer\.json)"):
        shared_prefix(load_model(folder, "float32", None, config), None, config)


def test_the_planted_pickle_would_have_run(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Runs(tmp_path / "ran")))
    assert (tmp_path / "ran").is_dir()
