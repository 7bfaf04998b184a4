"""Answers in German, French, Italian, Arabic and Hindi, as models and people write them; ticks and positions."""

import pytest

from tests.metrics.text.test_reader import verdict
from vouch.metrics.text.reader.options import DECLINED, NONE

KREIS = ("ein roter Kreis", "ein blauer Kreis", "das linke Bild")
CERCLE = ("un cercle rouge", "un cercle bleu", "une image à gauche")
CERCHIO = ("un cerchio rosso", "un cerchio blu", "il quadrato a sinistra")
DAIRA = ("دائرة حمراء", "دائرة زرقاء", "مربع أصفر")
VRITT = ("लाल वृत्त", "नीला वृत्त", "पीला वर्ग")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die richtige Antwort ist B.", "B"), ("Die Antwort lautet: C", "C"), ("Antwort: B", "B"), ("Ich wähle (A).", "A"),
        ("Option B ist richtig.", "B"), ("Option A ist nicht richtig.", NONE), ("Die Antwort ist nicht A, sondern B.", "B"),
        ("Daher ist es ein blauer Kreis.", "B"), ("Es ist ein blauer Kreis.", "B"), ("Der blaue Kreis? Nein.", NONE),
        ("Ich entscheide mich für B, weil der Kreis blau ist.", "B"), ("Die Lösung ist Antwort C.", "C"),
        ("B ist die richtige Antwort, da der Kreis blau ist.", "B"), ("A ist falsch, B ist falsch, C ist richtig.", "C"),
        ("Es tut mir leid, ich kann das Bild nicht sehen.", DECLINED), ("Das lässt sich nicht bestimmen.", DECLINED),
        ("Wenn der Kreis rot wäre, wäre die Antwort A.", NONE), ("Zusammenfassend ist die Antwort somit B.", "B"),
        ("Anfangs dachte ich, die Antwort ist A, aber die Antwort ist B.", "B"), ("A und B sind richtig.", "AB"),
        ("Die Antwort ist A. Moment, nein: B.", "B"), ("Keine der genannten Optionen trifft zu.", NONE),
        ("Ich glaube nicht, dass die Antwort A ist.", NONE), ("Die zweite Option ist richtig.", "B"),
        ("Die Antwort ist B, nicht A.", "B"), ("Antwort B\n\nFrage: Und jetzt?\nAntwort: A", "B"),
    ],
)  # fmt: skip
def test_german(text: str, expected: str) -> None:
    assert verdict(text, KREIS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("La bonne réponse est B.", "B"), ("Réponse : C", "C"), ("La réponse correcte est la B.", "B"), ("C'est la réponse B.", "B"),
        ("L'option B est correcte.", "B"), ("L'option A n'est pas correcte.", NONE), ("La réponse n'est pas A mais B.", "B"),
        ("Il s'agit donc de l'option C.", "C"), ("C'est un cercle bleu.", "B"), ("Donc, c'est un cercle bleu.", "B"),
        ("Je choisis la réponse B.", "B"), ("Je choisirais (A), car le cercle est rouge.", "A"), ("B est la bonne réponse.", "B"),
        ("A est fausse, B est fausse, C est la réponse correcte.", "C"), ("La réponse est B, pas A.", "B"),
        ("Je suis désolé, je ne peux pas voir l'image.", DECLINED), ("Il n'est pas possible de déterminer la réponse.", DECLINED),
        ("Si le cercle était rouge, la réponse serait A.", NONE), ("Par conséquent, la réponse est B.", "B"),
        ("Je pensais que la réponse était A, mais la réponse est B.", "B"), ("La réponse est A. Non, pardon : B.", "B"),
        ("Les réponses A et B sont correctes.", "AB"), ("Aucune des réponses n'est correcte.", NONE),
        ("Je ne pense pas que la réponse soit A.", NONE), ("La deuxième option est la bonne.", "B"), ("La réponse est l’option B.", "B"),
    ],
)  # fmt: skip
def test_french(text: str, expected: str) -> None:
    assert verdict(text, CERCLE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("La risposta corretta è B.", "B"), ("Risposta: C", "C"), ("La risposta giusta è la B.", "B"), ("L'opzione corretta è la lettera B.", "B"),
        ("L'opzione B è corretta.", "B"), ("L'opzione A non è corretta.", NONE), ("La risposta non è A ma B.", "B"),
        ("Quindi è un cerchio blu.", "B"), ("È un cerchio blu.", "B"), ("Scelgo la B.", "B"), ("Direi (A), perché il cerchio è rosso.", "A"),
        ("B è la risposta corretta.", "B"), ("A è sbagliata, B è sbagliata, C è giusta.", "C"), ("La risposta è B, non A.", "B"),
        ("Mi dispiace, non posso vedere l'immagine.", DECLINED), ("Non è possibile determinare la risposta.", DECLINED),
        ("Se il cerchio fosse rosso, la risposta sarebbe A.", NONE), ("Pertanto, la risposta è B.", "B"),
        ("Inizialmente pensavo che la risposta fosse A, ma la risposta è B.", "B"), ("La risposta è A. Anzi, scusa: B.", "B"),
        ("Le risposte A e B sono corrette.", "AB"), ("Nessuna delle opzioni è corretta.", NONE), ("Non credo che la risposta sia A.", NONE),
        ("La seconda opzione è quella giusta.", "B"), ("La risposta esatta è l'opzione B.", "B"),
    ],
)  # fmt: skip
def test_italian(text: str, expected: str) -> None:
    assert verdict(text, CERCHIO) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("الإجابة الصحيحة هي B.", "B"), ("الإجابة: C", "C"), ("الجواب الصحيح هو (ب)", NONE), ("الجواب هو (B).", "B"),
        ("الخيار الصحيح هو B", "B"), ("الخيار B هو الصحيح.", "B"), ("الخيار A غير صحيح.", NONE), ("الإجابة ليست A.", NONE),
        ("لذلك، الإجابة الصحيحة هي: دائرة زرقاء", "B"), ("إنها دائرة زرقاء.", "B"), ("أختار B لأن الدائرة زرقاء.", "B"),
        ("الإجابة الصحيحة هي (B) دائرة زرقاء.", "B"), ("الإجابة ليست A بل B.", "B"), ("عذرًا، لا أستطيع رؤية الصورة.", DECLINED),
        ("لا يمكن تحديد الإجابة من الصورة.", DECLINED), ("إذا كانت الدائرة حمراء، فإن الإجابة هي A.", NONE),
        ("وبالتالي فإن الإجابة هي الخيار B.", "B"), ("كلا الخيارين A و B صحيحان.", "AB"), ("دائرة زرقاء", "B"), ("الخيار الثاني", "B"),
        ("لا أعتقد أن الإجابة هي A.", NONE), ("الإجابة هي B، وليست A.", "B"), ("B هي الإجابة الصحيحة.", "B"), ("ما الإجابة؟ الإجابة هي C", "C"),
    ],
)  # fmt: skip
def test_arabic(text: str, expected: str) -> None:
    assert verdict(text, DAIRA) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("सही उत्तर B है।", "B"), ("उत्तर: C", "C"), ("सही विकल्प (B) है।", "B"), ("सही जवाब है: (A) लाल वृत्त।", "A"), ("विकल्प B सही है।", "B"),
        ("विकल्प A गलत है।", NONE), ("उत्तर A नहीं है।", NONE), ("इसलिए, सही उत्तर B है।", "B"), ("यह नीला वृत्त है।", "B"), ("नीला वृत्त", "B"),
        ("मैं B चुनूँगा क्योंकि वृत्त नीला है।", "B"), ("सही उत्तर विकल्प B है।", "B"), ("B सही उत्तर है।", "B"), ("A सही उत्तर नहीं है, B सही उत्तर है।", "B"),
        ("माफ़ करें, मैं तस्वीर नहीं देख सकता।", DECLINED), ("यह निर्धारित नहीं किया जा सकता।", DECLINED),
        ("यदि वृत्त लाल होता, तो उत्तर A होता।", NONE), ("A और B दोनों सही हैं।", "AB"), ("B।", "B"), ("दूसरा विकल्प सही है।", "B"),
        ("उत्तर A है। नहीं, उत्तर B है।", "B"), ("इनमें से कोई नहीं।", NONE), ("विकल्प 2 सही है।", "B"),
    ],
)  # fmt: skip
def test_hindi(text: str, expected: str) -> None:
    assert verdict(text, VRITT) == expected
