"""The page of all items in a browser: search, filters, links, saved lists and one item."""

import csv
import io
import json
from html import escape
from pathlib import Path

import pytest

from tests.browse.project import CHOICE, COUNT, HARM, OPEN, OPEN_COUNT, OWN
from tests.browser.items_page import FIRST, ITEMS_PAGE, ask, holds, listed, opened, originals, shown, table


def test_search_filter_sort(reports, window):
    page = window().open(ITEMS_PAGE)
    listed(page, f"{COUNT:,} items")
    ask(page, "q", "OBJECT 1042 colour")
    listed(page, f"1 of {COUNT:,} items")
    assert shown(page) == [f"{CHOICE}-1042"]
    ask(page, "q", "")
    listed(page, f"{COUNT:,} items")
    alpha, items = originals(reports, "alpha"), table(reports, f"items/{CHOICE}.parquet")
    page.click("summary")
    ask(page, "model", "alpha")
    ask(page, "answer", "wrong")
    ask(page, "flag", "shared_image")
    wrong = [i["id"] for i in items if not alpha[i["id"]]["correct"] and i["flags"]]
    listed(page, f"{len(wrong)} of {COUNT:,} items")
    ask(page, "sort", "unsure")
    confidence = {name: round(1000 * alpha[name]["confidence"]) for name in wrong}
    page.wait_for_function(
        "id => document.querySelector('#list .said.question') && document.querySelector('#list .about .said').textContent === id",
        arg=min(wrong, key=confidence.get),
    )
    assert shown(page) == sorted(wrong, key=lambda name: (confidence[name], name))[:50]
    page.click("text=Clear")
    listed(page, f"{COUNT:,} items")
    ask(page, "sure_low", "40")
    ask(page, "size_low", "1.5")
    sizes = {
        name: r["size_lac"] if r["clean_size_lac"] is None else r["clean_size_lac"]
        for name, r in alpha.items()
    }
    first = [name for name, r in alpha.items() if r["confidence"] >= 0.4 and (sizes[name] or 0) >= 1.5]
    assert first
    listed(page, f"{len(first)} of {COUNT:,} items")
    page.click("text=Clear")
    ask(page, "category", "hard")
    ask(page, "answer", "all_wrong")
    others = [originals(reports, model) for model in ("beta", "gamma")]
    none = [
        i["id"]
        for i in items
        if i["category"] == "hard" and not any(m[i["id"]]["correct"] for m in (alpha, *others))
    ]
    listed(page, f"{len(none)} of {COUNT:,} items")
    ask(page, "answer", "")
    ask(page, "flipped", "option_order")
    address = page.url
    page.select_option("select[name=dataset]", OPEN)
    listed(page, f"{OPEN_COUNT} items")
    page.go_back()
    page.wait_for_function("url => location.href === url", arg=address)
    page.wait_for_function(
        "() => ['flipped', 'category'].map((id) => document.getElementById(id).value).join() === 'option_order,hard'"
    )


def saved(page, button):
    """Clicks on a button, and the text and name of the file that the page hands over."""
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_bytes().decode(), download.value.suggested_filename


def test_the_list_is_saved_as_it_is_filtered_and_sorted(reports, window):
    page = window().open(f"{ITEMS_PAGE}#{CHOICE}?model=gamma&category=hard&answer=wrong&sort=unsure")
    gamma, items = originals(reports, "gamma"), table(reports, f"items/{CHOICE}.parquet")
    wrong = {i["id"]: i for i in items if i["category"] == "hard" and not gamma[i["id"]]["correct"]}
    listed(page, f"{len(wrong)} of {COUNT:,} items")
    assert len(wrong) > 50, "more than the page shows"
    text, name = saved(page, "#save-csv")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert name == f"{CHOICE}-items.csv" and "\r" not in text.replace("\r\r", "")
    assert head[:8] == ["dataset", "item", "question", "options", "correct", "category", "flags", "variation"]
    assert head[8:] == [
        f"gamma {each}" for each in ("answer", "correct", "confidence", "lac_set_size", "flipped")
    ]
    assert [row[1] for row in rows[:50]] == shown(page) and {row[1] for row in rows} == set(wrong)
    for row in rows:
        item, outcome = wrong[row[1]], gamma[row[1]]
        harmful = item["question"] in HARM
        assert harmful or row[2:5] == [
            item["question"],
            " | ".join(item["options"]),
            item["options"][item["answers"][0]],
        ]
        assert harmful or row[8] == item["options"][outcome["chosen"]]
        assert row[9:11] == ["false", f"{round(100 * outcome['confidence']) / 100:g}"]
    page.click("text=Clear")
    listed(page, f"{COUNT:,} items")
    ask(page, "q", "object 10")
    words = [item for item in items if holds(item, "object", "10")]
    listed(page, f"{len(words)} of {COUNT:,} items")
    text, name = saved(page, "#save-jsonl")
    rows = [json.loads(line) for line in text.splitlines()]
    assert name == f"{CHOICE}-items.jsonl" and [row["item"] for row in rows] == [item["id"] for item in words]
    assert set(rows[0]["answers"]) == {"alpha", "beta", "gamma"} and rows[0]["variation"] == "original"
    for row in rows:
        outcome = gamma[row["item"]]
        assert row["answers"]["gamma"]["correct"] == outcome["correct"]
        assert row["answers"]["gamma"]["answer"] == row["options"][outcome["predicted"]]


@pytest.mark.parametrize("dataset", [CHOICE, OPEN])
def test_no_spreadsheet_runs_a_saved_cell(reports, window, dataset):
    page = window().open(ITEMS_PAGE)
    page.select_option("select[name=dataset]", dataset)
    listed(page, f"{COUNT if dataset == CHOICE else OPEN_COUNT:,} items")
    text, _ = saved(page, "#save-csv")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert {len(row) for row in rows} == {len(head)} and len(rows) == (
        COUNT if dataset == CHOICE else OPEN_COUNT
    )
    assert [row[2] for row in rows[:2]] == list(HARM[:2])
    assert not {"\u202e", "\u202c", "\x1b"} & set(text)
    cells = {
        "=1+1": "'=1+1",
        "'=1": "''=1",
        "+49": "'+49",
        "-x": "'-x",
        "@a": "'@a",
        "\tb": "'\tb",
        'a "b", c': '"a ""b"", c"',
        "a\nb": '"a\nb"',
        "a\rb": '"a\rb"',
        "\x1b[31m\u202e": "\ufffd[31m\ufffd",
        "x": "x",
    }
    for given, written in cells.items():
        assert page.evaluate("text => save.cell(text)", given) == written, given
    assert page.evaluate("[-1.5, null, true].map(save.cell)") == ["-1.5", "", "true"]


def test_a_link_restores_filters_order_and_the_open_item(reports, window):
    one = window()
    one.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = one.open(ITEMS_PAGE)
    listed(page, f"{COUNT:,} items")
    page.click("summary")
    for name, value in {"answer": "wrong", "sort": "size", "category": "easy", "sure_low": "30"}.items():
        ask(page, name, value)
    page.wait_for_function("!document.getElementById('status').textContent.startsWith('Looking')")
    count, order = page.locator("#status").inner_text(), shown(page)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    opened(page, order[0])
    page.click("#copy")
    page.wait_for_function("document.getElementById('note').textContent === 'The link is copied.'")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith((reports / ITEMS_PAGE).as_uri()) and "model=alpha" in link
    other = window()
    other.page.goto(link)
    opened(listed(other.page, count), order[0])
    assert shown(other.page) == order and other.page.locator("#filters details").get_attribute("open") == ""
    values = {
        name: other.page.input_value(f"[name={name}]") for name in ("model", "answer", "sort", "sure_low")
    }
    assert values == {"model": "alpha", "answer": "wrong", "sort": "size", "sure_low": "30"}
    other.page.wait_for_function("document.querySelector('[name=category]').value === 'easy'")


@pytest.mark.parametrize(
    ("address", "says", "count"),
    [
        ("?model=gone&answer=wrong", "model gone", None),
        ("?category=none&flag=none", "category none, flag none", COUNT),
        ("?variation=x&flipped=y&sort=z&answer=a", "answer a, variation x, flipped y, sort z", COUNT),
        ("?sure_low=many&from=-7", "sure_low many", COUNT),
    ],
)
def test_what_a_link_names_and_the_site_lacks_is_left_out_and_said(window, address, says, count):
    page = window().open(f"{ITEMS_PAGE}#{CHOICE}{address}")
    page.wait_for_function("document.getElementById('note').textContent.startsWith('Left out')")
    assert page.locator("#note").inner_text() == f"Left out, as {CHOICE} has no such: {says}."
    if count:
        listed(page, f"{count:,} items")
        assert shown(page)[0] == FIRST
    page.goto(page.url.split("#")[0] + "#gone/gone-1")
    page.reload()
    page.wait_for_function("document.getElementById('note').textContent === 'There is no dataset gone here.'")
    listed(page, f"{COUNT:,} items")


def test_a_language_model_is_marked_beside_the_image(reports, window):
    """Above its answers to every prompt and above its shares of the options; no other model is."""
    page_of = reports / "pages/marked.html"
    text = (reports / ITEMS_PAGE).read_text("utf-8")
    assert text.count('data-blind="{}"') == 1
    named = f'data-blind="{{&#34;{CHOICE}&#34;: [&#34;beta&#34;]}}"'
    page_of.write_text(text.replace('data-blind="{}"', named), "utf-8")
    page = opened(window().open(f"pages/marked.html#{CHOICE}/{CHOICE}-0204"), f"{CHOICE}-0204")
    page_of.unlink()
    names = ["alpha", "beta asked without images", "gamma"]
    assert page.locator("#item .matrix thead th").all_text_contents() == ["Prompt", *names]
    assert page.locator("#item .shares").first.locator("thead th").all_text_contents() == names


def test_sets_without_a_threshold_are_shown_nowhere(reports, window):
    """As in `vouch item`: not beside an option, not in the list, its filters and its files."""
    page_of = reports / "pages/uncalibrated.html"
    text = (reports / ITEMS_PAGE).read_text("utf-8")
    of = {"beta": {"letters": ["original"]}}
    named = escape(json.dumps({CHOICE: {"clean": of, "faithful": of}}))
    assert text.count('data-uncalibrated="{}"') == 1
    page_of.write_text(text.replace('data-uncalibrated="{}"', f'data-uncalibrated="{named}"'), "utf-8")
    link = f"pages/uncalibrated.html#{CHOICE}/{CHOICE}-0204?model="
    for model, without in (("beta", True), ("alpha", False)):
        page = opened(window().open(link + model), f"{CHOICE}-0204")
        cards = page.locator("#item article")
        note = f"{model}: no prediction sets; too few questions calibrate"
        has_note = [note in card for card in cards.all_inner_texts()]
        assert has_note == [without and not number for number in range(len(has_note))]
        assert bool(cards.first.locator("tfoot tr").count() > 1) != without, (
            "mean sizes stand below the answer"
        )
        assert cards.nth(1).locator("tfoot tr").count() > 1, "that variation calibrates"
        assert ("set of" in page.locator("#list").inner_text()) != without
        head, *rows = csv.reader(io.StringIO(saved(page, "#save-csv")[0], newline=""))
        sizes = {row[head.index(f"{model} lac_set_size")] for row in rows}
        assert (sizes == {""}) == without
    page_of.unlink()


def test_an_item_by_its_link(reports, window):
    one = window()
    page = opened(one.open(f"{ITEMS_PAGE}#{CHOICE}/{CHOICE}-0204"), f"{CHOICE}-0204")
    assert page.locator("#item .prompt h3").all_text_contents() == [
        "original",
        "option_order",
        "images blurred, level 5 vr_b_5",
        "ls_n",
    ]
    same = ["same as the original" in text for text in page.locator("#item .prompt").all_inner_texts()]
    assert same == [False, False, False, True], "this negation changed no word"
    assert page.locator("#item .matrix thead th").all_text_contents() == ["Prompt", "alpha", "beta", "gamma"]
    rows = [row for row in table(reports, f"scores/{CHOICE}.outcomes.parquet") if row["model"] == "alpha"]
    (row,) = [r for r in rows if r["prompt"] == f"{CHOICE}-0204/option_order"]
    cell = page.locator("#item .matrix tbody tr").nth(1).locator("td").first.inner_text()
    assert f"{'ABCD'[row['predicted']]} {round(100 * row['confidence'])} %" in cell
    assert ("✓" in cell) == row["correct"]
    card = page.locator("#item .prompt").nth(1).locator(".shares")
    assert card.locator("tbody tr").count() == 4 and card.locator("tbody tr.right").count() == 1
    shares = [int(text.split("%")[0]) for text in card.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert abs(sum(shares) - 100) <= 2 and max(shares) == round(100 * row["confidence"])
    marked = sum("LAC" in text for text in card.locator("tbody td:nth-child(2)").all_inner_texts())
    assert marked == (row["size_lac"] or 0)
    names = page.locator("#item svg.picture").evaluate_all(
        "all => all.map((one) => one.getAttribute('aria-label'))"
    )
    assert len(names) == 5 and "Image 1 as vr_b_5 shows it: blur 5" in names
    assert page.locator("#item svg.picture image").first.evaluate("one => one.getBBox().width") > 0
    assert not one.barriers()
    opened(one.open(f"{ITEMS_PAGE}#{CHOICE}/{CHOICE}-0007"), f"{CHOICE}-0007")
    assert "no answer: picture is <b>damaged</b>" in page.locator("#item").inner_text()
    one.open(f"{ITEMS_PAGE}#{CHOICE}/nowhere")
    page.wait_for_selector("text=There is no item nowhere")


def test_a_prompt_is_shown_as_each_model_was_asked_it(reports, window):
    one, item = window(), f"{CHOICE}-0{OWN}"
    common, own = f"Which colour has object {OWN}?", "Please: option_order"
    for model, wordings in (("", (common, own)), ("alpha", (common,)), ("gamma", (own,))):
        one.page.goto("about:blank")
        page = opened(one.open(f"{ITEMS_PAGE}#{CHOICE}/{item}?model={model}"), item)
        card = page.locator("#item .prompt").nth(1)
        words = card.locator(".words").all_text_contents()
        assert len(words) == len(wordings) and all(
            each in text for each, text in zip(wordings, words, strict=True)
        )
        says = "gamma: asked with its own prompt (template plain_kind)" in card.inner_text()
        assert says == (own in wordings) == ("Be kind." in card.inner_text())
    cards = page.locator("#item .prompt").all_inner_texts()
    assert not any("same as the original" in text for text in cards), "the negation changed words of gamma"


def test_a_filter_of_one_model_is_said_of_the_one_that_leads(reports, window):
    page = window().open(ITEMS_PAGE)
    listed(page, f"{COUNT:,} items")
    page.click("summary")
    ask(page, "answer", "wrong")
    wrong = [i for i in originals(reports, "alpha").values() if not i["correct"]]
    listed(page, f"{len(wrong)} of {COUNT:,} items")
    assert page.input_value("#model") == "alpha"
    assert page.locator("#answer-wrong").inner_text() == "alpha is wrong"
    ask(page, "q", "nothing says this")
    listed(page, "No item matches. Clear")
    assert shown(page) == []
    page.click("#status button")
    listed(page, f"{COUNT:,} items")


def test_questions_as_people_read_and_type_them(window):
    one = window()
    page = one.open(ITEMS_PAGE)
    listed(page, f"{COUNT:,} items")
    for words in ("CAFE", "café", "cafe\u0301"):
        ask(page, "q", words)
        listed(page, f"1 of {COUNT:,} items")
    opened(one.open(f"{ITEMS_PAGE}#{CHOICE}/{CHOICE}-0050"), f"{CHOICE}-0050")
    formula = page.locator("#item .question math")
    assert formula.locator("mfrac > msup > mn").text_content() == "2"
    assert formula.locator("mfrac > msqrt").text_content() == "b"
    assert page.locator("#item .question").text_content().endswith(" more than \\$5?")
    assert "\\frac" in page.locator("#item .prompt pre").first.text_content(), (
        "prompts stand as models got them"
    )
    opened(one.open(f"{ITEMS_PAGE}#{CHOICE}/{CHOICE}-0051"), f"{CHOICE}-0051")
    assert page.locator("#item .source .number").all_text_contents() == ["1", "2"]
    small = page.locator("#item .source .picture").nth(1).bounding_box()
    page.locator("#item .source .zoom").nth(1).click()
    large = page.locator("dialog[open] .picture")
    assert large.bounding_box()["width"] > 3 * small["width"]
    assert not one.barriers()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert page.locator("#item h2").inner_text() == f"{CHOICE}-0051", "Escape closed the picture alone"
