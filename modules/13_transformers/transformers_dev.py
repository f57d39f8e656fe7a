# %% [markdown]
# # Module 13: Transformers, the block and what it became
#
# Twelve layers of attention, one on top of the other, are shown eight letters, and are to say each of them
# again. Nothing has to be found out: the answer is the question. Three networks of the same parts, after
# forty steps of Adam (to guess blindly among 16 letters costs ln 16 = 2.77):
#
# ```
# x + what each part makes of norm(x)               loss 0.004
# norm(x + what each part makes of x)               loss 2.8
# what each part makes of norm(x), without x +      loss 2.8
# ```
#
# After forty steps the third is there at every rate that we tried. The usual story is that without `x +` the
# gradient vanishes. **Does it? Or what else is lost on the way up?** After exercise 4 you measure it.

# %%
#| default_exp models.transformer
from tito.lesson import expect, expect_error, measure, run_tests

# %%
import math

import numpy as np
from block_parts_dev import SwiGLU, activation_named, check_norm, init_weights, position_layer, word_head
from generation_dev import Writing, beams_of, check_room, evaluating, generator_of, unread
from masking_parts_dev import as_bools, check_share, is_any_of, ordinary_tokens
from norm_parts_dev import NormLayer, over_last, slope_of_weight, slope_of_x
from vit_parts_dev import places_for

from tinytorch.core.autograd import composite, vjp
from tinytorch.core.creation import multinomial, rand, randint, zeros, zeros_like
from tinytorch.core.joining import cat
from tinytorch.core.math import where
from tinytorch.core.op import op
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import softmax, tanh
from tinytorch.nn.attention import MultiHeadAttention, causal_mask, combine_masks
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.floats import floats_only
from tinytorch.nn.layers import Dropout, Linear
from tinytorch.nn.module import Module
from tinytorch.nn.parameter import Parameter
from tinytorch.nn.patches import PatchEmbedding
from tinytorch.nn.position_layers import RotaryEmbedding
from tinytorch.nn.positions import LearnedPositionalEmbedding
from tinytorch.nn.simple_layers import Identity

# %%
# Those were for your code. These are for the parts that are given: tests and measurements.
from copying_dev import costs, show_by_depth, train
from naming_dev import LETTERS, learn_names, show_names, write_names
from stand_ins_dev import Acts, ListCache, acting, alone, attending, lively, one, reading, saying, scores

from tinytorch.core.backend import Generator, manual_seed
from tinytorch.core.checks import check_gradient
from tinytorch.core.creation import randn
from tinytorch.nn.losses import cross_entropy

# %% [markdown]
# Four exercises make the *block*, of which all transformers are built. Four more make GPT; then yours invents
# names. Two make BERT, which reads. The last two, a translator's block and pictures, can wait.
#
# ## Exercise 1: every word to one scale
#
# Blocks add to vectors, and vectors that are added to grow. So each is brought back to one scale: mean 0,
# variance 1. The vector 1 2 3 4:
#
# ```
# minus the mean, 2.5          -1.5      -0.5      0.5      1.5
# their squares                 2.25      0.25     0.25     2.25     mean: 1.25, root: 1.118
# by the root                  -1.3416   -0.4472   0.4472   1.3416
# ```
#
# The *mean* of the squares: 5/4. (Statistics divides by d - 1: 5/3, and 1.1619 in place of 1.3416. So does
# the `var` of a tensor, and an array's does not: use neither.) For 101 102 103 104 the same comes out, and
# for 10 20 30 40. A vector of equal numbers would be 0/0; so a small ε is added to the variance, *inside* the
# root:
#
# $$ \mathrm{normal} = (x - \mu)\, s \qquad s = \frac{1}{\sqrt{\sigma^2 + \varepsilon}}
#    \qquad \mu, \sigma^2: \text{mean and variance of the last axis} $$
#
# x is (..., d), μ and s are (..., 1): every word has its own. (Batch norm, module 09, took them over the
# batch; here no word knows of any other.)
#
# Yours are two names, and no `return`: `scale`, which is s, and `normal`, the result. The lines below your
# region multiply by the weight, add the bias, and return all three: what stands behind the first is kept for
# the way back (`keeps=True`). Leave x as it is. `-`, `*`, `np.sqrt` and the method `mean(-1, keepdims=True)`
# know arrays and tensors; as in module 12 the same lines serve for both.

# %%
#| export nn.normalization
@op(keeps=True)
@floats_only
def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """Each vector (..., d) of x with mean 0 and variance 1; times weight (d,), plus bias (d,), if given.

    The variance is the mean of the squares, eps is added to it under the root. Ba et al., arXiv:1607.06450.

    >>> layer_norm(np.array([1., 2., 3., 4.])).round(4)
    array([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps)
    normal = centred * scale
    ### END SOLUTION
    out = normal if weight is None else normal * weight
    return out if bias is None else out + bias, normal, scale

# %% [markdown]
# The way back, given. With c = x - μ, normal = n = s c: if x changes by dx, c changes by dc = dx - mean(dx),
# s by -s² mean(n dc), and so n by s (dc - n mean(n dc)). Read for a gradient h, that is s (h - mean(h) - n
# mean(h n)): its mean and its part along n are taken away, as a shift and a stretch of x change nothing.

# %%
#| export nn.normalization
@vjp(layer_norm)
def _(kept, x, weight=None, bias=None, eps=1e-5):
    out, normal, scale = kept

    return lambda g: (lambda: slope_of_x(g, normal, scale, weight),
                      None if weight is None else lambda: slope_of_weight(g, normal), g)


@composite(layer_norm)
def _(*inputs, **params): return layer_norm.forward(*inputs, **params)[0]


class LayerNorm(NormLayer):
    """Each vector with mean 0 and variance 1, times `weight`, plus `bias`, that are learned.

    normalized_shape: d, or several last sizes. Ba et al., arXiv:1607.06450.
    """
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None,
                 dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)

    def forward(self, x):
        """x (..., d), normalised: the same shape. RuntimeError if its last size is not d."""
        return over_last(layer_norm, x, self.normalized_shape, (self.weight, self.bias), self.eps)

    def extra_repr(self): return f"{super().extra_repr()}, bias={self.bias is not None}"

# %%
class TestLayerNorm:
    """Every word to one scale"""
    want = [-1.341635, -0.447212, 0.447212, 1.341635]

    def setup_method(self):
        self.x = np.array([1., 2., 3., 4.])

    def kept(self, x):
        try:
            out = layer_norm.forward(x)
        except TypeError as error:
            if "None" in str(error):
                raise TypeError("no `return`, no weight, no bias in your region: the lines below do "
                                "these") from None
            raise
        if not isinstance(out, tuple) or len(out) != 3:
            raise TypeError("layer_norm: your region returned. Assign `normal` and `scale`, without "
                            "`return`: the lines below it go on with them")
        return out

    def norm(self, x, *args, **how):
        self.kept(x)
        return layer_norm(x, *args, **how)

    def test_by_hand(self):
        "1 2 3 4 becomes -1.3416 -0.4472 0.4472 1.3416"
        expect(self.norm(self.x), self.want, tol=1e-4,
               why="1.1619: the squares were divided by 3, d - 1; 1.2: by the variance, not by its root; "
                   "0.3651 first: the mean was not taken off; 0.5477: nor was it for the variance")

    def test_untouched(self):
        "The array that came in is left as it was"
        self.norm(self.x)
        expect(self.x, [1., 2., 3., 4.], why="written into an array of the caller: no `-=`")

    def test_shift_and_stretch(self):
        "101 102 103 104 and 10 20 30 40 become the same"
        for x in self.x + 100, self.x * 10:
            expect(self.norm(x), self.want, tol=1e-4, why="mean and root are those of the vector itself")

    def test_eps(self):
        "eps is added to the variance: with eps = 1.25 the root is that of 2.5, and equal numbers become 0"
        expect(self.norm(self.x, eps=1.25), [-0.948683, -0.316228, 0.316228, 0.948683], tol=1e-5,
               why="1.3416: eps was not used; 0.6334: it was added outside the root")
        expect(self.norm(self.x * 0 + 7), [0., 0., 0., 0.], why="nan: 0/0, eps keeps the root above 0")

    def test_small(self):
        "0.001 to 0.004 stay small: beside eps = 1e-5 their variance is an eighth"
        expect(self.norm(self.x / 1000), [-0.447214, -0.149071, 0.149071, 0.447214], tol=1e-5,
               why="1.3297: eps outside the root; 1.3416: without eps")

    def test_each_vector(self):
        "Each vector of (2, 2, 4) has a mean and a scale of its own, kept as (2, 2, 1)"
        x = np.array([[[1., 2., 3., 4.], [4., 3., 2., 1.]], [[7., 7., 7., 7.], [10., 20., 30., 40.]]])
        with saying("each word has its own mean and scale, (2, 2, 1): keepdims=True", ValueError):
            out, *kept = self.kept(x)
        expect(out[0], [self.want, self.want[::-1]], tol=1e-4,
               why="mean and variance of the last axis, of each word: not of the batch, not of all")
        expect(out[1], [[0.] * 4, self.want], tol=1e-4)
        expect(kept[1].shape, (2, 2, 1), why="scale: keepdims=True, for the way back")
        expect(kept[1][0], [[0.894424], [0.894424]], tol=1e-4, why="1.118: scale is 1 over the root")
        expect(kept[0][0, 0], self.want, tol=1e-4, why="`normal` is the result before weight and bias")

    def test_far_from_zero(self):
        "10,001 to 10,004 in float32 give the same numbers, in float32"
        out = self.norm((self.x + 10_000).astype("float32"))
        expect(out, self.want, tol=1e-3,
               why="mean of the squares less square of the mean: two numbers of a hundred million, of which "
                   "float32 keeps eight digits. Take off the mean first, and then square")
        expect(str(out.dtype), "float32")

    def test_weight_and_bias(self):
        "Then times weight, plus bias; integers are refused (given)"
        out = self.norm(self.x, np.array([1., 10., 100., 1000.]), np.array([0., 0., 1., 2.]))
        expect(out, [-1.341635, -4.472118, 45.721177, 1343.635], tol=1e-4)
        expect_error(RuntimeError, layer_norm, np.array([1, 2]), says=["int64"])

    def test_tensors(self):
        "The same lines run with tensors, for gradients of gradients"
        x = np.array([[1., 2., 4.], [0., 3., 1.]])
        with saying("(2, 3) and (2,): keepdims is missing; else: np.mean or np.var? They take arrays alone: "
                    "use x.mean, and np.sqrt", RuntimeError):
            out = self.kept(Tensor(x, requires_grad=True))[0]
        assert isinstance(out, Tensor) and out.requires_grad, \
            "of a tensor an array came out: use its own `mean`, `-`, `*`, and np.sqrt"
        expect(out, layer_norm(x), why="a tensor's own `var` and `std` divide by d - 1, an array's by d: "
               "take the mean of the squares, which serves for both")

    def test_way_back(self):
        "check_gradient of module 05 agrees on x, weight and bias"
        x, weight, bias = np.array([[1., 2., 4.], [0., 3., 1.]]), np.array([1., 2., 3.]), np.zeros(3)
        self.kept(x)
        check_gradient(layer_norm, x, weight, bias)

    def test_empty(self):
        "No words are no words: (0, 4) stays (0, 4)"
        expect(self.norm(np.zeros((0, 4))).shape, (0, 4))


run_tests(TestLayerNorm)

# %% [markdown]
# Given in `rms_norm_dev.py`: Llama's `RMSNorm`, x by the root of its mean square, 1 2 3 4 by √7.5 = 2.7386.
#
# ## Exercise 2: each place for itself
#
# Attention moves things between words, and what it gives is a mean, between what was there. The second half
# of a block makes something new of what has arrived, at each word alone: out to a wider vector, through a
# bend (the activation), and back. One number in, two in the middle, with weights 1 and -1 and biases 0 and 1;
# back with weights 2 and 10 and a bias of 0.5:
#
# ```
# x =  3:    3  -2    relu:   3  0     2*3 + 10*0 + 0.5 =  6.5       without relu: -13.5
# x = -3:   -3   4            0  4     2*0 + 10*4 + 0.5 = 40.5                      34.5
# ```
#
# $$ \mathrm{FFN}(x) = a(x W_1^\top + b_1)\, W_2^\top + b_2 \qquad W_1: (d_{ff}, d) \quad W_2: (d, d_{ff}) $$
#
# With d_ff = 4 d that is 8 d² weights, twice as many as attention has. Yours to put in order:
# `self.linear1`, `self.activation`, `self.linear2`, and `self.dropout`, which belongs on the wide vector,
# behind the bend.

# %%
#| export
class FeedForward(Module):
    """A network for each place alone: d_model numbers become d_ff, go through a bend, and come back.

    activation: "relu", "gelu", "gelu_tanh" or "silu".
    """
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu", bias=True):
        super().__init__()
        self.linear1, self.linear2 = Linear(d_model, d_ff, bias), Linear(d_ff, d_model, bias)
        self.activation, self.dropout = activation_named(activation), Dropout(dropout)

    def forward(self, x):
        """(..., d_model) to (..., d_model), place by place; dropout behind the bend."""
        ### BEGIN SOLUTION
        return self.linear2(self.dropout(self.activation(self.linear1(x))))
        ### END SOLUTION

# %%
class TestFeedForward:
    """Each place for itself"""
    def by_hand(self, activation="relu"):
        net = FeedForward(1, 2, 0.0, activation)
        rows = {"linear1.weight": [[1.], [-1.]], "linear1.bias": [0., 1.],
                "linear2.weight": [[2., 10.]], "linear2.bias": [0.5]}
        net.load_state_dict({name: np.float32(x) for name, x in rows.items()})
        return net

    def test_by_hand(self):
        "3 becomes 6.5, and -3 becomes 40.5"
        expect(self.by_hand()(Tensor([[3.], [-3.]])), [[6.5], [40.5]],
               why="-13.5 and 34.5: the activation is missing; 6.5 and 0: it comes (once more) at the end; "
                   "9.5 and 37.5: x was added, which is for exercise 3")

    def test_activation(self):
        "The bend is the one that was asked for: with silu 3 becomes 3.8313"
        expect(self.by_hand("silu")(Tensor([[3.]])), [[3.831349]], tol=1e-5,
               why="6.5: `relu`, and not `self.activation`; -13.5: none")

    def test_each_place(self):
        "Two sentences of three words: another last word changes no other"
        manual_seed(0)
        net, x = FeedForward(4, 8, 0.0), randn(2, 3, 4)
        other = cat([x[:, :2], x[:, 2:] + 1], 1)
        out, changed = net(x), net(other)
        expect(out.shape, (2, 3, 4), why="out to d_ff by `linear1`, back to d_model by `linear2`")
        expect(changed[:, :2], out[:, :2])
        assert float(abs(changed - out)[:, 2].max()) > 1e-3, "the last word changed, and its result did not"

    def test_dropout(self):
        "Dropout works on the wide vector, behind the bend"
        net = acting(self.by_hand(), dropout=lambda x: x + 1)         # so that its place shows
        expect(net(Tensor([[3.]])), [[18.5]],
               why="with a dropout that adds 1: 6.5, it is not used; 7.5, it comes last; 8.5, too early")
        expect(len(net.dropout.got), 1, why="dropout once, not twice")


run_tests(TestFeedForward)

# %% [markdown]
# Given: Llama's `SwiGLU`, with a *gate*: one half of the wide vector is multiplied by silu of the other.

# %%
#| export
def feed_forward(d_model, d_ff, dropout, activation, bias):
    """The feed-forward network with this activation: SwiGLU for "swiglu"."""
    if activation == "swiglu":
        return SwiGLU(d_model, d_ff, dropout, bias)
    return FeedForward(d_model, d_ff, dropout, activation, bias)

# %% [markdown]
# ## Exercise 3: add, do not replace
#
# Attention and feed-forward are the two *sub-layers* of a block. Say a sub-layer f replaces x by f(x), and
# two words hold 1 and 0. Attention, in which each gives 0.6 to itself and 0.4 to the other, makes 0.6 and 0.4
# of them: they differed by 1, now by 0.2. Twelve times, and it is 0.2¹² = 0.000000004: nobody knows who was
# who. Now *add* what f says, x + f(x): 1.6 and 0.4. They differ by 1.2, then 1.44: each word stays itself,
# and hears something of the others. That is the *residual connection*. The gradient has it, too: the slope
# of x + f(x) is 1 + f'.
#
# And the norm? Before the sub-layer (*pre*), so that f reads a vector of one scale and the sum is left
# alone; or after the sum (*post*, the paper of 2017). With x = 4, f(x) = 3x + 1, and a "norm" that halves:
#
# ```
# pre     x + f(norm(x))       4 + f(2)      =  4 + 7        =  11
# post    norm(x + f(x))       norm(4 + 13)  =  17/2         =  8.5
# ```
#
# Dropout works on what f gives, before it is added, and never on x. Leave x as it is.

# %%
#| export
def residual(x, sublayer, norm, dropout, pre=True):
    """x plus what the sub-layer makes of it: normalised before it goes in (pre), or the sum after (post).

    sublayer, norm, dropout: functions of a tensor (..., d_model) that keep its shape. dropout is applied to
    what the sub-layer gives.
    """
    ### BEGIN SOLUTION
    if pre:
        return x + dropout(sublayer(norm(x)))
    return norm(x + dropout(sublayer(x)))
    ### END SOLUTION

# %%
class TestResidual:
    """Add, do not replace"""
    def of_four(self, pre, dropout=lambda x: x):
        x = Tensor([[[4.]]])
        out = residual(x, lambda x: 3 * x + 1, lambda x: x / 2, dropout, pre)
        expect(x, [[[4.]]], why="x was written into: `x = x + ...`, and not `x += ...`")
        return out

    def test_pre(self):
        "Pre: 4 + f(2) = 11"
        expect(self.of_four(True), [[[11.]]],
               why="9: norm(x) was added, and not x; 7: x was not added; 8.5: that is post; "
                   "10.5: the norm is around f; 5.5: the sum was normed as well; 17: no norm")

    def test_post(self):
        "Post: norm(4 + f(4)) = 8.5"
        expect(self.of_four(False), [[[8.5]]],
               why="11: that is pre; 10.5: the norm is around f alone; 6.5: x was not added; "
                   "5.5: normed before as well; 17: no norm")

    def test_dropout(self):
        "Dropout works on what f gives: made 10 times as much, it is 74 for pre and 67 for post"
        expect(self.of_four(True, lambda x: x * 10), [[[74.]]],
               why="110: the sum went through dropout; 65: what goes into f; 47: x; 11: nothing did")
        expect(self.of_four(False, lambda x: x * 10), [[[67.]]],
               why="74: pre, whatever `pre` says; 85: the sum went through dropout; 62.5: what goes into f; "
                   "8.5: nothing did")

    def test_default(self):
        "Pre, if nothing is said"
        expect(residual(Tensor([4.]), lambda x: 3 * x + 1, lambda x: x / 2, lambda x: x), [11.])

    def test_way_past(self):
        "A sub-layer that says nothing leaves x as it is, and the gradient 1"
        x = Tensor([[1., 2., 4.]], requires_grad=True)
        out = residual(x, lambda x: x * 0, layer_norm, lambda x: x)
        expect(out, [[1., 2., 4.]], why="pre: nothing may happen to x itself")
        out.sum().backward()
        expect(x.grad, [[1., 1., 1.]])


run_tests(TestResidual)

# %% [markdown]
# ## Exercise 4: the block
#
# Two sub-layers, each with a residual, a norm and a dropout of its own:
#
# ```
#          pre                                   post
#    x ────────────┐                      x ────────────┐
#    │           norm1                    │         attention
#    │         attention                  +─────────────┘
#    +─────────────┘                    norm1
#    │           norm2                    ├─────────────┐
#    │        feed-forward                │        feed-forward
#    +─────────────┘                      +─────────────┘
#    │                                  norm2
# ```
#
# By hand, with layers that are easy: attention doubles, feed-forward squares, norm1 adds 1, norm2 takes 1
# away, and x = 1:
#
# ```
# pre     1 + 2(1 + 1) = 5              5 + (5 - 1)² = 21
# post    norm1(1 + 2) = 4              norm2(4 + 4²) = 19
# ```
#
# Both lines are `residual`, which you have; whether it is pre is in `self.pre`. `attend`, given, is
# self-attention as a function of x alone: it hands on mask, cache, layer and bias, and gives the output
# without the weights. Mind which of `norm1`, `norm2`, `dropout1`, `dropout2` belongs to which half.

# %%
#| export
class TransformerBlock(Module):
    """Attention among the places, then a feed-forward network at each: (B, T, d_model) stays its shape.

    norm: "pre" (before each sub-layer) or "post" (after each sum, as in the paper of 2017). activation: see
    FeedForward, or "swiglu". norm_layer: LayerNorm or RMSNorm. num_kv_heads, head_dim, rotary: see
    MultiHeadAttention. Vaswani et al., arXiv:1706.03762; pre-norm: Xiong et al., arXiv:2002.04745.
    """
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", activation="relu", eps=1e-5,
                 bias=True, norm_layer=LayerNorm, num_kv_heads=None, head_dim=None, rotary=None):
        super().__init__()
        check_norm(norm)
        self.pre = norm == "pre"
        self.attention = MultiHeadAttention(d_model, num_heads, dropout, bias, head_dim, num_kv_heads, rotary)
        self.norm1, self.dropout1 = norm_layer(d_model, eps), Dropout(dropout)
        self.feedforward = feed_forward(d_model, d_ff, dropout, activation, bias)
        self.norm2, self.dropout2 = norm_layer(d_model, eps), Dropout(dropout)

    def forward(self, x, mask=None, cache=None, layer=0, bias=None):
        """x (B, T, d_model) to the same shape.

        mask: who may look at whom, bools that broadcast to (B, H, T, T). bias: floats added to the scores.
        cache, layer: see `AttentionCache` of module 12.
        """
        def attend(x):
            return self.attention(x, x, x, mask, cache, layer, bias, need_weights=False)[0]
        ### BEGIN SOLUTION
        x = residual(x, attend, self.norm1, self.dropout1, self.pre)
        return residual(x, self.feedforward, self.norm2, self.dropout2, self.pre)
        ### END SOLUTION

# %%
class TestTransformerBlock:
    """Transformer block"""
    def setup_method(self):
        manual_seed(0)

    def block(self, *sizes, **how):
        return acting(TransformerBlock(*sizes, 0.0, **how), dropout1=alone, dropout2=alone)

    def easy(self, norm, **layers):
        block = acting(self.block(1, 1, 1, norm=norm), attention=attending, feedforward=lambda x: x * x,
                       norm1=lambda x: x + 1, norm2=lambda x: x - 1)
        return acting(block, **layers)

    def test_pre(self):
        "Pre: attention doubles, feed-forward squares, and 1 becomes 5 and then 21"
        expect(self.easy("pre")(one(1.)), one(21.),
               why="41: norm1 in both sub-layers; 5: feed-forward came first, or the norms are exchanged, or "
                   "there is only one sub-layer; 1: norm2 in both, or the second sub-layer got the old x; "
                   "19: post")

    def test_post(self):
        "Post: 4 and then 19"
        expect(self.easy("post")(one(1.)), one(19.),
               why="21: pre (hand on self.pre), or norm1 in both sub-layers; 5: norm2 in both; "
                   "7: the norms are exchanged; 4: only one sub-layer; 1: the second got the old x")

    def test_dropouts(self):
        "Each sub-layer has its own dropout: with 10 and 100 times as much it is 41 and then 160,041"
        block = self.easy("pre", dropout1=lambda x: alone(x) * 10, dropout2=lambda x: alone(x) * 100)
        expect(block(one(1.)), one(160041.),
               why="16,041: dropout1 in both sub-layers; 17,681: norm1 as well; 176,441: norm1 alone; "
                   "21: none")

    def test_handed_on(self):
        "Mask, cache, layer and bias come to attention as they are"
        block = self.easy("post")
        given = dict(mask=causal_mask(1), cache="the cache", layer=3, bias=one(0.))
        block(one(1.), **given)
        args, how = block.attention.got[0]
        got = dict(zip(("query", "key", "value", *given), args)) | how
        for name, x in given.items():
            assert got.get(name) is x, f"`{name}` did not come to attention: call `attend`, which hands it on"

    def test_real_layers(self):
        "Attention + feed-forward, each with residual and norm: what module 12's attention gives by hand"
        x = randn(1, 2, 4)
        for kind in "pre", "post":
            block = self.block(4, 2, 8, norm=kind)
            f, g = lambda x, b=block: b.attention(x, x, x)[0], block.feedforward
            middle = x + f(layer_norm(x)) if kind == "pre" else layer_norm(x + f(x))
            want = middle + g(layer_norm(middle)) if kind == "pre" else layer_norm(middle + g(middle))
            expect(block(x), want, tol=1e-4)

    def test_causal(self):
        "With a causal mask another last word changes no word before it; without one it does"
        block, x = self.block(4, 2, 8), randn(2, 3, 4)
        other = cat([x[:, :2], -x[:, 2:]], 1)
        expect(block(other, causal_mask(3))[:, :2], block(x, causal_mask(3))[:, :2],
               why="a later word was seen")
        assert float(abs(block(other) - block(x))[:, :2].max()) > 1e-4, "without a mask all is seen"

    def test_way_past(self):
        "Residual connections keep the gradient: sub-layers that say nothing leave x, and the gradient is 1"
        block, x = self.block(4, 2, 8), randn(1, 3, 4)
        x.requires_grad = True
        for layer in block.attention.out_proj, block.feedforward.linear2:
            layer.load_state_dict({k: v * 0 for k, v in layer.state_dict().items()})
        out = block(x)
        expect(out, x)
        out.sum().backward()
        expect(x.grad, np.ones((1, 3, 4)), why="the way past the sub-layers must be free")

    def test_scale(self):
        "Layer norm holds the scale: behind a post block each word has mean 0 and variance 1"
        out = self.block(8, 2, 8, norm="post")(randn(2, 3, 8) * 1000).data
        expect(out.mean(-1), np.zeros((2, 3)), tol=1e-4)
        expect(out.var(-1), np.ones((2, 3)), tol=1e-3)

    def test_count(self):
        "A block has 12 d² + 13 d numbers, if d_ff is 4 d: 872 for d = 8 (given)"
        expect(sum([p.numel() for p in TransformerBlock(8, 2, 32).parameters()]), 872)


run_tests(TestTransformerBlock)

# %% [markdown]
# The count: attention 4 d² + 4 d, feed-forward 8 d² + 5 d, two norms 4 d. For d = 768 that is 7,087,872.
# Given: a stack of blocks. Behind pre blocks the sum has never met a norm, so one is put at the end.

# %%
#| export
class TransformerEncoder(Module):
    """num_layers blocks, and behind pre-norm ones a last norm: (B, T, d_model) stays its shape."""
    def __init__(self, num_layers, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", eps=1e-5,
                 norm_layer=LayerNorm, **block):
        super().__init__()
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm=norm, eps=eps, norm_layer=norm_layer,
                             **block) for _ in range(num_layers)])
        self.norm = norm_layer(d_model, eps) if norm == "pre" else Identity()

    def forward(self, x, mask=None, bias=None):
        """x (B, T, d_model); mask and bias as in TransformerBlock, the same for each block."""
        out = x
        for each in self.blocks:
            out = each(out, mask, bias=bias)
        return self.norm(out)

# %% [markdown]
# ## Measure: what dies on the way up
#
# The networks of the opening, untrained, and a fourth, without `x +` and without norms. (Without `x +` a
# block is `feedforward(norm2(attention(norm1(x))))`.) How alike are two tokens behind each block, by the
# mean cosine of two places, and how long is its gradient? (A guess set back to None spares you the seconds.)

# %%
guess_of_likeness = None           # how alike two tokens are after 12 blocks without `x +`: 0.5?
guess_of_gradient = None           # the first block's gradient there, the last one's being 1: 1e-6?


@measure
def what_dies_on_the_way_up():
    if guess_of_likeness is None or guess_of_gradient is None:
        return print("guess_of_likeness or guess_of_gradient is None: guess both, then run this again")
    show_by_depth(TransformerBlock, LayerNorm)
    print("you guessed", guess_of_likeness, guess_of_gradient)

# %% [markdown]
# What must hold on any machine: with `x +` two tokens stay apart (half way up 0.1 to 0.5), and the first and
# the last block have gradients of one size. Without it they are nearly one after a block and 1.0000 from the
# third on, and *the gradients are there all the same*: 0.1 to 4 in the first block, 1 to 4 in the last. Take
# away the norms as well, and the usual story is true: the first gets a trillionth of the last.
#
# There are two ways to die. A norm divides by how small its input is, and keeps the gradient alive; but what
# has become equal it cannot make different. Why equal? As in exercise 3: the shares of attention are all
# near 1/8 at the start, and every place gets nearly the same mean (Dong et al., arXiv:2103.03404). That is
# the answer for the third network. But post has its `x +`, and its tokens are apart. So far.
#
# ## Measure: one plus decides
#
# Now trained, 40 steps at a rate of 0.02. And post once more, with a *warm-up*, from 0.0005 up to 0.02.

# %%
guess_of_losses = None             # pre, post, post with warm-up, without `x +`: (0.1, 0.1, 0.1, 0.1)?


@measure
def one_plus_decides():
    if guess_of_losses is None:
        return print("guess_of_losses is None: guess, then run this again")
    for kind, warm_up in ("pre", 1), ("post", 1), ("post", 40), ("no x +", 1):
        train(kind, TransformerBlock, LayerNorm, 0.02, warm_up)
    print("you guessed", guess_of_losses)

# %% [markdown]
# What must hold: pre below 0.05, post with warm-up too; post and the one without `x +` at 2.7 or more. The
# last column tells why. The first steps of Adam move every number by nearly the full rate; five of them, and
# in post the tokens are the same (1.0000), as they always are without `x +`. Pre's differ (0.4 to 0.6), and
# so do post's in a warm-up (0.1 to 0.7; by one of five seeds the full rate undid it). What is exactly equal
# no gradient tells apart again; so post begins with small steps. That answers the opening question.
# (`train("post", TransformerBlock, LayerNorm, 0.003, seed=1)` learns without it. And 1,200 steps at 0.0001
# bring the last one below 2.6, at likeness 1.0000: it learns which letters there are, not where each stands.)
#
# ## A second question
#
# A small GPT has read, for two seconds, the 144 headings of one word that stand above the speeches in nine
# of Shakespeare's plays: names, but Boy, Son and Watch as well. One and the same network has written these:
#
# ```
# each letter drawn by its share      Valenges  Messalo  Rossas  Violus  Siward  Saoth
# drawn from fewer letters            Cassio  Messala  Claudio  Portaio  Son  Saoth
# always the likeliest letter         Cassio  Cassio  Cassio  Cassio  Cassio  Cassio
# ```
#
# **How does it write better without having learned more?** Four exercises, then yours does.
#
# ## Exercise 5: the k largest
#
# A language model gives each word, or letter, a score, its *logit*; softmax makes shares of them. The largest
# each time makes dull texts that go round in circles. To draw by the shares makes nonsense, once in a while:
# each of 50,000 unlikely words has a tiny share, all together they have a lot. So scores are filtered first.
# Shares 0.5, 0.25, 0.15, 0.1:
#
# ```
# temperature 0.5     scores / 0.5, each share is squared      0.725  0.181  0.065  0.029
# top_k = 2           the two largest stay                     0.667  0.333  0      0
# ```
#
# Dividing by the temperature is given. Yours is top-k. What must not be drawn gets the score -∞, the others
# keep theirs: scores come out, not shares. Words with the same score as the k-th stay; a k beyond the
# vocabulary leaves all. Leave the scores of the caller as they are. `x.topk(k)[0]` are the k largest of each
# row, (B, k), the largest first, for a k up to V; then there is `x.masked_fill(where, value)`.

# %%
#| export models.gpt
def top_k_logits(logits, k):
    """The scores (B, V), with -inf for all but the k largest of each row and those equal to the k-th.

    >>> top_k_logits(Tensor([[3., 1., 2.]]), 2)
    tensor([[3., -inf, 2.]])
    """
    ### BEGIN SOLUTION
    least = logits.topk(min(k, logits.shape[-1]))[0][:, -1:]                   # (B, 1)
    return logits.masked_fill(logits < least, -math.inf)
    ### END SOLUTION

# %%
class TestTopKLogits:
    """The k largest"""
    def setup_method(self):
        self.row = [0.5, 0.25, 0.15, 0.1]

    def shares(self, rows, k):
        x = scores(*rows)
        out = top_k_logits(x, k)
        expect(x, np.log(np.array(rows)), why="written into the scores of the caller")
        return softmax(out, -1)

    def test_by_hand(self):
        "k = 2 leaves two, with their scores"
        with saying("topk(k)[0] is (B, k): the k-th is its last column, [:, -1:]"):
            out = top_k_logits(scores(self.row), 2)
        expect(out, [[math.log(0.5), math.log(0.25), -math.inf, -math.inf]],
               why="three numbers: the k-th is at k - 1; 0 is a score, -inf is none; 0.667: shares came out, "
                   "and not scores")

    def test_another_k(self):
        "k = 3 leaves three, 1 the largest, and 10 of four leave all"
        expect(self.shares([self.row], 3), [[0.555556, 0.277778, 0.166667, 0.]], tol=1e-5)
        expect(self.shares([self.row], 1), [[1., 0., 0., 0.]])
        with saying("a k beyond the vocabulary leaves all"):
            expect(self.shares([self.row], 10), [self.row])

    def test_ties(self):
        "Who is equal to the k-th stays"
        expect(self.shares([[0.2, 0.4, 0.2, 0.2]], 2), [[0.2, 0.4, 0.2, 0.2]],
               why="there are three second ones: leave those that are not below the k-th")

    def test_rows(self):
        "Each row has a k-th of its own"
        rows = [[0.97, 0.01, 0.01, 0.01], [0.1, 0.15, 0.25, 0.5], [0.15, 0.5, 0.1, 0.25]]
        with saying("each row has a k-th of its own: a column, (B, 1), as [:, -1:] of (B, k) is"):
            expect(self.shares(rows, 1), [[1., 0., 0., 0.], [0., 0., 0., 1.], [0., 1., 0., 0.]])
        expect(self.shares(rows, 2),
               [[0.97, 0.01, 0.01, 0.01], [0., 0., 1 / 3, 2 / 3], [0., 2 / 3, 0., 1 / 3]], tol=1e-5,
               why="one k-th for all rows: take each row's own, the last column of topk(k)[0]")


run_tests(TestTopKLogits)

# %% [markdown]
# ## Exercise 6: as few as have p together
#
# How many words are worth a draw? Behind "Mirand" one letter, at the start of a name twenty: no k is right
# for both. Top-p (*nucleus*) counts shares. Sorted by size, a word stays if those *in front of it* have less
# than p together; so the one that crosses p stays too, and the first always does. With p = 0.7:
#
# ```
# shares                  0.15   0.5    0.1    0.25      softmax(logits, -1)
# order                   1      3      0      2         shares.argsort(-1, descending=True): where they stand
# ordered                 0.5    0.25   0.15   0.1       shares.gather(-1, order)
# in front of each        0      0.5    0.75   0.9       ordered.cumsum(-1) - ordered
# out                     no     no     yes    yes       p or more in front of it
# the way back            2      0      3      1         order.argsort(-1), an index as well
# out, in the old order   yes    no     yes    no        gather takes bools, too
# ```
#
# Again scores come out, with -∞ for those that are out, and those of the caller are left as they are.

# %%
#| export models.gpt
def top_p_logits(logits, p):
    """The scores (B, V), with -inf for each word that has p or more of the shares in front of it, 0 < p < 1.

    In front of it stand those with larger scores, of equal ones any. Holtzman et al., arXiv:1904.09751.

    >>> softmax(top_p_logits(Tensor([[.15, .5, .1, .25]]).log(), .7), -1)
    tensor([[0.0000, 0.6667, 0.0000, 0.3333]])
    """
    ### BEGIN SOLUTION
    order = logits.argsort(-1, descending=True)
    shares = softmax(logits.gather(-1, order), -1)                             # the largest first
    out = shares.cumsum(-1) - shares >= p
    return logits.masked_fill(out.gather(-1, order.argsort(-1)), -math.inf)
    ### END SOLUTION

# %%
class TestTopPLogits:
    """As few as have p together"""
    def shares(self, rows, p):
        x = scores(*rows)
        out = top_p_logits(x, p)
        expect(x, np.log(np.array(rows)), why="written into the scores of the caller")
        return softmax(out, -1)

    def test_sorted(self):
        "Of 0.5 0.25 0.15 0.1 p = 0.7 leaves two, the one that crosses 0.7 among them; with their scores"
        expect(top_p_logits(scores([0.5, 0.25, 0.15, 0.1]), 0.7),
               [[math.log(0.5), math.log(0.25), -math.inf, -math.inf]],
               why="four numbers: the scores were added up, and not their shares; one number: the one that "
                   "crosses p was dropped, count what is in front of each; "
                   "0.667: shares came out, and not scores; 0 is a score, -inf is none")

    def test_more_and_less(self):
        "p = 0.8 leaves three; p = 0.3 the first, which always stays"
        row = [0.5, 0.25, 0.15, 0.1]
        expect(self.shares([row], 0.8), [[0.555556, 0.277778, 0.166667, 0.]], tol=1e-5)
        expect(self.shares([row], 0.3), [[1., 0., 0., 0.]], why="nothing is in front of the first, and less "
               "than p")

    def test_by_hand(self):
        "In any order: 0.15 0.5 0.1 0.25 keeps the second and the fourth"
        expect(self.shares([[0.15, 0.5, 0.1, 0.25]], 0.7), [[0., 2 / 3, 0., 1 / 3]], tol=1e-5,
               why="the way back from the sorted order: `order` leads there, and `order.argsort(-1)` back")

    def test_rows(self):
        "Each row has its own order and its own p"
        rows = [[0.15, 0.5, 0.1, 0.25], [0.1, 0.15, 0.25, 0.5], [0.97, 0.01, 0.01, 0.01]]
        want = [[0., 2 / 3, 0., 1 / 3], [0., 0., 1 / 3, 2 / 3], [1., 0., 0., 0.]]
        expect(self.shares(rows, 0.7), want, tol=1e-5, why="each row by itself: every step along -1 (if the "
               "check before fails as well, begin there)")

    def test_as_few_as_reach_it(self):
        "Of four equal ones p = 0.5 leaves two: together they have a half"
        expect(self.shares([[0.25] * 4], 0.5).sort(-1)[0], [[0., 0., 0.5, 0.5]],
               why="four: whoever is as probable as the last one stayed; three: what is in front must be "
                   "*less* than p")


run_tests(TestTopPLogits)

# %% [markdown]
# Given: one after the other, so that p counts what k leaves; then the choice. `multinomial` draws by shares;
# a temperature of 0 means the likeliest (*greedy*).

# %%
#| export models.gpt
def filter_logits(logits, temperature=1.0, top_k=None, top_p=None):
    """The scores (B, V), divided by the temperature, with -inf for what must not be drawn.

    top_k: the k largest stay (and those equal to the k-th). top_p: then of these, the most probable first,
    each that has less than top_p in front of it; 1 leaves all.
    """
    if not temperature > 0 or top_k is not None and top_k < 1 or top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"filter_logits: temperature={temperature}, top_k={top_k}, top_p={top_p}: the first "
                         "must be above 0, the second at least 1, the third above 0 and at most 1.")
    logits = logits / temperature
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if top_p is not None and top_p < 1:                     # at 1 no share is too small for a sum to show
        logits = top_p_logits(logits, top_p)
    return logits


def next_token(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """One token (B,) by the scores (B, V): drawn from those that `filter_logits` leaves; the likeliest if
    the temperature is 0."""
    if logits.ndim != 2:
        raise ValueError(f"next_token: scores {logits.shape}: they must be (B, V), those of one place; of "
                         "(B, T, V) the last one's, [:, -1].")
    if temperature == 0:
        return logits.argmax(-1)
    shares = softmax(filter_logits(logits, temperature, top_k, top_p), -1)
    return multinomial(shares, 1, generator=generator)[:, 0]

# %%
class TestFilterLogits:
    """One after the other (given)"""
    def shares(self, *args, **how):
        return softmax(filter_logits(scores([0.5, 0.25, 0.15, 0.1]), *args, **how), -1)

    def test_temperature(self):
        "Half the temperature squares the shares: 0.725 0.181 0.065 0.029"
        expect(self.shares(0.5), [[0.724638, 0.181159, 0.065217, 0.028986]], tol=1e-5)

    def test_order(self):
        "Temperature comes first, then k, then p"
        expect(self.shares(0.5, top_p=0.7), [[1., 0., 0., 0.]])
        expect(self.shares(top_k=2, top_p=0.6), [[1., 0., 0., 0.]])

    def test_top_p_of_one(self):
        "top_p = 1 leaves all, even a share of a hundred-millionth of a millionth"
        out = filter_logits(Tensor(np.array([[0., -32.]], "float32")), top_p=1.0)
        expect(out, [[0., -32.]])

    def test_errors(self):
        "A temperature of 0, no word at all, or a p of 0 are refused"
        for how in dict(temperature=0.), dict(top_k=0), dict(top_p=0.):
            expect_error(ValueError, filter_logits, scores([0.5, 0.5]), **how)


run_tests(TestFilterLogits)

# %% [markdown]
# ## Exercise 7: GPT
#
# A text of T words is T questions at once: at each place, what comes next? Place 0 sees one word, place 1
# two, and so on, which the causal mask sees to. For "to be or not", with the next word below:
#
# ```
# to      be      or      not                    scores (B, T, V): a row of V for each place
# be      or      not     to                     what should have the largest there
# ```
#
# In training each place reads the *true* words before it, not the model's (*teacher forcing*): all T at once.
#
# ```
# ids (B, T)  →  words + places  →  dropout  →  block 0  →  ...  →  block L-1  →  norm  →  scores (B, T, V)
# ```
#
# By hand, without any block: word 1 is [0, 1, 1, 2], place 0 is [1, 1, 2, 2]; their sum 1 2 3 4 is
# normalised to -1.3416 ... 1.3416; a word whose row in the last matrix is [0, 0, 0, 1] gets the score 1.3416.
#
# `self.token_embedding(ids)` looks up words; `self.position_embedding(x, offset)` gives x with the places
# added; `self.dropout`, `self.blocks`, `self.norm` and `self.output_proj` follow. A block is called with x,
# mask, cache and its number, from 0 on, by which the cache tells the layers apart. A *cache* (module 15)
# keeps the keys and values of words that were read before. With three of them known and two new:
#
# ```
# offset 3, ids (B, 2)     places 3 and 4     mask (2, 5):   1 1 1 1 0
#                                                            1 1 1 1 1
# ```
#
# That is `causal_mask(2, offset=3, device=token_ids.device)`: the 2 is the ids' T, not their B, and without a
# cache offset is 0. (In `generate`, at the end of the class, is exercise 8.)

# %%
#| export models.gpt
class GPTDecoder(Module):
    """A language model: at each place a score for each word that may come next. GPT-2's shape by default.

    positions: "learned", "sinusoidal", "rotary" or "none". tie_weights: the last matrix is the table of
    words. block: options of TransformerBlock. Radford et al., "Language models are unsupervised multitask
    learners" (2019).
    """
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout=0.1, *,
                 positions="learned", tie_weights=False, head_bias=False, rotary_base=10000.0,
                 norm_layer=LayerNorm, eps=1e-5, head_dim=None, activation="gelu_tanh", **block):
        super().__init__()
        self.max_len = max_len
        rotary = (RotaryEmbedding(head_dim or d_model // num_heads, rotary_base) if positions == "rotary"
                  else None)
        self.token_embedding = Embedding(vocab_size, d_model)
        self.position_embedding = position_layer(positions, max_len, d_model, "rotary")
        self.dropout = Dropout(dropout)
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm_layer=norm_layer, eps=eps,
                             head_dim=head_dim, activation=activation, rotary=rotary, **block)
            for _ in range(num_layers)])
        self.norm = norm_layer(d_model, eps)
        self.output_proj = word_head(d_model, vocab_size, self.token_embedding if tie_weights else None,
                                     head_bias)
        init_weights(self, residual_layers=2 * num_layers)

    def forward(self, token_ids, cache=None):
        """token_ids (B, T) to the scores of the next word at each place, (B, T, vocab_size).

        cache: see `AttentionCache` of module 12; the ids are then those that come after what it holds.
        """
        offset = 0 if cache is None else cache.length()
        ### BEGIN SOLUTION
        t = token_ids.shape[-1]
        x = self.dropout(self.position_embedding(self.token_embedding(token_ids), offset))
        mask = causal_mask(t, offset=offset, device=token_ids.device)
        for layer, block in enumerate(self.blocks):
            x = block(x, mask, cache, layer)
        return self.output_proj(self.norm(x))
        ### END SOLUTION

    def generate(self, start_tokens, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos=None,
                 seed=None, num_beams=1, length_penalty=1.0, cache=None):
        """start_tokens and up to max_new_tokens more, each drawn from the scores of the last place.

        start_tokens: (B, T) gives (B, T + new); a list of prompts of any lengths gives a list of tensors.
        temperature 0 takes the likeliest. top_k, top_p: see `filter_logits`. eos: an id, or several; a row
        that wrote one is filled up with the first; all done, it ends. seed: what is drawn then depends on
        nothing else. num_beams: a beam search in place of drawing. A text longer than max_len is read from
        its last max_len tokens, without a cache; with one it is a ValueError.
        """
        check_room(self, start_tokens, max_new_tokens, num_beams, cache)
        if num_beams > 1:
            return beams_of(self, start_tokens, max_new_tokens, num_beams, eos, length_penalty, cache)
        text = Writing(start_tokens, max_new_tokens, eos, self.token_embedding.weight.device)
        generator = generator_of(seed, text.ids.device)
        with evaluating(self):
            for _ in text.turns():
                ids = unread(text.ids, cache)
                ### BEGIN SOLUTION
                logits = self(ids[:, -self.max_len:], cache)[:, -1]                # (B, V)
                text.append(next_token(logits, temperature, top_k, top_p, generator))
                ### END SOLUTION
        return text.result()

# %%
class TestGPTDecoder:
    """GPT decoder"""
    def setup_method(self):
        manual_seed(0)

    def by_hand(self):
        model = GPTDecoder(3, 4, num_layers=0, num_heads=1, d_ff=4, max_len=2, dropout=0.0)
        rows = {"token_embedding.weight": [[0.] * 4, [0., 1., 1., 2.], [0.] * 4], "norm.weight": [1.] * 4,
                "position_embedding.weight": [[1., 1., 2., 2.], [4., 2., 1., -1.]], "norm.bias": [0.] * 4,
                "output_proj.weight": [[0., 0., 0., 1.], [1., 0., 0., 0.], [0.] * 4]}
        model.load_state_dict({name: np.float32(x) for name, x in rows.items()})
        return model

    def test_by_hand(self):
        "Without blocks: word 1 at place 0 is 1 2 3 4, normalised, and its scores are 1.3416 -1.3416 0"
        with saying("position_embedding takes words' vectors, not ids, and adds places to them", ValueError):
            out = self.by_hand()(Tensor([[1, 1]]))
        expect(out.shape, (1, 2, 3), why="(B, T, V): scores for every place")
        expect(out[0], [[1.341635, -1.341635, 0.], [-1.341635, 1.341635, 0.]], tol=1e-5,
               why="1.4142: the places are missing; 1.3867: the words were added twice, position_embedding "
                   "adds them already; 4: the norm at the end is missing; 0.752: shares, and not scores; "
                   "twice the same: every word got place 0")

    def test_dropout(self):
        "Words with their places go through dropout, once, before the blocks"
        model = acting(self.by_hand(), dropout=lambda x: -x)           # so that it shows
        expect(model(Tensor([[1]])), [[[-1.341635, 1.341635, 0.]]], tol=1e-5,
               why="1.3416 first: dropout was not used, or twice; else: before the places were added")

    def test_offset(self):
        "Behind one word that a cache knows the next stands at place 1"
        cache = ListCache()
        cache.kept[0] = [randn(1, 1, 1, 4)] * 2
        expect(self.by_hand()(Tensor([[1]]), cache), [[[-1.341635, 1.341635, 0.]]], tol=1e-5,
               why="1.3416 first: `offset` was not handed on to the places")

    def test_blocks(self):
        "The blocks come in their order, and each hears the cache and its own number"
        model, heard, cache = self.by_hand(), [], ListCache()
        cache.kept[0] = [randn(1, 1, 1, 4)] * 2

        def block(x, mask=None, cache=None, layer=0, bias=None):
            heard.append((layer, cache, mask))
            return x * 2 if layer else x + 3
        model.blocks = ModuleList([Acts(block) for _ in range(3)])
        model.norm, model.position_embedding = Identity(), Acts(lambda x, offset=0: x)
        with saying("`self.blocks` is a list: call each of them in turn"):
            out = model(Tensor([[1]]), cache)
        expect([layer for layer, _, _ in heard], [0, 1, 2],
               why="hand its number on to each block: else all layers share one place in the cache")
        for _, c, mask in heard:
            assert c is cache, "the cache must come to every block"
            assert mask is not None, "no mask came to the block: hand on causal_mask(t, offset=offset)"
            expect(mask, [[True, True]], why="one new word, behind one that the cache knows, sees two: "
                   "causal_mask(t, offset=offset)")
        expect(out, [[[20., 12., 0.]]], why="each block reads what the one before it gave: ((2 + 3) * 2) * 2")

    def test_no_leak(self):
        "Causal masking prevents a leak: another word at place t changes no score before t, at any t"
        model, ids = lively(GPTDecoder(9, 8, 2, 2, 16, 6, 0.0)), Tensor([[1, 2, 3, 4, 5, 6]])
        before = model(ids)
        for t in range(6):
            other = ids.clone()
            other[0, t] = 8
            after = model(other)
            expect(after[:, :t], before[:, :t], tol=1e-5,
                   why="a later word was seen: hand the causal mask on to every block; and is it (T, T)? "
                       "T is token_ids.shape[1]")
            assert float(abs(after - before)[:, t].max()) > 1e-4, "a word must change the scores at its place"

    def test_cache(self):
        "Read in parts, of 3, 2 and 1 words, with a cache, it gives the scores of the whole"
        model, cache = lively(GPTDecoder(9, 8, 2, 2, 16, 6, 0.0)), ListCache()
        ids = Tensor([[1, 2, 3, 4, 5, 6]])
        with saying("places and mask must begin at `offset`: causal_mask(t, offset=offset)"):
            parts = [model(ids[:, a:b], cache) for a, b in ((0, 3), (3, 5), (5, 6))]
            expect(cat(parts, 1), model(ids), tol=1e-4)

    def test_twelve(self):
        "A 12-layer decoder that has learned nothing guesses: its loss is ln V, 4.17 for 65 letters"
        model, ids = GPTDecoder(65, 16, 12, 2, 64, 32, 0.0), randint(0, 65, (8, 33))
        loss = cross_entropy(model(ids[:, :-1]).reshape(-1, 65), ids[:, 1:].reshape(-1))
        expect(loss.item(), math.log(65), tol=0.01)
        loss.backward()
        assert all([p.grad is not None for p in model.parameters()]), "some weight is never used"


run_tests(TestGPTDecoder)

# %% [markdown]
# With 50,257 words, d = 768, 12 blocks and 1,024 places that is GPT-2: 12 times 7,087,872, the words' table
# 38,597,376 (with `tie_weights=True` the last matrix as well), places 786,432, a norm 1,536: 124,439,808.
#
# ## Exercise 8: writing
#
# To write, read the text, choose the next word from the scores of the *last* place, append it, and read
# again. A model that has learned to count, and the text 1 2 3: its scores say 2 at place 0, 3 at place 1, 4
# at place 2. That 2 and 3 come we know already; only the 4 is new.
#
# Yours is one turn of the loop in `generate`, at the end of the class `GPTDecoder` above. There are, given:
#
# ```
# ids                        what is to be read, (B, t): the text; with a cache, the part it has not read
# text.append(tokens)        puts one token (B,) behind each row
# next_token(scores (B, V), temperature, top_k, top_p, generator)        above
# ```
#
# No `return`: after your turn the loop goes on. The model has places for `self.max_len` tokens; of a longer
# text it is shown the last max_len, the oldest drop out. Call the model as `self(ids, cache)`.

# %%
class TestGPTDecoderGenerate:
    """GPT decoder, writing"""
    class Counts(GPTDecoder):
        "Of ten words, after n comes n + 1, more or less surely; `asked` is what it was shown"
        def __init__(self, sure=50.0, max_len=40):
            super().__init__(10, 4, 0, 1, 4, max_len)
            self.sure, self.asked = sure, []

        def forward(self, token_ids, cache=None):
            self.asked.append(token_ids.tolist())
            return Tensor(np.eye(10)[(token_ids.data + 1) % 10] * self.sure)

        def generate(self, *args, **how):
            out = super().generate(*args, **how)
            if out is None:
                raise TypeError("generate gave None: no `return` in the region, the loop goes on after it")
            return out

    def test_by_hand(self):
        "1 2 3, and three more: 4 5 6"
        expect(self.Counts().generate(Tensor([[1, 2, 3]]), 3, temperature=0), [[1, 2, 3, 4, 5, 6]],
               why="2 2 2: the scores of place 0; 4 4 4: the text was not read again")

    def test_read(self):
        "Each turn reads all there is, once"
        model = self.Counts()
        model.generate(Tensor([[1, 2, 3]]), 3, temperature=0)
        expect([len(rows[0]) for rows in model.asked], [3, 4, 5], why="one call a turn, with all of the ids")

    def test_crop(self):
        "A model with 4 places is shown the last 4 tokens, and goes on for ever"
        model = self.Counts(max_len=4)
        out = model.generate(Tensor([[1, 2, 3]]), 4, temperature=0)
        expect(model.asked, [[[1, 2, 3]], [[1, 2, 3, 4]], [[2, 3, 4, 5]], [[3, 4, 5, 6]]],
               why="the last max_len of the ids, not the first, and no more")
        expect(out, [[1, 2, 3, 4, 5, 6, 7]])

    def test_rows(self):
        "Each row has its own text"
        expect(self.Counts().generate(Tensor([[1, 2], [5, 6], [0, 0]]), 2, temperature=0),
               [[1, 2, 3, 4], [5, 6, 7, 8], [0, 0, 1, 2]])

    def test_drawn(self):
        "At temperature 1 tokens are drawn: where all are alike, at least four kinds in forty"
        text = self.Counts(sure=0.0, max_len=60).generate(Tensor([[0]]), 40, seed=0)
        assert len(set(text[0, 1:].tolist())) > 3, \
            "always the same: `next_token` draws, from `generator`, which is made once, above the loop"

    def test_options(self):
        "Temperature, top_k and top_p are handed on: each can make an unsure model sure"
        for how in dict(temperature=0), dict(temperature=0.01), dict(top_k=1), dict(top_p=0.1):
            expect(self.Counts(sure=1.0).generate(Tensor([[0]]), 9, **how), [list(range(10))],
                   why=f"{how} leaves only the likeliest word: was it handed on to next_token?")
        model, start = self.Counts(sure=1.0), Tensor([[n % 10] for n in range(50)])
        how = dict(temperature=2.0, top_k=5, top_p=0.8)
        want = next_token(model(start)[:, -1], **how, generator=Generator().manual_seed(3))
        expect(model.generate(start, 1, seed=3, **how)[:, 1], want,
               why="next_token gets the scores as the model gave them: it does the filtering itself")

    def test_seed(self):
        "With a seed the text depends on nothing else; another seed, another text"
        def text(seed, other):
            manual_seed(other)
            return self.Counts(sure=1.0).generate(Tensor([[0]]), 20, seed=seed).tolist()
        expect(text(1, 0), text(1, 5), why="the generator was not handed on to next_token")
        assert text(1, 0) != text(2, 0), "another seed gave the same text"

    def test_cache(self):
        "With a cache each token is read once, and the text is the same"
        manual_seed(0)
        model, start = GPTDecoder(9, 8, 2, 2, 16, 12, 0.0), Tensor([[1, 2, 3], [4, 5, 6]])
        cache = ListCache()
        want = model.generate(start, 6, temperature=0)
        with saying("`ids` is the new part alone: read `ids`, not text.ids, and hand on `cache`"):
            expect(model.generate(start, 6, temperature=0, cache=cache), want)
        expect(cache.length(), 8, why="the cache was not handed on, or a token read twice")

    def test_long(self):
        "Text generation goes on past the 6 places that a real model has, and leaves it in training (given)"
        model = GPTDecoder(9, 8, 2, 2, 16, max_len=6)
        expect(model.generate(Tensor([[1, 2, 3]]), 9).shape, (1, 12))
        assert model.training, "generate left the model in evaluation"

    def test_ends(self):
        "A row that wrote eos is filled up with it; prompts of several lengths give a list (given)"
        rows = self.Counts().generate(Tensor([[1], [3]]), 5, temperature=0, eos=4)
        expect(rows, [[1, 2, 3, 4], [3, 4, 4, 4]])
        rows = self.Counts().generate([[1], [5, 6, 7]], 2, temperature=0)
        expect(rows[0], [1, 2, 3], why="a prompt that is shorter begins to write earlier")
        expect(rows[1], [5, 6, 7, 8, 9])


run_tests(TestGPTDecoderGenerate)

# %% [markdown]
# ## Measure: names that nobody has had
#
# Now the second question. Your GPT, two blocks, d = 32, reads the 144 headings, then writes a hundred with
# each filter. How many of them are on the list, when letters are drawn by their shares, and with top_p = 0.7?

# %%
guess_of_names = None              # how many of 100, by the shares and with top_p = 0.7: (50, 50)?


@measure
def names_that_nobody_has_had():
    if guess_of_names is None:
        return print("guess_of_names is None: guess, then run this again")
    manual_seed(0)
    model = GPTDecoder(len(LETTERS), 32, 2, 4, 128, 16, 0.0)
    learn_names(model)
    for how in dict(), dict(top_k=3), dict(top_p=0.7), dict(temperature=0.5), dict(temperature=0):
        show_names(write_names(model, 100, seed=0, **how), how)
    print("you guessed", guess_of_names)

# %% [markdown]
# What must hold: a filter makes more of them true, and fewer of them different; the likeliest each time is
# one name, a hundred times, true or not (by another seed Lennus, on no list). That is the answer. Where the
# network is unsure it spreads its shares over many letters, and one that is wrong spoils a name. A filter
# cuts the small ones off, and with them what is new. (`learn_names(model, 1000)` has it nearly by heart.)
#
# ## Measure: memory and time
#
# A stack of blocks with d = 64 and four heads, forward and backward, for 64 to 512 places. How does the
# memory grow when there are twice as many blocks, and when there are twice as many places?

# %%
guess_of_memory = None             # the factor when the blocks double, and when T doubles: (2, 2)?


@measure
def memory_against_depth_and_length():
    if guess_of_memory is None:
        return print("guess_of_memory is None: guess, then run this again")
    costs(lambda depth: TransformerEncoder(depth, 64, 4, 256, 0.0))
    print("you guessed", guess_of_memory)

# %% [markdown]
# Each further block costs the same, in memory as in time. (Not quite twice for twice: the way back has some
# memory of its own, once.) Up to 256 a double T takes between twice and four times: kept are the weights of
# the heads, H T² (at T = 256 half of the 2 MB or so of each further block), and a dozen or two vectors of d
# for each place. At 512 a block takes hardly more than at 256: so many weights are not kept, module 12's
# attention makes them again on the way back.
#
# ## Exercise 9: words to guess
#
# GPT sees the left side only. To *understand* a text that is all there one should look both ways, but then
# there is no next word to guess. So hide some, and let the model guess these (BERT): each token is chosen
# with a probability of 0.15. Of the chosen ones 80 % become [MASK], 10 % stay, 10 % become a word drawn at
# random; the model has to say all of them. (Later texts have no [MASK] in them, and no word shall be trusted
# just because it is seen.) Five tokens; the 1 is [CLS], *special*: a sign of ours, which no text has in it.
#
# ```
# tokens             1       7      8       9       5
# a number          0.05    0.10   0.60    0.02    0.12     below 0.15, and not special: 7, 9, 5
# another            -      0.30    -      0.85    0.95     below 0.8: [MASK]; from 0.9 on: a random word
# inputs             1     [MASK]   8       9       4
# labels           -100      7    -100      9       5       -100: not asked (cross_entropy leaves it out)
# ```
#
# Two numbers for each token: the first is below 0.15 for all the chosen, and would mask them all. Given are
# `special`, (B, T) bools; `ordinary`, (n,), the ids that may be drawn, to be indexed with random places; and
# `source`, the generator and the device, for all that is drawn. Return (inputs, labels), leave token_ids.
#
# ```
# rand(B, T, **source)                                       numbers from 0 to 1
# randint(0, n, (B, T), **source)                            integers from 0 to n - 1; n = len(ordinary)
# where(bools, x, y), x.masked_fill(bools, value)
# a & (b < c), ~a                                            of bools, with the brackets
# ```

# %%
#| export models.masking
def mask_tokens(token_ids, mask_id, vocab_size, special_ids=(), prob=0.15, generator=None):
    """(inputs, labels) for masked language modelling, (B, T) each; token_ids is left as it was.

    Each token that is not special is chosen with probability prob. labels: the token where one was chosen,
    else -100. inputs: of the chosen 80 % are mask_id, 10 % any ordinary token, 10 % as they were.
    special_ids: never chosen, and never drawn. Devlin et al., arXiv:1810.04805, section 3.1.
    """
    check_share(prob)
    ordinary = ordinary_tokens(vocab_size, {mask_id, *special_ids}, token_ids.device)
    special, source = is_any_of(token_ids, special_ids), dict(generator=generator, device=token_ids.device)
    ### BEGIN SOLUTION
    chosen = (rand(*token_ids.shape, **source) < prob) & ~special
    labels = token_ids.masked_fill(~chosen, -100)
    kind = rand(*token_ids.shape, **source)
    drawn = ordinary[randint(0, len(ordinary), token_ids.shape, **source)]
    inputs = where(chosen & (kind < 0.8), mask_id, token_ids)
    return where(chosen & (kind >= 0.9), drawn, inputs), labels
    ### END SOLUTION

# %%
class TestMaskTokens:
    """Words to guess"""
    def setup_method(self):
        self.ids = Tensor(np.random.default_rng(0).integers(0, 1000, (100, 1000)))     # 0 to 4 are special

    def masked(self, ids=None, seed=0, mask_id=5, vocab_size=1000, special_ids=range(5), **how):
        self.ids = self.ids if ids is None else ids
        before, generator = self.ids.numpy().copy(), Generator().manual_seed(seed)
        with saying("bitwise_and? a & (b < c): brackets around each comparison", RuntimeError):
            out = mask_tokens(self.ids, mask_id, vocab_size, special_ids, generator=generator, **how)
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError("mask_tokens has to return two things: (inputs, labels)")
        expect(self.ids, before, why="written into the tokens of the caller")
        return [x.numpy() for x in out]

    def test_nothing_chosen(self):
        "With prob = 0 nothing is chosen: the tokens, and -100 everywhere"
        inputs, labels = self.masked(prob=0.0)
        expect(labels, np.full((100, 1000), -100), why="below prob, not below 0.15; a label that is not "
               "asked is -100, not 0; and inputs come first: (inputs, labels)")
        expect(inputs, self.ids)

    def test_all_chosen(self):
        "With prob = 1 all are chosen that are not special, and the labels are the tokens"
        inputs, labels = self.masked(prob=1.0)
        ids = self.ids.numpy()
        expect(labels, np.where(ids < 5, -100, ids), why="labels: the true token wherever one was chosen, "
               "whatever became of it; specials are never chosen")
        expect(inputs[ids < 5], ids[ids < 5], why="a special token was changed")

    def test_share(self):
        "Of 100,000 tokens 15 % are chosen, in each row others; the rest is as it was"
        inputs, labels = self.masked()
        chosen, ids = labels != -100, self.ids.numpy()
        expect(chosen[ids >= 5].mean(), 0.15, tol=0.006)
        assert (chosen[0] != chosen[1]).any(), "each token has its own number: (B, T) of them"
        expect(inputs[~chosen], ids[~chosen], why="a token that was not chosen was changed")
        expect(labels[chosen], ids[chosen], why="the label is the token that was there")

    def test_kinds(self):
        "Of the chosen 80 % are [MASK], 10 % another word, 10 % as they were"
        inputs, labels = self.masked()
        chosen = labels != -100
        masked, same = inputs[chosen] == 5, inputs[chosen] == labels[chosen]
        expect(masked.mean(), 0.8, tol=0.02,
               why="1: the number that chose them decides here as well, draw another; or labels only where "
                   "[MASK] stands; 0.72: random words were put over [MASK], too")
        expect(same.mean(), 0.1, tol=0.015, why="0.02, 0.18: the tenth that stays, or that is random, was "
               "drawn from what [MASK] left, as 10 % of 20 %; 0: labels only where something changed, or "
               "nothing stays")
        expect((~masked & ~same).mean(), 0.1, tol=0.015)

    def test_drawn(self):
        "A random word is any ordinary one, each as often, never a special one or [MASK]"
        ids = Tensor(np.full((200, 500), 7))
        inputs, _ = self.masked(ids, mask_id=2, vocab_size=8, special_ids=(0, 1), prob=1.0)
        counts = np.bincount(inputs.ravel(), minlength=8)
        expect(counts[:2], [0, 0], why="a special token was drawn: index `ordinary`, which has none")
        expect(counts[3:7] / 100_000, [0.02] * 4, tol=0.004,
               why="a tenth is drawn from five words, 2 % each; 0.025 and one of the five 0: n is "
                   "len(ordinary); all together only once: draw a place for each token")
        expect(counts[2] / 100_000, 0.8, tol=0.01,
               why="0.72: random words were put over [MASK]; above 0.8: [MASK] was drawn, too")

    def test_generator(self):
        "With a generator the choice depends on nothing else; another seed, another choice"
        manual_seed(0)
        one = self.masked(seed=3)
        manual_seed(1)
        again = self.masked(seed=3)
        expect(again[1], one[1], why="`rand` for the choice did not get **source")
        expect(again[0], one[0], why="one of the other two did not get **source")
        assert (self.masked(seed=4)[1] != one[1]).any(), "another seed chose the same tokens"

    def test_shapes(self):
        "A batch of none is one; and both are int64"
        for x in mask_tokens(Tensor(np.zeros((0, 4), "int64")), 2, 8):
            expect(x.shape, (0, 4))
            expect(str(x.dtype), "int64")


run_tests(TestMaskTokens)

# %% [markdown]
# Given: BERT's input. To word and place it adds a third vector, the *segment*: which of two sentences.

# %%
#| export models.bert
class BERTEmbedding(Module):
    """Word + place + segment, normalised, then dropout: BERT's input, (B, T) ids to (B, T, d_model).

    padding_idx: the word whose vector gets no gradient, or None. type_vocab_size: how many segments.
    """
    def __init__(self, vocab_size, d_model, max_len, type_vocab_size=2, dropout=0.1, padding_idx=0,
                 eps=1e-12):
        super().__init__()
        self.token_embedding = Embedding(vocab_size, d_model, padding_idx=padding_idx)
        self.position_embedding = LearnedPositionalEmbedding(max_len, d_model)
        self.token_type_embedding = Embedding(type_vocab_size, d_model)
        self.norm, self.dropout = LayerNorm(d_model, eps), Dropout(dropout)

    def forward(self, token_ids, token_types=None):
        """token_types: (B, T) integers below type_vocab_size; all 0 if not given."""
        token_types = zeros_like(token_ids) if token_types is None else token_types
        x = self.token_embedding(token_ids) + self.token_type_embedding(token_types)
        return self.dropout(self.norm(self.position_embedding(x)))

# %% [markdown]
# ## Exercise 10: BERT
#
# The same blocks, and each word sees all the others, before and behind; nobody sees padding. By hand,
# without blocks: word [0, 1, 1, 1], place [1, 1, 1, 1] and segment 0, [0, 0, 1, 2], are 1 2 3 4 and become
# -1.3416 ... 1.3416; with segment 1, [3, 1, 0, -1], it is the other way round.
#
# `attention_mask` is (B, T) bools, True for words and False for padding (bools are made of it above your
# region), or None: then all are words, whatever their ids. `combine_masks(padding=attention_mask)` puts it on
# the keys, (B, 1, 1, T), and gives None for None. Then `self.embedding(ids, token_types)`, `self.blocks`, and
# `self.norm`, which does nothing unless the blocks are pre.

# %%
#| export models.bert
class BERTEncoder(Module):
    """Reads a text both ways: each word's vector knows all the others, (B, T) ids to (B, T, d_model).

    pooler: with the layer that `pool` needs. block: options of TransformerBlock. Devlin et al.,
    arXiv:1810.04805.
    """
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout=0.1, *,
                 type_vocab_size=2, padding_idx=0, norm="post", activation="gelu", eps=1e-12, pooler=True,
                 **block):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len
        self.embedding = BERTEmbedding(vocab_size, d_model, max_len, type_vocab_size, dropout, padding_idx,
                                       eps)
        self.blocks = ModuleList([
            TransformerBlock(d_model, num_heads, d_ff, dropout, norm=norm, activation=activation, eps=eps,
                             **block) for _ in range(num_layers)])
        self.norm = LayerNorm(d_model, eps) if norm == "pre" else Identity()
        self.pooler = Linear(d_model, d_model) if pooler else None
        init_weights(self)

    def forward(self, token_ids, attention_mask=None, token_types=None):
        """token_ids (B, T) to vectors (B, T, d_model).

        attention_mask: (B, T), True or 1 for words, False or 0 for padding, at which nobody looks.
        token_types: (B, T), 0 for the first sentence, 1 for the second.
        """
        attention_mask = as_bools(attention_mask, token_ids)
        ### BEGIN SOLUTION
        mask = combine_masks(padding=attention_mask)
        x = self.embedding(token_ids, token_types)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)
        ### END SOLUTION

    def pool(self, hidden):
        """A vector (B, d_model) for each text, from that of its first token, [CLS].

        RuntimeError without a pooler.
        """
        if self.pooler is None:
            raise RuntimeError("pool: this BERTEncoder has no pooler. Make it with pooler=True, or use the "
                               "vector of [CLS] itself: hidden[:, 0].")
        return tanh(self.pooler(hidden[:, 0]))

# %%
class TestBERTEncoder:
    """BERT encoder"""
    def setup_method(self):
        manual_seed(0)

    def by_hand(self):
        model = BERTEncoder(3, 4, num_layers=0, num_heads=1, d_ff=4, max_len=2, dropout=0.0)
        table = model.embedding
        table.token_embedding.weight.data[1] = [0., 1., 1., 1.]
        table.position_embedding.weight.data[:] = [[1.] * 4, [2., 3., 3., 3.]]
        table.token_type_embedding.weight.data[:] = [[0., 0., 1., 2.], [3., 1., 0., -1.]]
        return model

    def test_by_hand(self):
        "Word + place + segment, normalised: 1 2 3 4 in segment 0, 4 3 2 1 in segment 1"
        up = [-1.341641, -0.447214, 0.447214, 1.341641]
        expect(self.by_hand()(Tensor([[1]])), [[up]], tol=1e-5)
        expect(self.by_hand()(Tensor([[1]]), None, Tensor([[1]])), [[up[::-1]]], tol=1e-5,
               why="-1.3416 first: token_types was not handed on to the embedding")

    def test_all_positions(self):
        "Attention reaches all positions: another last word changes the first vector, and the reverse"
        model, ids = lively(BERTEncoder(9, 8, 2, 2, 16, 6, 0.0)), Tensor([[1, 2, 3, 0]])
        expect(model(ids), model(ids, Tensor(np.ones((1, 4), bool))),
               why="without an attention_mask all are words, whatever their ids; 0 as well")
        for change, look in (3, 0), (0, 3):
            other = ids.clone()
            other[0, change] = 8
            assert float(abs(model(other) - model(ids))[0, look].max()) > 1e-5, \
                f"place {look} does not see place {change}: no causal mask here"

    def test_padding(self):
        "Padding is ignored, whatever word it is, in each text its own; as bools, integers or floats"
        model = lively(BERTEncoder(9, 8, 2, 2, 16, 6, 0.0))
        seen = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
        ids = Tensor([[1, 2, 3, 0, 0], [5, 4, 3, 2, 1]])
        other = Tensor([[1, 2, 3, 7, 8], [5, 4, 3, 2, 1]])
        want = model(ids[:1, :3])
        for kind in bool, "int64", "float32":
            with saying("a mask for the keys is (B, 1, 1, T): combine_masks(padding=...)"):
                out = model(other, Tensor(seen.astype(kind)))
            expect(out[:1, :3], want, tol=1e-4,
                   why="padding was seen: the mask goes on the keys, in every block, True for words")
            expect(out[1:], model(ids[1:]), tol=1e-4, why="a text without padding sees all of itself")

    def test_norm(self):
        "Encoder outputs are normed words: behind pre blocks by the norm at the end"
        out = lively(BERTEncoder(9, 8, 2, 2, 16, 6, 0.0, norm="pre"))(Tensor([[1, 2, 3, 4]])).data
        expect(out.shape, (1, 4, 8))
        expect(out.var(-1), np.ones((1, 4)), tol=1e-3, why="the last thing is self.norm")

    def test_blocks(self):
        "The blocks come in their order"
        model = self.by_hand()
        model.blocks = ModuleList([Acts(lambda x, *rest: x + 3), Acts(lambda x, *rest: x * 2)])
        expect(model(Tensor([[1]])), [[[3.316718, 5.105573, 6.894427, 8.683282]]], tol=1e-5)

    def test_pool(self):
        "A text's own vector is made of its first token's: tanh of a Linear (given)"
        model, hidden = BERTEncoder(9, 8, 1, 2, 16, 6), randn(2, 3, 8)
        expect(model.pool(hidden), tanh(model.pooler(hidden[:, 0])))


run_tests(TestBERTEncoder)

# %% [markdown]
# ## Exercise 11: reading while writing
#
# A translator reads German with one stack and writes English with another. A block of the second has three
# sub-layers: attention among the English words so far, *cross-attention* (queries of the English, keys and
# values of the German, the *memory*), feed-forward. By hand: the first attention doubles, the cross-attention
# multiplies query and key, feed-forward squares; the norms add 1, take 1 away, add 2; memory 3, x = 1:
#
# ```
# 1 + 2(1 + 1) = 5          5 + (5 - 1) * 3 = 17          17 + (17 + 2)² = 378
# ```
#
# Three times `residual`; return (x, weights). `attend` is given, the function for cross-attention is yours:
#
# ```
# query                 the x it gets
# key, value            memory as it is, no norm of this block; mask: memory_mask
# cache, layer          as they came (the cache sees two sequences, and keeps the memory's keys apart)
# need_weights          as it came; no bias, which is of self-attention
# the layer gives       (output, weights or None)
# your function gives   the output alone; the weights go into a list (or a `nonlocal` name) made before it
# ```

# %%
#| export
class TransformerDecoderBlock(Module):
    """Masked self-attention, attention to another sequence, feed-forward: a block that writes while it reads.

    Options as in TransformerBlock, without the last three. x is (B, T, d_model), memory (B, S, d_model).
    """
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, *, norm="pre", activation="relu", eps=1e-5,
                 bias=True, norm_layer=LayerNorm):
        super().__init__()
        check_norm(norm)
        self.pre = norm == "pre"
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout, bias)
        self.norm1, self.dropout1 = norm_layer(d_model, eps), Dropout(dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout, bias)
        self.norm2, self.dropout2 = norm_layer(d_model, eps), Dropout(dropout)
        self.feedforward = feed_forward(d_model, d_ff, dropout, activation, bias)
        self.norm3, self.dropout3 = norm_layer(d_model, eps), Dropout(dropout)

    def forward(self, x, memory, mask=None, memory_mask=None, cache=None, layer=0, bias=None,
                need_weights=True):
        """(x of the same shape, the weights of the attention to memory (B, H, T, S), None unless needed).

        mask: who of the T may look at whom, causal if not given. memory_mask: who of the T may look at which
        of the S. bias: floats added to the scores of self-attention.
        """
        if mask is None:
            offset = 0 if cache is None else cache.length(layer)
            mask = causal_mask(x.shape[1], offset=offset, device=x.device)

        def attend(x):
            return self.self_attention(x, x, x, mask, cache, layer, bias, need_weights=False)[0]
        ### BEGIN SOLUTION
        weights = None

        def look_up(x):
            nonlocal weights
            out, weights = self.cross_attention(x, memory, memory, memory_mask, cache, layer,
                                                need_weights=need_weights)
            return out

        x = residual(x, attend, self.norm1, self.dropout1, self.pre)
        x = residual(x, look_up, self.norm2, self.dropout2, self.pre)
        x = residual(x, self.feedforward, self.norm3, self.dropout3, self.pre)
        return x, weights
        ### END SOLUTION

# %%
class TestTransformerDecoderBlock:
    """Reading while writing"""
    def setup_method(self):
        manual_seed(0)

    def block(self, *sizes, **how):
        block = TransformerDecoderBlock(*sizes, 0.0, **how)
        return acting(block, dropout1=alone, dropout2=alone, dropout3=alone)

    def easy(self, norm="pre", **layers):
        block = acting(self.block(1, 1, 1, norm=norm), self_attention=attending, cross_attention=reading,
                       feedforward=lambda x: x * x, norm1=lambda x: x + 1, norm2=lambda x: x - 1,
                       norm3=lambda x: x + 2)
        return acting(block, **layers)

    def answer(self, block, x, memory, **how):
        out = block(x, memory, **how)
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError("the block has to return two things: (x, weights)")
        return out

    def test_pre(self):
        "Pre: 1 becomes 5, with the memory 3 it becomes 17, and then 378"
        expect(self.answer(self.easy(), one(1.), one(3.))[0], one(378.),
               why="550: cross-attention read x and not the memory; 238: the memory was normed; 213: "
                   "or 90: feed-forward before cross-attention; 651: norm2 and norm3 exchanged; 242: post")

    def test_post(self):
        "Post: 4, 15, 242"
        expect(self.answer(self.easy("post"), one(1.), one(3.))[0], one(242.), why="378: hand on self.pre")

    def test_dropouts(self):
        "Each sub-layer has its own dropout: with 1, 10 and 100 more it is 6, 31 and 1,220"
        block = self.easy(dropout1=lambda x: alone(x) + 1, dropout2=lambda x: alone(x) + 10,
                          dropout3=lambda x: alone(x) + 100)
        expect(self.answer(block, one(1.), one(3.))[0], one(1220.), why="378: no dropout was used")

    def test_handed_on(self):
        "Each attention gets its own mask, and both the cache and the layer"
        block, memory = self.easy(), one(3.)
        own, other, bias = causal_mask(1), causal_mask(1), one(0.)
        self.answer(block, one(1.), memory, mask=own, memory_mask=other, cache="the cache", layer=2,
                    bias=bias)
        names = "query", "key", "value", "mask", "cache", "layer", "bias"
        for layer, want in ((block.self_attention, dict(mask=own, cache="the cache", layer=2, bias=bias)),
                            (block.cross_attention, dict(key=memory, value=memory, mask=other,
                                                         cache="the cache", layer=2))):
            args, how = layer.got[0]
            got = dict(zip(names, args)) | how
            for name, x in want.items():
                place = "cross" if layer is block.cross_attention else "self"
                assert got.get(name) is x, f"`{name}` of the {place}-attention is not what was given for it"
        assert got.get("bias") is None, "`bias` is for self-attention alone: its places are others here"

    def test_weights(self):
        "The weights of the cross-attention come back, if they are needed"
        block = self.easy()
        weights = self.answer(block, one(1.), one(3.))[1]
        expect(len(block.cross_attention.got), 1, why="cross-attention is called once, inside your function: "
               "the weights are those of the x that came there, normed")
        assert weights is not None, "what a function assigns is a name of its own, unless it is `nonlocal`"
        expect(weights, "the weights", why="those of cross-attention; a list: return what is in it")
        block = self.easy()
        assert self.answer(block, one(1.), one(3.), need_weights=False)[1] is None, \
            "hand need_weights on to the cross-attention"
        out, weights = self.block(4, 2, 8)(randn(2, 3, 4), randn(2, 5, 4))
        expect((out.shape, weights.shape), ((2, 3, 4), (2, 2, 3, 5)))

    def test_real(self):
        "No leak: a later target word changes nothing before it; a hidden source word changes nothing at all"
        block, x, memory = self.block(4, 2, 8), randn(2, 3, 4), randn(2, 5, 4)
        hidden = Tensor([[[[True, True, True, True, False]]]])
        before = block(x, memory, memory_mask=hidden)[0]
        after = block(cat([x[:, :2], -x[:, 2:]], 1), cat([memory[:, :4], -memory[:, 4:]], 1),
                      memory_mask=hidden)[0]
        expect(after[:, :2], before[:, :2], tol=1e-5, why="memory_mask belongs to the cross-attention, mask "
               "to the other")
        assert float(abs(block(x, -memory)[0] - block(x, memory)[0]).max()) > 1e-5, "the memory is not read"


run_tests(TestTransformerDecoderBlock)

# %% [markdown]
# ## Exercise 12: a picture as a sentence
#
# Module 11 cut a picture into patches, a vector each: a sentence. In front of it goes one vector that is
# learned, [CLS], a place to write down what the whole picture is: it looks at all, and the class is read off
# it. Each, [CLS] too, gets the vector of its place. By hand, patches 5 and 7, [CLS] 100, places 1, 20, 300:
#
# ```
# [CLS] 100 + 1        5 + 20        7 + 300           101   25   307
# ```
#
# There are `self.patch_embed(x)`, (B, T, d); `self.cls_token`, (1, 1, d), one for all pictures
# (`expand(len(x), -1, -1)`; `cat([...], 1)` puts it in front); `pos_embed`, (1, 1 + T, d), made above your
# region, for pictures of any size; `self.dropout` for the sum; `self.encoder`. Return all vectors.

# %%
#| export models.vit
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
        ### BEGIN SOLUTION
        x = self.patch_embed(x)                                                # (B, T, d_model)
        first = self.cls_token.expand(len(x), -1, -1)
        x = self.dropout(cat([first, x], 1) + pos_embed)
        return self.encoder(x)
        ### END SOLUTION

    def forward(self, x):
        """Pictures (B, C, H, W) to a score for each class, (B, num_classes)."""
        return self.head(self.forward_features(x)[:, 0])

# %%
class TestVisionTransformerForwardFeatures:
    """A picture as a sentence"""
    def setup_method(self):
        manual_seed(0)

    def by_hand(self, size=(1, 2)):
        model = VisionTransformer(size, 1, 1, num_classes=0, d_model=1, num_layers=0, num_heads=1,
                                  norm="post")
        model.load_state_dict({"patch_embed.projection.weight": np.ones((1, 1, 1, 1), "float32"),
                               "patch_embed.projection.bias": np.zeros(1, "float32"),
                               "cls_token": np.float32([[[100.]]]),
                               "pos_embed": np.float32([[[1.], [20.], [300.]]])})
        return model

    def test_by_hand(self):
        "[CLS] 100, patches 5 and 7, places 1 20 300: 101 25 307"
        expect(self.by_hand().forward_features(Tensor([[[[5., 7.]]]])), [[[101.], [25.], [307.]]],
               why="100 first: [CLS] has a place, too: join, and then add; 6 first: [CLS] was put last; "
                   "100 5 7: no places")

    def test_batch(self):
        "Each of three pictures has [CLS] in front, and [CLS] learns from all three"
        model = self.by_hand()
        with saying("each picture needs [CLS]: self.cls_token.expand(len(x), -1, -1)"):
            out = model.forward_features(Tensor([[[[5., 7.]]], [[[6., 8.]]], [[[0., 9.]]]]))
        expect(out[..., 0], [[101., 25., 307.], [101., 26., 308.], [101., 20., 309.]])
        out.sum().backward()
        expect(model.cls_token.grad, [[[3.]]], why="use self.cls_token itself: what is learned has a history")

    def test_dropout(self):
        "Dropout works on the sum, [CLS] included"
        model = acting(self.by_hand(), dropout=lambda x: x * 2)
        expect(model.forward_features(Tensor([[[[5., 7.]]]])), [[[202.], [50.], [614.]]],
               why="101 25 307: it was not used; 201: before the places were added")

    def test_another_size(self):
        "A picture of four patches gets places in between the learned ones"
        with saying("use `pos_embed`, which fits the picture, not self.pos_embed"):
            out = self.by_hand().forward_features(Tensor([[[[0., 0., 0., 0.]]]]))
            expect(out.shape, (1, 5, 1))
        expect(out[0, 0], [101.])
        assert 20 < float(out[0, 2, 0]) < float(out[0, 3, 0]) < 300, "places between 20 and 300"

    def test_encoder(self):
        "It goes through the encoder, where [CLS] sees every patch; the class is read off [CLS] (given)"
        model, x = lively(VisionTransformer(4, 2, 1, 3, 8, 1, 2)), randn(2, 1, 4, 4)
        out = model.forward_features(x)
        expect(out.data.var(-1), np.ones((2, 5)), tol=1e-2, why="the last thing is self.encoder, whose norm "
               "does this")
        expect(model(x), model.head(out[:, 0]))
        other = x.clone()
        other[:, 0, 3, 3] = 9.
        assert float(abs(model.forward_features(other) - out)[:, 0].max()) > 1e-5, "[CLS] misses a patch"


run_tests(TestVisionTransformerForwardFeatures)

# %% [markdown]
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. Encoder, decoder, or both: which would you take to sort mails, to continue a text, to translate? What
#    does each one see, and what is it trained to guess?
# 2. Pre or post? What does the gradient meet on its way from the last block to the first, in each? What
#    does a pre stack need at its end, and a post stack at the beginning of its training?
# 3. Where are GPT-2's 124 million numbers? What grows when V doubles, when L doubles, when d doubles?
#
# ## Where this code lives
#
# `tito export 13` writes it to `tinytorch/nn/normalization.py` and `tinytorch/models/`, with what was given:
# `Seq2SeqTransformer`, BERT's heads, objectives, counts of weights, power laws, real weights. In a file in
# the course folder, started there (elsewhere Python may find another tinytorch than yours):
#
# ```python
# import tinytorch as torch
# from tinytorch.models import GPTDecoder
# model = GPTDecoder(vocab_size=65, d_model=128, num_layers=4, num_heads=4, d_ff=512, max_len=64)
# start = torch.tensor([[1, 2, 3]])
# print(model.generate(start, max_new_tokens=100, temperature=0.8, top_p=0.9))     # untrained: noise
# ```
#
# Module 14 asks where its time goes, 15 builds the cache, 16 to 18 make it smaller and quicker, 20 talks to
# it. In milestones/ it learns: `2017_seq2seq.py` to translate, `2018_gpt.py` to write, `2018_bert.py` to
# read, `2020_vit.py` to see; `2020_scaling.py` says how well a larger one will write.
#
# In the real world `transformers` has the same blocks for some hundred families of models. Where many people
# are served (vLLM), nothing is padded: the texts of a batch lie in one long row, and caches come in pages.
