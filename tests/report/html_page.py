"""A page as a reader's program sees it."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}


class Page(HTMLParser):
    """elements: (tag, attributes) in order. text: all that is shown. unclosed: tags left open or crossed."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self.crossed: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        self.crossed += self._open

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "template"):
            if self.elements and self.elements[-1][0] == "wbr" and self.shown:  # within a word
                self.shown[-1] += data
            else:
                self.shown.append(data)
