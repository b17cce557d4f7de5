"""What a backend carries out and what it refuses, by call, op, dtype and form of a row.

It judges no result. To refuse is no fault, but for rows of one op and dtype of which others are carried out.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, final

from simstrategy_conformance.c10d.inputs import members_of
from simstrategy_conformance.c10d.wanted import COMBINE
from simstrategy_conformance.covering import Row

__all__ = ["Offers"]

_ALONE: Final = "in a group of one rank"
_ONCE: Final = "tried in a group of one rank alone"
"""In place of `_ALONE`, where no row of several ranks has the op and the dtype."""
_WHOLE: Final = {"op": "{call} {names}", "dtype": "{call}: {names}", "form": "{call} {names}"}
"""How a line names what is refused in every row: of a field's values."""
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
        """Returns what a test has found to be refused, a line for each kind and error: a whole call, op, dtype or form.

        Of what is left, each line has the call, the ops, the form and the dtypes.
        """
        found: list[str] = []
        for call in sorted({key.call for key in self._seen if key.test == test}):
            keys = sorted(key for key in self._seen if (key.test, key.call) == (test, call))
            done = [key for key in keys if self._seen[key].done is not None]
            left = [key for key in keys if self._seen[key].refused is not None]
            forms = dict.fromkeys(_of_several(key).form for key in keys)
            if not done:
                words = " ".join((call, ", ".join(forms) if all(forms) else "")).strip()
                found.append(f"{words} ({self._seen[left[0]].text})")
                continue
            what = f"{call} {next(iter(forms))}".strip() if len(forms) == 1 else call
            for field, template in _WHOLE.items():
                carried_out = {getattr(key, field) for key in done}
                whole = [key for key in left if _ALONE not in (of := getattr(key, field)) and of not in carried_out]
                for text, given in self._by_text(whole).items():
                    names = ", ".join(dict.fromkeys(getattr(key, field) for key in given))
                    found.append(f"{template.format(call=what, names=names)} ({text})")
                left = [key for key in left if key not in whole]
            found += self._in_part(left, frozenset(done))
        return found

    def _by_text(self, keys: Sequence[_Key]) -> dict[str, list[_Key]]:
        """Returns keys by the text of their refusal; texts that differ by sizes alone are one."""
        texts: dict[str, str] = {}
        found: dict[str, list[_Key]] = {}
        for key in keys:
            text = self._seen[key].text
            found.setdefault(texts.setdefault(re.sub(r"[\d., ()]+", " ", text), text), []).append(key)
        return found

    def _in_part(self, keys: Sequence[_Key], done: frozenset[_Key]) -> list[str]:
        # One rank refuses what several do.
        left = [key for key in keys if (other := _of_several(key)) == key or other not in keys]
        lines = []
        for alike in self._by_text(left).values():
            of_dtypes: dict[tuple[str, str, tuple[str, ...]], list[_Key]] = {}
            for call, op, form in dict.fromkeys((key.call, key.op, key.form) for key in alike):
                some = [key for key in alike if (key.call, key.op, key.form) == (call, op, form)]
                of_dtypes.setdefault((call, form, tuple(key.dtype for key in some)), []).append(some[0])
            for (call, form, dtypes), found in of_dtypes.items():
                shared = any(_of_several(key) in done for key in found)
                words = (call, ", ".join(key.op for key in found), form if shared else form.replace(_ALONE, _ONCE))
                text = self._seen[found[0]].text
                lines.append(f"{' '.join(filter(None, words))}: {', '.join(dtypes)} ({text})")
        return lines


def _of_several(key: _Key) -> _Key:
    """Returns the key of the same row of several ranks."""
    return key._replace(form=key.form.removesuffix(_ALONE).strip())


def _key(test: str, call: str, row: Row) -> _Key:
    forms = {
        "view": row.strided is True,
        "transposed": row.strided == "transposed",
        "late": row.late,
        "uneven": row.uneven,
        f"group {row.part}": row.part != "all",
    }
    op = row.op if row.op in _OPS and "reduce" in call else ""
    return _Key(test, call, op, row.dtype, " ".join(word for word, has in forms.items() if has))
