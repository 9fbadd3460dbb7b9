# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Says what is wrong with a kubeconfig before a library trips over it."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

# Without it kubernetes, which brings it, isn't there either, and connection.py has said so before it is needed here.
with contextlib.suppress(ImportError):
    import yaml

Params = t.Mapping[str, t.Any]

_DEFAULT = "~/.kube/config"
_SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
# Shorter texts are API versions and flags, which would blot out half of the output.
_SHORTEST_SECRET = 8
_SELF_CONTAINED = (("api_key",), ("username", "password"), ("client_cert", "client_key"))


def check_kubeconfig(params: Params, environ: t.Mapping[str, str]) -> None:
    """Check the kubeconfig that the options and the environment lead to, in the order in which kubernetes.core looks.

    :param params: the module's options.
    :raises GpuFleetError: KubeconfigUnreadable, ContextNotFound.
    """
    source = _source(params, environ)
    if source is None:
        return
    if isinstance(source, dict):
        config: t.Dict[str, t.Any] = source
        where = "the option kubeconfig"
    else:
        where = source
        config = _merged([os.path.expanduser(path) for path in source.split(os.pathsep) if path])
    _check_context(config, params.get("context") or environ.get("K8S_AUTH_CONTEXT"), where)


def secrets_in(kubeconfig: t.Any) -> t.Set[str]:
    """Texts that must not be shown where a kubeconfig was given as data: all that stands under its users."""
    if not isinstance(kubeconfig, dict):
        return set()
    return {text for user in kubeconfig.get("users") or [] for text in _texts(user.get("user")) if len(text) >= _SHORTEST_SECRET}


def _texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _source(params: Params, environ: t.Mapping[str, str]) -> t.Any:
    """The option, paths as text, or ``None`` where no kubeconfig is read."""

    def given(name: str) -> t.Any:
        return params.get(name) or environ.get("K8S_AUTH_" + name.upper())

    if given("host") and any(all(given(name) for name in names) for names in _SELF_CONTAINED):
        return None
    if given("kubeconfig"):
        return given("kubeconfig")
    in_cluster = environ.get("KUBERNETES_SERVICE_HOST") and os.path.exists(_SERVICE_ACCOUNT_TOKEN)
    if in_cluster and not given("context"):
        return None
    return environ.get("KUBECONFIG") or _DEFAULT


def _merged(paths: t.Sequence[str]) -> t.Dict[str, t.Any]:
    """Contexts of all files; files that don't exist are passed over as kubectl does, as long as one exists."""
    present = [path for path in paths if os.path.exists(path)]
    if not present:
        raise _unreadable(paths, "no such file")
    documents = [_document(path) for path in present]
    return {
        "contexts": [context for document in documents for context in document.get("contexts") or []],
        "current-context": next((document["current-context"] for document in documents if document.get("current-context")), None),
    }


def _document(path: str) -> t.Dict[str, t.Any]:
    try:
        with open(path, encoding="utf-8") as handle:
            found = yaml.safe_load(handle)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable([path], str(error)) from error
    if not isinstance(found, dict) or not isinstance(found.get("contexts"), list):
        raise _unreadable([path], "it is no kubeconfig: there is no list of contexts in it")
    return found


def _check_context(config: t.Mapping[str, t.Any], wanted: t.Optional[str], where: str) -> None:
    known = sorted(context["name"] for context in config.get("contexts") or [] if isinstance(context, dict) and "name" in context)
    context = wanted or config.get("current-context")
    if context in known:
        return
    asked = f"the context {wanted!r}" if wanted else f"its current-context {context!r}"
    raise GpuFleetError(
        f"Expected {asked} in {where}, found the contexts {', '.join(known) or '(none)'}. Set the option context to one of them.",
        code="ContextNotFound",
        context=context,
        contexts=known,
        kubeconfig=where,
    )


def _unreadable(paths: t.Sequence[str], reason: str) -> GpuFleetError:
    named = ", ".join(paths)
    return GpuFleetError(
        f"Expected a kubeconfig at {named}, which can't be read: {reason}. Set the option kubeconfig, or KUBECONFIG, to a file that this user may read.",
        code="KubeconfigUnreadable",
        paths=list(paths),
        reason=reason,
    )
