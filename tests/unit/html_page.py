"""A reader of HTML for tests: elements in their order, each with its text, and whether every one is closed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "rect", "line", "br", "wbr"}


@dataclass
class Element:
    tag: str
    given: dict
    depth: int
    text: str = ""
    inside: list = field(default_factory=list)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack = [], []
        self.feed(text)
        self.close()
        assert not self.stack, f"not closed: {[one.tag for one in self.stack]}"

    def handle_starttag(self, tag, attrs):
        found = Element(tag, dict(attrs), len(self.stack), inside=[one.tag for one in self.stack])
        self.elements.append(found)
        if tag not in VOID:
            self.stack.append(found)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, dict(attrs), len(self.stack), inside=[one.tag for one in self.stack]))

    def handle_endtag(self, tag):
        assert self.stack.pop().tag == tag

    def handle_data(self, data):
        for one in self.stack:
            one.text += data

    def all(self, *tags):
        return [one for one in self.elements if one.tag in tags]

    @property
    def text(self):
        """All that is read, without the style."""
        (body,) = self.all("body")
        return " ".join(body.text.split())

    def row(self, head):
        """The text of the cells beside this head."""
        for k, one in enumerate(self.elements):
            if one.tag == "th" and one.text == head and one.given["scope"] == "row":
                cells = []
                for cell in self.elements[k + 1 :]:
                    if cell.tag != "td":
                        break
                    cells.append(cell.text)
                return cells
        raise AssertionError(head)
