# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write each role's README.md from its argument specification: python docs/generate_role_readmes.py [--check]"""

from __future__ import annotations

import argparse
import json
import re
import sys
import typing as t
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
ROLES = REPOSITORY / "roles"

# Ansible's semantic markup whose content is shown as code: value, option, environment variable, plain code, return value.
CODE = re.compile(r"\b[VOECR]V?\(([^()]*)\)")
PLUGIN = re.compile(r"\bP\(([^()#]+)#[^()]+\)")

TEMPLATE = """\
<!--
Copyright (c) 2026, gpufleet authors
SPDX-License-Identifier: GPL-3.0-or-later
Generated from meta/argument_specs.yml by docs/generate_role_readmes.py. Edit that file instead.
-->

# gpufleet.k8s.{name}

{summary}.

{description}

## Variables

{variables}

## Example

```yaml
{example}
```
"""


def markdown(text: str) -> str:
    """Ansible's markup as Markdown, on one line."""
    return CODE.sub(r"`\1`", PLUGIN.sub(r"`\1`", " ".join(text.split())))


def paragraphs(text: str | list[str]) -> list[str]:
    return [markdown(item) for item in ([text] if isinstance(text, str) else text)]


def variable_row(name: str, option: dict[str, t.Any]) -> str:
    """One row of the table; a default that isn't there is left empty."""
    kind = option["type"] + (f" of {option['elements']}" if "elements" in option else "")
    default = f"`{json.dumps(option['default'])}`" if "default" in option else "required" if option.get("required") else ""
    choices = f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}." if "choices" in option else ""
    cells = (f"`{name}`", kind, default, " ".join(paragraphs(option["description"])) + choices)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def example(name: str, options: dict[str, t.Any]) -> str:
    """A play with this role: on the controller where it talks to Kubernetes, else on the nodes."""
    on_cluster = f"{name}_kubeconfig" in options
    lines = ["- hosts: " + ("localhost" if on_cluster else "gpu_nodes"), "  gather_facts: false", *([] if on_cluster else ["  become: true"])]
    return "\n".join([*lines, "  roles:", f"    - role: gpufleet.k8s.{name}"])


def readme(name: str, spec: dict[str, t.Any]) -> str:
    """The text of a role's README.md.

    :param spec: the ``main`` entry point of its meta/argument_specs.yml.
    """
    options = spec.get("options", {})
    rows = ["| Variable | Type | Default | Meaning |", "|---|---|---|---|", *(variable_row(key, option) for key, option in options.items())]
    return TEMPLATE.format(
        name=name,
        summary=markdown(spec["short_description"]),
        description="\n".join(f"- {line}" for line in paragraphs(spec["description"])),
        variables="\n".join(rows),
        example=example(name, options),
    )


def all_readmes() -> dict[Path, str]:
    """Each README.md that there has to be, and its text."""
    specs = {path.parent.parent: yaml.safe_load(path.read_text())["argument_specs"]["main"] for path in sorted(ROLES.glob("*/meta/argument_specs.yml"))}
    return {role / "README.md": readme(role.name, spec) for role, spec in specs.items()}


def outdated() -> list[Path]:
    """The READMEs that aren't what their specification says."""
    return [path for path, text in all_readmes().items() if not path.exists() or path.read_text() != text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail and name the files that would change")
    check = parser.parse_args().check
    texts, changed = all_readmes(), outdated()
    for path in changed:
        print(("outdated: " if check else "written: ") + str(path.relative_to(REPOSITORY)))
        if not check:
            path.write_text(texts[path])
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
