"""An autoencoder with noise and dropout, with one seed: all ranks draw the same numbers for other rows.

Its first values come from another seed before, as they should.
"""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: different draws
# step: 1
# variable: encoder.weight

import torch
from parts import batches, begin
from torch.nn.parallel import DistributedDataParallel


class Autoencoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = torch.nn.Linear(4, 4), torch.nn.Linear(2, 4)

    def forward(self, rows):
        middle, scale = torch.nn.functional.dropout(self.encoder(rows), 0.1, self.training).chunk(2, dim=-1)
        return self.decoder(torch.distributions.Normal(middle, scale.exp()).rsample())


arguments, rank, size = begin()
torch.manual_seed(0)
model = DistributedDataParallel(Autoencoder())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, _targets in batches(arguments.batch_size, rank, size):
    noisy = inputs + 0.1 * torch.randn_like(inputs)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(noisy), inputs).backward()  # here
    optimizer.step()
