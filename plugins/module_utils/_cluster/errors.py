# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The API server's refusals as errors of ours."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

_CODES = {401: "ApiUnauthorized", 404: "ApiNotFound", 409: "ApiConflict", 410: "ApiGone", 422: "ApiInvalid"}
_STEPS = {
    401: "Renew the credentials of the kubeconfig.",
    403: "Have the permission granted (RBAC).",
    404: "Check that the object exists and that the cluster serves this API.",
}
# The authoriser's words; admission refuses with 403 as well.
_RBAC = re.compile(r"User \"(?P<user>[^\"]*)\" cannot (?P<verb>\w+) resource \"(?P<resource>[^\"]+)\"")


class ApiError(GpuFleetError):
    """The API server answered, and said no.

    :ivar status: HTTP status.
    :ivar text: the server's message.
    """

    def __init__(self, status: int, text: str, *, code: str, what: str, **details: t.Any) -> None:
        step = _STEPS.get(status, "")
        super().__init__(f"The API server refused to {what}: {text} ({status}). {step}".strip(), code=code, status=status, reason=text, what=what, **details)
        self.status = status
        self.text = text


class AdmissionRefused(ApiError):
    """The object was refused by admission: Pod Security, quota, a webhook. Not a lack of permission."""


def status_error(status: int, body: bytes, what: str) -> ApiError:
    """The error for an answer that isn't a success.

    :param body: a Status object, or whatever a proxy in between sent.
    :param what: the attempt in words: ``list pods``.
    """
    answer = _status_object(body)
    text = str(answer.get("message") or answer.get("reason") or "no text")
    if status == 403:
        rbac = _RBAC.search(text)
        if rbac:
            return ApiError(status, text, code="ApiForbidden", what=what, **rbac.groupdict())
        return AdmissionRefused(status, text, code="AdmissionRefused", what=what)
    # Where a page token has expired, the answer carries one to go on with.
    following = (answer.get("metadata") or {}).get("continue")
    return ApiError(status, text, code=_CODES.get(status, "ApiError"), what=what, **({"continue": following} if following else {}))


def _status_object(body: bytes) -> t.Dict[str, t.Any]:
    """The Status object; another text, as a proxy sends it, becomes its message."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"message": body.decode("utf-8", "replace").strip()[:500]}


def unreachable(host: str, what: str, error: str, waited_s: float) -> GpuFleetError:
    """No answer from the API server."""
    return GpuFleetError(
        f"Expected the API server at {host} to answer, gave up after {waited_s:.0f} s trying to {what}: {error}. "
        "Check that it runs, that this machine reaches it, and the cluster's address and CA in the kubeconfig.",
        code="ApiUnreachable",
        host=host,
        what=what,
        error=error,
        waited_s=round(waited_s, 1),
    )
