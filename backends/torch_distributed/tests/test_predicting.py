"""Layers of torch that predict in a rank, though they train.  Clause: J-78"""

import pytest
import torch
from torch import nn

from simstrategy_torch_distributed.watched.entries import read
from simstrategy_torch_distributed.watched.predicting import Predicting


class Own(nn.BatchNorm1d):
    """A layer of the script's own, which does something else while it trains."""

    def forward(self, rows):
        return rows * 2 if self.training else rows


def begun(tmp_path, *kinds):
    """Returns what a rank has for these kinds, without its hooks, and the rank's file."""
    file = tmp_path / "rank0"
    predicting = Predicting(str(file), kinds)
    return predicting, file


def around(predicting, module, rows):
    """Calls a module with the hooks of one rank."""
    handles = [one.register_forward_pre_hook(predicting.before) for one in module.modules()]
    handles += [one.register_forward_hook(predicting.after, always_call=True) for one in module.modules()]
    try:
        return module(rows)
    finally:
        for handle in handles:
            handle.remove()


def test_layers_with_statistics_predict_and_train_again_afterwards(tmp_path):
    predicting, file = begun(tmp_path, "statistics")
    rows = torch.arange(12.0).reshape(6, 2)
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    model[1].eval()
    torch.testing.assert_close(around(predicting, model, rows), rows, rtol=1e-4, atol=1e-4)
    assert model[0].training
    assert not model[1].training
    assert model[0].num_batches_tracked == 0
    texts = [entry.facts["text"] for entry in read(file)]
    assert len(texts) == 1
    assert texts[0].startswith("BatchNorm1d normalises each replica's part by its own statistics; use torch.nn.Sync")


def test_layers_that_draw_predict_where_they_are_meant_alone(tmp_path):
    rows = torch.ones(64, 2)
    model = nn.Sequential(nn.Dropout(0.5))
    predicting, file = begun(tmp_path, "draws")
    assert torch.equal(around(predicting, model, rows), rows)
    assert [entry.facts["text"] for entry in read(file)] == [
        "Dropout draws random numbers for each replica's part separately"
    ]
    predicting, _ = begun(tmp_path, "statistics")
    assert not torch.equal(around(predicting, model, rows), rows)


def test_a_layer_of_the_script_s_own_trains(tmp_path):
    predicting, file = begun(tmp_path, "statistics", "draws")
    rows = torch.ones(4, 2)
    assert torch.equal(around(predicting, Own(2), rows), rows * 2)
    assert not file.exists()


def test_a_module_that_raises_trains_again(tmp_path):
    predicting, _ = begun(tmp_path, "statistics")
    model = nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError):
        around(predicting, model, torch.ones(4, 2))
    assert model.training
