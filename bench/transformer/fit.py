"""Fits the parameters of devices and frameworks to published runs.

    fit.py MESHWRIGHT RUNS.csv > parameters.yaml

Only half of the rows count, the others are there to be predicted: those that the built-in
parameters were fitted on, or of a table without such rows those with an even key. The parameters
name them, so that `meshwright reproduce runs --parameters` tells them apart. Devices of a generation share all but the fractions of the peak. Every parameter is the
default times exp(x); x is held near 0 by a prior, so that what few runs tell about stays physical,
and outliers count by their distance, not its square. Needs NumPy and SciPy.
"""

import csv
import math
import subprocess
import sys
import tempfile

import numpy as np
from scipy.optimize import least_squares

GENERATIONS = [
    ["v100"],
    ["a100-80g", "a100-40g"],
    ["h100-sxm", "h100-96g", "h200"],
    ["b200", "gb200-nvl72", "b300", "gb300-nvl72"],
]
OWN = {"matmul_16": 0.7, "matmul_8": 0.6, "matmul_4": 0.45}
SHARED = {"half_side": 128, "attention": 0.5, "memory": 0.8, "kernel_seconds": 5e-6}
FRAMEWORK = {
    "elementwise": 1.3,
    "tensor_exposed": 0.6,
    "expert_exposed": 0.6,
    "overlap_slowdown": 0.15,
    "step_seconds": 0.02,
}
FRAMEWORKS = {
    "megatron": FRAMEWORK,
    "megatron-2021": {"score_traffic": 6, **FRAMEWORK},
    "megatron-26.06": {"expert_kernels": 0.3, **FRAMEWORK},
    "fsdp": {"attention": 1, **FRAMEWORK},
}
# Not fitted: Megatron with the attention kernels of 2023, by their publications. At 2,048 keys the
# second flash attention reaches 362 TFLOPS on an H100 and cuDNN's 617 (Shah et al. 2024, figure 5);
# the first is half as fast as the second (Dao 2023).
EARLIER_ATTENTION = {"megatron-23.04": 0.3, "megatron-23.09": 0.59}
FRACTIONS = {"matmul_16", "matmul_8", "matmul_4", "attention", "memory"}
PRIORS = {"kernel_seconds": 0.5, "half_side": 0.5}
NOISE = 0.08  # of a measured time


def variables():
    """(section, names it is for, parameter, default, deviation of the prior)."""
    for generation in GENERATIONS:
        for parameter, value in OWN.items():
            for device in generation:
                yield "devices", [device], parameter, value, 0.25
        for parameter, value in SHARED.items():
            yield "devices", generation, parameter, value, PRIORS.get(parameter, 0.25)
    for name, parameters in FRAMEWORKS.items():
        for parameter, value in parameters.items():
            yield "frameworks", [name], parameter, value, 0.5


def document(x, keys):
    sections = {"devices": {}, "frameworks": {}}
    for (section, names, parameter, value, _), exponent in zip(variables(), x):
        number = value * math.exp(exponent)
        if section == "devices" and parameter in FRACTIONS:
            number = min(number, 0.95)
        for name in names:
            sections[section].setdefault(name, {})[parameter] = number
    # Not fitted: Transformer Engine keeps inputs of 8-bit products in one byte.
    for name in ("megatron", "megatron-26.06"):
        sections["frameworks"][name]["kept_input"] = 1
    for name, attention in EARLIER_ATTENTION.items():
        megatron = sections["frameworks"]["megatron"]
        sections["frameworks"][name] = {"attention": attention, **megatron}
    lines = []
    for section, names in sections.items():
        lines.append(f"{section}:")
        for name, parameters in names.items():
            items = ", ".join(f"{key}: {number:.5g}" for key, number in parameters.items())
            lines.append(f"  {name}: {{{items}}}")
    lines.append("fitted_runs:")
    lines += [f"  - '{key}'" for key in sorted(keys)]
    return "\n".join(lines) + "\n"


def predict(program, runs, parameters=None):
    """The rows that are taken, with what is predicted by a document of parameters."""
    with tempfile.TemporaryDirectory() as folder:
        predicted = f"{folder}/predicted.csv"
        command = [program, "reproduce", "runs", runs, "-o", predicted]
        if parameters is not None:
            command += ["--parameters", f"{folder}/parameters.yaml"]
            with open(command[-1], "w", encoding="utf-8") as file:
                file.write(parameters)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(predicted, encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if not row["skipped"]]


def rows_to_fit(program, runs):
    """Their keys."""
    rows = predict(program, runs)
    known = {row["key"] for row in rows if row["half"] == "fitted"}
    return known or {row["key"] for row in rows if int(row["key"], 16) % 2 == 0}


def log_errors(program, runs, keys, x):
    return np.array(
        [
            math.log(float(row["predicted_seconds"]) / float(row["seconds"]))
            for row in predict(program, runs, document(x, keys))
            if row["key"] in keys
        ]
    )


def main():
    program, runs = sys.argv[1:]
    keys = rows_to_fit(program, runs)
    deviations = np.array([deviation for *_, deviation in variables()])

    def residuals(x):
        errors = log_errors(program, runs, keys, x) / NOISE
        robust = np.sqrt(2 * (np.sqrt(1 + errors**2) - 1))
        return np.concatenate([robust, 0.7 * x / deviations])

    # Predictions are written with six digits: steps must be well above them. SciPy's are relative
    # to the variable, which therefore is 1 at the default.
    result = least_squares(
        lambda y: residuals(y - 1), np.ones(len(deviations)), max_nfev=25, diff_step=1e-3
    )
    print(document(result.x - 1, keys), end="")


if __name__ == "__main__":
    main()
