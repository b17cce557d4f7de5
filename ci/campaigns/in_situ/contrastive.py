"""Trains with PyLate's contrastive loss, each rank on its own pairs."""

import os

os.environ["USE_TF"] = "0"

import torch
import torch.distributed as dist
from pylate.losses import Contrastive
from torch.nn.parallel import DistributedDataParallel


class Tokens(torch.nn.Module):
    """Embeds tokens, one vector each, as a late-interaction model does."""

    skiplist: list[int] = []
    do_query_expansion = False

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(20, 4)

    def forward(self, features):
        return {"token_embeddings": torch.nn.functional.normalize(self.table(features["input_ids"]), dim=-1)}


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
generator = torch.Generator().manual_seed(1)
texts = [torch.randint(20, (4, 1, 3), generator=generator) for _ in range(3)]  # queries, documents, other documents
model = DistributedDataParallel(Tokens())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = Contrastive(model, gather_across_devices=False)
losses = []
for number in range(rank * 4 // world, (rank + 1) * 4 // world):
    features = [{"input_ids": text[number], "attention_mask": torch.ones(1, 3)} for text in texts]
    losses.append(criterion(features))
torch.stack(losses).mean().backward()
optimizer.step()
if rank == 0:
    print("result table", *model.module.table.weight.flatten().tolist())
dist.destroy_process_group()
