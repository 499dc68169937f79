"""Flags of XLA with which little is optimised: next to nothing is computed in tests, so code that is
compiled fast beats fast code. Imports no JAX, which reads them when it starts."""

from importlib import metadata

# XLA ends the process over a flag that it does not know.
_OLD = tuple(int(part) for part in metadata.version("jaxlib").split(".")[:2]) < (0, 11)
FAST_TO_COMPILE = "--xla_backend_optimization_level=0" + (
    " --xla_cpu_use_fusion_emitters=false" if _OLD else ""
)
