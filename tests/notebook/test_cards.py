"""Tables for notebooks: well formed, escaped, small and quick whatever they show."""

from html.parser import HTMLParser

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.notebook import Marked, card

context = ss.get_replica_context
HOSTILE = "</td><img src=x onerror=alert(1)>\0\x1b[2J\ud800 'é"
BYTES_MAX = 20_000


class Tags(HTMLParser):
    """Collects the tags of a table, and checks that each one is closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(html):
    """Returns the text of a table, when it is well formed, small, and has nothing but a table."""
    assert len(html.encode()) <= BYTES_MAX
    tags = Tags()
    tags.feed(html)
    tags.close()
    assert tags.open == []
    assert tags.tags <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    return tags.text


def eight(replicas=3):
    """Returns one value of each type that notebooks show."""
    trace = ss.trace.Trace()
    strategy = ss.Strategy.mirrored("sim", replicas=replicas, trace=trace)
    with strategy.scope():
        kept = ss.Variable(np.zeros(2, np.float32), name="kept")
    per_replica = strategy.run(lambda: np.float32(context().replica_id_in_sync_group))
    numbers = ss.data.Dataset.range(5).batch(5)
    report = ss.check(lambda strategy: np.float32(strategy.num_replicas_in_sync), replicas=[1, 2])
    return {
        "PerReplica": per_replica,
        "Mirrored": ss.Mirrored([np.ones(3)] * replicas),
        "Variable": kept,
        "DistributedDataset": strategy.experimental_distribute_dataset(numbers),
        "split": ss.data.split(numbers, replicas=replicas),
        "Trace": trace,
        "Report": report,
        "Strategy": strategy,
    }


# Clauses: N-1
def test_each_of_the_eight_types_has_a_table_that_is_well_formed():
    found = {name: shown(value._repr_html_()) for name, value in eight().items()}
    assert "float32[] 2.0" in found["PerReplica"]
    assert "float64[3] 1.0 1.0 1.0" in found["Mirrored"]
    assert "synchronization ON_WRITE, aggregation NONE" in found["Variable"]
    assert "dtype='int64'" in found["DistributedDataset"]
    assert "rule 'per batch'" in found["split"]
    assert "run" in found["Trace"]
    assert "≠" not in found["Mirrored"]
    assert "! DIFFERS" in found["Report"]
    assert "sim:2" in found["Strategy"]


# Clauses: N-1
def test_tables_of_ten_thousand_replicas_and_of_large_arrays_are_small_and_copy_nothing(monkeypatch):
    shown(ss.PerReplica([np.float32(rank) for rank in range(10_000)])._repr_html_())
    shown(ss.Strategy.mirrored("sim", replicas=10_000)._repr_html_())
    large = np.broadcast_to(np.float32(0.5), (1 << 28,))  # 1 GiB, if it were copied
    text = shown(ss.PerReplica([large, large[:-1]])._repr_html_())
    assert "float32[268435456] 0.5 0.5" in text
    assert "≠ float32[268435455]" in text
    assert shown(ss.Mirrored([large, large])._repr_html_()).count("≠") == 0


# Clauses: N-1
def test_what_differs_is_marked_by_a_sign():
    text = shown(ss.PerReplica([np.float32([1, 2]), np.float32([1, 2]), np.float32([1, 3])])._repr_html_())
    assert text.count("≠") == 1
    assert "≠ float32[2] 1.0 3.0" in text


# Clauses: N-1
def test_hostile_texts_are_escaped():
    strategy = ss.Strategy.mirrored("sim", replicas=2)
    with strategy.scope():
        kept = ss.Variable(np.float32(0), name="<img onerror=alert(1)>")
    assert "<img onerror" in shown(kept._repr_html_())
    text = shown(card(HOSTILE, [HOSTILE] * 3, [[HOSTILE, Marked(HOSTILE), "b"]], total=1, notes=[HOSTILE]))
    assert "<img src=x" in text
    assert "\\x1b[2J" in text


@pytest.mark.parametrize("text", ["'" * 1000, "\U0001f600" * 1000, "<" * 1000])
def test_a_table_stays_below_its_limit(text):
    rows = [[text] * 50 for _ in range(100)]
    found = shown(card(text, [text] * 50, rows, total=5000, notes=[text] * 50))
    assert "more columns" in found
    assert "more rows" in found


# Clauses: N-1
def test_a_table_draws_no_step_and_makes_no_point():
    recorder = ss.trace.Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=recorder)
    with strategy.scope():
        kept = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM)
    rows = strategy.experimental_distribute_dataset(ss.data.Dataset.range(5).batch(5))
    before = recorder.recording()
    for value in (kept, rows, strategy):
        value._repr_html_()
        repr(value)
    assert recorder.recording() == before


def test_objects_that_had_none_have_a_repr():
    values = eight()
    contexts = []
    values["Strategy"].run(lambda: contexts.append(repr(context())))
    assert contexts[1] == "<ReplicaContext: replica 1 of 3, on sim:1>"
    assert repr(values["DistributedDataset"]) == "<DistributedDataset: 3 replicas of worker 0 of 1>"
    assert repr(values["Trace"]) == "<Trace of 3 events>"
    assert repr(values["Report"]).startswith("<Report on test_cards.py: differ, 3 rows, 1 finding")


def test_a_split_is_refused_for_counts_that_are_none():
    numbers = ss.data.Dataset.range(4).batch(2)
    for settings in ({"replicas": 0}, {"replicas": 2, "workers": True}):
        with pytest.raises(ss.errors.InvalidArgument, match="split takes"):
            ss.data.split(numbers, **settings)
    assert ss.data.split(numbers, replicas=2).steps == [[["0"], ["1"]], [["2"], ["3"]]]
