"""A small GPT whose ranks exchange compressed gradients; docs/python.md explains it.

    torchrun --nproc_per_node=2 train.py sidco:ratio=0.01
    thinpipe net torchrun --ranks 2 --link rate=100mbit -- train.py sidco:ratio=0.01

Without a compressor it trains with DistributedDataParallel's own all-reduce. The compression needs only
the lines marked with an arrow. The text is that of Python's own help, so nothing is downloaded.
"""
import sys
import time
from dataclasses import dataclass
from pydoc_data.topics import topics

import torch
import torch.distributed as dist
from torch import nn

STEPS, BATCH = 60, 8


@dataclass
class Config:
    vocabulary: int = 128
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 2


class Gpt(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.places = nn.Parameter(0.02 * torch.randn(config.context, config.width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(config.width, config.heads, 4 * config.width, dropout=0.0,
                                       activation="gelu", batch_first=True, norm_first=True)
            for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        mask = torch.full((config.context, config.context), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, input_ids, labels):
        states = self.embed(input_ids) + self.places
        for block in self.blocks:
            states = block(states, self.mask)
        logits = self.head(self.norm(states))
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def batches(config, rank):
    text = torch.tensor([min(ord(letter), 127) for letter in "\n".join(topics.values())])
    draw = torch.Generator().manual_seed(rank)
    while True:
        begins = torch.randint(len(text) - config.context - 1, (BATCH,), generator=draw)
        rows = torch.stack([text[begin:begin + config.context + 1] for begin in begins])
        yield rows[:, :-1], rows[:, 1:]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    config, rank = Config(), dist.get_rank()
    model = nn.parallel.DistributedDataParallel(Gpt(config), broadcast_buffers=False)
    if len(sys.argv) > 1:
        import thinpipe.torch                                   # <--
        hook = thinpipe.torch.ddp_hook(model, sys.argv[1])      # <--
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = batches(config, rank)
    begin = time.perf_counter()
    for step in range(STEPS):
        input_ids, labels = next(data)
        loss = model(input_ids, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and (step + 1) % 20 == 0:
            print(f"step {step + 1}: loss {loss.item():.2f}, "
                  f"{1e3 * (time.perf_counter() - begin) / (step + 1):.0f} ms a step")
    if rank == 0 and len(sys.argv) > 1:
        print(hook.report())                                    # <--
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
