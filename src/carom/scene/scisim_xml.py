"""XML elements whose errors name the line, with attributes that are read once, by type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from ..errors import ProblemError, has_controls, printable
from ..files import read_file
from .checks import LARGEST_NUMBER

DEEPEST = 20  # elements within elements
COUNTS = {2: "two numbers", 3: "three numbers"}


@dataclass
class Node:
    """One element. `used` collects the attributes that were read, so that the others can be reported."""

    file: str
    tag: str
    line: int
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def all(self, *tags: str) -> Iterator[Node]:
        """The children of these names, name by name."""
        return (child for tag in tags for child in self.children if child.tag == tag)

    def only(self, tag: str) -> Node | None:
        """The child of that name; more than one is an error, as one of them would be ignored."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error("", f"a second <{tag}>", f"one <{tag}> (the first is on line {found[0].line})")
        return found[0] if found else None

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute as text, without spaces at its ends."""
        self.used.add(name)
        if name in self.attributes:
            return self.attributes[name].strip()
        if default is None:
            raise self.error(name, "nothing", "a value")
        return default

    def number(self, name: str, low: float | None = None, high: float | None = None) -> float:
        """A finite number from `low` to `high`. Fractions such as 1/60 are allowed."""
        expected = "a number" if low is None else f"a number from {low:g} {'up' if high is None else f'to {high:g}'}"
        value = self._float(name, self.text(name), expected)
        if (low is not None and value < low) or (high is not None and value > high):
            raise self.error(name, self.attributes[name], expected)
        return value

    def positive(self, name: str) -> float:
        """A finite number above 0."""
        value = self._float(name, self.text(name), "a number above 0")
        if not value > 0.0:
            raise self.error(name, self.attributes[name], "a number above 0")
        return value

    def whole(self, name: str, below: int) -> int:
        """A whole number from 0 to `below - 1`."""
        text = self.text(name)
        if not text.isdecimal() or len(text) > 18 or int(text) >= below:
            raise self.error(name, text, f"a whole number from 0 to {below - 1}" if below else "nothing to refer to")
        return int(text)

    def vector(self, name: str, count: int, default: str | None = None) -> tuple[float, ...]:
        """`count` numbers, separated by spaces."""
        text = self.text(name, default)
        words = text.split()
        if len(words) != count:
            raise self.error(name, text, f"{COUNTS[count]} with a space between")
        return tuple(self._float(name, word, COUNTS[count]) for word in words)

    def direction(self, name: str, count: int) -> tuple[float, ...]:
        """A vector that is not zero."""
        vector = self.vector(name, count)
        if not any(vector):
            raise self.error(name, self.attributes[name], "a direction that is not zero")
        return vector

    def flag(self, name: str, default: str | None = None) -> bool:
        """0 or 1."""
        text = self.text(name, default)
        if text not in ("0", "1"):
            raise self.error(name, text, "0 or 1")
        return text == "1"

    def rest(self) -> list[str]:
        """Attributes that were not read."""
        return [name for name in self.attributes if name not in self.used]

    def no_rest(self) -> None:
        """Raises ProblemError for an attribute that was not read: it might matter."""
        for name in self.rest():
            raise self.error(name, self.attributes[name], f"no such attribute of {self.tag}")

    def error(self, name: str, value: Any, expected: str) -> ProblemError:
        """An error that names the line and the attribute."""
        return ProblemError(f"{self.file}, line {self.line}, {self.tag}{'.' if name else ''}{name}", value, expected)

    def _float(self, name: str, text: str, expected: str) -> float:
        try:
            value = float(Fraction(text)) if "/" in text and len(text) < 1000 else float(text)
        except (ValueError, ZeroDivisionError, OverflowError):
            value = np.nan
        if not np.isfinite(value):
            raise self.error(name, text, f"{expected}, finite")
        if abs(value) > LARGEST_NUMBER:
            raise self.error(name, text, f"{expected}, no larger than {LARGEST_NUMBER:g}")
        return value


def read_xml(path: str | Path) -> tuple[Node, str]:
    """The root element of a file, and the first comment before it.

    The parser is expat of the standard library, which `xml.etree` uses too but without line numbers. Entity
    declarations are refused, because entities can expand without bound.
    """
    path = Path(path)
    data = read_file(path, "scene")
    open_nodes: list[Node] = []
    roots: list[Node] = []
    comments: list[str] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = Node(path.name, tag, parser.CurrentLineNumber, attributes)
        if has_controls("".join([tag, *attributes, *attributes.values()])):
            raise node.error("", "control characters", "text without them")
        (open_nodes[-1].children if open_nodes else roots).append(node)
        open_nodes.append(node)
        if len(open_nodes) > DEEPEST:
            raise node.error("", f"<{tag}>", f"elements nested at most {DEEPEST} deep")

    def refuse(name: str, *_: Any) -> None:
        raise ProblemError(path.name, f"the entity {name}", "XML without entities of its own")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_nodes.pop()
    parser.CommentHandler = lambda text: None if roots else comments.append(printable(" ".join(text.split())))
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as reason:
        problem = f"{expat.ErrorString(reason.code)} on line {reason.lineno}"
        raise ProblemError(path.name, problem, "an XML document") from None
    except (LookupError, ValueError) as reason:  # an encoding that the parser does not have
        if isinstance(reason, ProblemError):
            raise
        raise ProblemError(path.name, str(reason), "an XML document in UTF-8") from None
    return roots[0], comments[0] if comments else ""
