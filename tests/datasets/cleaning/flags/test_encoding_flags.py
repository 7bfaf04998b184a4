import pytest

from vouch.datasets.cleaning.flags.encoding import damaged

TEXTS = [
    "café",
    "It’s",
    "naïve – 5 °C",
    "«Où?»",
    "über",
    "Привет",
    "日本語の質問",
    "שאלה",
    "λ ≥ 3 µm",
    "👍 good",
    "£5",
]


@pytest.mark.parametrize("text", TEXTS)
def test_read_with_the_wrong_encoding(text):
    wrong = text.encode().decode("latin-1")
    assert damaged(wrong) and not damaged(text)
    known = {b: chr(b) for b in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
    windows = "".join(known.get(b) or bytes([b]).decode("cp1252") for b in text.encode())
    assert damaged(windows)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "„MENÜ“",
        "“IRMÃ”",
        "à “la carte”",
        "Ångström",
        "±5 µm²",
        "‘É’",
        "São Paulo",
        "ÀÉÎÕÜ",
        "Ünïcödé",
    ],
)
def test_odd_but_sound(text):
    assert not damaged(text)


def test_lost_characters():
    assert damaged("a \ufffd b") and damaged("it\x92s")
