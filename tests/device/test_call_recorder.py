"""The recorder keeps every call with its settings and array types, and changes nothing."""

import numpy as np
from call_recorder import CallRecord, CallRecorder

import simstrategy as ss
from simstrategy.device import ArraySpec
from simstrategy.sim import open_sim


def test_every_call_is_recorded_with_settings_and_forms():
    recorder = CallRecorder(open_sim(replicas=2))
    arrays = tuple(recorder.put(np.ones((2, 3), np.float32), device) for device in recorder.devices)
    recorder.all_reduce(arrays, "SUM")
    recorder.reduce(arrays, "MAX", root=1)
    recorder.broadcast(arrays[0], spec=ArraySpec((2, 3), "float32", "sim:0"), root=0)
    recorder.all_gather(arrays, axis=1, sizes=(3, 3))
    recorder.exchange(b"four", timeout_s=None)
    recorder.get(arrays[1])
    recorder.cell(arrays[0])
    recorder.memory.share(arrays[0])
    recorder.synchronize()
    recorder.close()
    form = ((2, 3), "float32")
    assert recorder.calls == [
        CallRecord("put", (("rank", 0),), (form,)),
        CallRecord("put", (("rank", 1),), (form,)),
        CallRecord("all_reduce", (("op", "SUM"),), (form, form)),
        CallRecord("reduce", (("op", "MAX"), ("root", 1)), (form, form)),
        CallRecord("broadcast", (("root", 0),), (form,)),
        CallRecord("all_gather", (("axis", 1), ("sizes", (3, 3))), (form, form)),
        CallRecord("exchange", (("bytes", 4),), ()),
        CallRecord("get", (), (form,)),
        CallRecord("cell", (), (form,)),
        CallRecord("share", (), (form,)),
        CallRecord("synchronize", (), ()),
        CallRecord("close", (), ()),
    ]


def test_a_mean_is_one_sum_on_the_device():
    recorder = CallRecorder(open_sim(replicas=2))
    strategy = ss.Strategy.mirrored(recorder)
    before = len(recorder.calls)
    result = strategy.run(lambda: ss.get_replica_context().all_reduce("MEAN", np.float32(3.0)))
    assert [float(one) for one in result.values] == [3.0, 3.0]
    reductions = [record for record in recorder.calls[before:] if record.call not in ("put", "share")]
    assert reductions == [CallRecord("all_reduce", (("op", "SUM"),), (((), "float32"),) * 2)]


def test_a_wrapped_backend_answers_what_the_one_inside_does():
    inner = open_sim(replicas=2)
    recorder = CallRecorder(inner)
    for name in ("name", "protocol_version", "capabilities", "devices", "local_devices", "array_types", "xp"):
        assert getattr(recorder, name) is getattr(inner, name)
    function = len
    assert recorder.prepare(function) is function
    assert recorder.autodiff is None
    with recorder.on(recorder.devices[1]):
        assert recorder.spec(recorder.xp.ones(2)) == ((2,), "float32", "sim:1")
