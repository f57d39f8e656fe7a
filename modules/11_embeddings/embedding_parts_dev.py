# %% [markdown]
# # What is refused
#
# Given code: nothing to solve here. The checks that the functions and layers of this module begin with.

# %%
#| default_exp nn.embedding_parts

# %%
from tinytorch.core.dtypes import int32, int64

# %%
#| export
def check_lookup(ids, weight):
    """Raise RuntimeError unless weight is (V, d) and ids are int64 or int32; TypeError for no tensors."""
    for name, x in ("ids", ids), ("weight", weight):
        if getattr(x, "dtype", None) is None:
            raise TypeError(f"embedding: the {name} are a {type(x).__name__}, and must be a tensor. Make one "
                            "of it: tensor(...).")
    if ids.dtype not in (int32, int64):
        raise RuntimeError(f"embedding: the ids are {ids.dtype} numbers. An id counts rows, so it must be an "
                           "int64 or int32. Convert them: ids.long().")
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: the weight has shape {weight.shape}, and must be a table of two "
                           "dimensions, (number of ids, features).")


def check_features(name, x, d_model):
    """Raise ValueError unless x is (..., T, d_model)."""
    if x.ndim < 2 or x.shape[-1] != d_model:
        raise ValueError(f"{name} of {x.shape}: it takes (..., T, {d_model}), tokens with {d_model} features "
                         f"each. Was it made with the d_model of this model?")


def check_offset(name, offset):
    """Raise ValueError for a position before the first."""
    if offset < 0:
        raise ValueError(f"{name}: offset={offset}, but the first position is 0. The offset is how many "
                         "tokens came before.")


def check_rotary(x, cos, sin, layout):
    """Raise RuntimeError unless x is (..., T, d) with d even, and cos and sin are (T, d/2)."""
    if layout not in ("halves", "pairs"):
        raise RuntimeError(f"apply_rotary: layout={layout!r}. There are 'halves', which pairs feature i with "
                           "i + d/2, and 'pairs', which pairs 2i with 2i + 1.")
    if x.ndim < 2 or x.shape[-1] % 2 or not cos.shape == sin.shape == (x.shape[-2], x.shape[-1] // 2):
        raise RuntimeError(f"apply_rotary of {x.shape} by cos {cos.shape} and sin {sin.shape}: x is (..., T, "
                           "d) with an even d, the others (T, d/2), an angle for each pair of a position.")


def even(name, dim):
    """dim, which must be an even number of at least 2: ValueError."""
    if dim < 2 or dim % 2:
        raise ValueError(f"{name}: dim={dim}. Features are turned in pairs, so it must be even, and at least "
                         "2.")
    return dim


def sides(value):
    """(height, width) of one number or of a pair."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def check_patches(x, channels, patch):
    """Raise ValueError unless x is (B, channels, H, W), and height and width are whole numbers of patches."""
    if x.ndim != 4 or x.shape[1] != channels or x.shape[2] % patch[0] or x.shape[3] % patch[1]:
        raise ValueError(f"PatchEmbedding of {x.shape}: it takes (B, {channels}, H, W) with H a multiple of "
                         f"{patch[0]} and W of {patch[1]}, the patch size; what is left over would be lost.")
