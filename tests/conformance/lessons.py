"""Programs of the kind that lessons on transformers show, written once for torch and for tinytorch.

A program builds `model` (or a dictionary of them) and `inputs`, prints shapes and tables, and says with
`answer(model, *inputs)` what is to be compared. It may use `numbers(*shape)` and `words(*shape)`, arrays that
are the same each time, and `Heads(d_model, num_heads)`, which is MultiHeadAttention.
"""

HEAD = """
import {framework} as torch
import {framework}.nn as nn
"""

LAYER = HEAD + """
class Layer(nn.Module):
    def __init__(self, width, heads, hidden, dropout=0.1):
        super().__init__()
        self.look = Heads(width, heads)
        self.think = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout),
                                   nn.Linear(hidden, width))
        self.after_look, self.after_think = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        found, weights = self.look(x, mask)
        x = self.after_look(x + self.drop(found))
        return self.after_think(x + self.drop(self.think(x)))

class Stack(nn.Module):
    def __init__(self, depth=2, width=8, heads=2, hidden=16):
        super().__init__()
        self.layers = nn.ModuleList([Layer(width, heads, hidden) for _ in range(depth)])

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x, mask)
        return x
"""

PATCHES = """
class Patches(nn.Module):
    def __init__(self, side=8, patch=4, channels=3, width=8):
        super().__init__()
        self.count = (side // patch) ** 2
        self.cut = nn.Conv2d(channels, width, kernel_size=patch, stride=patch)

    def forward(self, pictures):
        return self.cut(pictures).flatten(2).transpose(1, 2)
"""

PROGRAMS = {
    "one encoder layer": LAYER + """
model, inputs = Layer(8, 2, 32), [torch.tensor(numbers(2, 5, 8))]
def answer(model, x): return [model(x)]
print(model(*inputs).shape)
""",

    "a stack with a triangle of ones": LAYER + """
model, x = Stack(depth=3), torch.tensor(numbers(2, 6, 8))
inputs = [x, torch.tril(torch.ones(6, 6))]
def answer(model, x, ones):
    later = x.clone()
    later[:, 4:] = 5.0                                # nobody before place 4 may notice
    assert torch.allclose(model(x, ones)[:, :4], model(later, ones)[:, :4], atol=1e-5)
    assert not torch.allclose(model(x)[:, :4], model(later)[:, :4], atol=1e-3)
    return [model(x), model(x, ones)]
print(model(x).shape, model(x, inputs[1]).shape)
""",

    "who may see whom": HEAD + """
n = 4
everybody, earlier = torch.ones(n, n), torch.tril(torch.ones(n, n))
for title, mask in ("both ways", everybody), ("one way", earlier):
    print(title, "1 = may look:")
    print(mask)
print(earlier.sum(dim=1).tolist(), torch.triu(torch.ones(n, n), diagonal=1).bool().tolist())
""",

    "words hidden for a model to guess": HEAD + """
MASK = 3
def hide(ids, share):
    labels = ids.clone()
    hidden = torch.bernoulli(torch.full(labels.shape, share)).bool()
    labels[~hidden] = -100
    ids[hidden] = MASK
    return ids, labels, hidden

for share in 0.0, 1.0:
    ids, labels, _ = hide(torch.tensor(words(2, 5)), share)
    print(ids.tolist(), labels.tolist())
before = torch.tensor(words(100, 100))
ids, labels, hidden = hide(before.clone(), 0.15)
print(bool(((labels != -100) == hidden).all()), bool((labels[hidden] == before[hidden]).all()),
      bool((ids[hidden] == MASK).all()), bool((ids[~hidden] == before[~hidden]).all()),
      0.13 < hidden.float().mean().item() < 0.17)
""",

    "words hidden, but no special ones": HEAD + """
ids = torch.tensor(words(3, 6))
ids[:, 0], ids[:, -1] = 101, 102
before, labels = ids.clone(), ids.clone()
draw = torch.tensor(numbers(3, 6)).abs()
ordinary = (ids != 101) & (ids != 102) & (ids != 0)
chosen = (draw < 0.5) & ordinary
ids[chosen] = 103
labels[~chosen] = -100
print(before.tolist(), ids.tolist(), labels.tolist(), sep="\\n")
loss = nn.CrossEntropyLoss()(torch.tensor(numbers(18, 104)), labels.reshape(-1))
print(f"{loss.item():.4f}", torch.rand(ids.shape).shape)
""",

    "pictures as sentences": HEAD + PATCHES + """
model, inputs = Patches(), [torch.tensor(numbers(2, 3, 8, 8))]
def answer(model, x): return [model(x)]
print(model(*inputs).shape, model.count)
""",

    "a picture's class, own layers": LAYER + PATCHES + """
class Picture(nn.Module):
    def __init__(self, width=8, classes=5):
        super().__init__()
        self.patches = Patches(width=width)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, 1 + self.patches.count, width))
        self.stack, self.norm = Stack(2, width), nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), self.patches(x)], dim=1)
        return self.head(self.norm(self.stack(x + self.places))[:, 0])

model, inputs = Picture(), [torch.tensor(numbers(2, 3, 8, 8))]
def answer(model, x): return [model(x)]
print(model(*inputs).shape)
""",

    "a picture's class, nn's layers": HEAD + PATCHES + """
class Picture(nn.Module):
    def __init__(self, width=8, heads=2, depth=2, classes=5):
        super().__init__()
        self.patches = Patches(width=width)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, self.patches.count + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, dim_feedforward=4 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        found = self.patches(x)
        x = torch.cat([self.first.expand(x.size(0), -1, -1), found], dim=1) + self.places
        return self.head(self.encoder(x)[:, 0])

model, inputs = Picture(), [torch.tensor(numbers(2, 3, 8, 8))]
def answer(model, x): return [model(x)]
print(model(*inputs).shape, model.patches(*inputs).shape)
""",

    "step by step, or all at once": HEAD + """
model = nn.ModuleDict({"steps": torch.nn.LSTM(8, 8, batch_first=True),
                       "at once": torch.nn.MultiheadAttention(8, num_heads=2, batch_first=True)})
inputs = [torch.tensor(numbers(3, 7, 8))]
def answer(model, x):
    out, (h, c) = model["steps"](x)
    return [out, h, c, *model["at once"](x, x, x)]
print([part.shape for part in answer(model, *inputs)])
""",

    "waves for places": HEAD + """
import numpy as np

class Waves(nn.Module):
    def __init__(self, width, longest=50, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(p=dropout)
        table = torch.zeros(longest, width)
        place = torch.arange(0, longest).unsqueeze(1).float()
        speed = torch.exp(torch.arange(0, width, 2).float() * (-np.log(10000.0) / width))
        table[:, 0::2] = torch.sin(place * speed)
        table[:, 1::2] = torch.cos(place * speed)
        self.register_buffer("table", table.unsqueeze(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(x + self.table[:, :x.size(1), :])

model, inputs = Waves(16), [torch.tensor(numbers(2, 9, 16))]
def answer(model, x): return [model(x)]
rows = model.table[0].numpy()
print(rows.shape, len(list(model.parameters())), [name for name, _ in model.named_buffers()])
print(rows[3, :6].round(3), f"{np.dot(rows[0], rows[1]) / np.linalg.norm(rows[0]) ** 2:.3f}")
""",

    "places learned": HEAD + """
class Places(nn.Module):
    def __init__(self, longest: int, width: int):
        super().__init__()
        self.table = nn.Embedding(longest, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.table(torch.arange(x.size(1), device=x.device))

model, inputs = Places(12, 8), [torch.tensor(numbers(2, 5, 8))]
def answer(model, x): return [model(x)]
print(model(*inputs).shape)
""",

    "word, place and segment": HEAD + """
class Input(nn.Module):
    def __init__(self, vocabulary, width, longest):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width, padding_idx=0)
        self.place, self.segment = nn.Embedding(longest, width), nn.Embedding(2, width)
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)

    def forward(self, ids, segments=None):
        x = self.word(ids) + self.place(torch.arange(ids.size(1), device=ids.device))
        if segments is not None:
            x = x + self.segment(segments)
        return self.drop(self.norm(x))

model, ids = Input(100, 8, 12), torch.tensor(words(2, 6))
inputs = [ids, (torch.arange(6) > 2).long().expand(2, 6)]
def answer(model, ids, segments): return [model(ids), model(ids, segments)]
print(model(ids).shape, model(*inputs).shape)
""",

    "a text, read by nn's attention": HEAD + """
import {framework}.nn.functional as F

class Layer(nn.Module):
    def __init__(self, width, heads, hidden, dropout=0.1):
        super().__init__()
        self.look = nn.MultiheadAttention(embed_dim=width, num_heads=heads, dropout=dropout, batch_first=True)
        self.wide, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding=None):
        found, weights = self.look(query=x, key=x, value=x, key_padding_mask=padding)
        x = self.norms[0](x + self.drop(found))
        return self.norms[1](x + self.drop(self.narrow(F.relu(self.wide(x)))))

class Reader(nn.Module):
    def __init__(self, vocabulary, width=8, depth=2):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width, padding_idx=0)
        self.layers = nn.ModuleList([Layer(width, 2, 16) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x, padding = self.word(ids), ids == 0
        for layer in self.layers:
            x = layer(x, padding=padding)
        return self.norm(x)

model, ids = Reader(100), torch.tensor(words(3, 6))
ids[1, 4:] = 0
inputs = [ids]
def answer(model, ids): return [model(ids)]
print(ids.shape, model(ids).shape, f"{sum(p.numel() for p in model.parameters()):,}")
print(torch.randint(1, 100, (3, 6)).shape)
""",

    "a layer that writes": HEAD + """
class Writer(nn.Module):
    def __init__(self, width, heads, hidden, dropout=0.1):
        super().__init__()
        self.own = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.other = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.think = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout),
                                   nn.Linear(hidden, width))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(dropout)

    def future(self, length: int, device) -> torch.Tensor:
        later = torch.triu(torch.ones(length, length, device=device), diagonal=1)
        return later.masked_fill(later == 1, float("-inf"))

    def forward(self, written, read, own_padding=None, other_padding=None):
        found, _ = self.own(written, written, written, key_padding_mask=own_padding,
                            attn_mask=self.future(written.size(1), written.device))
        x = self.norm1(written + self.drop(found))
        found, weights = self.other(x, read, read, key_padding_mask=other_padding)
        x = self.norm2(x + self.drop(found))
        return self.norm3(x + self.drop(self.think(x))), weights

model, inputs = Writer(8, 2, 16), [torch.tensor(numbers(2, 4, 8)), torch.tensor(numbers(2, 6, 8) + 1)]
def answer(model, written, read):
    padding = torch.zeros(2, 6, dtype=torch.float32)
    padding[1, 4:] = float("-inf")
    return [*model(written, read), *model(written, read, None, padding)]
out, weights = model(*inputs)
print(out.shape, weights.shape)
print(model.future(3, "cpu"))
""",

    "a sentence, cut and numbered": HEAD + """
tokenizer = from_folder(FOLDER)
text = "The cat sat on the mats."
print(tokenizer.tokenize(text))
encoded = tokenizer(text, return_tensors="pt")
print(encoded["input_ids"], encoded["attention_mask"])
ids = encoded["input_ids"].clone()
ordinary = (ids != 2) & (ids != 3) & (ids != 0)
ids[ordinary & (torch.tensor(numbers(*ids.shape)) > 0)] = 4
print(ids.tolist(), encoded["input_ids"].tolist(), tokenizer.decode(ids[0]))
""",

    "what all against all costs": HEAD + """
def plain(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights

q, k, v = [torch.tensor(numbers(1, 2, 5, 4) + i) for i in range(3)]
out, weights = plain(q, k, v, torch.tril(torch.ones(5, 5)))
print([f"{x:.4f}" for x in [*out.flatten().tolist(), *weights.flatten().tolist()]])
print(f"{'length':<10} {'scores':^12} {'MB':>8}")
for length in 16, 64, 256:
    scores = torch.matmul(torch.randn(1, 8, length, 4), torch.randn(1, 8, length, 4).transpose(-2, -1))
    print(f"{length:<10} {f'{length}x{length}':^12} {scores.nelement() * scores.element_size() / 1e6:>8.3f}")
""",

    "how many words a model should read": HEAD + """
def best(parameters: float) -> float: return 20 * parameters

def count(width, depth, vocabulary):
    layer = nn.TransformerEncoderLayer(width, 2, 4 * width)
    return depth * sum(p.numel() for p in layer.parameters()) + vocabulary * width

for name, n in {"tiny": count(8, 2, 100), "small": count(64, 4, 1000), "GPT-3": 175e9}.items():
    print(f"{name:<8} {n:>12.1e} {best(n):>12.1e} {best(n) * 4 / 1e9:>10.3f} GB")
""",
}
