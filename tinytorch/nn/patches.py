# Generated from modules/11_embeddings/embeddings_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a3ccf52751dd41b2f34b41f4cd62c34bc18776de5be34d6dd7d192fddbb4e2b0  body sha256 45d14c6718eebbc0ca212ec79fd07a7dedb3655bfff1a0b5f98825d772e25e42  # noqa: E501
"""nn.patches: built in module 11_embeddings."""

from tinytorch.core.creation import empty
from tinytorch.nn.embedding_parts import check_patches, sides
from tinytorch.nn.module import Module
from tinytorch.nn.spatial_layers import Conv2d

__all__ = ["PatchEmbedding"]


class PatchEmbedding(Module):
    """Pictures (B, C, H, W) as sentences of patches, (B, T, d_model): ViT's input (Dosovitskiy et al., 2020).

    img_size, patch_size: one number, or (height, width). `n_patches` is T for pictures of img_size; others
    of whole patches are taken as well. embed_dim is another name for d_model.
    """
    def __init__(self, img_size=224, patch_size=16, in_channels=3, d_model=768, embed_dim=None):
        super().__init__()
        self.img_size, self.patch_size = sides(img_size), sides(patch_size)
        check_patches(empty(0, in_channels, *self.img_size), in_channels, self.patch_size)
        self.in_channels, self.d_model = in_channels, d_model if embed_dim is None else embed_dim
        self.n_patches = (self.img_size[0] // self.patch_size[0]) * (self.img_size[1] // self.patch_size[1])
        self.projection = Conv2d(in_channels, self.d_model, self.patch_size, stride=self.patch_size)

    def forward(self, x):
        """(B, C, H, W) to (B, T, d_model), patch by patch, row by row.

        Raises ValueError for other channels, and for sizes that are no multiples of the patch size.
        """
        check_patches(x, self.in_channels, self.patch_size)
        return self.projection(x).flatten(2).transpose(1, 2)
