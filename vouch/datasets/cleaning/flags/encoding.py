"""Text that was decoded with the wrong encoding.

UTF-8 that was read as Windows-1252 or Latin-1 turns each letter beyond ASCII into two to four (`Ã©` for
é, `â€™` for ’). Such runs are found by undoing it: the characters, as bytes of those encodings, are
valid UTF-8. Real text hardly ever is; where it is (`„MENÜ“`, `“IRMÃ”`: a capital and a closing quote)
one pair alone does not count, unless it begins with one of the characters that hardly end a word, Â and
â. A replacement character, and a control character of the range 128 to 159, always count.
"""

import re

# Windows-1252 has no characters for five bytes; where it met them, decoders put the control character.
_BYTES = {bytes([b]).decode("cp1252", "ignore") or chr(b): b for b in range(128, 256)}
_BYTES.update({chr(b): b for b in range(128, 256) if chr(b) not in _BYTES})
_RUN = re.compile("[" + re.escape("".join(sorted(_BYTES))) + "]{2,}")
_LOST = re.compile("[\ufffd\x80-\x9f]")
_QUOTES = frozenset("‘’“”‚„‹›«»")
_SURE = frozenset("Ââ")


def damaged(text: str) -> bool:
    """Whether a text shows such damage."""
    if text.isascii():
        return False
    return bool(_LOST.search(text)) or any(_undone(match[0]) for match in _RUN.finditer(text))


def _undone(run: str) -> bool:
    data = bytes(_BYTES[character] for character in run)
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(whole) > 1 or run[0] in _SURE or run[1] not in _QUOTES
