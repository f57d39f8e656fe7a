# %% [markdown]
# # Places for a picture of another size
#
# Given code: nothing to solve here. A ViT has learned a vector for each place of its grid of patches. A
# larger picture has more places: the learned ones are a small picture of d_model channels, and that can be
# resized like any other.

# %%
#| default_exp models.vit_parts

# %%
from tinytorch.core.joining import cat
from tinytorch.nn.embedding_parts import check_patches
from tinytorch.nn.resize import interpolate


# %%
#| export
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
