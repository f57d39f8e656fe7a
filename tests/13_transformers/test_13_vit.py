"""VisionTransformer: against plain NumPy; patches, [CLS], places, and pictures of another size."""
import re

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.models import VisionTransformer

from .support import Plain, check_gradients, drawn, near, rng, stirred

C, K, D, L, H = 3, 5, 8, 2, 2
SHAPES = {"square": (dict(), (8, 8)), "oblong": (dict(img_size=(8, 12), patch_size=(4, 2)), (8, 12)),
          "post": (dict(norm="post", activation="relu"), (8, 8)),
          "others": (dict(d_ff=12, eps=.2, activation="gelu_tanh", bias=False), (8, 8)),
          "no head": (dict(num_classes=0), (8, 8))}


def vit(img_size=8, patch_size=4, num_classes=K, **how):
    torch.manual_seed(0)
    return stirred(VisionTransformer(img_size, patch_size, C, num_classes, D, L, H, **how))


def plain_vit(model, picture, places=None, norm="pre", **how):
    """Vectors (1 + T, d) of one picture (C, H, W): [CLS] and patches, row by row, + places, the blocks."""
    p = Plain(model, H, None, how.get("activation", "gelu"), norm == "pre", how.get("eps", 1e-6))
    weight, bias = [p.p[f"patch_embed.projection.{n}"] for n in ("weight", "bias")]
    h, w = weight.shape[2:]
    x = [p.p["cls_token"][0, 0]]
    for i in range(0, picture.shape[1], h):
        for j in range(0, picture.shape[2], w):
            x.append((weight * picture[:, i:i + h, j:j + w]).sum((1, 2, 3)) + bias)
    x = p.stack("encoder.", np.array(x) + (p.p["pos_embed"][0] if places is None else places))
    return x, p.linear("head", x[0]) if "head.weight" in p.p else x[0]


@pytest.fixture(autouse=True)
def same_numbers(): torch.manual_seed(0)


@pytest.mark.parametrize("how, size", SHAPES.values(), ids=SHAPES)
def test_vit_is_its_formula(how, size):
    """All vectors, and the scores by that of [CLS]"""
    model, x = vit(**how), drawn(2, C, *size)
    vectors, scores = zip(*[plain_vit(model, picture, **how) for picture in x.numpy()])
    near(model.forward_features(x), vectors)
    near(model(x), scores)


def test_scores_are_those_of_the_first_vector():
    """Not the mean, not the last; num_classes=0 gives the vector itself"""
    model, x = vit(), drawn(2, C, 8, 8)
    near(model(x), model.head(model.forward_features(x)[:, 0]))
    bare = vit(num_classes=0)
    near(bare(x), bare.forward_features(x)[:, 0])
    assert [n for n, _ in bare.named_parameters() if n.startswith("head")] == []
    assert model(x).shape == (2, K) and bare(x).shape == (2, D)


def test_where_a_patch_stands_counts_by_its_place_alone():
    """Two patches exchanged move the scores; with their places exchanged, too, they do not"""
    model, x = vit(), drawn(2, C, 8, 8)
    other = x.clone()
    other[:, :, :4, :4], other[:, :, 4:, :4] = x[:, :, 4:, :4], x[:, :, :4, :4]      # the first and the third
    assert abs(model(other) - model(x)).max().item() > 1e-3
    want = model(x)
    model.pos_embed.data[:, [1, 3]] = model.pos_embed.data[:, [3, 1]]
    near(model(other), want)


def test_pictures_do_not_see_each_other():
    model, x = vit(), drawn(3, C, 8, 8)
    near(model(x), torch.cat([model(picture.unsqueeze(0)) for picture in x], 0))
    other = x.clone()
    other[1] = 0.
    near(model(other)[[0, 2]], model(x)[[0, 2]])


def test_every_pixel_counts():
    """The slope of the scores is 0 at none"""
    x = torch.tensor(rng.normal(size=(1, C, 8, 8)), requires_grad=True)
    (vit()(x) * drawn(1, K)).sum().backward()
    assert (x.grad != 0).all()


# ---- another size ----

def cubic(x, a=-.75):
    """Keys' kernel, as torch's bicubic has it."""
    x = abs(x)
    near_by, far = (a + 2) * x**3 - (a + 3) * x**2 + 1, a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x <= 1, near_by, np.where(x < 2, far, 0))


def matrix(n, m):
    """(m, n): each of m points in a line of n, by the four around it; past an end its number goes on."""
    out = np.zeros((m, n))
    for i in range(m):
        at = (i + .5) * n / m - .5
        for k in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            out[i, np.clip(k, 0, n - 1)] += cubic(at - k)
    return out


@pytest.mark.parametrize("size", [(16, 16), (12, 8), (4, 4), (8, 20), (8, 8)], ids=str)
def test_another_size(size):
    """The learned places, as a small picture, are resized; [CLS]'s stays"""
    model, x = vit(), drawn(2, C, *size)
    grid = model.pos_embed.detach().numpy()[0, 1:].reshape(2, 2, D)
    rows, columns = matrix(2, size[0] // 4), matrix(2, size[1] // 4)
    grid = np.einsum("ai,bj,ijd->abd", rows, columns, grid).reshape(-1, D)
    places = np.concatenate([model.pos_embed.detach().numpy()[0, :1], grid])
    vectors, scores = zip(*[plain_vit(model, picture, places) for picture in x.numpy()])
    near(model.forward_features(x), vectors, 1e-6)
    near(model(x), scores, 1e-6)


def test_places_of_an_oblong_grid():
    """Rows and columns are not exchanged: resized along the columns alone"""
    model = vit(img_size=(8, 12))                                       # 2 rows of 3
    x, grid = drawn(1, C, 8, 24), model.pos_embed.detach().numpy()[0, 1:].reshape(2, 3, D)
    places = np.concatenate([model.pos_embed.detach().numpy()[0, :1],
                             np.einsum("bj,ijd->ibd", matrix(3, 6), grid).reshape(-1, D)])
    near(model.forward_features(x), [plain_vit(model, x.numpy()[0], places)[0]], 1e-6)


def test_places_learn_at_another_size():
    """The gradient goes back through the resizing"""
    model = vit()
    model(drawn(1, C, 16, 8)).sum().backward()
    assert (model.pos_embed.grad != 0).any(-1).all()


# ---- how it begins, and learns ----

def test_how_many_parameters():
    """ViT-B/16 has 86,567,656"""
    def size(side, patch, c, k, d, l):
        t = (side // patch) ** 2
        return (c * patch**2 * d + d) + d + (t + 1) * d + l * (12 * d**2 + 13 * d) + 2 * d + d * k + k
    assert size(224, 16, 3, 1000, 768, 12) == 86_567_656
    model = VisionTransformer(8, 4, C, K, D, L, H)
    assert sum(p.numel() for p in model.parameters()) == size(8, 4, C, K, D, L)
    assert model.encoder.blocks[0].feedforward.linear1.weight.shape == (4 * D, D)
    assert model.pos_embed.shape == (1, 5, D) and model.cls_token.shape == (1, 1, D)


def test_the_start_of_weights():
    """Also of [CLS] and places: none is left at 0; biases are"""
    torch.manual_seed(0)
    model = VisionTransformer(32, 4, C, 50, 64, 1, 4)
    for name, p in model.named_parameters():
        if p.ndim == 1:
            assert (p == (1 if "norm" in name and "weight" in name else 0)).all(), name
        else:
            assert p.std().item() == pytest.approx(.02, rel=.06 if p.numel() > 64 else .4), name


def test_dropout():
    """None unless told; then of words and places, and in the blocks"""
    model = VisionTransformer(8, 4, C, K, D, L, H)
    x = torch.randn(2, C, 8, 8)
    near(model(x), model.eval()(x))
    model = VisionTransformer(8, 4, C, K, D, L, H, dropout=1.0)
    model.encoder.norm.bias.data[...] = 2.
    near(model.forward_features(x), np.full((2, 5, D), 2.))
    assert model.encoder.blocks[1].dropout1.p == 1.0


def test_gradients_of_all_parameters():
    model, x, g = vit(img_size=(8, 4)), drawn(2, C, 8, 4), drawn(2, K)
    check_gradients(model, lambda: (model(x) * g).sum())


# ---- errors ----

def test_refused():
    """Pictures of other channels, or that are not whole patches, or no batch; bad options"""
    model = VisionTransformer(8, 4, C, K, D, L, H)
    for shape in (2, 1, 8, 8), (2, C, 9, 8), (2, C, 8, 6), (C, 8, 8), (2, C, 3, 8):
        with pytest.raises(ValueError, match=f"{re.escape(str(shape))}.*multiple"):
            model(torch.randn(*shape))
    for how, says in ((dict(img_size=9), "multiple"), (dict(norm="mid"), "'mid'"),
                      (dict(activation="tanh"), "'tanh'"), (dict(num_heads=3), "multiple")):
        with pytest.raises(ValueError, match=says):
            VisionTransformer(**dict(img_size=8, patch_size=4, d_model=D, num_layers=1, num_heads=H) | how)
