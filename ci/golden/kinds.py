"""Cases of what replicas compute (`reduce`, `all_reduce`, `run`, `variable`) and of what values become (`convert`).

They are put to the TensorFlow that runs here. Runs on Python 3.7 as well as on today's. An exception of the call in
question is its answer.
"""

import numpy
from arrays import decoded, encoded, error

NAMES = {"np": numpy, "nan": float("nan"), "inf": float("inf")}


def reduce(tensorflow, case):
    strategy = tensorflow.strategy(case["replicas"])
    value = tensorflow.spread(strategy, [decoded(one) for one in case["values"]])
    axis = tuple(case["axis"]) if isinstance(case["axis"], list) else case["axis"]
    return {"value": encoded(tensorflow.reduce(strategy, case["op"], value, axis))}


def all_reduce(tensorflow, case):
    strategy = tensorflow.strategy(case["replicas"])
    columns = [[decoded(one) for one in column] for column in case["values"]]
    keys = [f"k{number}" for number in range(len(columns))]
    joins = {
        "single": lambda own: own[0],
        "list": list,
        "tuple": tuple,
        "dict": lambda own: {key: own[number] for number, key in enumerate(keys)},
    }

    def step():
        rank = tensorflow.rank()
        own = [tensorflow.tf.constant(column[rank]) for column in columns]
        return tensorflow.context().all_reduce(case["op"], joins[case["structure"]](own))

    result = tensorflow.run(strategy, step)
    splits = {"single": lambda: [result], "dict": lambda: [result[key] for key in keys]}
    leaves = splits.get(case["structure"], lambda: list(result))()
    return {"values": [[encoded(one) for one in tensorflow.local(strategy, leaf)] for leaf in leaves]}


def run(tensorflow, case):
    strategy = tensorflow.strategy(case["replicas"])
    constant = tensorflow.tf.constant
    shared = constant(7.0)
    leaves = {
        "rid": lambda: tensorflow.tf.convert_to_tensor(tensorflow.context().replica_id_in_sync_group),
        "const": lambda: constant(3.0),
        "vec": lambda: constant([float(tensorflow.rank()), 1.0]),
        "shared": lambda: shared,
        "none": lambda: None,
        "pystr": lambda: "s",
        "pyint": lambda: 5,
        "pyrid": tensorflow.rank,
    }

    def nest(form):
        if isinstance(form, str):
            return leaves[form]()
        if form["t"] == "dict":
            return {key: nest(item) for key, item in form["c"].items()}
        return {"list": list, "tuple": tuple}[form["t"]](nest(item) for item in form["c"])

    return {"returns": _described(tensorflow, tensorflow.run(strategy, lambda: nest(case["returns"])))}


def _described(tensorflow, value):
    if isinstance(value, dict):
        return {"t": "dict", "c": {key: _described(tensorflow, value[key]) for key in sorted(value)}}
    if isinstance(value, (list, tuple)):
        return {"t": type(value).__name__, "c": [_described(tensorflow, item) for item in value]}
    if tensorflow.per_replica(value):
        return {"kind": "PerReplica", "values": [_leaf(tensorflow, one) for one in value.values]}
    return {"kind": "Tensor" if tensorflow.is_tensor(value) else "python", "values": [_leaf(tensorflow, value)]}


def _leaf(tensorflow, value):
    return encoded(value) if tensorflow.is_tensor(value) else {"py": value}


def variable(tensorflow, case):
    tf = tensorflow.tf
    strategy = tensorflow.strategy(case["replicas"])
    with strategy.scope():
        made = tf.Variable(
            decoded(case["init"]),
            synchronization=getattr(tf.VariableSynchronization, case["sync"]),
            aggregation=getattr(tensorflow.aggregations, case["agg"]),
            dtype=case["dtype"],
        )
    log = [_logged(tensorflow, strategy, made, step, case["replicas"]) for step in case["program"]]
    components = [encoded(one) for one in tensorflow.local(strategy, made)]
    return {"class": type(made).__name__, "log": log, "components": components}


def _logged(tensorflow, strategy, made, step, replicas):
    try:
        return _step(tensorflow, strategy, made, step, replicas)
    except Exception as raised:  # noqa: BLE001 - whatever TensorFlow raises is what it answers
        return error(raised)


def _step(tensorflow, strategy, made, step, replicas):
    inside = step["where"] == "replica"
    if step["op"] == "read":
        if inside:
            values = tensorflow.local(strategy, tensorflow.run(strategy, made.read_value))
            return [encoded(one) for one in values]
        with strategy.scope():
            return [encoded(made.read_value())]
    arrays = [decoded(one) for one in step["value"]]
    # One value for several replicas is one object, which all of them share.
    own = inside and len(arrays) == replicas
    given = tensorflow.spread(strategy, arrays) if own else tensorflow.tf.constant(arrays[0])

    def write(value):
        getattr(made, step["op"])(value)

    if inside:
        tensorflow.run(strategy, write, args=(given,))
    else:
        with strategy.scope():
            write(given)
    return "ok"


def convert(tensorflow, case):
    tf, dtype = tensorflow.tf, case["dtype"] or None
    value = eval(case["value"], dict(NAMES))

    def assigned():
        made = tf.Variable(tf.zeros(numpy.shape(value), dtype))
        made.assign(value)
        return made.read_value()

    def added():
        own = tf.convert_to_tensor(value)
        strategy = tensorflow.strategy(case["replicas"])
        total = tensorflow.run(strategy, lambda: tensorflow.context().all_reduce("SUM", own + tf.zeros_like(own)))
        return tensorflow.local(strategy, total)[0]

    places = {
        "asarray": lambda: tf.convert_to_tensor(value, dtype),
        "variable": lambda: tf.Variable(value, dtype=dtype).read_value(),
        "assign": assigned,
        "slices": lambda: next(iter(tf.data.Dataset.from_tensor_slices(value))),
        "all_reduce": added,
    }
    return {"value": encoded(places[case["place"]]())}
