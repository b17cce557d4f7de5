"""`strategy.save` and `strategy.restore`: variables as host arrays by name, and back, on any number of replicas.

A total over all replicas is saved as one value, and each replica gets its share back. It writes no file: use
`numpy.savez`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from simstrategy import tree
from simstrategy.device import Array, canonical_dtype
from simstrategy.digests import blake2b
from simstrategy.errors import InvalidArgument, InvalidType, ReplicasDisagree
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.variables.cross_replica import read_across
from simstrategy.strategy.variables.state import VariableState
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site, describe_site

__all__ = ["restore", "save"]

Host = np.ndarray[Any, Any]


def save(group: Group, variables: Iterable[Variable], site: Site) -> dict[str, Host]:
    """Returns each variable's value by name, the same on every worker; see `Strategy.save`.  Clauses: U-15."""
    listed = _listed(variables, "save", site)
    _refuse("save", "Nothing was saved. Give each variable what it needs", [*_unfit(group, listed)], site)
    group.coordinator.agree(_request("save", listed), site)
    return {variable.name: variable.group.backend.get(_value(group, variable, site)) for variable in listed}


def _value(group: Group, variable: VariableState, site: Site) -> Array:
    if variable.policy.layout == "per_replica":
        return read_across(variable, site)
    group.variables.check(variable)
    first = variable.components[0]
    if variable.policy.layout == "mirrored" and group.coordinator.processes > 1:
        # Workers may have diverged, and the saved value is equal on all of them.
        return group.reductions.from_rank_0(first, variable.shape, variable.dtype)[0]
    return first


def restore(group: Group, variables: Iterable[Variable], saved: Mapping[str, Any], site: Site) -> None:
    """Gives each variable the value of its name, or raises and changes none; see `Strategy.restore`.  Clauses: U-16."""
    listed = _listed(variables, "restore", site)
    if not isinstance(saved, Mapping):
        raise InvalidType(
            f"restore at {describe_site(site)} takes what save returned, a mapping from names to arrays, got a "
            f"{type(saved).__name__}."
        )
    problems = [*_unfit(group, listed)]
    values: list[Host] = []
    for variable in listed:
        value = np.asarray(saved[variable.name]) if variable.name in saved else None
        problem = _misfit(variable, value)
        if problem is not None:
            problems.append(f"  {variable.name!r}: {problem}")
        elif value is not None:
            values.append(value)
    names = {variable.name for variable in listed}
    problems += [
        f"  {short_repr(name)}: saved, and no variable of that name is given" for name in saved if name not in names
    ]
    _refuse("restore", "Nothing was restored. Give the saved values of these variables", problems, site)
    _agree(group, listed, values, site)
    arrays = [_shares(variable, value) for variable, value in zip(listed, values, strict=True)]
    for variable, shares in zip(listed, arrays, strict=True):
        if all(share is shares[0] for share in shares):
            variable.storage.write_same("assign", _placed(variable, shares), site)
        else:
            variable.storage.write_each("assign", _placed(variable, shares), site)


def _placed(variable: VariableState, shares: list[Host]) -> tuple[Array, ...]:
    group = variable.group
    return tuple([group.backend.put(one, device) for one, device in zip(shares, group.local_devices, strict=False)])


def _shares(variable: VariableState, value: Host) -> list[Host]:
    """Returns what each component gets: the value, or its share of a total, which add up to it again.

    Of integers, the first replicas get one more where the total does not divide; TensorFlow 2.21.0 drops
    the rest.
    """
    group = variable.group
    count, components = len(group.backend.devices), len(variable.components)
    if variable.policy.layout != "per_replica" or variable.aggregation.name != "SUM" or count == 1:
        return [value] * components
    if value.dtype.kind in "iu":
        wide = value.astype(np.int64 if value.dtype.kind == "i" else np.uint64)
        share, rest = np.divmod(wide, np.asarray(count, wide.dtype))
        ranks = [device.rank for device in group.local_devices]
        return [np.asarray(share + (rest > rank).astype(wide.dtype), value.dtype) for rank in ranks]
    if group.semantics.on_read_sum_assign == "multiply":
        share = value * np.asarray(1.0 / count, value.dtype)
    else:
        share = value / np.asarray(count, value.dtype)
    return [np.asarray(share, value.dtype)] * components


def _listed(variables: Any, call: str, site: Site) -> list[VariableState]:
    listed = list(variables) if isinstance(variables, Iterable) and not isinstance(variables, Mapping) else None
    if listed is None or not all(isinstance(one, Variable) for one in listed):
        raise InvalidType(
            f"{call} at {describe_site(site)} takes a list of variables, got {short_repr(variables)}. Write "
            f"strategy.{call}([variable, …])."
        )
    return [one.state for one in listed]


def _unfit(group: Group, listed: list[VariableState]) -> Iterable[str]:
    """Yields a line for each variable that has no value to save, or no name of its own."""
    left = Counter(variable.name for variable in listed)
    for variable in listed:
        name, policy, aggregation = variable.name, variable.policy, variable.aggregation.name
        averaged = variable.dtype.startswith(("int", "uint")) and len(variable.group.backend.devices) > 1
        if (count := left.pop(name, 1)) > 1:
            yield f"  {name!r}: {count} variables have this name; make them with names of their own"
        if variable.group is not group and variable.group.kind is not DEFAULT:
            yield f"  {name!r}: a variable of another strategy"
        elif policy.layout == "per_replica" and aggregation == "NONE":
            yield f"  {name!r}: ON_READ without an aggregation, so it has no one value; save its components yourself"
        elif policy.layout == "per_replica" and variable.dtype == "bool" and aggregation in ("SUM", "MEAN"):
            yield f"  {name!r}: bool has no {aggregation}"
        elif policy.layout == "per_replica" and aggregation == "MEAN" and averaged:
            yield f"  {name!r}: the mean of {variable.dtype} is a float, which the variable could not take back"


def _misfit(variable: VariableState, value: Host | None) -> str | None:
    if value is None:
        return "not among the saved"
    try:
        found = canonical_dtype(value.dtype)
    except InvalidArgument:
        found = str(value.dtype)
    if (value.shape, found) == (variable.shape, variable.dtype):
        return None
    return f"saved as {found}{list(value.shape)}, and the variable is {variable.dtype}{list(variable.shape)}"


def _refuse(call: str, outcome: str, problems: list[str], site: Site) -> None:
    if problems:
        raise InvalidArgument(
            "\n".join([f"{call} at {describe_site(site)} does not fit the variables:", *problems, f"{outcome}."])
        )


def _request(call: str, listed: list[VariableState]) -> Request:
    leaves = tuple((variable.shape, variable.dtype) for variable in listed)
    names = ", ".join(variable.name for variable in listed)
    return Request(call, None, None, names, tree.flatten([None] * len(listed))[1], leaves)


def _agree(group: Group, listed: list[VariableState], values: list[Host], site: Site) -> None:
    """Compares the values of all workers.  Raises ReplicasDisagree unless they are equal."""
    digest = blake2b(digest_size=7)
    for variable, value in zip(listed, values, strict=True):
        # A variable of no strategy is each process's own.
        digest.update(value.tobytes() if variable.group is group else b"")
    prints = group.coordinator.agree(_request("restore", listed), site, (int.from_bytes(digest.digest(), "little"),))
    if any(one != prints[0] for one in prints):
        _disagree([worker for worker, one in enumerate(prints) if one != prints[0]], site)


def _disagree(workers: list[int], site: Site) -> NoReturn:
    lines = [f"  worker {worker} has other values than worker 0" for worker in workers]
    advice = "Restore the same saved values on every worker; nothing was restored."
    raise ReplicasDisagree("\n".join([f"Workers restore different values at {describe_site(site)}:", *lines, advice]))
