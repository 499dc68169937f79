"""One process of several that train one pipeline with checkpoints: ADDRESS PROCESSES PROCESS FOLDER KIND STEPS.

Goes on from the last checkpoint, saves one after every step, and prints every step's loss in full.
"""

import sys

import meshwright as mw

ADDRESS, PROCESSES, PROCESS, FOLDER, KIND, STEPS = sys.argv[1:]
mw.jax.initialize(ADDRESS, int(PROCESSES), int(PROCESS))
print("connected", flush=True)

import tempfile

import orbax.checkpoint
import pipeline_models


def main():
    with tempfile.TemporaryDirectory() as folder:
        step, (state, *batch), plan = pipeline_models.planned("llama", KIND, f"{folder}/stages")
        train = mw.jax.pipeline(step, state, *batch, plan=plan)
    options = orbax.checkpoint.CheckpointManagerOptions(max_to_keep=2)
    with orbax.checkpoint.CheckpointManager(FOLDER, options=options) as manager:
        last = manager.latest_step()
        if last is not None:
            print("from", last, flush=True)
            restored = manager.restore(last, args=orbax.checkpoint.args.PyTreeRestore())
            state = mw.jax.from_checkpoint(restored, like=state)
        for number in range(0 if last is None else last + 1, int(STEPS)):
            state, loss = train(state, *batch)
            print("loss", number, float(loss).hex(), flush=True)
            saved = orbax.checkpoint.args.PyTreeSave(mw.jax.to_checkpoint(state))
            manager.save(number, args=saved)
            manager.wait_until_finished()
            print("saved", number, flush=True)


if __name__ == "__main__":
    main()
