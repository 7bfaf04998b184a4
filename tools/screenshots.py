"""`python -m tools.screenshots [REPORTS [FOLDER]]`: every page of a report as readers see it, and its height.

Three widths, light and dark, as WebP; an item of each dataset as well. Pages with folded sections are shown a
second time, unfolded. The network is off.

    python -m tools.screenshots REPORTS --picture pages/variations.html table.heat docs/tutorial-heat.png

writes one picture of the documentation: the first element that a CSS selector finds.
"""

import argparse
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

WIDTHS = (1920, 1280, 390)
CHROMIUM = shutil.which("chromium")
LONGEST = 16_383  # pixels that WebP can hold
QUALITY = 60
PICTURE, MARGIN, COLOURS = (1000, 700), 12, 64
"""Of a picture of the documentation: width and largest height, margin, both in pixels, and its colours."""


def places(reports: Path, page: Any) -> Iterator[tuple[str, str]]:
    """Name and address of each page, and of the first item of each dataset."""
    for path in (reports / "index.html", *sorted((reports / "pages").glob("*.html"))):
        yield path.stem, path.resolve().as_uri()
    items = (reports / "pages/items.html").resolve()
    page.goto(items.as_uri())
    for dataset in page.locator("#filters select[name=dataset] option").all_text_contents():
        page.goto("about:blank")  # else an address that differs after # alone loads nothing
        page.goto(f"{items.as_uri()}#{dataset}")
        page.locator("#list a .about .said").first.wait_for()
        item = page.locator("#list a .about .said").first.text_content()
        yield f"item-{dataset}", f"{items.as_uri()}#{dataset}/{item}"


def shoot(reports: Path, folder: Path, browser: Any) -> Iterator[tuple[str, str, int, int]]:
    """Writes the pictures; yields name, colours, width and height of each."""
    for colours in ("light", "dark"):
        for width in WIDTHS:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours)
            context.set_offline(True)
            context.set_default_timeout(120_000)
            page = context.new_page()
            for name, address in list(places(reports, page)):
                page.goto("about:blank")
                page.goto(address)
                if "item" in name:
                    page.locator("#item h2" if name.startswith("item-") else "#list a").first.wait_for()
                page.wait_for_timeout(200)
                yield name, colours, width, _shot(page, folder / f"{name}-{width}-{colours}.webp")
                folded = page.locator("details.whole")
                if folded.count():
                    folded.evaluate_all("all => all.forEach((one) => { one.open = true; })")
                    path = folder / f"{name}-unfolded-{width}-{colours}.webp"
                    yield f"{name}-unfolded", colours, width, _shot(page, path)
            context.close()


def _shot(page: Any, path: Path) -> int:
    """Writes the picture of a page as it is; returns the height of the page."""
    with Image.open(BytesIO(page.screenshot(full_page=True))) as shot:
        seen = shot.convert("RGB").crop((0, 0, shot.width, min(shot.height, LONGEST)))
        seen.save(path, quality=QUALITY)
    return int(page.evaluate("document.documentElement.scrollHeight"))


def picture(address: str, selector: str, target: Path, browser: Any) -> None:
    """Writes the first element of a page that a CSS selector finds, with a margin, as PNG in few colours."""
    page = browser.new_page(viewport={"width": PICTURE[0], "height": PICTURE[1]}, color_scheme="light")
    page.context.set_offline(True)
    page.goto(address)
    element = page.locator(selector).first
    element.evaluate("e => { for (; e; e = e.parentElement) if (e.localName === 'details') e.open = true }")
    page.wait_for_timeout(500)
    box = element.evaluate(
        "e => (({x, y, width, height}) => ({x, y: y + scrollY, width, height}))(e.getBoundingClientRect())"
    )
    left, top = max(0, box["x"] - MARGIN), max(0, box["y"] - MARGIN)
    width, height = box["width"] + 2 * MARGIN, min(box["height"] + 2 * MARGIN, PICTURE[1])
    clip = {"x": left, "y": top, "width": min(width, PICTURE[0] - left), "height": height}
    with Image.open(BytesIO(page.screenshot(full_page=True, clip=clip))) as shot:
        shot.convert("RGB").quantize(COLOURS).save(target, optimize=True)
    page.close()


def main() -> None:
    """Writes all pictures and prints a table of heights, or writes one picture."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("reports", nargs="?", type=Path, default=Path("reports"), help="default: %(default)s")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("build/screenshots"), help="default: %(default)s"
    )
    parser.add_argument(
        "--picture", nargs=3, metavar=("PAGE", "SELECTOR", "FILE.png"), help="only this part of a page"
    )
    given = parser.parse_args()
    reports, folder = given.reports, given.folder
    if not (reports / "pages/items.html").is_file():
        parser.error(f"{reports}: holds no report (pages/items.html); run `dvc repro`")
    from playwright.sync_api import sync_playwright

    if given.picture:
        file, selector, target = given.picture
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            picture((reports / file).resolve().as_uri(), selector, Path(target), browser)
        return
    folder.mkdir(parents=True, exist_ok=True)
    heights: dict[str, list[int]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, colours, _, height in shoot(reports, folder, browser):
            if colours == "light":
                heights.setdefault(name, []).append(height)
        browser.close()
    print("height of each page, pixels, at a width of", *WIDTHS)
    for name, found in heights.items():
        print(f"{name:24}", *(f"{height:7,}" for height in found))


if __name__ == "__main__":
    main()
