# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No credential survives, and everything else does."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.masking import MASK, is_credential_name, text_without_secrets, without_secrets

SECRET = "s3cr3t-Zq81-value"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWORD",
        "PGPASS",
        "HF_TOKEN",
        "hfToken",
        "identitytoken",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "WANDB_API_KEY",
        "WANDB_KEY",
        "apiKey",
        "clientSecret",
        "auth",
        "DOCKER_AUTH_CONFIG",
        "--api-key",
        "Authorization",
        "credentials",
        "registry.example.com/pull-token",
        "SSH_PRIVATE_KEY",
        "S3_ACCOUNT_KEY",
    ],
)
def test_names_that_tell_of_a_credential(name: str) -> None:
    assert is_credential_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "key",
        "topologyKey",
        "NVIDIA_VISIBLE_DEVICES",
        "secretName",
        "TOKEN_FILE",
        "tokenExpirationSeconds",
        "MAX_TOKENS",
        "tokenizer",
        "nvidia.com/gpu.product",
        "AUTH_MODE",
        "secretKeyRef",
        "author",
        "passthrough",
    ],
)
def test_harmless_names(name: str) -> None:
    assert not is_credential_name(name)


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f'-H "Authorization: {SECRET}"',
        f"got bearer {SECRET}0123 from peer",
        f"token {TOKEN} rejected",
        f"pulling https://user:{SECRET}@registry.example/v2/",
        f"pulling https://{SECRET}@registry.example/v2/",
        f"GET /blob?X-Amz-Signature={SECRET}&x=1",
        f"--token {SECRET}",
        f"--token={SECRET} --verbose",
        f"DB_PASSWORD={SECRET}",
        f'{{"auths": {{"nvcr.io": {{"auth": "{SECRET}"}}}}}}',
        f'{{\\"apiKey\\": \\"{SECRET}\\"}}',
        f'password = "{SECRET} and more"',
        f"password = '{SECRET}'",
        f"users:\n- user:\n    token: {SECRET}\n",
        f"env: {{user: x, password: {SECRET}}}",
        f"    Environment:\n      HF_TOKEN:  {SECRET}\n",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}\ncut here",
    ],
)
def test_texts(text: str) -> None:
    masked = text_without_secrets(text)
    assert SECRET not in masked
    assert TOKEN not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    "text",
    [
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        "failed to fetch oauth token: unexpected status from GET request to https://nvcr.io/proxy_auth: 401 Unauthorized",
        "invalid character 'x' looking for beginning of object key string",
        "docker-pullable://nvcr.io/nvidia/cuda@sha256:0123456789abcdef",
        "docker-pullable://cuda@sha256:0123456789abcdef",
        "Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
        'default_runtime_name = "runc"',
        "topologyKey: kubernetes.io/hostname",
        "the bearer of bad news",
    ],
)
def test_texts_without_credentials_stay(text: str) -> None:
    assert text_without_secrets(text) == text


def test_a_configuration_still_parses() -> None:
    text = json.dumps(
        {"auths": {"nvcr.io": {"auth": SECRET, "identitytoken": 'quo"ted'}}, "runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}}
    )
    masked = json.loads(text_without_secrets(text))
    assert masked["auths"]["nvcr.io"] == {"auth": MASK, "identitytoken": MASK}
    assert masked["runtimes"]["nvidia"]["path"] == "/usr/bin/nvidia-container-runtime"


OBJECTS: list[dict[str, t.Any]] = [
    {"kind": "Secret", "metadata": {"name": "s"}, "data": {"user": SECRET}, "stringData": {"user": SECRET}},
    {
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": f'{{"x":"{SECRET}"}}',
                "example.com/webhook-token": SECRET,
                "example.com/config": f'{{"password":"{SECRET}"}}',
            },
            "managedFields": [{"manager": SECRET}],
        },
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "command": ["run", "--api-key", SECRET, f"--password={SECRET}", "--verbose"],
                    "args": [f"curl -H 'Authorization: Bearer {SECRET}' https://u:{SECRET}@example.com"],
                    "env": [{"name": "HF_TOKEN", "value": SECRET}, {"name": "URL", "value": f"postgres://u:{SECRET}@db/x"}, {"name": "MODE", "value": "fast"}],
                    "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
                }
            ]
        },
    },
    {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"config.yaml": f"db:\n  password: {SECRET}\n", "api_key": SECRET}, "binaryData": {"x": SECRET}},
    {"kind": "Event", "metadata": {"name": "e"}, "message": f"Failed to pull: https://u:{SECRET}@registry.example/x"},
]


def test_no_credential_of_an_object_survives() -> None:
    masked = without_secrets(OBJECTS)
    assert SECRET not in json.dumps(masked)
    container = masked[1]["spec"]["containers"][0]
    assert container["command"] == ["run", "--api-key", MASK, f"--password={MASK}", "--verbose"]
    assert container["env"][2] == {"name": "MODE", "value": "fast"}
    assert masked[0]["data"] == {"user": MASK}


def test_what_refers_to_a_credential_stays() -> None:
    spec = {
        "volumes": [{"name": "v", "secret": {"secretName": "pull"}}, {"projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607}}]}}],
        "automountServiceAccountToken": True,
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]}],
    }
    assert without_secrets(spec) == spec
