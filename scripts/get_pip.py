# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the get-pip.py that ansible-test downloads, so that ansible-test needs no network but the package registry.

ansible-test runs it with the Python of a virtual environment without pip. Python brings a pip along: that one installs the
version that ansible-test asks for in its arguments.
"""

from __future__ import annotations

import ensurepip
import os
import runpy
import ssl
import sys

# get-pip.py's own options, unknown to pip; virtual environments come without both anyway.
OWN_OPTIONS = {"--no-setuptools", "--no-wheel"}

# Bootstrapping drops pip's settings from the environment; a mirror's must hold for what comes next.
settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
ensurepip.bootstrap()
os.environ.pop("PIP_CONFIG_FILE", None)
# Trust whom the machine trusts, such as a mirror's authority: a pip older than 24.2 knows only those that it brings along.
trusted = ssl.get_default_verify_paths()
os.environ.update({"PIP_CERT": trusted.cafile or trusted.capath or "", **settings})
sys.argv[1:] = ["install", *(argument for argument in sys.argv[1:] if argument not in OWN_OPTIONS)]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
