# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. JSON and YAML from strangers: whatever the text is, bounded time and memory, and plain JSON types."""

from __future__ import annotations

import json
import typing as t

# Values in a document, with what its aliases stand for; values within each other; documents in a text; characters of a YAML text.
VALUE_LIMIT = 2_000_000
DEPTH_LIMIT = 100
DOCUMENT_LIMIT = 10_000
YAML_LIMIT = 8 * 1024 * 1024

_BLANK = " \t\r\n"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


def load_json(content: str) -> t.List[t.Any]:
    """The values in a text: one document, or several one after the other.

    :raises ValueError: it is something else, or too large or deep.
    """
    content = content.lstrip("\ufeff")
    decoder, position = json.JSONDecoder(), 0
    found: t.List[t.Any] = []
    while True:
        position = _skip(content, position)
        if position >= len(content):
            return found
        if len(found) >= DOCUMENT_LIMIT:
            raise ValueError(f"more than {DOCUMENT_LIMIT} documents")
        try:
            value, position = decoder.raw_decode(content, position)
        except RecursionError as error:
            raise ValueError("nested too deep") from error
        found.append(_plain(value))


def load_yaml(content: str) -> t.List[t.Any]:
    """The documents in a text, without those that are empty. Dates stay texts.

    :raises ValueError: it isn't YAML, or too large, too deep, or its aliases stand for too much.
    """
    # Here and not at the top: every controller has it, while sanity tests import this file with the Pythons of the nodes too.
    import yaml

    if len(content) > YAML_LIMIT:
        raise ValueError(f"longer than {YAML_LIMIT} characters")
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {first: [pair for pair in pairs if pair[0] != _TIMESTAMP] for first, pairs in base.yaml_implicit_resolvers.items()}
    loader = type("_Loader", (base,), {"yaml_implicit_resolvers": resolvers})
    try:
        _check_size(yaml, content, base)
        return [_plain(value) for value in yaml.load_all(content, loader) if value is not None]
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())[:300]) from error
    except (RecursionError, OverflowError, TypeError, AttributeError, IndexError, KeyError) as error:
        # PyYAML's constructors meet values that no tag promises: "!!int x", a date of month 13, "<<: 1".
        raise ValueError(f"a value that its tag doesn't allow: {error}") from error


def _check_size(yaml: t.Any, content: str, loader: t.Any) -> None:
    """Count what constructing the documents would make, before any is constructed."""
    # By anchor; those without one share an entry that nothing asks for.
    sizes: t.Dict[t.Optional[str], int] = {}
    open_nodes: t.List[t.List[t.Any]] = []
    documents = 0
    for total, event in enumerate(yaml.parse(content, loader)):
        size = 0
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            sizes, open_nodes = {}, []
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            open_nodes.append([event.anchor, 1])
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            anchor, size = open_nodes.pop()
            sizes[anchor] = size
        elif isinstance(event, yaml.ScalarEvent):
            size = sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1)
        if size and open_nodes:
            size = open_nodes[-1][1] = open_nodes[-1][1] + size
        if max(size, total) > VALUE_LIMIT or len(open_nodes) > DEPTH_LIMIT or documents > DOCUMENT_LIMIT:
            raise ValueError("too many values, documents or levels, or aliases that stand for too much")


def _skip(content: str, position: int) -> int:
    while position < len(content) and content[position] in _BLANK:
        position += 1
    return position


def _plain(value: t.Any, depth: int = 0) -> t.Any:
    """The same in types of JSON, with texts that can be encoded.

    :raises ValueError: nested too deep.
    """
    if depth > DEPTH_LIMIT:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        return {_text(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item, depth + 1) for item in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    # Neither "not a number" nor infinity can be written as JSON.
    return value if isinstance(value, float) and value - value == 0 else _text(value)


def _text(value: t.Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value).encode("utf-8", "replace").decode("utf-8")
