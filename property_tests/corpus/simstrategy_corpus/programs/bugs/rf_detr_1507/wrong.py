"""Merges what the ranks found in 21 images."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

IMAGES = 21


class Images(torch.utils.data.Dataset):
    """Pairs of an image's number and its score."""

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        return index, torch.sin(torch.tensor(float(index)))


def merged(found):
    """Returns the pairs of all ranks.  found: a list of pairs of this rank."""
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, found)
    pairs = [pair for part in everything for pair in part]
    return pairs


def main():
    dist.init_process_group("gloo")
    dataset = Images()
    loader = DataLoader(dataset, batch_size=2, sampler=DistributedSampler(dataset, shuffle=False))
    found = [(int(i), float(score)) for numbers, scores in loader for i, score in zip(numbers, scores, strict=True)]
    pairs = merged(found)
    if dist.get_rank() == 0:
        print("result images", len(pairs))
        print("result score", sum(score for _, score in pairs) / len(pairs))


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
