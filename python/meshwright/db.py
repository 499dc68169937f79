"""What profile databases have: `meshwright db` from Python.

mw.db.list("profiles.sqlite")             # environments, and how much was measured in each
mw.db.show("profiles.sqlite", mesh="2x4").data["profiles"]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meshwright import _library, _outputs, specs
from meshwright.answers import Answer
from meshwright.options import DbExportOptions, DbFilters, DbPruneOptions, Path, as_json

if TYPE_CHECKING:
    from typing_extensions import Unpack


def list(database: Path, **filters: Unpack[DbFilters]) -> Answer:
    """Environments, and how much was measured in each.

    Args:
      database: the file that `profile(..., db=...)` writes.
      **filters: which profiles are meant, of one `environment` (a number), `mesh` or `kind`
        ("segment", "reshard", ...), and with `failed` those that were never measured.
    """
    return _ask("list", database, filters)


def show(database: Path, program: str | None = None, **filters: Unpack[DbFilters]) -> Answer:
    """What was measured of programs; `program`: a fingerprint, or how that begins."""
    return _ask("show", database, {"program": program, **filters})


def merge(database: Path, from_: Path | Sequence[Path]) -> Answer:
    """Adds what other databases have, which stay as they are, to one, made if it is not there."""
    paths = [from_] if isinstance(from_, str | os.PathLike) else from_
    given = {"database": os.fspath(database), "from": [os.fspath(path) for path in paths]}
    return _library.db("merge", given)


def export(database: Path, **options: Unpack[DbExportOptions]) -> Answer:
    """Profiles as JSON or, with `format="csv"`, as a line each; `output`: a file for them."""
    output = options.get("output")
    if output is not None:
        _outputs.check_file(output, "output")
    answer = _ask("export", database, options)
    if output is not None:
        _outputs.write_file(output, answer.encode())
    return answer


def prune(database: Path, **options: Unpack[DbPruneOptions]) -> Answer:
    """Removes profiles: those of all the filters given, last measured before `older_than` ("90d")."""
    return _ask("prune", database, options)


def _ask(action: str, database: Path, options: Any) -> Answer:
    given = {**options, "database": os.fspath(database)}
    if given.get("mesh") is not None:
        given["mesh"] = specs.mesh_text(given["mesh"])
    return _library.db(action, as_json(given))
