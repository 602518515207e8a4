"""The files of deploy/: checked by Ray's own code where it is installed, and for what they must not leave open."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PINS = dict(re.findall(r"^(\w[\w-]*)==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def test_every_ray_start_has_the_token_and_no_open_dashboard() -> None:
    config = documents("ray-up.yaml")[0]
    starts = [*config["head_start_ray_commands"], *config["worker_start_ray_commands"]]
    started = [command for command in starts if "ray start" in command]
    assert len(started) == 2
    assert all("RAY_AUTH_MODE=token ray start" in command for command in started)
    assert "--dashboard-host=127.0.0.1" in started[0]
    assert "--num-cpus=0 --num-gpus=0" in started[0]
    assert "/home/ray/.ray/auth_token" in config["file_mounts"]
    assert len(config["provider"]["worker_ips"]) == config["max_workers"]


def test_the_kuberay_cluster_has_a_token_and_a_policy() -> None:
    cluster, volume, policy = documents("kuberay.yaml")
    assert cluster["spec"]["authOptions"] == {"mode": "token"}
    assert cluster["spec"]["rayVersion"] == PINS["ray"]
    head = cluster["spec"]["headGroupSpec"]
    assert head["serviceType"] == "ClusterIP"
    assert head["rayStartParams"]["dashboard-host"] == "127.0.0.1"
    claims = [each["persistentVolumeClaim"]["claimName"] for each in head["template"]["spec"]["volumes"]]
    assert claims == [volume["metadata"]["name"]]
    labels = {"matchLabels": {"ray.io/cluster": cluster["metadata"]["name"]}}
    assert policy["spec"]["podSelector"] == labels
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": labels}]}]


def test_the_image_has_what_the_wheel_is_built_from() -> None:
    """What is copied exists, and what pyproject.toml and CMake read is copied."""
    copied = re.findall(r"^!(.+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.MULTILINE)
    assert all((ROOT / name).exists() for name in copied)
    assert {"pyproject.toml", "CMakeLists.txt", "cpp", "src", "README.md", "LICENSE", "constraints.txt"} <= set(copied)
    text = (DEPLOY / "Dockerfile").read_text()
    assert "ENV RAY_AUTH_MODE=token" in text
    assert len(set(re.findall(r"^FROM (\S+)", text, re.MULTILINE))) == 1
    assert "USER ray" in text


@pytest.mark.ray
def test_ray_accepts_the_cluster_file() -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = documents("ray-up.yaml")[0]
    validate_config(prepare_config(config))
    with pytest.raises(Exception, match="worker_ip_addresses"):
        validate_config(prepare_config(config | {"worker_ip_addresses": []}))


@pytest.mark.ray
def test_the_autoscaler_reads_the_kuberay_cluster() -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr
    from ray.autoscaler._private.util import validate_config

    cluster = documents("kuberay.yaml")[0]
    cluster["metadata"]["namespace"] = "default"
    config = _derive_autoscaling_config_from_ray_cr(cluster)
    validate_config(config)
    types = config["available_node_types"]
    assert types["headgroup"]["resources"]["CPU"] == types["headgroup"]["resources"].get("GPU", 0) == 0
    assert types["players"]["resources"]["GPU"] == 1
    assert (types["players"]["min_workers"], types["players"]["max_workers"]) == (0, 16)
