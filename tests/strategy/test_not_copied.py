"""What belongs to a strategy is neither copied nor pickled, and arrays are pickled as host data.  Clauses: C-6."""

import copy
import pickle

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.errors import ContextError

COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps}


def belongings(strategy):
    """Returns objects that belong to a strategy, and a part of the error for each."""
    contexts = []
    strategy.run(lambda: contexts.append(ctx()))
    dataset = ss.data.Dataset.range(4).batch(2)
    distributed = strategy.experimental_distribute_dataset(dataset)
    return [
        (strategy.extended, "strategy.extended belongs to its strategy, and is neither copied nor pickled. Take"),
        (contexts[0], "A replica context belongs to its replica, and is neither copied nor pickled. Ask"),
        (strategy.scope(), "A scope belongs to its strategy, and is neither copied nor pickled. Make"),
        (
            distributed,
            "Distributed data belong to their strategy and process, and are neither copied nor pickled. Dist",
        ),
        (iter(distributed), "Distributed data belong to their strategy and process"),
        (strategy.make_dataset_iterator(dataset), "Distributed data belong to their strategy and process"),
    ]


@pytest.mark.parametrize("how", COPIES)
def test_what_belongs_to_a_strategy_is_neither_copied_nor_pickled(mirrored, how):
    for thing, text in belongings(mirrored(2)):
        for given in (thing, [thing]) if how != "copy" else (thing,):
            with pytest.raises(ContextError, match=text):
                COPIES[how](given)


def test_a_strategy_is_not_pickled_and_a_deep_copy_of_it_is_another_one(mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        ss.Variable(1.0)
    with pytest.raises(ContextError, match=r"A strategy belongs to its process, and is not pickled\. Make one"):
        pickle.dumps({"strategy": strategy})
    assert copy.deepcopy(strategy).run(lambda: 3) == 3


def test_a_dataset_is_not_pickled_and_is_its_own_copy():
    dataset = ss.data.Dataset.range(4).map(lambda x: x + 1).batch(2)
    with pytest.raises(ContextError, match=r"holds the functions of its steps, and is not pickled\. Make it in the"):
        pickle.dumps([dataset])
    assert copy.copy(dataset) is dataset
    assert copy.deepcopy([dataset])[0] is dataset


def test_a_pickled_array_comes_back_as_host_data_and_is_taken_as_such(mirrored):
    strategy = mirrored(2)
    given = strategy.run(lambda: ctx().xp.asarray(np.float32([1.5, 2.0])))
    back = pickle.loads(pickle.dumps(given))
    assert [(type(one), one.dtype, one.tolist()) for one in back.values] == [(np.ndarray, np.float32, [1.5, 2.0])] * 2
    back.values[0][0] = 7.0
    total = strategy.run(lambda one: ctx().all_reduce("SUM", one), args=(back,))
    assert total.values[1].tolist() == [8.5, 4.0]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(given.values[0], protocol)).tolist() == [1.5, 2.0]
