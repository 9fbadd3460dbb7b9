# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state directory through a whole life: first run, killed runs, edits by others, removal."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_toolkit_files as subject

CONFIG, DROP_IN, STATE = "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml", "/var/lib/gpufleet/toolkit"
FOLDER = "/etc/containerd/conf.d"


def decide(files: dict[str, str | None]) -> dict[str, t.Any]:
    found = [{"path": path} if checksum is None else {"path": path, "checksum": checksum} for path, checksum in files.items()]
    return subject.decide(found, CONFIG, DROP_IN, STATE)


def copy(name: str, path: str) -> dict[str, str]:
    return {"src": f"{STATE}/{name}", "dest": path}


BARE: dict[str, str | None] = {CONFIG: "a"}
DONE = {
    CONFIG: "b",
    FOLDER: None,
    DROP_IN: "d",
    f"{STATE}/original-config.toml": "a",
    f"{STATE}/original-complete": "",
    f"{STATE}/left-config.toml": "b",
    f"{STATE}/record": "r",
}
UNFINISHED = {
    CONFIG: "half",
    f"{STATE}/original-config.toml": "a",
    f"{STATE}/original-complete": "",
    f"{STATE}/previous": None,
    f"{STATE}/previous/config.toml": "a",
    f"{STATE}/previous/complete": "",
}


def test_the_first_run_keeps_the_file_as_original_and_as_previous() -> None:
    result = decide(BARE)
    assert result["keep"] == [{"src": CONFIG, "dest": f"{STATE}/original-config.toml"}, {"src": CONFIG, "dest": f"{STATE}/previous/config.toml"}]
    assert result["marks"] == [f"{STATE}/original-complete", f"{STATE}/previous/complete"]
    assert result["previous"] == {"copies": [copy("previous/config.toml", CONFIG)], "removals": [DROP_IN]}


def test_a_node_without_a_configuration_gets_none_back() -> None:
    result = decide({})
    assert result["keep"] == []
    assert result["previous"] == {"copies": [], "removals": [CONFIG, DROP_IN]}


def test_a_later_run_keeps_both_files_as_previous_and_leaves_the_original_alone() -> None:
    result = decide(DONE)
    assert [item["dest"] for item in result["keep"]] == [f"{STATE}/previous/config.toml", f"{STATE}/previous/drop-in.toml"]
    assert result["marks"] == [f"{STATE}/previous/complete"]
    assert result["previous"] == {"copies": [copy("previous/config.toml", CONFIG), copy("previous/drop-in.toml", DROP_IN)], "removals": []}


def test_after_a_killed_run_nothing_half_changed_is_kept() -> None:
    result = decide(UNFINISHED)
    assert (result["unfinished"], result["keep"], result["marks"], result["edited"]) == (True, [], [], False)
    assert result["previous"] == {"copies": [copy("previous/config.toml", CONFIG)], "removals": [DROP_IN]}


def test_a_run_killed_while_it_kept_files_begins_anew() -> None:
    result = decide({CONFIG: "a", f"{STATE}/original-config.toml": "a", f"{STATE}/previous": None})
    assert not result["unfinished"]
    assert len(result["keep"]) == 2
    assert len(result["marks"]) == 2


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (DONE, {"copies": [copy("original-config.toml", CONFIG)], "removals": [DROP_IN, FOLDER]}),
        ({**DONE, f"{STATE}/original-has-drop-in-folder": ""}, {"copies": [copy("original-config.toml", CONFIG)], "removals": [DROP_IN]}),
        ({**DONE, f"{FOLDER}/other.toml": "o"}, {"copies": [copy("original-config.toml", CONFIG)], "removals": [DROP_IN]}),
        ({**DONE, CONFIG: "edited"}, {"copies": [], "removals": [DROP_IN, FOLDER]}),
        ({**DONE, CONFIG: "a"}, {"copies": [copy("original-config.toml", CONFIG)], "removals": [DROP_IN, FOLDER]}),
        (UNFINISHED, {"copies": [copy("original-config.toml", CONFIG)], "removals": [DROP_IN, FOLDER]}),
        ({DROP_IN: "d", CONFIG: "b"}, {"copies": [], "removals": [DROP_IN]}),
    ],
    ids=["done", "folder was there", "folder has others' files", "edited", "killed removal", "killed run", "drop-in of another"],
)
def test_removal(files: dict[str, str | None], expected: dict[str, t.Any]) -> None:
    assert decide(files)["original"] == expected


def test_an_edit_by_others_is_remembered_over_later_runs() -> None:
    edited = decide({**DONE, CONFIG: "edited"})
    assert edited["edited"]
    assert f"{STATE}/edited-by-others" in edited["marks"]
    later = decide({**DONE, CONFIG: "c", f"{STATE}/left-config.toml": "c", f"{STATE}/edited-by-others": ""})
    assert later["edited"]
    assert later["original"]["copies"] == []


def test_a_configuration_that_did_not_exist_goes_with_the_role() -> None:
    files = {path: checksum for path, checksum in DONE.items() if not path.endswith("original-config.toml")}
    assert decide(files)["original"] == {"copies": [], "removals": [CONFIG, DROP_IN, FOLDER]}
