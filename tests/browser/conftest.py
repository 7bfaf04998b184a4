"""A whole site from made-up evidence, and a browser without network that looks at it from the disk."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stages.browse import write as browse
from tests.browse.project import CHOICE, MODELS, OPEN, write_project
from tests.report.project import REGISTRY, SCORING, Made, write_tables
from vouch.browse.config import BrowseConfig as Pictures
from vouch.report.config import ReportConfig
from vouch.report.drawing import RenderCache
from vouch.report.evidence import Evidence
from vouch.report.loading import load
from vouch.report.page import DatasetFigure
from vouch.report.pages.calibration import RELIABILITY_FIGURE
from vouch.report.pages.models_figures import ACCURACY_AND_SET_SIZE_FIGURE
from vouch.report.site import draw, site, write_site
from vouch.report.table_files import TABLES, csv_text
from vouch.tables.asked import ITEMS, items_path

HERE = Path(__file__).parent
AXE = HERE / "node_modules/axe-core/axe.min.js"
LOOKS = HERE / "looks.js"
CHROMIUM = shutil.which("chromium")
FIGURES = (
    ACCURACY_AND_SET_SIZE_FIGURE,
    RELIABILITY_FIGURE,
)  # drawing them all would take longer than all the tests


LONG_MODELS = (
    "qwen2_5_vl_72b_instruct_awq_int4_group128",
    "internvl3_5_241b_a28b_thinking_preview",
    "molmo_72b_0924_with_chain_of_thought",
    "molmo_72b_0924_without_chain_of_thought",
    "通义千问视觉语言大模型_72b_指令微调版",
    "llavaonevisionqwen2with72billionparameters",
)
LONG_DATASETS = (
    "seed_bench_2_plus_charts_maps_and_web_pages",
    "多模态数学推理基准测试_几何与函数图像_困难子集",
    "mmmuprovisiontenoptionswithouttheeasyones",
)


def _missing() -> str:
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "no playwright; run `make everything`"
    return "" if CHROMIUM and AXE.exists() else "no chromium or no axe-core; run `make browser`"


@dataclass
class Window:
    """A page of the browser. problems: errors on its console and requests that left the disk."""

    page: Any
    root: Path
    problems: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        """Opens a path under reports/, with a part after # perhaps."""
        file, mark, rest = path.partition("#")
        self.page.goto((self.root / file).as_uri() + mark + rest)
        return self.page

    def wide(self) -> int:
        """Pixels that the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def looks(self) -> list[str]:
        """What is wrong with how the page looks in this window and theme; unfolds everything."""
        found: list[str] = self.page.evaluate(LOOKS.read_text("utf-8"))
        return found

    def barriers(self, *rules: str) -> list[str]:
        """What axe calls serious or critical: rule and element. rules: only these."""
        options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
        if rules:
            options["runOnly"] = {"type": "rule", "values": rules}
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("options => axe.run(options)", options)["violations"]
        return [
            f"{rule['id']}: {node['html'][:120]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"][:3]
        ]


def _write(evidence: Evidence, figures: Iterable[DatasetFigure]) -> None:
    """Writes a site under reports/, with the figures of the first dataset."""
    folder = Path("reports/figures")
    folder.mkdir(parents=True)
    dataset = next(iter(evidence.datasets))
    drawings = draw([spec for each in figures for spec in each.of(evidence, dataset)], folder, RenderCache())
    whole = {f"{name}.csv": csv_text(table(evidence)) for name, table in TABLES.items()}
    pages = site(ReportConfig(title="Vouch"), evidence, drawings, registry=REGISTRY)
    write_site(pages, whole, RenderCache())


@pytest.fixture(scope="session")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a site with models and datasets whose names are as long as they are in practice."""
    _skip_without_browser()
    accuracy = {name: 0.9 - 0.1 * place for place, name in enumerate(LONG_MODELS)}
    variations = ("original", "option_order", "dialogue", "typographic", "vr_b_1", "vr_b_5")
    made = Made(accuracy=accuracy, datasets=LONG_DATASETS, variations=variations, outputs=("letters", "text"))
    folder, before = tmp_path_factory.mktemp("long"), Path.cwd()
    os.chdir(folder)
    try:
        _write(load(write_tables(made), SCORING), REGISTRY.figures)
    finally:
        os.chdir(before)
    yield folder / "reports"


def _skip_without_browser() -> None:
    if missing := _missing():
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a site."""
    _skip_without_browser()
    folder, before = tmp_path_factory.mktemp("site"), Path.cwd()
    os.chdir(folder)
    try:
        accuracy = {name: 0.8 - 0.15 * place for place, name in enumerate(MODELS)}
        made = Made(accuracy=accuracy, datasets=(CHOICE,), variations=("original", "vr_b_5"))
        tables = [*write_tables(made), items_path(OPEN)]
        ITEMS.write(items_path(OPEN), ITEMS.read(items_path(CHOICE)))
        _write(load(tables, SCORING), FIGURES)
        inputs = write_project()
        for dataset in (CHOICE, OPEN):
            browse(dataset, Pictures(images=dataset == CHOICE, thumbnail=64, budget=10**6), inputs)
    finally:
        os.chdir(before)
    yield folder / "reports"


@pytest.fixture(scope="module")  # its event loop runs until then, and others need one of their own
def browser(reports: Path) -> Iterator[Any]:
    """Debian's chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # charts are drawn without the machine's fonts; chromium ends where there are none
        env: dict[str, Any] = {k: v for k, v in os.environ.items() if k != "FONTCONFIG_FILE"}
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=env)
        yield chromium
        chromium.close()


@pytest.fixture
def window(reports: Path, browser: Any) -> Iterator[Callable[..., Window]]:
    """Opens windows; at the end none may have seen an error or left the disk. Keywords: as playwright's."""
    windows: list[Window] = []

    def opened(**options: Any) -> Window:
        context = browser.new_context(
            viewport={"width": 1280, "height": 900} | options.pop("viewport", {}), **options
        )
        context.set_offline(True)
        context.set_default_timeout(20_000)
        one = Window(context.new_page(), reports)
        one.page.on("console", lambda message: message.type == "error" and one.problems.append(message.text))
        one.page.on("pageerror", lambda error: one.problems.append(str(error)))

        def asked(request: Any) -> None:
            one.loaded.append(request.url)
            if not request.url.startswith((one.root.as_uri(), "data:", "blob:")):
                one.problems.append(f"left the disk: {request.url}")

        one.page.on("request", asked)
        windows.append(one)
        return one

    yield opened
    found = [problem for one in windows for problem in one.problems]
    for one in windows:
        one.page.context.close()
    assert not found
