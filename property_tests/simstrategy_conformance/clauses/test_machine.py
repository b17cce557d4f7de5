"""The device layer as a state machine: whatever was done before, arrays and cells hold what they held."""

from typing import Any

import numpy as np
from hypothesis import seed
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from simstrategy.device import ArraySpec
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import exact_arrays, put_all
from simstrategy_conformance.checking import clause, options, run_search, seed_of
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import count

Host = np.ndarray[Any, Any]


def machine_of(subject: Subject, ranks: int) -> type[RuleBasedStateMachine]:  # noqa: C901 - many rules, each simple
    """Returns the machine of a subject: groups of arrays and cells, each with its expected value."""
    dtypes = st.sampled_from(subject.having("int32", "int64"))  # which wrap, so that no sum ever rounds
    shapes = st.sampled_from([(1,), (2,), (), (2, 2)])
    forms = st.tuples(dtypes, shapes)

    class Machine(RuleBasedStateMachine):
        groups = Bundle("groups")
        cells = Bundle("cells")

        def __init__(self) -> None:
            RuleBasedStateMachine.__init__(self)
            # Each machine has a backend of its own, so that the calls of one example have no effect on another.
            self.backend = subject.fresh(ranks)
            self.kept: list[tuple[Any, Host]] = []
            self.stored: list[tuple[Any, list[Host]]] = []
            count(NAME)

        def keep(self, arrays: Any, hosts: list[Host]) -> tuple[Any, list[Host]]:
            self.kept += zip(arrays, hosts, strict=True)
            return tuple(arrays), hosts

        @rule(target=groups, data=st.data(), form=forms)
        def put(self, data: st.DataObject, form: Any) -> Any:
            hosts = [data.draw(exact_arrays(*form)) for _ in range(ranks)]
            return self.keep(put_all(self.backend, hosts), hosts)

        @rule(target=groups, group=groups, op=st.sampled_from(["SUM", "MIN", "MAX"]))
        def all_reduce(self, group: Any, op: Any) -> Any:
            arrays, hosts = group
            wanted = oracle.all_reduced(hosts, op)
            return self.keep(self.backend.all_reduce(arrays, op), [wanted] * ranks)

        @rule(group=groups, root=st.integers(0, ranks - 1))
        def reduce(self, group: Any, root: int) -> None:
            arrays, hosts = group
            self.keep([self.backend.reduce(arrays, "SUM", root=root)], [oracle.all_reduced(hosts, "SUM")])

        @rule(target=groups, group=groups, root=st.integers(0, ranks - 1))
        def broadcast(self, group: Any, root: int) -> Any:
            arrays, hosts = group
            spec = ArraySpec(hosts[root].shape, hosts[root].dtype.name, self.backend.devices[root].placement)
            return self.keep(self.backend.broadcast(arrays[root], spec=spec, root=root), [hosts[root]] * ranks)

        @rule(group=groups)
        def all_gather(self, group: Any) -> None:
            arrays, hosts = group
            if hosts[0].ndim:
                sizes = tuple(one.shape[0] for one in hosts)
                self.keep(self.backend.all_gather(arrays, axis=0, sizes=sizes), [oracle.gathered(hosts, 0)] * ranks)

        @rule(target=groups, group=groups)
        def double(self, group: Any) -> Any:
            arrays, hosts = group
            made = []
            for device, array in zip(self.backend.devices, arrays, strict=True):
                with self.backend.on(device):
                    made.append(self.backend.xp.add(array, array))
            return self.keep(made, [np.asarray(one + one, one.dtype) for one in hosts])

        @rule(target=groups, group=groups, shift=st.integers(1, ranks))
        def rotate(self, group: Any, shift: int) -> Any:
            arrays, hosts = group
            turned = [(rank + shift) % ranks for rank in range(ranks)]
            moved = [
                self.backend.put(arrays[other], device)
                for other, device in zip(turned, self.backend.devices, strict=True)
            ]
            return self.keep(moved, [hosts[other] for other in turned])

        @rule(target=cells, group=groups)
        def cell(self, group: Any) -> Any:
            arrays, hosts = group
            made = ([self.backend.cell(array) for array in arrays], list(hosts))
            self.stored.append(made)
            return made

        @rule(cells=cells, group=groups)
        def write(self, cells: Any, group: Any) -> None:
            (storage, held), (arrays, hosts) = cells, group
            if held[0].shape == hosts[0].shape and held[0].dtype == hosts[0].dtype:
                for one, array in zip(storage, arrays, strict=True):
                    one.write(array)
                held[:] = hosts

        @rule(target=groups, cells=cells)
        def read(self, cells: Any) -> Any:
            storage, held = cells
            return self.keep([one.read() for one in storage], list(held))

        def teardown(self) -> None:
            self.backend.close()

        @invariant()
        def everything_holds_what_it_held(self) -> None:
            for number, (array, wanted) in enumerate(self.kept):
                found = self.backend.get(array)
                assert same_bits(wanted, found), f"array {number}: expected {wanted.tolist()}, found {found.tolist()}"
            for storage, held in self.stored:
                for one, wanted in zip(storage, held, strict=True):
                    assert same_bits(wanted, self.backend.get(one.read())), f"a cell: expected {wanted.tolist()}"

    return Machine


NAME = "test_arrays_and_cells_hold_what_they_held_whatever_was_called"


@clause("B-14")
def test_arrays_and_cells_hold_what_they_held_whatever_was_called(subject: Subject) -> None:
    for ranks in (2, 3):
        machine = seed(seed_of(subject, f"{NAME}/{ranks}"))(machine_of(subject, ranks))
        run_search(lambda machine=machine: run_state_machine_as_test(machine, settings=options(subject, 0.3)))  # type: ignore[misc]
