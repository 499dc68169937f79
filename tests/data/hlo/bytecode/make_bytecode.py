"""Writes the programs beside it: python make_bytecode.py (JAX 0.10, with flatbuffers).

NAME.mlir is a program as JAX prints it; NAME.mlirbc the same as MLIR bytecode, NAME.vhlo_*.mlirbc as
a StableHLO portable artifact for that version, NAME.jax_export what jax.export serializes.
NAME.exported.mlir is the program inside of that.
"""

import io
import os
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax._src.lib.mlir import ir

HERE = Path(__file__).parent
VERSIONS = ["0.9.0", "0.14.0", "1.1.0", "1.17.0"]  # one for each version of bytecode, but for two

# Compiled under a name of its own: locations have the names of files.
SOURCE = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))

def step(params, x):
    def loss(p):
        h, _ = lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, p["w"])
        return jnp.sum(h @ p["out"])
    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

def indices(table, ids, flag):
    rows = lax.cond(flag, lambda v: v * 2, lambda v: -v, table[ids])
    counts = jnp.zeros((10,), jnp.bfloat16).at[ids].add(1)
    mask = np.array([[True, False, True], [False, False, True]])
    return rows, lax.top_k(rows, 3), counts, jnp.sort(ids), mask, ids.astype(jnp.int4)

def windows(image, kernel):
    y = lax.conv_general_dilated(image, kernel, (2, 1), "SAME", rhs_dilation=(1, 2),
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

def sharded(x, w):
    return lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(mesh, P("x", "y")))

f32, s32 = jnp.float32, jnp.int32
S = jax.ShapeDtypeStruct
PROGRAMS = {
    "step": (jax.jit(step, donate_argnums=0),
             ({"w": S((4, 16, 16), f32), "out": S((16, 8), f32)}, S((32, 16), f32))),
    "indices": (jax.jit(indices), (S((10, 16), f32), S((8,), s32), S((), jnp.bool_))),
    "windows": (jax.jit(windows), (S((2, 8, 8, 3), f32), S((3, 3, 3, 4), f32))),
    "sharded": (jax.jit(sharded, in_shardings=(NamedSharding(mesh, P("x", None)), None)),
                (S((16, 8), f32), S((8, 8), f32))),
}
"""


def main() -> None:
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    jax.config.update("jax_traceback_in_locations_limit", 1)
    scope: dict = {}
    exec(compile(SOURCE, "programs.py", "exec"), scope)  # noqa: S102
    for name, (fn, args) in scope["PROGRAMS"].items():
        lowered = fn.lower(*args)
        (HERE / f"{name}.mlir").write_text(lowered.as_text(debug_info=True))
        with mlir.make_ir_context():
            module = ir.Module.parse(lowered.as_text(debug_info=True))
            out = io.BytesIO()
            module.operation.write_bytecode(out)
            (HERE / f"{name}.mlirbc").write_bytes(out.getvalue())
            for version in VERSIONS if name == "step" else VERSIONS[-1:]:
                artifact = _jax.mlir.serialize_portable_artifact(module, version, True)
                (HERE / f"{name}.vhlo_{version}.mlirbc").write_bytes(artifact)
        exported = jax.export.export(fn)(*args)
        (HERE / f"{name}.jax_export").write_bytes(exported.serialize())
        with mlir.make_ir_context():
            inside = _jax.mlir.deserialize_portable_artifact(exported.mlir_module_serialized)
            text = inside.operation.get_asm(enable_debug_info=True)
        (HERE / f"{name}.exported.mlir").write_text(text)
    platforms = jax.export.export(fn, platforms=["cpu", "cuda"])(*args)
    (HERE / "platforms.jax_export").write_bytes(platforms.serialize())
    symbolic = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 8"), "float32")
    square = jax.export.export(jax.jit(lambda x: x * x))(symbolic)
    (HERE / "symbolic.jax_export").write_bytes(square.serialize())


if __name__ == "__main__":
    main()
