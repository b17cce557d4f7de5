"""What the tests of an assignment call, in short forms: data parallelism, sharded parameters, sharded optimizer state.

Written for its tests, which torch_sources.py runs with gloo and on simulated ranks. No part of the distributions.
"""

import torch
import torch.distributed as dist
from torch import nn


class _Averaged(nn.Module):
    """Begins with rank 0's parameters; averages each gradient while the backward pass goes on."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        self._works = []
        for parameter in module.parameters():
            dist.broadcast(parameter.data, src=0)
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self._begin)

    def _begin(self, parameter):
        parameter.grad.div_(dist.get_world_size())
        self._works.append(dist.all_reduce(parameter.grad, async_op=True))

    def finish(self):
        for work in self._works:
            work.wait()
        self._works.clear()

    def forward(self, *inputs):
        return self.module(*inputs)


def get_ddp(module):
    return _Averaged(module)


def ddp_on_after_backward(ddp_model, optimizer):
    ddp_model.finish()


class _ShardedStates(torch.optim.Optimizer):
    """Each rank has the states of every N-th parameter, steps it, and sends it to the others."""

    def __init__(self, params, optimizer_cls, **settings):
        self._params = list(params)
        mine = self._params[dist.get_rank() :: dist.get_world_size()]
        self._own = optimizer_cls(mine, **settings)
        super().__init__(self._params, settings)

    def step(self, closure=None):
        loss = self._own.step(closure)
        for number, parameter in enumerate(self._params):
            dist.broadcast(parameter.data, src=number % dist.get_world_size())
        return loss

    def zero_grad(self, set_to_none=True):
        for parameter in self._params:
            parameter.grad = None


def get_sharded_optimizer(params, optimizer_cls, **kwargs):
    return _ShardedStates(params, optimizer_cls, **kwargs)


class _Whole(torch.autograd.Function):
    """Gathers the shards of a weight, [rows / N, columns] each; scatters the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx, shard, dtype):
        ctx.dtype = shard.dtype
        own = shard.detach().to(dtype)
        parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, own)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        world = dist.get_world_size()
        parts = [part.contiguous() for part in gradient.chunk(world)]
        own = torch.empty_like(parts[0])
        dist.reduce_scatter(own, parts)
        return (own / world).to(ctx.dtype), None


class _Sharded(nn.Module):
    """Each rank has a part of the rows of every matrix of the inner layers; other parameters are on all ranks."""

    def __init__(self, module, compute_dtype):
        super().__init__()
        self.module = module
        self._dtype = compute_dtype
        self.shards = {}
        for parameter in module.parameters():
            dist.broadcast(parameter.data, src=0)
        for name, one in module.named_modules():
            weight = dict(one.named_parameters(recurse=False)).get("weight")
            if weight is not None and weight.dim() == 2:
                rows = weight.data.chunk(dist.get_world_size())[dist.get_rank()].clone()
                one.weight = self.shards[f"{name}.weight"] = nn.Parameter(rows)
                one.forward = self._with_whole_weight(one)

    def _with_whole_weight(self, module):
        forward = module.forward

        def called(inputs):
            shard = module.weight
            del module.weight
            module.weight = _Whole.apply(shard, self._dtype or shard.dtype)
            if self._dtype is not None and inputs.is_floating_point():
                inputs = inputs.to(self._dtype)
            try:
                return forward(inputs)
            finally:
                del module.weight
                module.weight = shard

        return called

    def forward(self, *inputs):
        return self.module(*inputs)


def get_fsdp(module, compute_dtype=None):
    return _Sharded(module, compute_dtype)


def fsdp_on_after_backward(fsdp_model, optimizer):
    shards = {id(shard) for shard in fsdp_model.shards.values()}
    for parameter in fsdp_model.parameters():
        if id(parameter) not in shards:
            dist.all_reduce(parameter.grad)
            parameter.grad.div_(dist.get_world_size())


def fsdp_gather_full_params(fsdp_model):
    whole = {}
    for name, parameter in fsdp_model.module.named_parameters():
        whole[name] = _Whole.apply(parameter, parameter.dtype).detach() if name in fsdp_model.shards else parameter.data
    return whole
