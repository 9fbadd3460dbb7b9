# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. From a module's options to the API server.

Authentication is kubernetes.core's; HTTP goes over the connection pool that the kubernetes library made for it (TLS, proxy, client
certificate), without the library's model classes and retries.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
import traceback
import typing as t
from urllib.parse import urlencode

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.exceptions import CoreException

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import PATIENCE_WITH_STRANGERS_S, Api, Query, TransportError
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import status_error, unreachable
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.kubeconfig import check_kubeconfig, secrets_in
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

try:
    import urllib3
    from kubernetes.client.exceptions import ApiException
except ImportError:
    _IMPORT_ERROR: t.Optional[str] = traceback.format_exc()
else:
    _IMPORT_ERROR = None

# get_api_client asks for the server's version and API groups, each up to four times, and takes no timeout.
_DISCOVERY_ATTEMPTS = 4
_DISCOVERY_PAUSE_S = 1.0
_DISCOVERY = "read the server's version"


def connect(module: AnsibleModule) -> Api:
    """The API server that the module's options name.

    :raises GpuFleetError: LibraryMissing, KubeconfigUnreadable, ContextNotFound, ApiUnreachable, ApiUnauthorized, ApiForbidden.
    """
    if _IMPORT_ERROR is not None:
        raise GpuFleetError(missing_required_lib("kubernetes"), code="LibraryMissing", library="kubernetes", traceback=_IMPORT_ERROR)
    module.no_log_values.update(secrets_in(module.params["kubeconfig"]))
    check_kubeconfig(module.params, os.environ)
    timeout_s = module.params["request_timeout"]
    auth = {name: module.params[name] for name in AUTH_ARG_SPEC if module.params.get(name) is not None}
    with _socket_timeout(timeout_s / _DISCOVERY_ATTEMPTS):
        client = _client(auth, timeout_s)
    return Api(PoolTransport(client), timeout_s=timeout_s)


def _client(auth: t.Dict[str, t.Any], timeout_s: float) -> t.Any:
    """The kubernetes library's ApiClient. What it asks the server for is tried again for a few seconds."""
    started = time.monotonic()
    patience = min(timeout_s, PATIENCE_WITH_STRANGERS_S)
    while True:
        try:
            return get_api_client(**auth).client.client
        except CoreException as error:
            raise GpuFleetError(
                f"Expected credentials for a cluster, found none that can be used: {error}. Correct the kubeconfig or the connection options.",
                code="KubeconfigUnreadable",
                reason=str(error),
            ) from error
        except ApiException as error:
            body = error.body or b""
            raise status_error(error.status, body.encode() if isinstance(body, str) else body, _DISCOVERY) from error
        except urllib3.exceptions.HTTPError as error:
            waited = time.monotonic() - started
            if isinstance(error, urllib3.exceptions.SSLError) or waited + _DISCOVERY_PAUSE_S > patience:
                raise unreachable(_address(error), _DISCOVERY, _reason(error), waited) from error
            time.sleep(_DISCOVERY_PAUSE_S)


def _reason(error: Exception) -> str:
    """What happened, without the attempts around it."""
    return str(getattr(error, "reason", None) or error)


def _address(error: Exception) -> str:
    pool = getattr(error, "pool", None)
    return f"{pool.scheme}://{pool.host}:{pool.port}" if pool else "the address in the kubeconfig"


@contextlib.contextmanager
def _socket_timeout(seconds: float) -> t.Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


class PoolTransport:
    """:class:`_cluster.api.Transport` over the kubernetes library's connection pool."""

    def __init__(self, client: t.Any) -> None:
        self._client = client
        self.host: str = client.configuration.host

    def send(self, method: str, path: str, query: Query, body: t.Optional[bytes], headers: t.Mapping[str, str], timeout_s: float) -> PoolAnswer:
        url = self.host + path + ("?" + urlencode(query) if query else "")
        try:
            response = self._client.rest_client.pool_manager.request(
                method,
                url,
                body=body,
                headers={**self._client.default_headers, **self._credentials(), **headers},
                timeout=urllib3.Timeout(total=timeout_s),
                retries=False,
                preload_content=False,
            )
        except urllib3.exceptions.SSLError as error:
            raise TransportError(str(error), final=True) from error
        except urllib3.exceptions.HTTPError as error:
            raise TransportError(_reason(error)) from error
        return PoolAnswer(response)

    def _credentials(self) -> t.Dict[str, str]:
        """Asked for each time: the library renews tokens that expire."""
        settings = self._client.configuration.auth_settings().values()
        return {setting["key"]: setting["value"] for setting in settings if setting["in"] == "header" and setting["value"]}


class PoolAnswer:
    """:class:`_cluster.api.Answer` of :class:`PoolTransport`."""

    def __init__(self, response: t.Any) -> None:
        self._response = response
        self.status: int = response.status
        self.headers: t.Mapping[str, str] = response.headers

    def read(self) -> bytes:
        with _body_errors():
            return self._response.data

    def lines(self) -> t.Iterator[bytes]:
        """Lines as they come; a last one that was cut off is dropped."""
        rest = b""
        with _body_errors():
            for chunk in self._response.stream(amt=None, decode_content=True):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    if line:
                        yield line

    def close(self) -> None:
        self._response.close()


@contextlib.contextmanager
def _body_errors() -> t.Iterator[None]:
    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise TransportError(str(error)) from error
