"""Which built-in device JAX's names stand for."""

from types import SimpleNamespace

import pytest

import meshwright as mw
from meshwright import clusters


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA B200", "b200"),
        ("NVIDIA GB200", "gb200-nvl72"),
        ("NVIDIA GB300", "gb300-nvl72"),
        ("NVIDIA B300 SXM6 AC", "b300"),
        ("NVIDIA H100 96GB HBM2e", "h100-96g"),
        ("NVIDIA A100-SXM4-80GB", "a100-80g"),
        ("NVIDIA A100-SXM4-40GB", "a100-40g"),
        ("NVIDIA A100-PCIE-40GB", "a100-40g-pcie"),
        ("Tesla V100-SXM2-32GB", "v100"),
        ("NVIDIA A10G", "a10g"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA GeForce RTX 3090", "rtx3090"),
        ("AMD Instinct MI300X", "mi300x"),
        ("TPU v5", "tpu-v5p"),
        ("NVIDIA L40S", None),
        ("TPU v5 lite", None),
    ],
)
def test_device_type(kind, name):
    assert clusters.device_type(kind) == name


def test_every_device_type_can_be_guessed():
    guessed = {name for _, name in clusters._KINDS}
    assert guessed == {device["name"] for device in mw.devices()}


def devices(kind, processes, per_process):
    return [
        SimpleNamespace(device_kind=kind, platform="gpu", process_index=process)
        for process in range(processes)
        for _ in range(per_process)
    ]


@pytest.mark.parametrize(
    ("processes", "per_process", "cluster"),
    [(1, 8, "8xh200"), (1, 1, "1xh200"), (4, 8, "4x8xh200"), (16, 1, "16xh200")],
)
def test_guess(processes, per_process, cluster):
    assert clusters.guess(devices("NVIDIA H200", processes, per_process)) == cluster


def test_what_cannot_be_guessed():
    with pytest.raises(mw.InvalidArgumentError, match="no figures are built in"):
        clusters.guess(devices("NVIDIA L40S", 1, 2))
    with pytest.raises(mw.InvalidArgumentError, match="the devices differ"):
        clusters.guess(devices("NVIDIA L4", 1, 1) + devices("NVIDIA H200", 1, 1))
