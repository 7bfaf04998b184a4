"""Confidence that a model states in its answer (verbalised confidence: Tian et al. 2023, Xiong et al. 2024).

Only answers to prompts of a template or variant called `verbalised` are read so: elsewhere a percentage may
be the answer. What states the confidence is taken out of the text before anything else reads it.
"""

import re
from collections import deque

from vouch.metrics.text.numbers import number

VERBALISED = "verbalised"
_NUMBER = re.compile(
    r"(?<!\d)(?<!\d[.,/:^\u2013-])(?<!\d\s[\u2013-]\s)(?<!\d\sto\s)(?<!\d\sand\s)(?<!\s[-\u2212<>])(?P<share>\d{1,3}(?:[.,]\d{1,6})?|\.\d{1,6})"
    r"(?:\s?(?P<percent>%|\uff05|percent\b|per cent\b)|\s?(?:/|(?:out\s)?of)\s?(?P<whole>\d{1,3})(?![\d%/]))?"
    r"(?![\d/]|[.,:]\d|\s?(?:[-\u2013]|to\s|and\s)\s?\d)",
    re.IGNORECASE,
)
"""`80 %`, `.8`, `8/10`, `8 out of 10`; no part of a range, a date or a longer number."""
_SCALE = re.compile(
    r"\d{1,3}\s?(?:-|\u2013|to)\s?(\d{1,3})\b(?=[^\w\n]{0,6}$)"
    r"|\bscale\D{0,12}\d{1,3}\s?(?:-|\u2013|to)\s?(?P<named>\d{1,3})\b",
    re.IGNORECASE,
)
_LEAD = re.compile(r"(?:(?:\b(?:my|with|and|the|i am|i'm|a|at)\s+|[*_\"']+)+)$", re.IGNORECASE)
_HEDGE = re.compile(
    r"(?:\b(?:about|approximately|around|roughly|nearly|almost)|[~\u2248])\s*$", re.IGNORECASE
)
_SURE_AT_END = re.compile(
    r"\s?(?:confident|confidence|certain|certainty|sure|probability|likelihood|chance)\W*$", re.IGNORECASE
)
_LABEL = re.compile(
    r"(?<!\w)(?:confidence|confident|certainty|certain|probability|likelihood)\b([^\d\n;]{0,60})$",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\s?(?:confident|confidence|certain|certainty|sure)\b"
    r"|\s?(?:chance|probability|likelihood|likely)\b[^.\n]{0,40}?\b(?:answer|correct|right|it is|it's)\b",
    re.IGNORECASE,
)
_UNSURE = r"(?:uncertain|unsure|doubt|wrong|incorrect|error|mistake)"
_UNSURE_BEFORE = re.compile(rf"\b{_UNSURE}\w*[^\d.,;\n]{{0,30}}$", re.IGNORECASE)
_UNSURE_AFTER = re.compile(
    rf"\W{{0,3}}{_UNSURE}|\W?(?:chance|risk|probability|likelihood|likely)\b[^.,\n]{{0,30}}\b{_UNSURE}",
    re.IGNORECASE,
)
_SAID = """is are was of in on at the a my this that it i am m d s level scale score rating value
percentage from about approximately around roughly nearly almost only very overall estimated say be high
medium low moderate"""
_LINKS = frozenset(_SAID.split())
_OURS = frozenset(("answer", "answers", "correct", "right", "choice", "option", "true"))
_AROUND, _NEAR, _LONGEST_LEAD, _MOST = 120, 60, 20, 500
_SET_OFF = (",", ";", ":", "(", "[", "|", "\n", " -", " \u2013", " \u2014")
_BEFORE = " \t\n,;:-([|\u2013\u2014"
_RANK_LABELLED, _RANK_SURE, _RANK_ASIDE = 3, 2, 1


def asks_confidence(template: str | None) -> bool:
    """Whether a template, by its name and variant, asks how sure the model is."""
    return f"_{template}".endswith(f"_{VERBALISED}")


def stated(text: str) -> tuple[str, float | None]:
    """The text without its confidence, and that as a share; as it is and None where it states none."""
    last = len(text.rstrip(" \t\n.)]*|!"))
    numbers = deque(_NUMBER.finditer(text), maxlen=_MOST)
    finds = [found for match in numbers if (found := _found(text, match, last))]
    if not finds:
        return text, None
    _, begin, end, share = max(finds)
    before, after = _HEDGE.sub("", text[:begin]).rstrip(_BEFORE), text[end:].lstrip(" \t)]*|")
    if not after.strip(" \t\n."):
        return before.strip(), share
    if not before:
        return after.removeprefix(".").strip(" \t\n;,"), share
    return f"{before}{'' if after[0] in '.,;' else ' '}{after}".strip(), share


def _found(text: str, match: re.Match[str], last: int) -> tuple[int, int, int, float] | None:
    """How plainly a number states a confidence, where that begins and ends, and the share; None where it
    states none. last: where the text ends, as an answer does that was asked for it."""
    begin, end = match.span()
    before, after = text[max(0, begin - _AROUND) : begin], text[end : end + _NEAR]
    if _UNSURE_BEFORE.search(before) or _UNSURE_AFTER.match(after):
        return None
    scale = _SCALE.search(before)
    share = _share(match, scale[1] or scale["named"] if scale else None)
    if share is None:
        return None
    label = _LABEL.search(_SCALE.sub("", before))
    if label and _of_the_answer(label[1]):
        return _RANK_LABELLED, begin - len(before) + _start(before[: label.start()]), end, share
    plain = match["percent"] or match["whole"] or match["share"].startswith((".", "0."))
    apart = (
        not before.strip() or before.rstrip(" \t*").endswith(_SET_OFF) or before.endswith(("- ", "\u2013 "))
    )
    if end >= last and (plain or apart):
        return _RANK_LABELLED, begin, end, share
    if plain and len(after) < _NEAR and _SURE_AT_END.match(after):
        return _RANK_SURE, begin - len(before) + _start(before), len(text), share
    if plain and _SURE.match(after):
        return _RANK_SURE, begin, end, share
    return (_RANK_ASIDE, begin, end, share) if plain and apart and after[:1] in ",;.)\n" else None


def _share(match: re.Match[str], scale: str | None) -> float | None:
    """scale: what counts as certain where neither a percent sign nor `of 10` says so."""
    value = number(match["share"])
    if value is None:
        return None
    whole = match["whole"] or (None if match["percent"] else scale)
    if whole is not None:
        value = value / float(whole) if float(whole) else 2.0
    elif match["percent"] or value > 1:
        value /= 100
    return value if value <= 1 else None


def _of_the_answer(gap: str) -> bool:
    """Whether what stands between `probability` and a number speaks of nothing but the answer."""
    words = set(re.findall(r"[^\W\d_]+", gap.lower()))
    return words <= _LINKS or bool(words & _OURS)


def _start(before: str) -> int:
    """Where what leads to a label begins: `my`, `with`, asterisks."""
    lead = _LEAD.search(before[-_LONGEST_LEAD:])
    return len(before) - len(lead.group() if lead else "")
