"""Transformers: TinyTorch beside PyTorch eager (see race.py).

    python benchmarks/transformers.py --threads 1 2 [--rounds 15] [--only GPT]

Before the race both libraries get the same weights and must find the same loss and gradients (`check_equal`).
The memory of the training steps: transformer_memory.py.
"""

import sys

import numpy as np
import race

SMALL = "GPT step, 4 layers, 4 heads, d 128, T 64, B 12"
LARGE = "GPT step, 6 layers, 6 heads, d 384, T 256, B 8"
GPT_SIZES = {SMALL: (65, 128, 4, 4, 64, 12), LARGE: (65, 384, 6, 6, 256, 8)}


def gpt(torch, vocab, d, layers, heads, t):
    """The language model of either library."""
    if torch.__name__ == "torch":
        from pytorch_models import GPT
        return GPT(vocab, d, layers, heads, t)
    from tinytorch.models import GPTDecoder
    return GPTDecoder(vocab, d, layers, heads, 4 * d, t, dropout=0.0)


def bert(torch, vocab=30522, d=768, layers=12, heads=12, t=128):
    """The encoder of either library, of BERT-base's size."""
    if torch.__name__ == "torch":
        from pytorch_models import Bert
        return Bert(vocab, d, layers, heads, t)
    from tinytorch.models import BERTEncoder
    return BERTEncoder(vocab, d, layers, heads, 4 * d, t, dropout=0.0)


def vit(torch, size=224, patch=16, d=192, layers=12, heads=3):
    """The vision transformer of either library, ViT-Tiny."""
    if torch.__name__ == "torch":
        from pytorch_models import ViT
        return ViT(size, patch, d, layers, heads)
    from tinytorch.models import VisionTransformer
    return VisionTransformer(size, patch, d_model=d, num_layers=layers, num_heads=heads)


def texts(torch, vocab, b, t):
    """(ids, the ids after them), (b, t) each."""
    ids = np.random.default_rng(0).integers(0, vocab, (b, t + 1))
    return torch.tensor(ids[:, :-1].tolist()), torch.tensor(ids[:, 1:].tolist())


def pictures(torch, size, b):
    """(pictures (b, 3, size, size), their classes (b,))."""
    rng = np.random.default_rng(0)
    return (torch.tensor(rng.standard_normal((b, 3, size, size), dtype="float32")),
            torch.tensor(rng.integers(0, 1000, b)))


def loss_of(torch, model, x, target):
    """The cross entropy of the model's scores, (..., classes)."""
    scores = model(x)
    return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), target.reshape(-1))


def train_step(torch, vocab, d, layers, heads, t, b):
    """A function that trains the language model by one batch: forward, loss, backward, AdamW."""
    model, (x, target) = gpt(torch, vocab, d, layers, heads, t), texts(torch, vocab, b, t)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        loss_of(torch, model, x, target).backward()
        optimizer.step()

    return step


def reading(torch, t=128):
    """A function that reads one text, without gradients."""
    model, (ids, _) = bert(torch).eval(), texts(torch, 30522, 1, t)
    return torch.no_grad()(lambda: model(ids))


def looking(torch):
    """A function that looks at four pictures: forward, loss, backward."""
    model, (x, target) = vit(torch), pictures(torch, 224, 4)

    def both_ways():
        model.zero_grad()
        loss_of(torch, model, x, target).backward()

    return both_ways


def measures(torch):
    """(name, function) of each line of the table."""
    torch.manual_seed(0)
    for name, sizes in GPT_SIZES.items():
        yield name, train_step(torch, *sizes)
    yield "BERT-base forward, T 128, B 1", reading(torch)
    yield "ViT-Tiny forward and backward, B 4", looking(torch)


def check_equal(make, x, target):
    """The same weights in both libraries' models: AssertionError unless loss and gradients are the same."""
    import torch
    from pytorch_models import from_ours

    import tinytorch

    ours, theirs = make(tinytorch), make(torch)
    names = [name for name, _ in theirs.named_parameters()]
    own = dict(ours.named_parameters())
    theirs.load_state_dict(from_ours(names, lambda name: own[name].data))
    losses = [loss_of(library, model, library.tensor(x), library.tensor(target))
              for library, model in ((tinytorch, ours), (torch, theirs))]
    for loss in losses:
        loss.backward()
    wanted = from_ours(names, lambda name: own[name].grad.data)
    torch.testing.assert_close(losses[1].item(), losses[0].item(), rtol=1e-5, atol=0)
    for name, p in theirs.named_parameters():
        worst = (p.grad - wanted[name]).abs().max() / p.grad.abs().max()
        assert worst < 1e-5, f"{name}: the gradients differ by {worst:.1e} of the largest"


def check_all():
    """`check_equal` for small models of each kind, and for the first of the training steps."""
    def ints(below, *shape): return np.random.default_rng(1).integers(1, below, shape).tolist()

    vocab, *sizes, t, b = GPT_SIZES[SMALL]
    check_equal(lambda torch: gpt(torch, vocab, *sizes, t), ints(vocab, b, t), ints(vocab, b, t))
    check_equal(lambda torch: bert(torch, 100, 64, 2, 4, 16), ints(100, 2, 16), ints(64, 2, 16))
    image = np.random.default_rng(1).standard_normal((2, 3, 64, 64), dtype="float32")
    check_equal(lambda torch: vit(torch, 64, 16, 64, 2, 4), image, ints(1000, 2))
    print("the same weights: the same losses and gradients to 1e-5 in both libraries")


if __name__ == "__main__":
    if "--child" not in sys.argv:
        check_all()
    race.main(__file__, measures, "transformers")
