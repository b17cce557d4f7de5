"""What a backend carries out and what it refuses, by call, op, dtype and form of a row.

It judges no result. To refuse is no fault, but for rows of one op and dtype of which others are carried out.
"""

import re
from typing import Final, NamedTuple, final

from simstrategy_conformance.c10d.inputs import members_of
from simstrategy_conformance.c10d.wanted import COMBINE
from simstrategy_conformance.covering import Row

__all__ = ["Offers"]

_ALONE: Final = "in a group of one rank"
_OPS: Final = frozenset({*COMBINE, "AVG", "PREMUL_SUM"})


class _Key(NamedTuple):
    """form: what is unusual of the rows, in words."""

    test: str
    call: str
    op: str
    dtype: str
    form: str


class _Seen(NamedTuple):
    """A row that was carried out, and one that was refused with the text."""

    done: Row | None = None
    refused: Row | None = None
    text: str = ""


@final
class Offers:
    """Counts what each test has tried."""

    def __init__(self) -> None:
        self._seen: dict[_Key, _Seen] = {}

    def count(self, test: str, call: str, row: Row, refusal: str) -> None:
        """Counts a row.  refusal: the text of the error; "" where it was carried out.

        Raises AssertionError where rows of one op and dtype are carried out and refused. A row of one member offers
        nothing, for there is nothing to exchange; its refusal is kept apart.
        """
        is_alone = len(members_of(row.part, row.ranks)) == 1
        if is_alone and not refusal:
            return
        key = _key(test, call, row)
        key = key._replace(form=f"{key.form} {_ALONE}".strip()) if is_alone else key
        seen = self._seen.get(key, _Seen())
        seen = seen._replace(refused=row, text=refusal) if refusal else seen._replace(done=seen.done or row)
        if seen.done is not None and seen.refused is not None:
            raise AssertionError(f"{call} refuses {seen.refused}, and carries out {seen.done}: {seen.text}")
        self._seen[key] = seen

    def refusal(self, test: str) -> str:
        """Returns the text of a refusal where a test has tried something and nothing was carried out, else ""."""
        found = [seen for key, seen in self._seen.items() if key.test == test]
        return "" if any(seen.done for seen in found) else next((seen.text for seen in found), "")

    def lines(self, test: str) -> list[str]:
        """Returns a line for each kind of refusal of a test, with the ops and dtypes that are refused so."""
        refused: dict[tuple[str, str, str], dict[str, list[str]]] = {}
        texts: dict[tuple[str, str, str], str] = {}
        for key in sorted(key for key, seen in self._seen.items() if key.test == test and seen.refused is not None):
            several = key._replace(form=key.form.removesuffix(_ALONE).strip())
            if several != key and self._seen.get(several, _Seen()).refused is not None:
                continue  # one rank refuses what several do
            text = self._seen[key].text
            like = (key.call, key.form, re.sub(r"[\d., ()]+", " ", text))  # sizes are the row's
            texts.setdefault(like, text)
            refused.setdefault(like, {}).setdefault(key.op, []).append(key.dtype)
        lines = []
        for like, of_ops in refused.items():
            call, form, _ = like
            alike: dict[tuple[str, ...], list[str]] = {}
            for op, dtypes in of_ops.items():
                alike.setdefault(tuple(dtypes), []).append(op)
            for of_dtypes, ops in alike.items():
                words = " ".join(word for word in (call, ", ".join(ops), form) if word)
                lines.append(f"{words}: {', '.join(of_dtypes)} ({texts[like]})")
        return lines


def _key(test: str, call: str, row: Row) -> _Key:
    forms = {"view": row.strided, "late": row.late, "uneven": row.uneven, f"group {row.part}": row.part != "all"}
    op = row.op if row.op in _OPS and "reduce" in call else ""
    return _Key(test, call, op, row.dtype, " ".join(word for word, has in forms.items() if has))
