"""Uses that type checkers must take, and, where a line says so, must not; see test_typing."""

import meshwright as mw

plan: mw.Plan = mw.plan(
    "llama3-8b",
    cluster="8xh100-sxm",
    global_batch=8,
    dtype="fp8",
    for_=["megatron"],
    memory=60 << 30,
    mtbf="50000h",
    fix={"tp": 8},
)
answer: mw.Answer = plan.why_not("tp=4", {"pp": 2})
swept: mw.Sweep = mw.sweep("llama3-8b", "8..32", global_batch=8, weak=True, objective="memory")
folder = plan.export("megatron", "launch", learning_rate=1e-4, nodes=["a", "b"])
piped = mw.plan(
    "step.hlo", cluster="8xh100-sxm", pipeline="auto", micro_batches=4, no_recompute=True
)

mw.plan("llama3-8b", global_bach=8)  # pyright: ignore[reportCallIssue]
mw.plan("llama3-8b", dtype="fp9")  # pyright: ignore[reportArgumentType]
plan.export("megatron", learning_rat=1)  # pyright: ignore[reportCallIssue]
