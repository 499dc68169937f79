"""Files and folders that a call is asked to write."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from meshwright import errors


def check_file(path: str | os.PathLike[str], option: str) -> None:
    """Before long work: whether there is a place for the file."""
    if not Path(path).absolute().parent.is_dir():
        raise errors.InvalidArgumentError(
            f"{option}: cannot write {os.fspath(path)}: its folder does not exist"
        )


def check_folder(path: str | os.PathLike[str]) -> None:
    """A folder of files can be made: it is not there, or empty."""
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise errors.InvalidArgumentError(
            f"{os.fspath(folder)} {'holds files' if folder.is_dir() else 'is a file'} already; name "
            "a new or empty folder"
        )


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, all or nothing; through symbolic links; into devices and pipes, which cannot
    be replaced. A read-only file is refused."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        # Of root too, who could write what nobody may.
        if target.is_file() and not (target.stat().st_mode & 0o222 and os.access(target, os.W_OK)):
            raise PermissionError(errno.EACCES, "it is read-only")
        temporary.write_bytes(data)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise errors.InvalidArgumentError(
            f"cannot write {os.fspath(path)}: {error.strerror}"
        ) from None


def write_folder(
    path: str | os.PathLike[str], files: Sequence[tuple[str, str | bytes, bool]]
) -> None:
    """Makes a folder of files with their contents; True: programs."""
    folder = Path(path)
    try:
        folder.mkdir(exist_ok=True)
        check_folder(folder)
        for name, contents, executable in files:
            file = folder / name
            file.parent.mkdir(exist_ok=True)  # a name may have a folder: stages/stages.json
            file.write_bytes(contents.encode() if isinstance(contents, str) else contents)
            file.chmod(0o755 if executable else 0o644)
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"cannot write {os.fspath(folder)}: {error.strerror}"
        ) from None
