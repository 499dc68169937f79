"""One process of several that run one pipeline: ADDRESS PROCESSES PROCESS FOLDER MODEL KIND STEPS DEVICES.

DEVICES: of all processes together, which the plan is to have; 0: as many as it has by itself.
Prints the losses, and the largest difference of its part of the state from the unsharded step's.
"""

import json
import sys

import meshwright as mw

ADDRESS, PROCESSES, PROCESS, FOLDER, MODEL, KIND, STEPS, DEVICES = sys.argv[1:]
if int(PROCESSES) > 1:
    mw.jax.initialize(ADDRESS, int(PROCESSES), int(PROCESS))

import jax
import pipeline_models


def main():
    devices = int(DEVICES) or None
    stages = f"{FOLDER}/stages{PROCESS}"
    step, arguments, plan = pipeline_models.planned(MODEL, KIND, stages, devices)
    if "other" in FOLDER and PROCESS == "1":
        document = plan.as_dict()
        document["warnings"].append("of this process alone")
        plan = mw.Plan(json.dumps(document))
        plan.stages_folder = stages
    train = mw.jax.pipeline(step, *arguments, plan=plan)
    print("compiled", flush=True)
    checked = pipeline_models.Checked(step, arguments)
    state, data = checked.state, arguments[1:]
    if "loader" in FOLDER and PROCESS == "1":
        data = [jax.tree.map(lambda array: array[::-1], argument) for argument in data]
    for number in range(int(STEPS)):
        state, results = train(state, *data)
        if number < 5:
            checked.compare(state, results)
            print("step", number, float(jax.tree.leaves(results)[0]), flush=True)
    print("error", checked.error, flush=True)


if __name__ == "__main__":
    try:
        main()
    except mw.Error as error:
        print("refused", error, flush=True)
