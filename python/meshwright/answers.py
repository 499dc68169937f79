"""What is said about plans and models: texts for people, with the same as data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class Answer(str):
    """A text as the command line prints it; `data` is what its --json gives."""

    data: Any

    def __new__(cls, text: str, document: str | bytes) -> Self:
        answer = super().__new__(cls, text)
        answer.data = json.loads(document)
        return answer

    def __repr__(self) -> str:
        return str(self)
