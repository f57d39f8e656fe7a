"""Transformers as PyTorch's users write them, eager: what benchmarks/transformers.py races against.

One Linear makes queries, keys and values, scaled_dot_product_attention does the rest. The names are those of
TinyTorch's models, so that weights can be copied: see `from_ours`.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, d, heads, causal):
        super().__init__()
        self.qkv, self.out_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = [part.view(b, t, self.heads, d // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(d, 2)]
        out = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out_proj(out.transpose(1, 2).reshape(b, t, d))


class FeedForward(nn.Module):
    def __init__(self, d, approximate):
        super().__init__()
        self.linear1, self.linear2, self.approximate = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), approximate

    def forward(self, x): return self.linear2(F.gelu(self.linear1(x), approximate=self.approximate))


class Block(nn.Module):
    def __init__(self, d, heads, eps=1e-5, pre=True, causal=False, approximate="none"):
        super().__init__()
        self.attention, self.feedforward = Attention(d, heads, causal), FeedForward(d, approximate)
        self.norm1, self.norm2, self.pre = nn.LayerNorm(d, eps), nn.LayerNorm(d, eps), pre

    def forward(self, x):
        if self.pre:
            x = x + self.attention(self.norm1(x))
            return x + self.feedforward(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feedforward(x))


class GPT(nn.Module):
    def __init__(self, vocab, d, layers, heads, t):
        super().__init__()
        self.token_embedding, self.position_embedding = nn.Embedding(vocab, d), nn.Embedding(t, d)
        self.blocks = nn.Sequential(*[Block(d, heads, causal=True, approximate="tanh")
                                      for _ in range(layers)])
        self.norm, self.output_proj = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding(torch.arange(ids.shape[1]))
        return self.output_proj(self.norm(self.blocks(x)))


class BertEmbedding(nn.Module):
    def __init__(self, vocab, d, t):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, d, padding_idx=0)
        self.position_embedding, self.token_type_embedding = nn.Embedding(t, d), nn.Embedding(2, d)
        self.norm = nn.LayerNorm(d, 1e-12)

    def forward(self, ids):
        return self.norm(self.token_embedding(ids) + self.token_type_embedding(torch.zeros_like(ids))
                         + self.position_embedding(torch.arange(ids.shape[1])))


class Bert(nn.Module):
    def __init__(self, vocab, d, layers, heads, t):
        super().__init__()
        self.embedding = BertEmbedding(vocab, d, t)
        self.blocks = nn.Sequential(*[Block(d, heads, 1e-12, pre=False) for _ in range(layers)])

    def forward(self, ids): return self.blocks(self.embedding(ids))


class ViT(nn.Module):
    def __init__(self, size, patch, d, layers, heads):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"projection": nn.Conv2d(3, d, patch, patch)})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (size // patch) ** 2, d))
        self.encoder = nn.ModuleDict({
            "blocks": nn.Sequential(*[Block(d, heads, 1e-6) for _ in range(layers)]),
            "norm": nn.LayerNorm(d, 1e-6)})
        self.head = nn.Linear(d, 1000)

    def forward(self, x):
        x = self.patch_embed["projection"](x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        return self.head(self.encoder["norm"](self.encoder["blocks"](x))[:, 0])


def from_ours(names, find):
    """{name of a parameter here: its array}, by find(name of it in TinyTorch's model)."""
    return {name: torch.cat([torch.from_numpy(find(name.replace("qkv", part)))
                             for part in ("q_proj", "k_proj", "v_proj")]) if "qkv" in name
            else torch.from_numpy(find(name)) for name in names}
