# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for nvidia-persistenced: holds the device files open, so that the driver is in use for as long as it runs."""

from __future__ import annotations

import signal
from pathlib import Path

opened = [path.open("rb") for path in sorted(Path("/dev").glob("nvidia[0-9]*"))]
signal.sigwait({signal.SIGTERM, signal.SIGINT})
