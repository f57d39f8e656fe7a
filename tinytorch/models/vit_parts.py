# Generated from modules/13_transformers/vit_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 b360517e9b8c7656f9080eb2386ae6d2273192058fb3f4756e97509bf3d0d68b  body sha256 3c73b5ebcc2f430c9162ae36e3fe80a7515e085b6ac67866da8d278f275241e5  # noqa: E501
"""models.vit_parts: built in module 13_transformers."""

from tinytorch.core.joining import cat
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


def places_for(vit, size):
    """The places (1, 1 + T, d) of the VisionTransformer `vit` for pictures of `size`, (height, width)."""
    patches = vit.patch_embed
    old, new = [tuple([n // p for n, p in zip(sides, patches.patch_size)])
                for sides in (patches.img_size, size)]
    return resized_places(vit.pos_embed, old, new)
