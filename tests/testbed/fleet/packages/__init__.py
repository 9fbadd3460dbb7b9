# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the signed apt repositories that the roles install from: /driver and /toolkit, with their key at /gpgkey.

Both are flat, as NVIDIA's are: ``deb [signed-by=...] http://HOST:PORT/driver /``.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testbed.fleet.packages.kernel_module import nvidia_modules
from tests.testbed.fleet.packages.table import PACKAGES, Package
from tests.testbed.paths import BIN, CACHE, PACKAGE_REPOSITORY

SOURCES = Path(__file__).parent
NVIDIA_CTK = BIN / "nvidia-ctk"
SECRET_KEY = CACHE / "keys" / "packages.asc"
SIGNER = "gpufleet testbed packages <testbed@gpufleet.invalid>"
ORIGINS = {"driver": "NVIDIA stand-in", "toolkit": "NVIDIA toolkit stand-in"}
STAMP = "built-from"


def content_key() -> str:
    """Return a hash of everything that goes into the repositories.

    :raises FileNotFoundError: nvidia-ctk has not been built yet
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in SOURCES.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(SOURCES)}\n".encode() + path.read_bytes())
    with NVIDIA_CTK.open("rb") as handle:
        digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


def _fill(text: str, version: str) -> str:
    return text.format(version=version, upstream=version.rpartition("-")[0])


def _source(name: str, version: str) -> str:
    return (SOURCES / name).read_text().replace("@UPSTREAM@", version.rpartition("-")[0])


def control(package: Package, version: str) -> str:
    """Return the text of a package's control file."""
    fields = {
        "Package": package.name,
        "Version": version,
        "Architecture": "amd64",
        "Maintainer": SIGNER,
        "Section": "test",
        "Priority": "optional",
        "Depends": ", ".join(_fill(relation, version) for relation in package.depends),
        "Description": f"{package.summary} (stand-in for tests)",
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)


def _write(path: Path, content: str | bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)


def _lay_out(package: Package, version: str, root: Path) -> None:
    _write(root / "DEBIAN" / "control", control(package, version), 0o644)
    for script, source in package.scripts.items():
        _write(root / "DEBIAN" / script, _source(source, version), 0o755)
    for target, source in package.files.items():
        executable = (SOURCES / source).stat().st_mode & 0o111
        _write(root / _fill(target, version), _source(source, version), 0o755 if executable else 0o644)
    for target, source in package.programs.items():
        _write(root / target, f"#!/usr/bin/python3\n{_source(source, version)}", 0o755)
    for link, target in package.links.items():
        path = root / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(_fill(target, version))
    if package.kernel_modules:
        upstream = version.rpartition("-")[0]
        for name, content in nvidia_modules(upstream).items():
            _write(root / "usr" / "src" / f"nvidia-{upstream}" / "built" / name, content, 0o644)
    if package.real_toolkit:
        _write(root / "usr" / "bin" / "nvidia-ctk", NVIDIA_CTK.read_bytes(), 0o755)


def _build_package(package: Package, version: str, pool: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="gpufleet-deb-") as folder:
        root = Path(folder) / "root"
        root.mkdir(mode=0o755)
        _lay_out(package, version, root)
        command = ["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", str(root), str(pool / f"{package.name}_{version}_amd64.deb")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Signer:
    """Signs with the key that is kept in the cache, so that machines which know it accept a rebuilt repository too.

    The keyring lies in a short temporary path, since the agent's socket beside it may not have a long one.
    """

    def __init__(self, home: str) -> None:
        self._environment = {**os.environ, "GNUPGHOME": home}
        if SECRET_KEY.exists():
            self._gpg("--import", str(SECRET_KEY))
        else:
            self._gpg("--passphrase", "", "--quick-generate-key", SIGNER, "ed25519", "sign", "never")
            SECRET_KEY.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            SECRET_KEY.touch(mode=0o600)
            SECRET_KEY.write_bytes(self._gpg("--passphrase", "", "--armor", "--export-secret-keys", SIGNER))

    def _gpg(self, *arguments: str) -> bytes:
        command = ["gpg", "--batch", "--yes", "--quiet", "--pinentry-mode=loopback", *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=self._environment).stdout

    def public_key(self) -> bytes:
        """Return the public key, armoured."""
        return self._gpg("--armor", "--export", SIGNER)

    def sign(self, release: Path, target: Path) -> None:
        """Write ``release`` with its signature around it to ``target``."""
        self._gpg("--clearsign", "--output", str(target), str(release))

    def close(self) -> None:
        """End the agent that gpg started."""
        subprocess.run(["gpgconf", "--kill", "all"], check=True, env=self._environment)


@contextmanager
def _signer() -> Iterator[Signer]:
    with tempfile.TemporaryDirectory(prefix="gpufleet-gpg-") as home:
        signer = Signer(home)
        try:
            yield signer
        finally:
            signer.close()


def _index(folder: Path, origin: str, signer: Signer) -> None:
    packages = subprocess.run(["apt-ftparchive", "packages", "."], cwd=folder, check=True, capture_output=True).stdout
    (folder / "Packages").write_bytes(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages, mtime=0))
    names = {"Origin": origin, "Label": origin, "Suite": "stable"}
    options = [f"-oAPT::FTPArchive::Release::{name}={value}" for name, value in names.items()]
    release = subprocess.run(["apt-ftparchive", *options, "release", "."], cwd=folder, check=True, capture_output=True).stdout
    (folder / "Release").write_bytes(release)
    signer.sign(folder / "Release", folder / "InRelease")


def build_repositories(say: Callable[[str], None]) -> None:
    """Build and sign both repositories, unless they are there and nothing in them would change.

    :param say: called with a line per step
    :raises FileNotFoundError: nvidia-ctk has not been built yet
    :raises subprocess.CalledProcessError: dpkg-deb, apt-ftparchive or gpg failed
    """
    key = content_key()
    stamp = PACKAGE_REPOSITORY / STAMP
    if stamp.exists() and stamp.read_text() == key:
        say("packages: there already")
        return
    say("packages: building")
    unfinished = CACHE / ".repo.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    for repository in ORIGINS:
        (unfinished / repository).mkdir(parents=True)
    for package in PACKAGES:
        for version in package.versions:
            _build_package(package, version, unfinished / package.repository)
    with _signer() as signer:
        (unfinished / "gpgkey").write_bytes(signer.public_key())
        for repository, origin in ORIGINS.items():
            _index(unfinished / repository, origin, signer)
    (unfinished / STAMP).write_text(key)
    shutil.rmtree(PACKAGE_REPOSITORY, ignore_errors=True)
    unfinished.rename(PACKAGE_REPOSITORY)
    say(f"packages: {sum(len(package.versions) for package in PACKAGES)} built and signed")
