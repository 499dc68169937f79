"""Programs as bytecode: portable artifacts, exported functions. They plan as their text does."""

import gzip
import io

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.mlir import deserialize_portable_artifact, serialize_portable_artifact
from jax.interpreters.mlir import make_ir_context
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir
from meshwright._library import program_format, read_program, stablehlo_text

import meshwright as mw

EIGHT = {"cluster": "8xh100-sxm", "mesh": "x=2,y=4"}
F32, S32 = jnp.float32, jnp.int32
S = jax.ShapeDtypeStruct


def scan_step(params, x):
    def loss(p):
        h, _ = lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, p["w"])
        return jnp.mean((h @ p["out"]) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def indices(table, ids, flag, key):
    rows = lax.cond(flag, lambda v: v * 2, lambda v: -v, table[ids])
    noise = jax.random.normal(key, rows.shape).astype(jnp.bfloat16)
    counts = jnp.zeros((table.shape[0],), F32).at[ids].add(1.0)
    return rows + noise, lax.top_k(rows, 2), counts, jnp.sort(ids), jnp.cumsum(ids)


def windows(image, kernel):
    def loss(kernel):
        y = lax.conv_general_dilated(
            image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    return kernel - jax.grad(loss)(kernel)


def dtypes(a, b, c):
    mask = jnp.array([[True, False, True], [False, False, True]])
    return (
        (a.astype(jnp.float8_e4m3fn) * 2).astype(F32),
        b.astype(jnp.int4) + 1,
        c * jnp.complex64(1 + 2j),
        jnp.where(mask, 1, 0),
        jnp.full((4, 4), True),
        jnp.array(np.arange(9, dtype=np.uint8)),
    )


def calls(x):
    return jnp.linalg.cholesky(x @ x.T), jax.nn.softmax(x), lax.erf_inv(x), jnp.fft.rfft(x)


def sharded(x, w):
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    return lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(mesh, P("x", "y")))


PROGRAMS = {
    "scan_step": (
        jax.jit(scan_step, donate_argnums=0),
        ({"w": S((4, 256, 256), F32), "out": S((256, 64), F32)}, S((512, 256), F32)),
    ),
    "indices": (
        jax.jit(indices),
        (S((512, 64), F32), S((32,), S32), S((), jnp.bool_), S((2,), jnp.uint32)),
    ),
    "windows": (jax.jit(windows), (S((8, 16, 16, 8), F32), S((3, 3, 8, 16), F32))),
    "dtypes": (jax.jit(dtypes), (S((64,), F32), S((64,), S32), S((64,), jnp.complex64))),
    "calls": (jax.jit(calls), (S((64, 64), F32),)),
    "sharded": (jax.jit(sharded), (S((64, 32), F32), S((32, 64), F32))),
}


def text_of_artifact(artifact):
    """As JAX itself reads it."""
    with make_ir_context():
        module = deserialize_portable_artifact(artifact)
        if not isinstance(module, ir.Module):  # older versions of JAX
            module = ir.Module.parse(module)
        return module.operation.get_asm(enable_debug_info=True)


def planned(program):
    """What a plan says of the program, whatever form that had."""
    plan = mw.plan(program, **EIGHT).as_dict()
    return {key: value for key, value in plan.items() if key != "inputs"}


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k != "planning_seconds"}
    return [without_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytecode_plans_as_its_text(name):
    fn, args = PROGRAMS[name]
    text = fn.lower(*args).as_text(debug_info=True)
    with make_ir_context():
        module = ir.Module.parse(text)
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        # Of chlo an artifact has what it consists of, and older versions lack more.
        artifact = serialize_portable_artifact(bytecode.getvalue(), "1.0.0", True)
    inside = text_of_artifact(artifact)
    for form, same in (
        (bytecode.getvalue(), text),
        (artifact, inside),
        (gzip.compress(artifact), inside),
    ):
        assert program_format(form) == "stablehlo"
        assert without_times(planned(form)) == without_times(planned(same))


@pytest.mark.parametrize("name", PROGRAMS)
def test_exported_functions_plan_as_their_text(name, tmp_path):
    pytest.importorskip("flatbuffers")
    fn, args = PROGRAMS[name]
    checks = [jax.export.DisabledSafetyCheck.custom_call("lapack_spotrf_ffi")]
    exported = jax.export.export(fn, disabled_checks=checks)(*args)
    path = tmp_path / "step.export"
    path.write_bytes(exported.serialize())
    expected = without_times(planned(text_of_artifact(exported.mlir_module_serialized)))
    for form in (path, path.read_bytes(), exported.serialize()):
        assert without_times(planned(form)) == expected
    names = [row["name"] for row in expected["parameters"]]
    assert names == [row["name"] for row in without_times(planned(fn.lower(*args)))["parameters"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_of_bytecode_is_the_module_that_jax_reads(name):
    fn, args = PROGRAMS[name]
    with make_ir_context():
        module = ir.Module.parse(fn.lower(*args).as_text(debug_info=True))
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        found = ir.Module.parse(stablehlo_text(bytecode.getvalue()).decode())
        for generic in (False, True):
            assert found.operation.get_asm(
                print_generic_op_form=generic
            ) == module.operation.get_asm(print_generic_op_form=generic)


def test_a_plan_of_bytecode_runs():
    def step(w, x):
        return jax.grad(lambda w: jnp.tanh(x @ w).sum())(w)

    fn = jax.jit(step)
    args = (S((64, 64), F32), S((128, 64), F32))
    exported = jax.export.export(fn)(*args)
    artifact = exported.mlir_module_serialized
    plan = mw.plan(artifact, fix={"x": P("x", None)}, cluster="8xh100-sxm", mesh="8")
    report = plan.verify(repeats=0)
    assert report.passed, str(report)


def test_donated_parameters():
    exported = jax.export.export(PROGRAMS["scan_step"][0])(*PROGRAMS["scan_step"][1])
    rows = read_program(exported.mlir_module_serialized)["parameters"]
    assert [row["donated"] for row in rows] == [True, True, False]


def test_exports_that_cannot_be_planned():
    (b,) = jax.export.symbolic_shape("b")
    symbolic = jax.export.export(jax.jit(lambda x: x * x))(S((b, 8), F32))
    with pytest.raises(mw.Error, match="a dimension of unknown size"):
        mw.plan(symbolic.mlir_module_serialized, **EIGHT)
    pytest.importorskip("flatbuffers")
    with pytest.raises(mw.Error, match=r"sizes that are not known \(b\)"):
        mw.plan(symbolic.serialize(), **EIGHT)


def by_platform(w, x):
    def layer(h, _):
        h = jnp.tanh(h @ w) + jnp.cumsum(h, axis=1)
        h = lax.platform_dependent(
            h, cuda=lambda h: jnp.cos(h) @ w, cpu=lambda h: jnp.sin(h), default=lambda h: h
        )
        return h + jax.random.normal(jax.random.key(0), h.shape), None

    h, _ = lax.scan(layer, x, None, length=3)
    return h.sum(), jnp.linalg.qr(h)[0]


BY_PLATFORM = (jax.jit(by_platform), (S((128, 128), F32), S((256, 128), F32)))


def test_exports_for_several_platforms_are_planned_for_cuda():
    fn, args = BY_PLATFORM
    one = mw.plan(jax.export.export(fn, platforms=["cuda"])(*args), **EIGHT)
    several = jax.export.export(fn, platforms=["cpu", "tpu", "cuda"])(*args)
    plan = mw.plan(several, **EIGHT)
    assert not [warning for warning in plan.warnings if "platform" in warning]
    assert [row["name"] for row in plan.parameters] == ["w", "x"]
    assert plan.step_seconds == pytest.approx(one.step_seconds, rel=1e-6)
    assert plan.peak_bytes == one.peak_bytes
    # Text alone does not say which platforms there are.
    unsaid = mw.plan(several.mlir_module_serialized, **EIGHT)
    assert any("does not say for which" in warning for warning in unsaid.warnings)
    first = mw.plan(jax.export.export(fn, platforms=["cpu"])(*args), **EIGHT)
    assert unsaid.step_seconds == pytest.approx(first.step_seconds, rel=1e-6)


def test_exports_for_several_platforms_run_here():
    fn, args = BY_PLATFORM
    fix = {"x": P("x", None)}
    several = jax.export.export(fn, platforms=["tpu", "cuda", "cpu"])(*args)
    report = mw.plan(several, fix=fix, cluster="8xh100-sxm", mesh="8").verify(repeats=0)
    assert report.passed, str(report)
    elsewhere = jax.export.export(fn, platforms=["tpu", "cuda"])(*args)
    plan = mw.plan(elsewhere, cluster="8xh100-sxm", mesh="8")
    with pytest.raises(mw.Error, match="exported for tpu and cuda, and this is cpu"):
        plan.verify(repeats=0)


def test_files_of_exports_for_several_platforms(tmp_path):
    pytest.importorskip("flatbuffers")
    fn, args = BY_PLATFORM
    several = jax.export.export(fn, platforms=["cpu", "cuda"])(*args)
    path = tmp_path / "step.jax_export"
    path.write_bytes(several.serialize())
    plan = mw.plan(path, **EIGHT)
    assert plan.step_seconds == pytest.approx(mw.plan(several, **EIGHT).step_seconds, rel=1e-6)
    report = plan.verify(repeats=0)
    assert report.passed, str(report)


@pytest.mark.parametrize("form", ["export", "artifact", "proto"])
def test_files_that_are_cut_off_are_refused(form):
    jitted = jax.jit(lambda w, x: (w - 0.1 * (x.T @ x), x.sum()), donate_argnums=0)
    shapes = S((256, 256), F32), S((512, 256), F32)
    exported = jax.export.export(jitted)(*shapes)
    contents = exported.mlir_module_serialized
    end = len(contents)
    if form == "export":
        pytest.importorskip("flatbuffers")
        contents = bytes(exported.serialize())
        end = len(contents)
    elif form == "proto":
        # What stands last in a proto, as aliases, may be left out: a cut between is another proto.
        contents = jitted.lower(*shapes).compiler_ir("hlo").as_serialized_hlo_module_proto()
        end = contents.rindex(b"tuple.")
    assert read_program(contents)["parameters"]
    for cut in {*range(64), *range(64, end, 3), *range(end - 64, end)}:
        with pytest.raises(mw.Error) as caught:
            read_program(contents[:cut])
        text = str(caught.value)
        assert "\n" not in text
        assert form != "export" or cut < 200 or "cut off" in text, (cut, text)
