"""The site in a real browser, from the disk, without network."""

from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tests.browse.project import CHOICE, COUNT, HARM, OPEN
from tests.browser.items_page import FIRST, ITEMS_PAGE, holds, listed, opened, shown, table

PHONE = {"viewport": {"width": 390, "height": 844}}
WIDTHS = (390, 800, 1280, 1920)


def pages_of(reports):
    return ["index.html", *sorted(f"pages/{path.name}" for path in (reports / "pages").glob("*.html"))]


def looks(one, reports, paths, widths=WIDTHS):
    """What is wrong with how pages look in every width, light and dark: page and problem -> where."""
    found = {}
    for path in paths:
        page = one.open(path)
        assert page.title() and page.locator("h1").count() == 1, path
        if path == ITEMS_PAGE:
            page.wait_for_function("document.getElementById('status').textContent.endsWith('items')")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            for width in widths:
                page.set_viewport_size({"width": width, "height": 900})
                for problem in one.looks():
                    found.setdefault(f"{path}: {problem}", []).append(f"{width} {theme}")
    return found


def test_every_page_in_every_light_and_width(reports, window):
    assert ITEMS_PAGE in pages_of(reports)
    one = window(reduced_motion="reduce")
    assert not looks(one, reports, pages_of(reports))
    items = [f"{ITEMS_PAGE}#{name}" for name in (f"{CHOICE}/{CHOICE}-0004", f"{CHOICE}/{CHOICE}-0051")]
    for item in items:
        opened(one.open(item), item.rpartition("/")[2])
        for width in WIDTHS:
            one.page.set_viewport_size({"width": width, "height": 900})
            assert not one.looks(), (item, width)


def test_names_as_long_as_in_practice_fit_every_page(long_names, window):
    one = window(reduced_motion="reduce")
    one.root = long_names
    paths = [path for path in pages_of(long_names) if path != ITEMS_PAGE]
    assert not looks(one, long_names, paths, (390, 1280))


def test_names_above_numbers_break_at_underscores_on_a_phone(long_names, window):
    one = window(viewport={"width": 360, "height": 800})
    one.root = long_names
    heads = one.open("pages/variations.html").locator("table.heat thead th.n:has(wbr)")
    wraps = heads.evaluate_all("all => all.map((one) => getComputedStyle(one).whiteSpace)")
    assert wraps and set(wraps) == {"normal"}


def test_every_page_has_no_barriers_and_tables_that_keep_their_first_column(reports, window):
    light, dark, phone = window(), window(color_scheme="dark"), window(**PHONE)
    problems = []
    for path in pages_of(reports):
        for one in (light, phone):
            page = one.open(path)
            if path == ITEMS_PAGE:
                listed(page, f"{COUNT:,} items").evaluate(
                    "document.querySelector('#filters details').open = true"
                )
            heads = page.locator(".scroll tbody th:first-child").evaluate_all(
                "all => all.map((one) => getComputedStyle(one).position)"
            )
            assert set(heads) <= {"sticky"}, path
        problems += [f"{path}: {found}" for found in light.barriers()]
    assert not problems
    dark.open("index.html")
    grounds = [one.page.evaluate("getComputedStyle(document.body).backgroundColor") for one in (light, dark)]
    assert grounds[0] == "rgb(255, 255, 255)" and grounds[0] != grounds[1]


def test_a_phone_shows_the_name_of_its_page_and_no_figure_blown_up(reports, window):
    page = window(**PHONE).open("pages/provenance.html")
    name = page.locator("header nav [aria-current]").bounding_box()
    assert name["x"] >= 0 and name["x"] + name["width"] <= 390
    for path in ("index.html", "pages/calibration.html", "pages/papers.html"):
        page.goto((reports / path).as_uri())
        page.locator("main details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        blown_up = page.locator("figure .scroll:not(.narrow) > svg").evaluate_all(
            "all => all.map((one) => one.getBoundingClientRect().width - one.getAttribute('width'))"
        )
        assert max(blown_up, default=0) < 1, path


def test_the_first_screen_is_light_and_usable_before_items(window):
    one = window()
    for path in ("index.html", ITEMS_PAGE):
        one.loaded.clear()
        page = one.open(path)
        if path == ITEMS_PAGE:
            listed(page, f"{COUNT:,} items")
        files = [
            Path(unquote(urlparse(url).path)) for url in dict.fromkeys(one.loaded) if url.startswith("file:")
        ]
        assert sum(file.stat().st_size for file in files) < 1_000_000, files
    assert not any("page-" in file.name or "model-" in file.name for file in files)
    page.route("**/rows-*", lambda route: None)  # never come
    page.reload()
    page.fill("#q", "object 77")
    assert page.locator("select[name=dataset] option").all_text_contents() == [CHOICE, OPEN]


@pytest.mark.parametrize("place", ["index.html", "pages/calibration.html"])
def test_every_figure_answers_to_the_pointer_and_has_files(reports, window, place):
    page = window(reduced_motion="reduce").open(place)  # else the page still scrolls as the pointer arrives
    page.locator("main details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    figure = page.locator("figure").first
    for kind in ("svg", "png", "pdf"):
        (link,) = figure.locator(f".files a[href$='.{kind}']").all()
        assert Path(unquote(urlparse(link.evaluate("one => one.href")).path)).stat().st_size > 500
    figure.locator("button").click()
    figure.locator("[aria-hidden] svg.marks").wait_for()
    page.locator("figure[data-live=yes]").first.wait_for()
    figure.locator("svg.marks .role-mark:is(.mark-symbol, .mark-rect) path").first.hover(force=True)
    page.locator("#vg-tooltip-element.visible td.value").first.wait_for()


FORMULAS = {
    "$x_1'$ and \\(\\dfrac{1}{2}\\)": ["x1′", "12"],
    "$$\\left[\\begin{matrix} a & b \\\\ c & d \\end{matrix}\\right]$$": ["[abcd]"],
    "\\frac{4}{3}": ["43"],
    "it costs $5 or $10 (in $)": [],
    "US$, $\\unknown{x}$, $a_{b$, $\\frac{1}$, $}$": [],
    "$" + "{" * 500 + "x" + "}" * 500 + "$": [],
}


def test_what_is_no_formula_stays_as_it_is(window):
    page = window().open(ITEMS_PAGE)
    for text, formulas in FORMULAS.items():
        drawn, kept = page.evaluate(
            """text => { const found = maths.nodes(text), is = (each) => typeof each === "string";
            return [found.filter((each) => !is(each)).map((each) => each.textContent), found.filter(is).join("")]; }""",
            text,
        )
        assert drawn == formulas and (formulas or kept == text), text


@pytest.mark.parametrize("size", [{}, PHONE])
def test_a_term_says_what_it_means(window, size):
    one = window(**size)
    page = one.open("pages/calibration.html")
    page.locator("main details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    terms = page.locator("thead .term, p .term")
    assert terms.count() > 5
    for text in ("ECE %", "temperature"):
        term = page.locator(".term", has_text=text).first
        term.click()
        box = page.locator(".meaning-of-term")
        assert term.get_attribute("title") in box.inner_text()
        place = box.bounding_box()
        assert place["x"] >= 0 and place["x"] + place["width"] <= page.viewport_size["width"]
        assert not one.barriers()
        page.keyboard.press("Escape")
        box.wait_for(state="hidden")
    term.click()
    page.locator(".meaning-of-term a").click()
    page.wait_for_url("**/pages/method.html#term-temperature")
    assert page.locator("dt:target").inner_text() == "Temperature T"


def test_a_heading_sorts_beside_its_definition(window):
    page = window().open("pages/calibration.html")
    page.locator("details.whole > summary").first.click()
    table = page.locator("table.calibration")
    numbers = table.locator("tbody tr td:nth-child(3)")
    table.locator("thead .sort").nth(2).click()
    first = numbers.all_inner_texts()
    table.locator("thead .sort").nth(2).click()
    assert numbers.all_inner_texts() == first[::-1] and len(set(first)) > 1
    assert page.locator(".meaning-of-term").count() == 0


@pytest.mark.parametrize("scripts", [True, False], ids=["", "without JavaScript"])
@pytest.mark.parametrize("path", ["pages/calibration.html", "pages/variations.html"])
def test_a_long_page_is_a_summary_and_folded_sections(window, path, scripts):
    page = window(java_script_enabled=scripts).open(path)
    sections, unfolded = page.locator("details.whole"), page.locator("details.whole[open]")
    assert sections.count() > 2 and unfolded.count() == 0
    assert page.locator("main").bounding_box()["height"] < 1600
    links = page.locator("nav.in-short a:not(.term)")
    assert links.count() == sections.count()
    links.last.click()  # a link unfolds what it leads to
    unfolded.wait_for()
    assert sections.last.locator("section").is_visible()
    sections.first.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert unfolded.count() == 2
    page.goto("about:blank")
    anchor = "sweep" if "calibration" in path else "letters"
    window_of = window(java_script_enabled=scripts).open(path + f"#{anchor}")
    window_of.locator("details.whole[open]").wait_for()
    window(java_script_enabled=scripts).open(path + "#%")  # no address is an error
    page.goto(window_of.url.partition("#")[0])
    page.emulate_media(media="print")
    assert page.locator("details.whole > section").last.is_visible()  # paper cannot be unfolded


def test_by_keyboard(reports, window):
    page = window().open(ITEMS_PAGE)
    listed(page, f"{COUNT:,} items")
    page.keyboard.press("/")
    page.keyboard.type("object 10")
    # The keys arrive one by one: leave the box only when it holds all of them, and the list answers to them.
    page.wait_for_function("document.getElementById('q').value === 'object 10'")
    matching = [
        item["id"] for item in table(reports, f"items/{CHOICE}.parquet") if holds(item, "object", "10")
    ]
    listed(page, f"{len(matching)} of {COUNT:,} items")
    page.keyboard.press("Escape")
    found = shown(page)
    assert found == matching[:50]
    page.keyboard.press("j")
    opened(page, found[0]).keyboard.press("ArrowRight")
    opened(page, found[1]).keyboard.press("k")
    opened(page, found[0]).keyboard.press("Escape")
    page.wait_for_selector("#item", state="hidden")
    assert shown(page) == found and page.input_value("#q") == "object 10"


@pytest.mark.parametrize("dataset", [CHOICE, OPEN])
def test_harm_is_text(window, dataset):
    one = window(**PHONE)
    for number, harm in enumerate(HARM):
        page = opened(one.open(f"{ITEMS_PAGE}#{dataset}/{dataset}-{number:04d}"), f"{dataset}-{number:04d}")
        question = page.locator("#item .question").evaluate("one => one.textContent")
        assert question == harm or (len(harm) > 8000 and question.startswith(harm[:8000]))
        if dataset == OPEN:
            raw = page.locator("#item .raw").first.evaluate("one => one.textContent")
            assert raw == harm or (len(harm) > 4000 and raw.startswith(harm[:4000]))
        assert one.wide() <= 0
    assert page.evaluate("window.harmed") is None and page.locator("#item img, #item script").count() == 0
    assert page.locator("#item svg.picture").count() == (
        0 if dataset == OPEN else page.locator("#item svg").count()
    )


def test_the_theme_is_kept_and_paper_holds_everything(window):
    page = window().open(ITEMS_PAGE)
    page.click("#theme")
    opened(window_of(page, f"#{CHOICE}/{FIRST}"), FIRST)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    page.evaluate("delete document.documentElement.dataset.theme")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#filters").is_visible() and page.locator("#item .prompt").last.is_visible()


def window_of(page, hash_):
    """The same page at another place."""
    page.goto(page.url.split("#")[0] + hash_)
    page.reload()
    return page
