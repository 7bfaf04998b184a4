"""The page of `vouch report --against` in a real browser: one file, from the disk, without network."""

from vouch.cli.against import (
    GAINED,
    LOST,
    Answers,
    Change,
    NumberPair,
    Outputs,
    Questions,
    RunComparison,
    Setting,
)
from vouch.cli.against_page import page

LINE = ("shapes", "original", "letters", "alpha")
FOUND = RunComparison(
    settings=[Setting("params.yaml", "score.alpha", "0.2", "0.1")],
    outputs=[Outputs("score", 3, 1, 0)],
    then_only=["model old"],
    now_only=[],
    numbers=[
        NumberPair(LINE, ("set_size", "lac"), 1.5, 1.5, 0.0, None, None, 300, 300),
        NumberPair(LINE, ("accuracy", ""), 0.5, 0.6, 0.1, 0.05, 0.15, 300, 300),
        NumberPair(LINE, ("ece", ""), 0.05, 0.06, 0.01, -0.01, 0.03, 300, 300),
    ],
    answers=[
        Answers(
            LINE,
            300,
            {LOST: 1, GAINED: 1},
            [
                Change("shapes-0204", LOST, "<script>window.harmed = 1</script>", "x" * 160),
                Change("shapes-0007", GAINED, "red", "green"),
            ],
            0,
            0,
        )
    ],
    variations={("shapes", "original"): (300, 2)},
    questions=[Questions("shapes", frozenset(), ["shapes-0001"], [], [])],
    notes=[],
)


def test_the_page_needs_no_other_file_and_leads_to_the_items(reports, window):
    file = reports / "against.html"
    file.write_text(page(FOUND, "v1.0", "pages/items.html"), "utf-8")
    try:
        for options in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}):
            one = window(**options)
            shown = one.open("against.html")
            assert one.loaded == [file.as_uri()] and one.wide() <= 0 and not one.barriers()
        first = shown.locator("#numbers tbody tr").first.locator("th, td").all_inner_texts()
        assert first[1:7] == ["Accuracy %", "50.0", "60.0", "+10.0", "5.0–15.0", "moved"]
        shown.locator("#answers a").first.click()
        shown.wait_for_function("document.querySelector('#item h2')?.textContent === 'shapes-0204'")
        assert shown.evaluate("window.harmed") is None
    finally:
        file.unlink()
