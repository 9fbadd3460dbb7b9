# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# `make` alone lists the targets. What a target does is in scripts/; nothing here decides anything.

PYTHON := .venv/bin/python
LOCK := .venv/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --custom-compile-command 'make lock' $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help venv system demo demo-down test test-unit lint sanity molecule integration test-long docs lock build clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: ## make .venv from the locked requirements
	@scripts/bootstrap

system: ## install the Debian packages of requirements/system.txt (as root; otherwise name the command)
	@scripts/bootstrap system

demo: venv system ## from bare nodes to validated GPU nodes, on this machine
	@$(PYTHON) -m scripts.demo up

demo-down: venv ## remove what the demo left running
	@$(PYTHON) -m scripts.demo down

test: venv system ## everything below but test-long
	@$(PYTHON) -m scripts.run_tests

test-unit: venv ## unit tests (seconds)
	@$(PYTHON) -m scripts.run_tests unit

lint: venv ## ansible-lint, ruff, mypy, changelog, documentation
	@$(PYTHON) -m scripts.run_tests lint

sanity: venv ## ansible-test sanity
	@$(PYTHON) -m scripts.run_tests sanity

molecule: venv system ## Molecule scenarios, one per role (as root)
	@$(PYTHON) -m scripts.run_tests molecule

integration: venv system ## the whole path on a real cluster and booted machines (as root)
	@$(PYTHON) -m scripts.run_tests integration

test-long: venv system ## full sweeps, not part of `make test` (as root)
	@$(PYTHON) -m scripts.run_tests long

docs: venv ## write the generated pages anew: the roles' READMEs, docs/findings, docs/failures.md
	@$(PYTHON) docs/generate_role_readmes.py
	@PYTHONPATH=.cache/collections $(PYTHON) docs/generate_finding_pages.py

lock: venv ## write requirements/*.txt anew; UPGRADE=--upgrade takes newer versions
	$(LOCK) requirements/uv.in -o requirements/uv.txt
	$(LOCK) requirements/dev.in -o requirements/dev.txt

build: venv ## the collection's archive, in .cache/build
	@.venv/bin/ansible-galaxy collection build --force --output-path .cache/build

clean: demo-down ## demo-down, then remove .venv and .cache
	rm -rf .venv .cache
