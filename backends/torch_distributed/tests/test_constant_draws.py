"""A constant in place of what functions of torch draw while a script trains.  Clause: J-78"""

import pytest
import torch
from torch.nn import functional

from simstrategy_torch_distributed.watched.constant_draws import ConstantDraws

QUERY = torch.arange(64.0).reshape(2, 4, 8) / 64


@pytest.fixture
def noted():
    """Notes of constant draws inside of a forward pass."""
    texts = []
    with ConstantDraws(lambda text, _share, **_: texts.append(text), lambda: True):
        yield texts


NUMBERS = {
    "rand": lambda: (torch.rand(3), 0.5),
    "rand_like": lambda: (torch.rand_like(QUERY), 0.5),
    "randn": lambda: (torch.randn(2, 3), 0.0),
    "randn_like": lambda: (torch.randn_like(QUERY), 0.0),
    "normal": lambda: (torch.normal(torch.full((4,), 3.0), 2.0), 3.0),
    "normal with a named mean": lambda: (torch.normal(mean=2.0, std=torch.ones(2)), 2.0),
    "bernoulli": lambda: (torch.bernoulli(torch.full((3,), 0.7)), 1.0),
    "bernoulli with one share": lambda: (torch.bernoulli(torch.zeros(3), 0.2), 0.0),
    "normal_": lambda: (torch.empty(3).normal_(1.5, 2.0), 1.5),
    "normal_ with a named mean": lambda: (torch.empty(3).normal_(mean=2.5), 2.5),
    "uniform_": lambda: (torch.empty(3).uniform_(), 0.5),
    "uniform_ with an end": lambda: (torch.empty(3).uniform_(2.0, to=4.0), 3.0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_random_numbers_are_their_mean(noted, name):
    found, expected = NUMBERS[name]()
    assert torch.equal(found, torch.full_like(found, expected))
    assert len(noted) == 1
    assert noted[0].startswith(f"{name.partition(' ')[0]} at test_constant_draws.py:")


def test_a_distribution_gives_its_mean(noted):
    middle = torch.tensor([3.0, 4.0], requires_grad=True)
    found = torch.distributions.Normal(middle, torch.ones(2)).rsample((5,))
    assert torch.equal(found, middle.expand(5, 2))
    found.sum().backward()
    assert torch.equal(middle.grad, torch.full((2,), 5.0))
    assert len(noted) == 1


def drops():
    yield lambda: functional.dropout(QUERY, 0.5)
    yield lambda: functional.dropout2d(QUERY.reshape(1, 16, 2, 2), p=0.5, training=True)
    yield lambda: functional.alpha_dropout(QUERY, 0.5, True)
    yield lambda: functional.scaled_dot_product_attention(QUERY, QUERY, QUERY, None, 0.5)
    yield lambda: functional.scaled_dot_product_attention(QUERY, QUERY, QUERY, dropout_p=0.5, is_causal=True)
    attention = torch.nn.MultiheadAttention(8, 2, dropout=0.5)
    yield lambda: attention(QUERY, QUERY, QUERY)[0]


@pytest.mark.parametrize("number", range(6))
def test_nothing_is_dropped(number):
    torch.manual_seed(0)  # with which both calls drop other elements
    call = [*drops()][number]
    assert not torch.equal(call(), call())
    texts = []
    with ConstantDraws(lambda text, _share, **_: texts.append(text), lambda: False):
        assert torch.equal(call(), call())
    assert len(texts) == 2


def test_what_draws_nothing_is_not_noted(noted):
    functional.dropout(QUERY, 0.5, training=False)
    functional.dropout(QUERY, 0.0)
    functional.scaled_dot_product_attention(QUERY, QUERY, QUERY)
    assert noted == []


def test_data_and_first_values_are_drawn():
    texts = []
    with ConstantDraws(lambda text, _share, **_: texts.append(text), lambda: False):
        layer = torch.nn.Linear(3, 3)
        found = [torch.randn(6), torch.rand(6), layer.weight, torch.empty(4).normal_()]
        found += [torch.distributions.Normal(torch.zeros(5), 1.0).sample(), torch.randn_like(layer.weight)]
        assert texts == []
        noise = torch.randn_like(found[0])
    assert all(one.unique().numel() == one.numel() for one in found)
    assert torch.equal(noise, torch.zeros(6))
    assert len(texts) == 1


def test_first_values_of_layers_that_a_forward_pass_makes_are_drawn(noted):
    layer = torch.nn.Linear(3, 3)
    assert layer.weight.unique().numel() == 9
    assert noted == []


ELSEWHERE = {
    "rand": lambda: (torch.rand(3), 0.75),
    "randn_like": lambda: (torch.randn_like(QUERY), 1.0),
    "normal": lambda: (torch.normal(torch.full((4,), 3.0), 2.0), 5.0),
    "bernoulli": lambda: (torch.bernoulli(torch.full((3,), 0.7)), 0.0),
    "normal_": lambda: (torch.empty(3).normal_(mean=2.5, std=0.5), 3.0),
    "uniform_": lambda: (torch.empty(3).uniform_(-1.0, to=1.0), 0.5),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_elsewhere_another_constant_than_the_mean_stands_in_their_place(name):
    """Clause: G-100."""
    with ConstantDraws(lambda *_, **__: None, lambda: True, is_elsewhere=True):
        found, expected = ELSEWHERE[name]()
    assert torch.equal(found, torch.full_like(found, expected))
