# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. XML to a tree, from text that may be cut, padded or hostile."""

from __future__ import annotations

import typing as t
from xml.parsers import expat

DEPTH_LIMIT = 64
ELEMENT_LIMIT = 500_000


class Element(t.NamedTuple):
    """An element: ``parts`` is its own text, in pieces; ``children`` are in the document's order."""

    name: str
    attributes: dict[str, str]
    parts: list[str]
    children: list[t.Any]

    @property
    def text(self) -> str:
        return "".join(self.parts).strip()

    def child(self, *path: str) -> Element | None:
        """The first element below this one along a path of names."""
        element: Element | None = self
        for name in path:
            if element is None:
                return None
            element = next((child for child in element.children if child.name == name), None)
        return element

    def walk(self) -> t.Iterator[Element]:
        """The elements below this one, at any depth, in the document's order."""
        waiting = list(reversed(self.children))
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def all(self, name: str) -> list[t.Any]:
        """The direct children of that name."""
        return [child for child in self.children if child.name == name]


class _Refused(Exception):
    """The document has something that nvidia-smi never writes."""


class _Builder:
    def __init__(self) -> None:
        self.top = Element("", {}, [], [])
        self._open = [self.top]
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) > DEPTH_LIMIT or self._count > ELEMENT_LIMIT:
            raise _Refused("too deep or too many elements")
        self._open.append(Element(name, attributes, [], []))

    def end(self, _name: str) -> None:
        element = self._open.pop()
        self._open[-1].children.append(element)

    def data(self, text: str) -> None:
        self._open[-1].parts.append(text)

    def entity(self, *_declaration: object) -> None:
        raise _Refused("entity declaration")

    def rescue(self) -> None:
        """Give the elements that are open at the end of a cut document those of their children that are whole."""
        outer = self._open[1:2]
        self.top.children.extend(outer)


def parse(text: str) -> tuple[Element, str | None]:
    """The document, below an element without a name, and what is wrong with it.

    What follows the document's end is left out. Of a cut document the outermost element keeps its complete children.
    """
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = builder.entity
    try:
        parser.Parse(text.lstrip("\ufeff \t\r\n").encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        if not builder.top.children:
            builder.rescue()
            return builder.top, str(error)
    except _Refused as error:
        return Element("", {}, [], []), str(error)
    return builder.top, None
