# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Carries a validation out: creates, watches, collects logs, removes."""

from __future__ import annotations

import calendar
import contextlib
import re
import signal
import threading
import time
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import Api
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import AdmissionRefused, ApiError
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.observe import NAMESPACES
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.checks import Check, is_finished, is_hopeless, ran
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.manifests import (
    CHECK_LABEL,
    CUDA,
    INSPECT,
    MANAGED_BY,
    MANAGER,
    RUN_LABEL,
    TARGET_LABEL,
    Run,
    cuda_job,
    inspection_pod,
    namespace_object,
)
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.targets import Target
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.verdict import Surroundings, check_findings

Object = t.Dict[str, t.Any]
Checks = t.Dict[int, t.List[Check]]

# The watch is renewed after this time at the latest, so that waiting checks are looked after.
_WATCH_S = 5
_LOG_BYTES = 4 * 1024 * 1024
# A new namespace admits no pod until its service account was made.
_NO_SERVICE_ACCOUNT = re.compile(r"error looking up service account|serviceaccount \"default\" not found")
_BEING_DELETED = re.compile(r"because it is being terminated")
_OURS = f"{MANAGED_BY}={MANAGER},{RUN_LABEL}"
# A run's objects outlive its timeout by the time that its removal takes.
_LEFTOVER_SLACK_S = 60
_FIELD_MANAGER = "gpufleet"


class Validation:
    """One run over all targets, in parallel: each node's CUDA job starts when its inspection has ended.

    :param around: to explain what doesn't start; its events are read here.
    :param clock: seconds that only go up.
    """

    def __init__(
        self,
        api: Api,
        run: Run,
        targets: t.Sequence[Target],
        around: Surroundings,
        *,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = api
        self._run = run
        self._targets = targets
        self._clock = clock
        self._sleep = sleep
        self._deadline_s = clock() + run.timeout_s
        self._namespace = f"{NAMESPACES}/{run.namespace}"
        self._pods = f"{self._namespace}/pods"
        self._jobs = f"/apis/batch/v1/namespaces/{run.namespace}/jobs"
        self._removable = False
        self._began = False
        self.around = around
        self.checks: Checks = {}

    def carry_out(self, *, keep: bool) -> None:
        """Run all checks to their end, or to the deadline; ``checks`` and ``around`` then tell what happened.

        :param keep: leave what was made, for people to look at.
        :raises GpuFleetError: NamespaceRefusesPods, ApiForbidden, ApiUnreachable, Interrupted; what was made is removed all the same.
        """
        if not any(target.launchable for target in self._targets):
            return
        with _interruptible():
            try:
                self._make_namespace()
                self._began = True
                self._remove_leftovers()
                self._launch_all()
                self._follow()
                self._read_events()
            finally:
                if self._began and not keep:
                    self._remove()

    def _make_namespace(self) -> None:
        """Have the namespace, waiting until one of that name that is going away is gone."""
        while True:
            found = self._api.find(self._namespace)
            if found is None:
                try:
                    self._api.create(NAMESPACES, namespace_object(self._run), fieldManager=_FIELD_MANAGER)
                except ApiError as error:
                    if error.status != 409:
                        raise
                else:
                    self._removable = True
                    return
            elif (found.get("status") or {}).get("phase") != "Terminating":
                self._removable = RUN_LABEL in (found["metadata"].get("labels") or {})
                return
            self._pause(f"Expected the namespace {self._run.namespace} to be usable, found it still being terminated.")

    def _pause(self, message: str) -> None:
        """Wait a moment for something that comes by itself, up to the deadline."""
        if self._clock() >= self._deadline_s:
            raise GpuFleetError(f"{message} Gave up after {self._run.timeout_s} s.", code="NamespaceNotReady", namespace=self._run.namespace)
        self._sleep(0.3)

    def _remove_leftovers(self) -> None:
        """Remove what crashed runs left, once they would be over anyway; a run that is under way is left alone."""
        for path in (self._jobs, self._pods):
            old = [obj for obj in self._api.items(path, labelSelector=_OURS) if _is_over(obj, self._api.server_time())]
            for run_id in sorted({obj["metadata"]["labels"][RUN_LABEL] for obj in old}):
                self._delete_run(path, run_id)

    def _launch_all(self) -> None:
        refusals: t.List[AdmissionRefused] = []
        for index, target in enumerate(self._targets):
            if not target.launchable:
                continue
            inspect = Check(INSPECT, "")
            self.checks[index] = [inspect]
            refused = self._launch(inspect, self._pods, inspection_pod(self._run, target, index))
            if refused:
                refusals.append(refused)
                self._skip_cuda(index, "the inspection pod was refused")
        if refusals and len(refusals) == len(self.checks):
            self._fail_refused(refusals[0])

    def _launch(self, check: Check, path: str, obj: Object) -> t.Optional[AdmissionRefused]:
        check.object_name = obj["metadata"]["name"]
        check.launched_s = self._clock()
        while True:
            try:
                self._api.create(path, obj, fieldManager=_FIELD_MANAGER)
            except AdmissionRefused as error:
                if _BEING_DELETED.search(error.text):
                    self._make_namespace()
                elif not _NO_SERVICE_ACCOUNT.search(error.text):
                    check.refusal = error.text
                    return error
                self._pause(f"Expected the namespace {self._run.namespace} to admit pods, found: {error.text}.")
            except ApiError as error:
                # An attempt whose answer was lost has made it already: the name is ours alone.
                if error.status == 409:
                    return None
                raise
            else:
                return None

    def _fail_refused(self, error: AdmissionRefused) -> None:
        check = next(iter(self.checks.values()))[0]
        found = check_findings(check, self.around)
        step = found[0]["next_step"] if found else "Read the message; choose another namespace."
        raise GpuFleetError(
            f"Expected the namespace {self._run.namespace} to admit a pod without privileges that asks for GPUs, found: {error.text}. {step}",
            code="NamespaceRefusesPods",
            namespace=self._run.namespace,
            reason=error.text,
            findings=found,
        )

    def _follow(self) -> None:
        """One watch for all pods, until each check is over or the deadline is reached."""
        version: t.Optional[str] = None
        while self._open_checks() and self._clock() < self._deadline_s:
            if version is None:
                pods, version = self._api.snapshot(self._pods, labelSelector=self._selector())
                for pod in pods:
                    self._see(pod)
            version = self._watch(version)
            self._look_after_waiting()

    def _watch(self, version: str) -> t.Optional[str]:
        """Follow events for a few seconds; the version to go on from, ``None`` to list again."""
        seconds = max(1, min(_WATCH_S, int(self._deadline_s - self._clock())))
        try:
            for event in self._api.watch(self._pods, version, seconds, labelSelector=self._selector()):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._see(event["object"])
                elif event["type"] == "DELETED":
                    self._lose(event["object"])
                if not self._open_checks():
                    break
        except ApiError as error:
            if error.status != 410:
                raise
            return None
        return version

    def _check_of(self, pod: Object) -> t.Tuple[int, t.Optional[Check]]:
        labels = pod["metadata"]["labels"]
        index = int(labels[TARGET_LABEL])
        return index, next((item for item in self.checks.get(index, []) if item.name == labels[CHECK_LABEL] and not item.over), None)

    def _lose(self, pod: Object) -> None:
        index, check = self._check_of(pod)
        if check is not None:
            self._give_up(index, check, "somebody deleted its pod")

    def _see(self, pod: Object) -> None:
        index, check = self._check_of(pod)
        if check is None:
            return
        check.pod = pod
        if is_finished(pod):
            check.finished_s = self._clock()
            self._read_log(check)
            if check.name == INSPECT:
                self._launch_cuda(index, check)

    def _read_log(self, check: Check) -> None:
        if not ran(check) or check.pod is None:
            return
        try:
            check.log = self._api.text(f"{self._pods}/{check.pod['metadata']['name']}/log", container=check.name, limitBytes=_LOG_BYTES)
        except ApiError as error:
            check.log_error = error.text

    def _launch_cuda(self, index: int, inspect: Check) -> None:
        if not ran(inspect):
            self._skip_cuda(index, "the inspection pod never ran")
            return
        check = Check(CUDA, "")
        self.checks[index].append(check)
        self._launch(check, self._jobs, cuda_job(self._run, self._targets[index], index))

    def _give_up(self, index: int, check: Check, reason: str) -> None:
        check.gave_up = reason
        if check.name == INSPECT:
            self._skip_cuda(index, "the inspection pod never ran")

    def _skip_cuda(self, index: int, reason: str) -> None:
        self.checks[index].append(Check(CUDA, "", skipped=reason))

    def _look_after_waiting(self) -> None:
        """Stop waiting for what events show to be hopeless, so that one bad node doesn't hold up the verdict on all."""
        waiting = [(index, check) for index, check in self._open_checks() if check.waits and self._clock() - check.launched_s > _WATCH_S]
        if not waiting:
            return
        self._read_events()
        for index, check in waiting:
            found = check_findings(check, self.around)
            if is_hopeless(check, found, self._clock()):
                self._give_up(index, check, f"waiting doesn't cure {found[0]['code']}")

    def _open_checks(self) -> t.List[t.Tuple[int, Check]]:
        return [(index, check) for index, checks in self.checks.items() for check in checks if not check.over]

    def _read_events(self) -> None:
        self.around = self.around._replace(events=list(self._api.items(f"{self._namespace}/events")))

    def _selector(self) -> str:
        return f"{RUN_LABEL}={self._run.run_id}"

    def _remove(self) -> None:
        """Remove the run's objects, and the namespace if a validation made it and no other run is in it."""
        for path in (self._jobs, self._pods):
            self._delete_run(path, self._run.run_id)
        if self._removable and not any(True for path in (self._jobs, self._pods) for _obj in self._others(path)):
            self._api.delete(self._namespace)

    def _others(self, path: str) -> t.Iterator[Object]:
        return self._api.items(path, labelSelector=f"{_OURS},{RUN_LABEL}!={self._run.run_id}")

    def _delete_run(self, path: str, run_id: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        self._api.delete(path, options, labelSelector=f"{_OURS},{RUN_LABEL}={run_id}")


def _is_over(obj: Object, now: float) -> bool:
    """Whether an object of some run is older than its own deadline, by the API server's clock."""
    limit = (obj.get("spec") or {}).get("activeDeadlineSeconds") or 0
    created = calendar.timegm(time.strptime(obj["metadata"]["creationTimestamp"], "%Y-%m-%dT%H:%M:%SZ"))
    return now > created + limit + _LEFTOVER_SLACK_S


@contextlib.contextmanager
def _interruptible() -> t.Iterator[None]:
    """Turn SIGTERM and SIGHUP into an error, so that what was made is removed."""

    def stop(number: int, _frame: t.Any) -> t.NoReturn:
        raise GpuFleetError(f"Interrupted by signal {number}; what the run had made was removed.", code="Interrupted", signal=number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
