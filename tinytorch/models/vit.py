# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a518c33cdebd19caee24350cd6e8bbbe9b7982b084512206b8ef9f3b3e69ad26  body sha256 648f95f1cc5e36b85e415058e9b7d946b915d3fd60157ce461a83144c9087ad4  # noqa: E501
"""models.vit: built in module 13_transformers."""

from tinytorch.core.creation import zeros
from tinytorch.core.joining import cat
from tinytorch.models.block_parts import init_weights
from tinytorch.models.transformer import TransformerEncoder
from tinytorch.models.vit_parts import places_for
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.patches import PatchEmbedding
from tinytorch.nn.simple_layers import Identity

__all__ = ["VisionTransformer"]


class VisionTransformer(Module):
    """A picture as a sentence of patches, with [CLS] in front: (B, C, H, W) to (B, num_classes) scores.

    img_size, patch_size: a number or (height, width). d_ff: 4 d_model if None. num_classes=0: no head, the
    vector of [CLS] itself. block: options of TransformerBlock. Dosovitskiy et al., arXiv:2010.11929.
    """
    def __init__(self, img_size=224, patch_size=16, in_channels=3, num_classes=1000, d_model=768,
                 num_layers=12, num_heads=12, d_ff=None, dropout=0.0, *, norm="pre", activation="gelu",
                 eps=1e-6, **block):
        super().__init__()
        self.patch_embed = PatchEmbedding(img_size, patch_size, in_channels, d_model)
        self.cls_token = Parameter(zeros(1, 1, d_model))
        self.pos_embed = Parameter(zeros(1, 1 + self.patch_embed.n_patches, d_model))
        self.dropout = Dropout(dropout)
        self.encoder = TransformerEncoder(num_layers, d_model, num_heads, d_ff or 4 * d_model, dropout,
                                          norm=norm, activation=activation, eps=eps, **block)
        self.head = Linear(d_model, num_classes) if num_classes else Identity()
        init_weights(self)

    def forward_features(self, x):
        """The vectors of [CLS] and of each patch, (B, 1 + T, d_model). Also for pictures of another size."""
        pos_embed = places_for(self, x)
        x = self.patch_embed(x)                                                # (B, T, d_model)
        first = self.cls_token.expand(len(x), -1, -1)
        x = self.dropout(cat([first, x], 1) + pos_embed)
        return self.encoder(x)

    def forward(self, x):
        """Pictures (B, C, H, W) to a score for each class, (B, num_classes)."""
        return self.head(self.forward_features(x)[:, 0])
