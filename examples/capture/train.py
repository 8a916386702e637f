"""A small data-parallel training that records its gradients; docs/capture.md explains it.

    torchrun --nproc_per_node=2 train.py

It learns to name the majority symbol of a sequence, with an embedding, a transformer block, an LSTM
and a linear layer. The capture needs only the lines marked with an arrow.
"""
import torch
import torch.distributed
from torch import nn

import thinpipe_capture  # <--


class Majority(nn.Module):
    def __init__(self, symbols=10, width=32):
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.cells = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, sequence):
        states, _ = self.cells(self.block(self.embedding(sequence)))
        return self.out(states[:, -1])


def batches(rank, size=32, length=12, symbols=10):
    random = torch.Generator().manual_seed(rank)
    while True:
        majority = torch.randint(symbols, (size, 1), generator=random)
        noise = torch.randint(symbols, (size, length), generator=random)
        kept = torch.rand(size, length, generator=random) < 0.6
        yield torch.where(kept, majority, noise), majority[:, 0]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(Majority())
    capture = thinpipe_capture.ddp(model, "trace", steps=8, every=10)  # <--
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = batches(torch.distributed.get_rank())
    for step in range(120):
        sequence, majority = next(data)
        loss = nn.functional.cross_entropy(model(sequence), majority)
        capture.loss(loss)  # <-- optional: adds the loss to the trace
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 and torch.distributed.get_rank() == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
