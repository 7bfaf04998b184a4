"""Metrics of answers to open questions, `ANSWERS`. To add one, declare its formula: `_of_pairs`, `_DECLARED`.

`score.answers` names those of a dataset. A formula takes n generated texts and the references of each, at
least one, and returns [n] scores. captions.py has those of captions. References are alternatives, but:

vqa_score (Antol et al. 2015) is min(1, matches / 3) with each reference left out once, averaged. It is made
for ten references by ten people; a single reference is either matched or not. Texts are normalised as VQA's
evaluation does: lower case, number words as digits, no articles, its punctuation rules, apostrophes restored.

IN_VLMEVALKIT has the metrics that VLMEvalKit (Duan et al. 2024), whose data Tu et al. (2024) use, computes in
another way. It reads no answer out of a longer text. Its rules are those of December 2024, when that paper
appeared, as are its caps in profiles/tu.yaml; those of relaxed_accuracy and vqa_score have changed since.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from unicodedata import normalize

from rapidfuzz.distance import Levenshtein

from vouch.metrics.metric import SHARE, Formulas
from vouch.metrics.text.captions import CAPTIONS, References, Scores
from vouch.metrics.text.numbers import Quantity, number, quantity
from vouch.metrics.text.reader.open import items, phrase, value
from vouch.metrics.text.reader.options import ANSWER
from vouch.metrics.text.wording import canonical, plain, tight, trimmed, undressed, wide
from vouch.tables import number_words
from vouch.tables.thoughts import apart

ANLS_THRESHOLD = 0.5
TOLERANCE = 0.05
_OF_A_NUMBER = r"(?<=\d)[^\w\s](?=\d)|(?<![\w.])[.](?=\d)|(?<![\w)])-(?=\.?\d)"
"""Punctuation that belongs to a number: 3.5, 1/2, 10:30, .5, -5."""
_BELONGS = re.compile(_OF_A_NUMBER)
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_NOT_ASCII_WORDS = re.compile(r"[^a-zA-Z0-9\s]")

Pair = Callable[[str, str], float]
_DECLARED = Formulas[Scores](better="higher", unit=SHARE, ranked=True)
IN_VLMEVALKIT: dict[str, Scores] = {}
"""By metric, the formula of the faithful protocol, if it differs from that of the clean one."""


def _of_pairs(name: str, label: str, help: str, source: str = "") -> Callable[[Pair], Pair]:
    """Declares the metric of the decorated function, which compares a text with one reference."""

    def declared(pair: Pair) -> Pair:
        _DECLARED(name, label, help, source=source)(_best(pair))
        return pair

    return declared


def _in_vlmevalkit(name: str) -> Callable[[Pair], Pair]:
    """Declares that a metric compares texts in this way under the faithful protocol."""

    def declared(pair: Pair) -> Pair:
        IN_VLMEVALKIT[name] = _spoken(_best(pair))
        return pair

    return declared


def _best(pair: Pair) -> Scores:
    """Scores from the largest value of `pair(text, reference)` over a text's references."""
    return lambda texts, references: [
        max(pair(text, one) for one in known) for text, known in zip(texts, references, strict=True)
    ]


def _spoken(formula: Scores) -> Scores:
    """Scores of the texts without their thoughts."""
    return lambda texts, references: formula([apart(text).answer for text in texts], references)


@_of_pairs(
    "anls",
    "ANLS",
    "average normalised Levenshtein similarity, 0 at one half or below",
    "Biten et al. 2019; DocVQA",
)
def anls(text: str, reference: str) -> float:
    """1 - Levenshtein distance / length of the longer text, 0 if that distance is half the length or more
    (Biten et al. 2019). In lower case with single spaces; composed and decomposed accents are the same."""
    first, second = (" ".join(normalize("NFC", each.lower()).split()) for each in (text, reference))
    longer = max(len(first), len(second))
    if longer == 0:
        return 1.0
    # Beyond the cutoff the distance is too large; it bounds the work on a long text.
    distance = Levenshtein.distance(first, second, score_cutoff=int(ANLS_THRESHOLD * longer))
    return 1 - distance / longer if distance < ANLS_THRESHOLD * longer else 0.0


@_in_vlmevalkit("anls")
def _anls_in_vlmevalkit(text: str, reference: str) -> float:
    """Lengths are those of the texts with all their spaces in upper case, which has two letters for `ß`; a
    similarity of one half counts."""
    first, second = (" ".join(each.lower().split()) for each in (text, reference))
    longer = max(len(text.upper()), len(reference.upper()))
    similarity = 1 - Levenshtein.distance(first, second) / longer if longer else 1.0
    return similarity if similarity >= ANLS_THRESHOLD else 0.0


@_of_pairs(
    "exact_match",
    "Exact match",
    "whether the text equals a reference; case, spaces, outer punctuation and a leading article do not count",
)
def exact_match(text: str, reference: str) -> float:
    """1 or 0: equal except for case, spaces, outer punctuation and a leading article; of a longer text,
    only the answer that it gives is compared."""
    return float(plain(text) == plain(reference) or same(text, reference))


@_of_pairs(
    "lower_match",
    "Lower-case match",
    "whether the text equals a reference; case and spaces at its ends do not count",
    "OCR-VQA in VLMEvalKit",
)
def lower_match(text: str, reference: str) -> float:
    """1 or 0: the same except for case and spaces at the ends; articles and punctuation count."""
    first, second = (normalize("NFC", each.strip().lower()) for each in (text, reference))
    return float(first == second)


@_in_vlmevalkit("lower_match")
def _lower_match_in_vlmevalkit(text: str, reference: str) -> float:
    """Character by character: composed and decomposed accents differ."""
    return float(text.strip().lower() == reference.strip().lower())


@_of_pairs(
    "ocr_contains",
    "OCR, contained",
    "the whole reference stands in the text, as words",
    "OCR of ReForm-Eval's code, Li et al. 2023",
)
def ocr_contains(text: str, reference: str) -> float:
    """1 or 0. As in that code, only ASCII letters, digits and blanks count, in lower case: `3.5` is `35`.

    A reference without a letter or digit stands in every text that has one. If its letters are all of another
    script, which the code would drop, its words are compared as those of `word_accuracy`.
    """
    wanted, given = (_NOT_ASCII_WORDS.sub("", normalize("NFC", one)).lower() for one in (reference, text))
    if not wanted.strip() and any(map(str.isalnum, reference)):
        wanted, given = (" ".join(words(one)) for one in (reference, text))
    return float(_stands(wanted, given))


@_of_pairs(
    "kie_contains",
    "Key information, contained",
    "the whole reference stands in the text, as words; both normalised as for the VQA score",
    "key information (FUNSD) of ReForm-Eval's code, Li et al. 2023",
)
def kie_contains(text: str, reference: str) -> float:
    """1 or 0. A reference with a sign at an end, as `$5` has, needs a letter or digit beside the sign."""
    return float(_stands(normal(reference), normal(text)))


def _stands(wanted: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(wanted)}\b", text) is not None


@_of_pairs(
    "word_accuracy",
    "Word accuracy",
    "share of the reference's words that stand in the text",
    "OCR of ReForm-Eval's paper, Li et al. 2023",
)
def word_accuracy(text: str, reference: str) -> float:
    """Share of the reference's words in the text; 0 without a letter or digit in the reference.

    Numbers are compared whole: `3.5` is not `35`.
    """
    wanted, given = words(reference), set(words(text))
    return sum(word in given for word in wanted) / len(wanted) if wanted else 0.0


@_of_pairs(
    "relaxed_accuracy",
    "Relaxed accuracy",
    "a number within 5 % of the reference, else the same text",
    "ChartQA, Masry et al. 2022",
)
def relaxed_accuracy(text: str, reference: str) -> float:
    """1 or 0. `%` divides by 100; a reference that is 0 or not a number needs the same text in lower case.

    A longer text counts by the number or the words that it gives as its answer.
    """
    given, wanted = _number(text), _number(reference)
    if not wanted:
        return max(lower_match(text, reference), float(plain(phrase(text)) == plain(reference)))
    stated = of_text(text) if given is None else None
    shares = [stated / 100] if stated is not None and ("%" in text or "percent" in text) else []
    known = [value for value in (given, stated, *shares) if value is not None]
    return float(any(abs(value - wanted) / abs(wanted) <= TOLERANCE for value in known))


@_in_vlmevalkit("relaxed_accuracy")
def _relaxed_accuracy_in_vlmevalkit(text: str, reference: str) -> float:
    """A number is what Python reads as one, with a percent sign at most; else the text is the same in lower
    case. The 5 % are those of the text's number: its two arguments were exchanged until September 2025."""
    text = text.strip()
    given, wanted = _python_number(text), _python_number(reference)
    if given and wanted is not None:
        return float(abs(given - wanted) / abs(given) <= TOLERANCE)
    return float(text.lower() == reference.lower())


def _python_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def words(text: str) -> list[str]:
    """The words of a text in lower case, with only letters and digits, and its numbers."""
    return [canonical(word) for word in _PUNCTUATION.sub(_kept, wide(text).lower()).split()]


def _kept(sign: re.Match[str]) -> str:
    return sign.group() if _BELONGS.match(sign.string, sign.start()) else ""


def _number(text: str) -> float | None:
    """A number with nothing but a percent sign."""
    written = quantity(undressed(text))
    if (
        written is None
        or written.unit not in ("", "%")
        or any(char.isalpha() for char in text.lower().replace("e", ""))
    ):
        return None
    return written.value / 100 if written.unit else written.value


_EXACT, _THOUSAND = 1e-9, 1000
_BRACKETS = frozenset("()[]{}")
_DECIMALS = re.compile(r"\.(\d+)(?!\d|[eE*x×]|\s?[x×])")
_FORMULA = re.compile(r"[\d=+*/^<>(\[\\√π]")


def numeric(references: Sequence[str]) -> bool:
    """Whether the question asks for a number."""
    return bool(references) and all(of_reference(one) is not None for one in references)


def of_reference(reference: str) -> float | None:
    """The number that a reference represents."""
    return number(undressed(reference))


def of_text(text: str) -> float | None:
    """The number that a text gives as its answer."""
    given = _given(text)
    return given.value if given else None


def _given(text: str) -> Quantity | None:
    reading = value(text)
    return quantity(undressed(reading.span)) if reading.verdict == ANSWER else None


def same(text: str, reference: str) -> bool:
    """Whether a text gives the reference as its answer: a number to the decimals of the reference, and in its
    unit if both name one; a list item by item; a formula except for blanks; else the words."""
    wanted = quantity(undressed(reference))
    if wanted is not None:
        given = _given(text)
        if given is None or (given.unit and wanted.unit and given.unit != wanted.unit):
            return False
        slack = _precision(reference, wanted.value)
        # A chart may count in millions and not say so in its labels.
        scale = max(given.scale, wanted.scale) if min(given.scale, wanted.scale) == 1 else 1.0
        scale = scale if scale >= _THOUSAND else 1.0
        return any(abs(given.value * each - wanted.value) <= slack for each in (1, scale, 1 / scale))
    if reference.strip().startswith("[") and (known := items(reference)) is not None:
        listed = items(text) or (None if _BRACKETS & set(text) else items(f"[{text.strip()}]"))
        return listed is not None and list(map(_item, listed)) == list(map(_item, known))
    worded = phrase(text)
    return plain(worded) == plain(reference) or (
        _FORMULA.search(reference) is not None and _tight(worded) == _tight(reference)
    )


def _tight(text: str) -> str:
    """The text undressed, without blanks."""
    return tight(trimmed(undressed(text)).lower())


def _precision(reference: str, wanted: float) -> float:
    """Half a unit of the last decimal; for a whole number, only the rounding error of arithmetic."""
    decimals = _DECIMALS.search(reference)
    return (0.5 * 10.0 ** -len(decimals[1]) if decimals else 0.0) + _EXACT * abs(wanted)


def _item(item: str) -> float | str:
    value_of = number(item)
    return item if value_of is None else value_of


ENOUGH = 3
_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_DIGITS = {"none": "0"} | {word: str(number) for word, number in number_words(10).items()}
_ARTICLES = {"a", "an", "the"}
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
# As in VQA's evaluation: a word without one of its apostrophes gets it back, `dont` and `couldnt've` alike.
_SHORTENED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't mightn't've must've
mustn't needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've
somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd
something'd've something'll that's there'd there'd've there're there's they'd they'd've they'll they're
they've 'twas wasn't we'd've we've weren't what'll what're what's what've when's where'd where's where've
who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't wouldn't've y'all
y'all'd've y'all'll you'd you'd've you'll you're you've
"""
_CONTRACTIONS = {
    word[:at] + word[at + 1 :]: word
    for word in _SHORTENED.split()
    for at in range(len(word))
    if word[at] == "'"
} | {"somebody'd": "somebodyd"}


@_DECLARED(
    "vqa_score",
    "VQA score",
    "min(1, matches / 3), each reference left out once",
    source="Antol et al. 2015",
)
def vqa_score(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 1."""
    return [
        _vqa_score(normal(text), list(map(normal, known)))
        for text, known in zip(texts, references, strict=True)
    ]


def _vqa_score(text: str, known: list[str]) -> float:
    same = known.count(text)
    if len(known) == 1:
        return float(same)
    left_in = [min(1.0, (same - (one == text)) / ENOUGH) for one in known]
    return sum(left_in) / len(left_in)


def normal(text: str) -> str:
    """The text as VQA's evaluation compares it."""
    text = " ".join(text.lower().split())
    in_number = _COMMA_IN_NUMBER.search(text) is not None
    cleaned = text
    for mark in _MARKS:
        beside_space = f"{mark} " in text or f" {mark}" in text
        cleaned = cleaned.replace(mark, "" if beside_space or in_number else " ")
    words = (_DIGITS.get(word, word) for word in _FULL_STOP.sub("", cleaned).split())
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


ANSWERS: Mapping[str, Scores] = {
    name: _spoken(formula) for name, formula in sorted((*_DECLARED.items(), *CAPTIONS.items()))
}
