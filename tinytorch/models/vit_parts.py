# Generated from modules/13_transformers/vit_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 670a6ed710f2043f369c8355de1e389adf2deb318b9fdb2ec19a74c248e6ad29  body sha256 4ab983d711414df25529c1d976b67ce258f66451416c630612cfe8aac810e99e  # noqa: E501
"""models.vit_parts: built in module 13_transformers."""

from tinytorch.core.joining import cat
from tinytorch.nn.embedding_parts import check_patches
from tinytorch.nn.resize import interpolate

__all__ = ["places_for", "resized_places"]


def resized_places(places, old, new):
    """`places` (1, 1 + T, d), [CLS] first, learned on a grid old = (rows, columns), for a grid `new`."""
    if old == new:
        return places
    first, grid = places[:, :1], places[:, 1:]
    picture = grid.reshape(1, *old, -1).permute(0, 3, 1, 2)                    # (1, d, rows, columns)
    picture = interpolate(picture, size=new, mode="bicubic", align_corners=False)
    return cat([first, picture.flatten(2).transpose(1, 2)], 1)


def places_for(vit, x):
    """The places (1, 1 + T, d) of the VisionTransformer `vit` for pictures x (B, C, H, W) of any size."""
    patches = vit.patch_embed
    check_patches(x, patches.in_channels, patches.patch_size)
    old, new = [tuple([n // p for n, p in zip(sides, patches.patch_size)])
                for sides in (patches.img_size, x.shape[2:])]
    return resized_places(vit.pos_embed, old, new)
