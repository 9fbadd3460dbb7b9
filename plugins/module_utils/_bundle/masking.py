# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. No credential leaves the controller in a bundle, whether or not masking was asked for.

What stands under a name that tells of a credential goes, and what is a credential by its form goes wherever it stands. The form around it
stays, so that whatever parses the evidence still does.
"""

from __future__ import annotations

import re
import typing as t

MASK = "***"

# How a word of a name ends that tells of a credential, words that do so as the last one, and those that do so before "key".
_ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "apikey", "secretkey", "privatekey", "authorization")
_LAST_WORDS = ("auth", "bearer", "cookie", "dsn", "jwt", "pass", "psk", "pwd")
_BEFORE_KEY = ("access", "account", "api", "auth", "client", "encryption", "license", "master", "private", "secret", "shared", "signing", "ssh", "storage")
_KEYS = ("key", "keys")
_EXACTLY = ("docker_auth_config", "pgpass")
# A name that ends so tells where a credential is, or how long it lives, and not what it is.
_REFERENCES = ("audience", "dir", "file", "files", "mode", "mount", "name", "names", "namespace", "path", "ref", "refs", "seconds", "ttl", "type")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Nothing of this in a text, nothing to mask in it.
_HINT = re.compile(
    r"pass|secret|token|cred|auth|key|pwd|cookie|bearer|basic|jwt|dsn|psk|sig|://|eyJ|akia|asia|gh[a-z]_|github_pat|glpat|hf_|nvapi|xox|sk-", re.IGNORECASE
)
_BY_FORM: t.Tuple[t.Tuple[t.Pattern[str], str], ...] = (
    (re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)"), rf"\1{MASK}\2"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{16,}", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), MASK),
    (re.compile(r"\b([a-z][a-z0-9+.-]{0,30}://)[^\s/@\"'<>]+@(?!sha256:)", re.IGNORECASE), rf"\1{MASK}@"),
    (re.compile(r"([?&](?:X-Amz-\w+|sig|signature|token|access_token|key|api_key)=)[^&\s\"']+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (re.compile(r"\b(?:gh[a-z]_|github_pat_|glpat-|hf_|nvapi-|xox[a-z]-|sk-)[\w-]{16,}"), MASK),
    (re.compile(r"((?<![\w-])--[\w-]{0,60}(?:password|passwd|passphrase|token|secret|api-key)[ \t]+)(?!-)[^\s\"']+", re.IGNORECASE), rf"\1{MASK}"),
)
_HEADER = re.compile(r"(\b(?:proxy-)?authorization[\"'\\]*\s*[:=]\s*[\"'\\]*)(?:(?:bearer|basic|digest|negotiate|token)\s+)?[^\s\"',\\]+", re.IGNORECASE)
# name: value, name=value, "name": "value", and the same once more escaped.
_PAIR = re.compile(
    r"""(?<![\w.])(?P<quote>\\{0,8}["'])?(?P<name>-{0,2}[A-Za-z_][\w.-]{0,80})(?(quote)(?P=quote))(?P<separator>[ \t]*[=:][ \t]*)"""
    r"""(?P<value>(?P<open>\\{1,8}["'])[^"'\n]*?(?P=open)|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s"',;&}\])]+)"""
)
_LINE_START = re.compile(r"[\s\-]*|.*[{[,]\s*")

# Characters; a line may be all there is of a file.
_LOOK_BACK = 200
_DROPPED_KEYS = ("managedFields", "kubectl.kubernetes.io/last-applied-configuration")


def is_credential_name(name: str) -> bool:
    """Whether what stands under a name (of a variable, a field, an option, a header) is likely a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _REFERENCES:
        return False
    return (
        words[-1] in _LAST_WORDS
        or any(word.endswith(_ENDINGS) for word in words)
        or any(first in _BEFORE_KEY and second in _KEYS for first, second in zip(words, words[1:]))
        # A variable of the environment; fields that end so (topologyKey) hold no credentials.
        or (words[-1] in _KEYS and len(words) > 1 and name.isupper())
        or name.lower() in _EXACTLY
    )


def without_secrets(value: t.Any) -> t.Any:
    """A copy of evidence, of Kubernetes objects or of anything else that JSON holds, with every credential replaced.

    What is long and only repeats the object (managed fields, the last applied configuration) is left out.
    """
    if isinstance(value, str):
        return text_without_secrets(value)
    if isinstance(value, dict):
        return _mapping(value)
    return _sequence(value) if isinstance(value, list) else value


def text_without_secrets(text: str) -> str:
    """A text with every credential replaced: a log, a message, a configuration file in TOML, YAML, JSON or INI."""
    if not _HINT.search(text):
        return text
    text = _HEADER.sub(rf"\1{MASK}", text)
    for pattern, replacement in _BY_FORM:
        text = pattern.sub(replacement, text)
    return _PAIR.sub(_masked_pair, text)


def _masked_pair(found: t.Match[str]) -> str:
    """The pair with its value masked, unless the name is harmless or the colon is a sentence's."""
    if not is_credential_name(found["name"]):
        return found[0]
    of_prose = ":" in found["separator"] and not found["quote"] and found["value"][0] not in "\\\"'"
    line = max(found.string.rfind("\n", max(0, found.start() - _LOOK_BACK), found.start()) + 1, found.start() - _LOOK_BACK)
    if of_prose and not _LINE_START.fullmatch(found.string, max(0, line), found.start()):
        return found[0]
    opening = re.match(r"\\*[\"']", found["value"])
    mark = opening[0] if opening else ""
    return found[0][: found.start("value") - found.start()] + mark + MASK + mark


def _mapping(value: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    if value.get("kind") == "Secret":
        return {key: _emptied(inner) if key in ("data", "stringData") else without_secrets(inner) for key, inner in value.items()}
    named = value.get("name") or value.get("key")
    secret_value = isinstance(named, str) and is_credential_name(named)
    return {
        key: _emptied(inner)
        if key == "binaryData" or (isinstance(inner, str) and (is_credential_name(key) or (secret_value and key == "value")))
        else without_secrets(inner)
        for key, inner in value.items()
        if key not in _DROPPED_KEYS
    }


def _emptied(value: t.Any) -> t.Any:
    """The names in a mapping with masks under them; a mask in place of anything else but nothing."""
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK if value else value


def _sequence(value: t.List[t.Any]) -> t.List[t.Any]:
    """Arguments of a command among them: the one after ``--token`` is a credential."""
    before: t.List[t.Any] = [None, *value]
    return [
        MASK if _announces(previous) and isinstance(item, str) and not item.startswith("-") else without_secrets(item) for previous, item in zip(before, value)
    ]


def _announces(argument: t.Any) -> bool:
    return isinstance(argument, str) and argument.startswith("-") and "=" not in argument and " " not in argument and is_credential_name(argument)
