"""`torch.compile` returns on simulated ranks what it is given, and says so once.

Clause: G-98.
"""

import pytest
from commanded import torchrun
from on_server import BEGIN, run_text

pytestmark = pytest.mark.slow

SCRIPT = f"""{BEGIN}
net = torch.nn.Linear(2, 1)
wrapped = torch.compile(net, backend="no such backend", fullgraph=True)
assert wrapped._orig_mod is net and list(wrapped.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
assert torch.compile(net, disable=True) is net

@torch.compile(mode="max-autotune")
def summed(x):
    dist.all_reduce(x)
    print("in Python")
    return x

assert summed(torch.ones(())).item() == size
assert torch.compile(summed) is summed
net.compile(dynamic=True)
assert net(torch.ones(3, 2)).shape == (3, 1)
for wrong in (dict(no_such=1), dict(model=net, full=True)):
    try:
        torch.compile(**wrong)
    except TypeError as error:
        assert "argument" in str(error)
    else:
        raise AssertionError("it takes any argument")
"""


def test_what_is_compiled_runs_as_it_is(server, tmp_path):
    report = run_text(server, tmp_path, SCRIPT)
    assert report.exit_code == 0, report.text()
    assert report.ranks[1].output == "in Python\n"


def test_the_first_line_that_compiles_is_stated_once(tmp_path):
    run = torchrun(tmp_path, SCRIPT, ranks=2)
    assert run.code == 0, run.err
    line = 1 + SCRIPT.splitlines().index('wrapped = torch.compile(net, backend="no such backend", fullgraph=True)')
    stated = [one for one in run.err.splitlines() if "torch.compile" in one]
    assert stated == [f"simstrategy: torch.compile at script.py:{line} compiles nothing: it returns what it is given."]


def test_functions_of_torch_that_compile_are_compiled(server, tmp_path):
    """flex_attention calls `torch.compile`, and needs what it makes."""
    body = (
        "from torch.nn.attention.flex_attention import flex_attention\n"
        "q = torch.randn(1, 1, 16, 8)\n"
        "assert torch.allclose(flex_attention(q, q, q), torch.nn.functional.scaled_dot_product_attention(q, q, q),\n"
        "                      atol=1e-5)\n"
    )
    report = run_text(server, tmp_path, BEGIN + body)
    assert report.exit_code == 0, report.text()
