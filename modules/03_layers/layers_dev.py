# %% [markdown]
# # Module 03: Layers, things that remember numbers
#
# A network of two layers has four arrays of numbers: two weights, two biases. Training changes them a
# little, many times, and for that it needs a list of them. In the cell below somebody wrote the list by
# hand. Find the mistake before you run it.

# %%
#| default_exp nn.layers
from tito.lesson import expect, expect_error, measure, run_tests, timed

# %%
import math

import numpy as np
from init_dev import calculate_gain, fans, normal_, uniform_
from module_base_dev import IncompatibleKeys, ModuleBase, Numbered, dotted, members
from parameter_dev import Parameter, overwrite

from tinytorch.core.backend import Generator, manual_seed, writes
from tinytorch.core.base import record_with
from tinytorch.core.creation import empty, rand_like, randn, zeros
from tinytorch.core.op import op
from tinytorch.core.ops import flat_product
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import relu


# %%
@measure
def training_with_a_list():
    w1, b1, w2, b2 = zeros(3, 2), zeros(3), zeros(1, 3), zeros(1)
    for p in [w1, w2, b2]:
        p += 0.1                       # a stand-in for one step of training
    for name, p in dict(w1=w1, b1=b1, w2=w2, b2=b2).items():
        print(name, "learned something" if p.data.any() else "is what it was")


# %% [markdown]
# Nothing fails. Three of four arrays learn, and `b1` keeps its first value for ever. The network gets a
# little less good than it could be, and nobody will find out why. The model of module 13 has over fifty
# arrays. **Who keeps the list?**
#
# Nobody should. It can be *found*, if every layer remembers its own arrays and every model its own
# layers. Two words for that:
#
# * A **parameter** is a tensor that is to be learned. `Parameter(data)` is a tensor of another type, and
#   it asks for a *gradient* (`requires_grad=True`): the numbers of module 05 that say how to change it.
# * A **module** is an object with parameters or other modules as attributes. Calling it computes
#   something: `layer(x)` runs `layer.forward(x)`.
#
# So a model is a tree, like the folders on a disk: modules are the folders, parameters the files, and
# `blocks.0.weight` is a path. Whoever wants all parameters walks the tree.
#
# You write five layers (exercises 1 to 5), the walk and what follows from it (6 to 9), and a way to
# choose the first numbers (10). The class `Module` has to stand first, because layers inherit from it. Its
# four methods are exercises 6 to 9, where their words are explained: **skip the next cell and go on to
# exercise 1**. What `Module` itself inherits is given, in `module_base_dev.py`; skip that as well.

# %%
#| export nn.module
class Module(ModuleBase):
    """A layer, or a model made of layers: assign parameters and modules, write `forward`.

    >>> class Scale(Module):
    ...     def __init__(self): self.factor = Parameter([2.])
    ...     def forward(self, x): return x * self.factor
    >>> Scale()(Tensor([3.])).tolist()
    [6.0]
    """
    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (name, parameter): the module's own parameters first, then those of its children.

        The name is the path to it below `prefix`. A parameter that is reached twice comes once, under
        its first name, unless `remove_duplicate` is False. With recurse=False: only its own.

        >>> chain = Sequential(Linear(3, 2), Sequential(Linear(2, 1)))
        >>> [name for name, parameter in chain.named_parameters()]
        ['0.weight', '0.bias', '1.0.weight', '1.0.bias']
        """
        ### BEGIN SOLUTION
        found = [(dotted(prefix, name), p) for name, p in members(self) if isinstance(p, Parameter)]
        for name, child in members(self):
            if recurse and isinstance(child, Module):
                found += child.named_parameters(dotted(prefix, name), True, remove_duplicate)
        seen = set()
        for name, parameter in found:
            if parameter not in seen or not remove_duplicate:
                seen.add(parameter)
                yield name, parameter
        ### END SOLUTION

    def train(self, mode=True):
        """Set `training` to mode here and in every module below; returns self.

        A module that overrides `train` is asked, not overruled. Raises ValueError if mode is no bool.

        >>> Sequential(Dropout(0.1)).train(False)[0].training
        False
        """
        ### BEGIN SOLUTION
        if not isinstance(mode, bool):
            raise ValueError(f"train({mode!r}): True is for training, False for evaluation.")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self
        ### END SOLUTION

    def state_dict(self, *, prefix="", keep_vars=False):
        """{name: tensor} of what must be saved: each module's parameters, then persistent buffers.

        The tensors are copies without history: training goes on and does not change them. (PyTorch
        hands out its live memory, and a saved "best" state is overwritten by the next step.) With
        `keep_vars` they are the parameters and buffers themselves. One that has two names comes
        under both. `prefix` is put in front of every name as it is: "net." makes "net.weight".

        >>> {name: tensor.shape for name, tensor in Linear(3, 2).state_dict().items()}
        {'weight': (2, 3), 'bias': (2,)}
        """
        ### BEGIN SOLUTION
        state, every = {}, dict(recurse=False, remove_duplicate=False)
        for path, module in self.named_modules(remove_duplicate=False):
            state.update(module.named_parameters(path, **every))
            state.update(module.named_buffers(path, saved_only=True, **every))
        return {prefix + name: t if keep_vars else Tensor(t) for name, t in state.items()}
        ### END SOLUTION

    def load_state_dict(self, state_dict, strict=True):
        """Write the numbers of `state_dict` (tensors or arrays by name) into the tensors so named.

        Returns (missing_keys, unexpected_keys): names that only the model has, and that only the
        state_dict has. Raises RuntimeError if a shape differs and, if strict, for such names. The
        error lists every name that is wrong, and then nothing has been written.

        >>> Linear(3, 2).load_state_dict(Linear(3, 2).state_dict())
        <All keys matched successfully>
        """
        ### BEGIN SOLUTION
        mine = self.state_dict(keep_vars=True)
        missing = [name for name in mine if name not in state_dict]
        unexpected = [name for name in state_dict if name not in mine]
        common = [name for name in mine if name in state_dict]
        wrong = [f"{name} is {state_dict[name].shape} and must be {mine[name].shape}"
                 for name in common if state_dict[name].shape != mine[name].shape]
        if strict:
            wrong += [f"{n} is missing" for n in missing] + [f"{n} is unexpected" for n in unexpected]
        if wrong:
            raise RuntimeError(f"load_state_dict of {type(self).__name__}: {'; '.join(wrong)}. "
                               "Is it the state of another model?")
        for name in common:
            overwrite(mine[name], state_dict[name])
        return IncompatibleKeys(missing, unexpected)
        ### END SOLUTION


# %% [markdown]
# ## Exercise 1: linear
#
# A unit of a network adds up what it gets, each input times a weight of its own, and a bias. Two units,
# three inputs x = [1, 2, 3]:
#
# ```
# unit 0   weights  1  0 -1    bias  0.5      1*1 + 0*2 - 1*3 + 0.5  =  -1.5
# unit 1   weights  2  1  0    bias -1        2*1 + 1*2 + 0*3 - 1    =   3
# ```
#
# The weights of a unit are one **row**, so the weight matrix W has the shape (out, in), here (2, 3). In
# the matrix product the last axis of x must meet the `in` axis of W, which is the last one too. Hence the
# transpose:
#
# $$ y = x\, W^\top + b \qquad
#    (\ldots, \mathrm{in}) \times (\mathrm{in}, \mathrm{out}) + (\mathrm{out}) \to (\ldots, \mathrm{out}) $$
#
# Whatever axes x has in front of its last one stay: a batch (B, in), a batch of sentences (B, T, in), or
# none. `flat_product` of module 01 multiplies over all of them in one large product. Its result belongs
# to nobody else yet, so the bias can be added into it (`+=`): that saves a whole array.
#
# A wrong last size is a `RuntimeError` in three parts, as in module 01: what happened with both shapes,
# why, what to do. `linear of (2, 5) with a weight of (4, 8): the last size of x must be 8, ...` (A weight
# of shape (in,) is one unit alone: `weight.shape[-1]` is `in` for both kinds.)

# %%
#| export
@op
def linear(x, weight, bias=None):
    """x Wᵀ + b: for each row of x as many sums as the weight has rows.

    x: (..., in), weight: (out, in), bias: (out,) or None; gives (..., out). A weight (in,) is one unit
    and gives (...). Raises RuntimeError if the last sizes of x and weight differ, if x is a single
    number, or if the dtypes differ.

    >>> weight = np.array([[1., 0., -1.], [2., 1., 0.]])
    >>> linear.forward(np.array([1., 2., 3.]), weight, np.array([0.5, -1.]))
    array([-1.5,  3. ])
    """
    if x.dtype != weight.dtype or bias is not None and bias.dtype != weight.dtype:
        raise RuntimeError(f"linear of {x.dtype} numbers with a weight of {weight.dtype}: x, weight and "
                           "bias must be of one dtype. Convert x, or the layer.")
    ### BEGIN SOLUTION
    if x.ndim == 0 or x.shape[-1] != weight.shape[-1]:
        raise RuntimeError(f"linear of {x.shape} with a weight of {weight.shape}: the last size of x "
                           f"must be {weight.shape[-1]}, the weight's. Is x transposed, or not flat?")
    out = flat_product(x, weight.T)
    if bias is not None:
        out += bias
    return out
    ### END SOLUTION


# %%
class TestLinear:
    """Weighted sums"""
    weight = np.array([[1., 0., -1.], [2., 1., 0.]])
    bias = np.array([0.5, -1.])

    def of(self, *arrays):
        try:
            return linear.forward(*arrays)
        except ValueError as error:
            raise AssertionError(f"{error}\nIs W transposed? x (..., in) meets Wᵀ (in, out).") from error

    def test_by_hand(self):
        "Two units see [1, 2, 3]: one sums to -1.5, the other to 3"
        expect(self.of(np.array([1., 2., 3.]), self.weight, self.bias), [-1.5, 3.],
               why="a row of the weight is a unit: its numbers meet those of x one by one")

    def test_square(self):
        "A square weight fits both ways round, and only one is right: [1, 10] gives [21, 43], not [31, 42]"
        expect(self.of(np.array([1., 10.]), np.array([[1., 2.], [3., 4.]])), [21., 43.],
               why="[31, 42] is x @ W: the transpose is missing")

    def test_batch(self):
        "Every row of a batch is treated alike: (2, 3) becomes (2, 2); without a bias the sums stay"
        x = np.array([[1., 2., 3.], [0., -2., 5.]])
        expect(self.of(x, self.weight, self.bias), [[-1.5, 3.], [-4.5, -3.]])
        expect(self.of(x, self.weight), [[-2., 4.], [-5., -2.]])

    def test_leading_axes(self):
        "All axes before the last stay: (2, 2, 3) becomes (2, 2, 2); one unit alone has no axis"
        x = np.arange(12.).reshape(2, 2, 3)
        expect(self.of(x, self.weight, self.bias),
               [[[-1.5, 0.], [-1.5, 9.]], [[-1.5, 18.], [-1.5, 27.]]])
        expect(self.of(x, self.weight[1]), [[1., 10.], [19., 28.]])

    def test_errors(self):
        "A last size of 5 does not fit a weight of (4, 8), and a single number fits nothing"
        expect_error(RuntimeError, linear.forward, np.ones((2, 5)), np.ones((4, 8)),
                     says=["(2, 5)", "(4, 8)", "8"])
        expect_error(RuntimeError, linear.forward, np.ones((2, 4)), np.ones((4, 8)))
        expect_error(RuntimeError, linear.forward, np.array(3.), np.ones((4, 1)), says=["()"])


run_tests(TestLinear)

# %% [markdown]
# ## Exercise 2: the layer Linear
#
# `linear` is told its numbers at each call. The layer `Linear(3, 2)` *remembers* them: a weight (2, 3)
# and a bias (2,), two `Parameter`s made once, in `__init__`. All shapes are decided there, and `forward`
# has nothing left to decide. A count to check yourself by: layers 784 to 128 to 10 have
#
# ```
# 128*784 + 128  +  10*128 + 10  =  101,770 parameters
# ```
#
# And their first values? All zero would make all units equal for ever. Random, then, but how large? A
# unit that sums over 10,000 inputs should use smaller weights than one that sums over 10. PyTorch draws
# weight and bias evenly from
#
# $$ -\frac{1}{\sqrt{\mathrm{in}}} \;\ldots\; \frac{1}{\sqrt{\mathrm{in}}} \qquad
#    \mathrm{in} = 64: \; -0.125 \ldots 0.125 $$
#
# Exercise 10 asks whether that is a good choice. `empty(*shape, dtype=dtype, device=device)` makes a
# tensor, `uniform_(tensor, a, b)` fills it in place and returns it. With 0 inputs the bound is 0, since
# there is no 1/√0; a negative number of them is a RuntimeError, which `empty` raises if you let it.

# %%
#| export
class Linear(Module):
    """The layer y = x Wᵀ + b, with weight (out_features, in_features) and bias (out_features,) or None.

    Both are drawn evenly from -1/√in_features to 1/√in_features.

    >>> layer = Linear(3, 2)
    >>> layer.weight.shape, layer(Tensor([[1., 2., 3.]])).shape
    ((2, 3), (1, 2))
    """
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        ### BEGIN SOLUTION
        bound = 1 / math.sqrt(in_features) if in_features > 0 else 0.0

        def drawn(*shape):
            return Parameter(uniform_(empty(*shape, dtype=dtype, device=device), -bound, bound))

        self.weight = drawn(out_features, in_features)
        self.bias = drawn(out_features) if bias else None
        ### END SOLUTION

    def forward(self, input): return linear(input, self.weight, self.bias)

    def reset_parameters(self):
        """Draw the numbers anew, as the constructor did."""
        fresh = Linear(self.in_features, self.out_features, self.bias is not None)
        self.load_state_dict(fresh.state_dict())

    def extra_repr(self):
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"


# %%
class TestLinearInit:
    """The layer Linear"""
    def test_shapes(self):
        "Linear(3, 2) has two Parameters: a weight of (2, 3), one row per unit, and a bias of (2,)"
        layer = Linear(3, 2)
        expect(layer.weight.shape, (2, 3))
        expect(layer.bias.shape, (2,))
        for tensor in (layer.weight, layer.bias):
            assert isinstance(tensor, Parameter), f"expected a Parameter, got {type(tensor).__name__}"

    def test_count(self):
        "784 to 128 to 10 has 101,770 parameters"
        layers = Linear(784, 128), Linear(128, 10)
        expect(sum(layer.weight.numel() + layer.bias.numel() for layer in layers), 101_770)

    def test_bound(self):
        "With 64 inputs every number lies within 1/8, and they fill that range evenly"
        layer = Linear(64, 900)
        for numbers in (layer.weight.data, layer.bias.data):
            low, high = numbers.min(), numbers.max()
            assert -0.125 <= low < -0.12 and 0.12 < high <= 0.125, f"drawn from {low:.3f} to {high:.3f}"
            expect(float(numbers.std()), 0.125 / math.sqrt(3), tol=0.01, why="evenly, not normally")

    def test_forward(self):
        "Calling the layer computes x Wᵀ + b with the numbers it remembers"
        layer = Linear(3, 2)
        overwrite(layer.weight, np.array([[1., 0., -1.], [2., 1., 0.]]))
        overwrite(layer.bias, np.array([0.5, -1.]))
        expect(layer(Tensor([[1., 2., 3.]])), [[-1.5, 3.]])

    def test_no_bias(self):
        "bias=False: the attribute is None, and calling works"
        assert Linear(3, 2, bias=False).bias is None, "bias=False must leave the attribute None"
        expect(Linear(3, 2, bias=False)(zeros(4, 3)), np.zeros((4, 2)))

    def test_arguments(self):
        "dtype and device hold for both; with no inputs the bias is 0, and -1 inputs are an error"
        layer = Linear(0, 2, dtype="float64")
        expect([str(layer.weight.dtype), str(layer.bias.dtype)], ["float64", "float64"])
        expect(layer.bias, [0., 0.])
        expect_error(RuntimeError, Linear, -1, 2)
        expect_error(RuntimeError, Linear, 3, 2, device="nowhere", why="hand device on to empty")


run_tests(TestLinearInit)

# %% [markdown]
# ## Exercise 3: one after the other
#
# A layer that only uses other layers is a module like any other. The simplest one is a chain. With
# `double` and `add_one` as layers:
#
# ```
# Sequential(double, add_one)(3)   3 -> 6 -> 7
# Sequential(add_one, double)(3)   3 -> 4 -> 8
# ```
#
# The layers are kept as attributes with the names "0", "1", ...; looping over the module yields them in
# order, and indexing, slicing and `append` come from `Numbered`, given. Call the layers, `layer(x)`,
# never `layer.forward(x)`: only a call tells those who listen to it (`register_forward_hook`, used by the
# profiler of module 14).

# %%
#| export nn.module
class Sequential(Numbered, Module):
    """A chain of modules: the output of one is the input of the next.

    modules: the links in order, or one dictionary {name: module}.
    """
    def __init__(self, *modules):
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], dict) else None
        for name, module in named.items() if named is not None else enumerate(modules):
            self.add_module(str(name), module)

    def forward(self, input):
        """What comes out of the last module when `input` goes into the first; without any, `input`."""
        ### BEGIN SOLUTION
        for layer in self:
            input = layer(input)
        return input
        ### END SOLUTION


# %%
class Do(Module):
    "For the tests: a layer made of a function"
    def __init__(self, function): self.forward = function


double, add_one = Do(lambda x: x * 2), Do(lambda x: x + 1)


class TestSequential:
    """One after the other"""
    def test_by_hand(self):
        "Double, then add one: 3 becomes 7. The other way round: 8"
        expect(Sequential(double, add_one)(Tensor([3.])), [7.])
        expect(Sequential(add_one, double)(Tensor([3.])), [8.])

    def test_nested(self):
        "A chain can be a link, no links change nothing, and a link that stands there twice works twice"
        expect(Sequential(double, Sequential(add_one, double), Sequential())(Tensor([3.])), [14.])
        expect(Sequential(double, double)(Tensor([3.])), [12.], why="children() yields each link once")

    def test_called(self):
        "Links are called, so a hook on a link hears of it"
        link, heard = Do(lambda x: x + 1), []
        link.register_forward_hook(lambda module, args, out: heard.append((args[0].item(), out.item())))
        expect(Sequential(double, link)(Tensor([3.])), [7.])
        assert heard, "nobody was told: layer.forward(x) goes past the hooks, write layer(x)"
        expect(heard, [(6., 7.)], why="the link is called once, with 6, and answers 7")


run_tests(TestSequential)

# %% [markdown]
# ## Exercise 4: Flatten
#
# A linear layer wants rows of numbers, and a batch of pictures has the shape (B, 1, 8, 8). Between the
# two stands a layer that makes one axis of several:
#
# ```
# Flatten()        (B, 1, 8, 8) -> (B, 64)         all from axis 1 on: the batch axis stays
# Flatten(0, 1)    (B, T, C)    -> (B*T, C)        only axes 0 to 1
# ```
#
# The sizes from start_dim to end_dim, included, become their product. Nothing is computed, and usually
# nothing copied. Tensors have a method `flatten` since module 01 (`shape_dev.py`) that does it all, with
# empty batches, negative dims and the errors. Use it: many a layer only remembers how an op is called.

# %%
#| export
class Flatten(Module):
    """Makes one axis of all from start_dim to end_dim (included).

    >>> Flatten()(zeros(5, 1, 8, 8)).shape
    (5, 64)
    """
    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        """`input` with the sizes from start_dim to end_dim replaced by their product.

        Raises IndexError for a dimension that is not there, RuntimeError if start_dim comes after end_dim.
        """
        ### BEGIN SOLUTION
        return input.flatten(self.start_dim, self.end_dim)
        ### END SOLUTION

    def extra_repr(self): return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


# %%
class TestFlatten:
    """Several axes made one"""
    def test_pictures(self):
        "Five pictures of (1, 8, 8) become five rows of 64; of none, (0, 3, 4), remains (0, 12)"
        expect(Flatten()(zeros(5, 1, 8, 8)).shape, (5, 64))
        expect(Flatten()(zeros(0, 3, 4)).shape, (0, 12))

    def test_some(self):
        "From start_dim to end_dim, both included; what lies around stays; negative dims count from the end"
        expect(Flatten(0, 1)(zeros(2, 3, 4)).shape, (6, 4))
        expect(Flatten(1, 2)(zeros(2, 3, 4, 5)).shape, (2, 12, 5))
        expect(Flatten(0, -2)(zeros(2, 3, 4)).shape, (6, 4))
        expect(Flatten(-2)(zeros(2, 3, 4)).shape, (2, 12))

    def test_errors(self):
        "A vector has no axis 1, and the end cannot come before the start"
        expect_error(IndexError, Flatten(), zeros(3))
        expect_error(RuntimeError, Flatten(2, 1), zeros(2, 3, 4))


run_tests(TestFlatten)

# %% [markdown]
# ## Exercise 5: Dropout
#
# In training, dropout sets some numbers to 0, others at each call, so that no unit can rely on one
# particular neighbour (Srivastava et al., 2014). In use nothing is dropped. That changes the sums: if in
# training a quarter is missing, the next layer gets a third more in use than it ever saw. So the kept
# ones **grow** while others are dropped. With p = 0.25, and a number from 0 to 1 drawn for each element:
#
# ```
# x        1      2      3      4
# drawn    0.81   0.11   0.52   0.30        below p = 0.25: dropped
# out      1.333  0      4      5.333       kept: times 1 / 0.75
# ```
#
# $$ \mathrm{out}_i = \frac{x_i\, m_i}{1 - p} \qquad
#    E[\mathrm{out}_i] = (1-p) \cdot \frac{x_i}{1-p} + p \cdot 0 = x_i $$
#
# The mean does not move, and evaluation mode can leave x as it is. (With p = 1 there is no 1/0 to be had:
# take the scale 0.) `rand_like(x)` draws the numbers. The op `scaled_mask` is given. It takes the mask as
# an input, because an op that drew its own could not be run twice with the same result, which module 05
# needs. Call it with the tensor `input` itself and let it do all the arithmetic: module 05 gets a rule
# for this op, and does not hear of anything done beside it.

# %%
#| export
@op
def scaled_mask(x, mask, scale):
    """x times scale where `mask` (bools) is true, 0 elsewhere."""
    out = x * mask
    out *= scale
    return out


class Dropout(Module):
    """In training sets each number to 0 with probability p and divides the others by 1 - p; in
    evaluation hands x on. Raises ValueError if p is no probability.
    """
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout(p={p}): a probability lies between 0 and 1.")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """`input` with those elements dropped whose drawn number is below p; see the class."""
        if self.inplace and self.training:             # PyTorch's option, given:
            return input._take_over(Dropout(self.p)(input.clone()))    # `input` becomes the result
        ### BEGIN SOLUTION
        if not self.training or self.p == 0:
            return input
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return scaled_mask(input, rand_like(input) >= self.p, scale)
        ### END SOLUTION

    def extra_repr(self): return f"p={self.p}, inplace={self.inplace}"


# %%
def asked(function, *args):
    "For the tests: the names of the ops that run with a tensor which asks for a gradient"
    names = []
    before = record_with(lambda op, inputs, *event: names.extend(
        [op.name for x in inputs if isinstance(x, Tensor) and x.requires_grad]))
    try:
        function(*args)
    finally:
        record_with(before)
    return names


class TestDropout:
    """Dropout"""
    def test_drawn(self):
        "One number is drawn for each element; those below p are dropped, the others divided by 1 - p"
        x = Tensor([[1., 2., 3., 4.], [5., 6., 7., 8.]])
        manual_seed(3)
        drawn = rand_like(x).data
        manual_seed(3)                                 # the same seed, the same numbers
        expect(Dropout(0.25)(x), np.where(drawn < 0.25, 0., x.data / 0.75))

    def test_mean(self):
        "The mean does not move: 40,000 ones still have the mean 1"
        out = Dropout(0.2)(zeros(200, 200) + 1)
        assert abs(out.data.mean() - 1) < 0.02, f"the mean is {out.data.mean():.3f}"
        assert abs((out.data == 0).mean() - 0.2) < 0.02, f"{(out.data == 0).mean():.1%} were dropped"

    def test_every_call(self):
        "Every call draws anew"
        drop, x = Dropout(0.5), zeros(1000) + 1
        one, other = drop(x).data, drop(x).data
        assert (one != other).any(), "the same elements were dropped twice: draw inside forward"

    def test_evaluation(self):
        "In evaluation nothing is dropped and nothing is scaled"
        drop = Dropout(0.9)
        drop.training = False
        expect(drop(Tensor([1., 2., 3.])), [1., 2., 3.])

    def test_ends(self):
        "p = 0 drops nothing, p = 1 drops everything and leaves zeros, not nan"
        expect(Dropout(0.)(Tensor([1., 2.])), [1., 2.])
        out = Dropout(1.)(Tensor([1., 2.]).double())
        expect(out, [0., 0.])
        expect(str(out.dtype), "float64", why="p = 1 keeps the dtype too: only the scale differs")

    def test_one_op(self):
        "It is one op, scaled_mask of the input itself"
        for p in (0.5, 1.):
            expect(asked(Dropout(p), Parameter([1., 2.])), ["scaled_mask"],
                   why=f"p = {p}: call scaled_mask(input, mask, scale), and nothing else on input")


run_tests(TestDropout)

# %% [markdown]
# ## Exercise 6: the walk
#
# Now the question of the opening. Here is a model as a tree. `tied` is the same object as `head.weight`:
#
# ```
# model
# |-- scale          Parameter             scale
# |-- head           Layer(3, 2)           head.weight, head.bias
# |-- blocks         a list of
# |   |-- 0          Layer(3, 3)           blocks.0.weight, blocks.0.bias
# |   `-- 1          Sequential
# |       `-- 0      Layer(3, 3)           blocks.1.0.weight, blocks.1.0.bias
# `-- tied           Parameter             (head.weight once more)
# ```
#
# The method to write is `named_parameters`, in the class `Module` above exercise 1. It yields pairs of
# name and parameter, first the module's own, then what each child yields, one child after the other.
# Since a child does the same, that is all: the walk is this one method, calling itself. Above, the order
# begins with scale, tied, head.bias.
#
# * `members(self)` yields name and value of every attribute, and opens lists: ("blocks.0", the
#   Layer), ... `vars(self)` alone would hide them. `isinstance(value, Parameter)` tells what is what.
# * `dotted(prefix, name)` puts a name below a prefix. A child's prefix is its own dotted name.
# * A parameter that is reached twice comes once. Otherwise an optimiser would step it twice, and that is
#   exactly what happens to tied weights in a program that forgets it. A set can hold tensors: in a set, a
#   tensor is equal to itself only. With `remove_duplicate=False` it comes once for every path, in the
#   children as well: hand the wish on.
# * A parameter with `requires_grad=False` (*frozen*: not to be changed for now) is one like the others. A
#   plain tensor is none.

# %%
class Layer(Module):
    "For the tests: what a Linear remembers, so that exercises 6 to 9 can do without exercise 2"
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight, self.bias = Parameter(randn(n_out, n_in)), Parameter(randn(n_out))


class Model(Module):
    "For the tests: the tree above"
    def __init__(self):
        super().__init__()
        self.scale = Parameter([1.])
        self.head = Layer(3, 2)
        self.blocks = [Layer(3, 3), Sequential(Layer(3, 3))]
        self.tied = self.head.weight
        self.constant = Tensor([7.])


def expect_names(got, want, why=""):
    "For the tests: `expect`, and which names make the difference"
    few, many = [n for n in want if n not in got], [n for n in got if n not in want]
    expect(list(got), want, why=f"missing: {few}, too many: {many}. {why}")


class TestModuleNamedParameters:
    """The walk over parameters"""
    def names(self, module, **how): return [name for name, _ in module.named_parameters(**how)]

    def test_paths(self):
        "Through a chain of chains the names are paths"
        expect_names(self.names(Sequential(Layer(3, 2), Sequential(Layer(2, 1)))),
                     ["0.weight", "0.bias", "1.0.weight", "1.0.bias"],
                     why="A child gets its own path as prefix, and hands it on.")

    def test_tree(self):
        "The tree above: own parameters first, lists opened, the tied one once and under its first name"
        expect_names(self.names(Model()), ["scale", "tied", "head.bias", "blocks.0.weight", "blocks.0.bias",
                                           "blocks.1.0.weight", "blocks.1.0.bias"],
                     why="First all own ones, then child by child; tied is reached before head.weight.")

    def test_tied_layers(self):
        "A layer that stands twice in a chain is counted once: 12 numbers, not 24"
        layer = Layer(3, 3)
        expect(sum(p.numel() for p in Sequential(layer, double, layer).parameters()), 12)

    def test_frozen(self):
        "A layer yields its own in the order of assignment, the tensors themselves, and a frozen one too"
        layer = Layer(3, 2)
        layer.weight.requires_grad_(False)
        expect_names(self.names(layer), ["weight", "bias"])
        assert next(layer.named_parameters())[1] is layer.weight, "the tensor itself, no copy of it"

    def test_only_own(self):
        "recurse=False stays at home, and prefix stands in front of every name"
        expect_names(self.names(Model(), recurse=False), ["scale", "tied"])
        expect_names(self.names(Sequential(Layer(3, 2)), prefix="net"), ["net.0.weight", "net.0.bias"])

    def test_every_path(self):
        "remove_duplicate=False: every path to it, also inside a child"
        layer = Layer(3, 2)
        layer.again = layer.weight
        expect_names(self.names(layer), ["weight", "bias"])
        expect_names(self.names(Sequential(layer), remove_duplicate=False),
                     ["0.weight", "0.bias", "0.again"], why="Does the child hear of remove_duplicate?")


run_tests(TestModuleNamedParameters)

# %% [markdown]
# ## Exercise 7: one flag down the tree
#
# Dropout looks at `self.training`. A model has dropout somewhere deep inside, and it is switched as a
# whole: `model.train()` before training, `model.eval()` (given: `train(False)`) before it is used. Forget
# the second, and a good model answers at random.
#
# It is the same walk, simpler: `self.children()` yields the modules directly below. One thing to get
# right: let each child do it, `child.train(mode)`, rather than setting its flag from outside. Then a
# layer that has a reason to stay as it is can override `train`. And return the module, so that
# `model = build().eval()` works. A mode that is no bool, be it "eval" or 1, is a ValueError.

# %%
class Stubborn(Module):
    "For the tests: a layer that never trains"
    def train(self, mode=True): return super().train(False)


class TestModuleTrain:
    """Training mode"""
    def test_down(self):
        "eval() reaches every level, lists too; train() takes it back. Both return the model"
        model = Model()
        assert model.eval() is model, "train must return the module: `return self` is missing"
        expect([m.training for m in model.modules()], [False] * 5)
        expect([m.training for m in model.train().modules()], [True] * 5)

    def test_asked(self):
        "A child that overrides train has a say in it"
        chain = Sequential(Stubborn(), Do(None))
        chain.train()
        expect([m.training for m in chain], [False, True], why="call child.train(mode)")

    def test_error(self):
        "train('eval') would be true, and mean the opposite: ValueError, as for 1"
        expect_error(ValueError, Model().train, "eval", says=["eval"])
        expect_error(ValueError, Model().train, 1, says=["1"])


run_tests(TestModuleTrain)

# %% [markdown]
# ## Exercise 8: what must be saved
#
# A trained model is its numbers. `state_dict` gives them by name: all parameters, and all **buffers**,
# which are tensors that are not learned but belong to the model (the running mean of module 09's batch
# norm):
#
# ```python
# self.register_buffer("mean", zeros(3))                         # saved, and moves with the model
# self.register_buffer("mask", ones(3, 3), persistent=False)     # moves, and can be computed again
# ```
#
# Say `Normalised` has these two and a parameter `scale`. Then the names of the chain
# `Sequential(Normalised(), Layer(3, 2))` are 0.scale, 0.mean, 1.weight, 1.bias.
#
# Two things differ from exercise 6. A tied parameter comes under *each* of its names, so that a reader
# who knows only one of them finds it. And the tensors are **copies**. Imagine the alternative: after the
# best epoch you keep `best = model.state_dict()`, training goes on, writes into the same memory, and at
# the end `best` is whatever the model is then. (PyTorch does that, and it is a famous trap.)
#
# `self.named_modules(remove_duplicate=False)` yields (path, module) for this module (path "") and all
# below. For one module, `named_parameters(path, recurse=False, ...)` is yours, and
# `named_buffers(path, recurse=False, ..., saved_only=True)` is given; ask both for duplicates.
#
# `Tensor(t)` is a copy of the numbers and nothing else. `t.clone()` would be a step of the computation,
# noted down in the copy's *history* (module 05) if t asks for a gradient; and `t.detach()` drops the
# history but shares the memory.

# %%
class Normalised(Module):
    "For the tests: a parameter and two buffers"
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", Tensor([1., 2., 3.]))
        self.register_buffer("mask", Tensor([0.]), persistent=False)
        self.scale = Parameter([2.])

    def forward(self, x): return (x - self.mean) * self.scale


class TestModuleStateDict:
    """What must be saved"""
    def test_names(self):
        "Parameters, then persistent buffers, module by module; what can be computed again is left out"
        expect_names(Sequential(Normalised(), Layer(3, 2)).state_dict(),
                     ["0.scale", "0.mean", "1.weight", "1.bias"])

    def test_numbers(self):
        "They are the numbers of the model, as plain tensors that ask for no gradient"
        layer = Layer(3, 2)
        weight = layer.state_dict()["weight"]
        expect(weight, layer.weight.data)
        assert type(weight) is Tensor and not weight.requires_grad, f"a plain tensor, not {weight!r:.60}"
        expect(asked(layer.state_dict), [], why="clone() is an op, a step of a computation: use Tensor(t)")

    def test_copies(self):
        "Training goes on, and the saved state stays as it was"
        model = Sequential(Normalised())
        state = model.state_dict()
        overwrite(model[0].scale, np.array([99.]))
        overwrite(model[0].mean, np.array([99., 99., 99.]))
        for name, numbers in {"0.scale": [2.], "0.mean": [1., 2., 3.]}.items():
            expect(state[name], numbers, why=f"{name} shares the memory of the model: copy the numbers")

    def test_tied(self):
        "A shared parameter comes under each of its names, in several modules or in one"
        layer = Layer(3, 3)
        layer.again = layer.weight
        expect_names(layer.state_dict(), ["weight", "bias", "again"], why="Ask for duplicates too.")
        expect_names(Sequential(layer, layer).state_dict(), [
            "0.weight", "0.bias", "0.again", "1.weight", "1.bias", "1.again"])

    def test_options(self):
        "prefix stands before every name as it is, without a dot of yours; keep_vars=True copies nothing"
        model = Normalised()
        expect_names(model.state_dict(prefix="net/"), ["net/scale", "net/mean"])
        state = model.state_dict(keep_vars=True)
        assert state["scale"] is model.scale and state["mean"] is model.mean


run_tests(TestModuleStateDict)

# %% [markdown]
# ## Exercise 9: and loading it
#
# The other direction: write the numbers of a `state_dict` into the tensors of these names. **In place**:
# an optimiser may hold the parameters, and a tied weight must stay tied. Use `overwrite(tensor, values)`,
# given: it is no step of a computation, and it notes down that this memory was written, which module 05
# asks about. (`tensor.data[...] = values` does not.)
#
# Names are a contract, and here is where it is broken: the file is of an older version, or of another
# model. Compare before you write. For `Linear(3, 2)`, which has weight (2, 3) and bias (2,), and a file
# with weight (2, 4) and a stray "scale":
#
# ```
# RuntimeError: load_state_dict of Linear: bias is missing; scale is unexpected; weight is (2, 4) and must be
# (2, 3). Is it the state of another model?
# ```
#
# All complaints in one error, since fixing them one by one is no fun with fifty names, and nothing
# written: a model that is half loaded is worse than one that is not. With `strict=False` missing and
# unexpected names are only reported, in the result, `IncompatibleKeys(missing, unexpected)`; a wrong
# shape remains an error, because there is nothing sensible to do.

# %%
class TestModuleLoadStateDict:
    """Loading"""
    def test_round_trip(self):
        "What one model saved, another of the same shape loads: then both have the same numbers"
        one, other = Sequential(Normalised(), Layer(3, 2)), Sequential(Normalised(), Layer(3, 2))
        overwrite(one[0].mean, np.array([5., 5., 6.]))
        other.load_state_dict(one.state_dict())
        expect(other[0].mean, [5., 5., 6.])
        expect(other[1].weight, one[1].weight.data)
        expect(other[1].bias, one[1].bias.data)

    def test_in_place(self):
        "The parameters stay the same objects in the same memory, and the write is noted down"
        layer, state, before = Layer(3, 2), Layer(3, 2).state_dict(), writes.last
        parameter, array = layer.weight, layer.weight.data
        expect(asked(layer.load_state_dict, state), [], why="no op may hear of a parameter: use overwrite")
        assert layer.weight is parameter and layer.weight.data is array and parameter.requires_grad
        assert writes.last != before, "nobody was told that memory was written: use overwrite"

    def test_one_error(self):
        "One error names everything that is wrong, and nothing was written"
        chain = Sequential(Layer(3, 2))
        before = chain.state_dict()
        state = {"0.weight": Tensor(np.ones((2, 4))), "scale": Tensor([1.])}
        expect_error(RuntimeError, chain.load_state_dict, state,
                     says=["0.bias", "scale", "0.weight", "(2, 4)", "(2, 3)", "Sequential"])
        state = {"0.weight": Tensor(np.ones((2, 3)) * 50), "0.bias": Tensor([1., 2., 3.])}
        expect_error(RuntimeError, chain.load_state_dict, state, says=["0.bias"])
        expect(chain[0].weight, before["0.weight"].data, why="compare all names before writing any")

    def test_missing_or_unexpected(self):
        "Strictly, one name too few is an error, and so is one too many"
        layer = Layer(1, 1)
        weight, bias = Tensor([[3.]]), Tensor([4.])
        expect_error(RuntimeError, layer.load_state_dict, {"weight": weight}, says=["bias"])
        expect_error(RuntimeError, layer.load_state_dict, {"weight": weight, "bias": bias, "old": bias},
                     says=["old"])

    def test_not_strict(self):
        "strict=False loads what fits and returns both lists; a wrong shape, also (1,) for (2,), is an error"
        layer = Layer(1, 1)
        bias = layer.bias.item()
        result = layer.load_state_dict({"weight": Tensor([[3.]]), "old": Tensor([1.])}, strict=False)
        expect(layer.weight, [[3.]])
        expect(layer.bias.item(), bias)
        expect(result.missing_keys, ["bias"])
        expect(result.unexpected_keys, ["old"])
        expect_error(RuntimeError, Layer(3, 2).load_state_dict, {"bias": Tensor([1.])}, strict=False,
                     says=["bias", "(1,)", "(2,)"])


run_tests(TestModuleLoadStateDict)

# %% [markdown]
# ## Exercise 10: numbers to begin with
#
# A sum of n independent numbers, each a weight of deviation s times an input of deviation 1, has the
# deviation s √n. Then relu sets half of it to 0, and in the mean square half of it is gone. So one layer
# multiplies the size of the signal by s √(n/2), and twenty layers multiply it by the twentieth power:
#
# ```
# n = 256   s = 0.01     factor 0.113     after 20 layers   1e-19      nothing left
#           s = 1        factor 11.3      after 20 layers   1e21       overflow is near
#           s = 0.0884   factor 1.000     after 20 layers   1          give or take
# ```
#
# The one that works is s = √(2/n) (He et al., 2015; by first name, Kaiming). For n = 64 it is 0.1768. In
# general, where *gain* makes up for what the activation takes away, √2 for relu:
#
# $$ s = \frac{\mathrm{gain}}{\sqrt{\mathrm{fan}}} \qquad \mathrm{fan} = \mathrm{in}
#    \text{ (or out, for the gradient, which module 05 sends backwards)} $$
#
# `fans(tensor)` gives (fan_in, fan_out) of a weight (out, in), `calculate_gain(nonlinearity, a)` the
# gain, `normal_(tensor, mean, std, generator)` fills a tensor and returns it: all given in `init_dev.py`,
# with the sisters of this function. (`generator`: a source of chance of one's own, which `manual_seed`
# and other draws do not touch. Hand it on.)

# %%
#| export nn.kaiming
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill a weight with normal numbers of deviation gain / √fan, and return it (He et al., 2015).

    a: the slope below 0 of a leaky relu (0: a plain relu). mode: "fan_in" keeps the size of the signal,
    "fan_out" that of the gradient. Raises ValueError for another mode.

    >>> round(float(kaiming_normal_(zeros(1000, 64)).data.std()), 2)
    0.18
    """
    ### BEGIN SOLUTION
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming_normal_: mode is 'fan_in' or 'fan_out', got {mode!r}.")
    fan = fans(tensor)[mode == "fan_out"]
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)
    ### END SOLUTION


# %%
class TestKaimingNormal:
    """Kaiming's start"""
    def std(self, shape, **how): return float(kaiming_normal_(zeros(*shape), **how).data.std())

    def test_by_hand(self):
        "64 inputs: deviation √(2/64) = 0.1768, whatever the number of units"
        expect(self.std((3000, 64)), 0.1768, tol=0.003)
        expect(self.std((300, 64)), 0.1768, tol=0.006, why="fan_in is the second size of (out, in)")

    def test_tails(self):
        "They are drawn normally: a few of 192,000 lie more than 3 deviations from 0, some 0.27 %"
        far = abs(kaiming_normal_(zeros(3000, 64)).data) > 3 * 0.1768
        expect(float(far.mean()), 0.0027, tol=0.001, why="drawn evenly, none would")

    def test_fan_out(self):
        "mode='fan_out' looks at the units: √(2/800) = 0.05"
        expect(self.std((800, 64), mode="fan_out"), 0.05, tol=0.001)

    def test_gain(self):
        "Without an activation nothing is lost, and the gain is 1: 0.125. A leaky slope of 1 is none either"
        expect(self.std((3000, 64), nonlinearity="linear"), 0.125, tol=0.003)
        expect(self.std((3000, 64), a=1), 0.125, tol=0.003)

    def test_in_place(self):
        "The tensor itself is filled and returned, also a parameter, which stays one"
        weight = Parameter(zeros(5, 4))
        assert kaiming_normal_(weight) is weight and weight.data.all() and weight.requires_grad

    def test_generator(self):
        "A generator of one's own repeats its numbers, whatever else was drawn"
        one, other = [kaiming_normal_(zeros(5, 4), generator=Generator().manual_seed(7)) for _ in "12"]
        expect(one, other.data, why="hand the generator on to normal_")

    def test_depth(self):
        "Through 20 layers with relu the signal keeps its size"
        manual_seed(1)
        x = randn(64, 128)
        for _ in range(20):
            x = relu(x @ kaiming_normal_(zeros(128, 128), nonlinearity="relu").T)
        assert 0.1 < x.data.std() < 10, f"deviation {x.data.std():.1e} after 20 layers"

    def test_errors(self):
        "A bias has no fan, and there is no mode 'fan'"
        expect_error(ValueError, kaiming_normal_, zeros(5), says=["(5,)"])
        expect_error(ValueError, kaiming_normal_, zeros(5, 4), mode="fan", says=["'fan'"])


run_tests(TestKaimingNormal)

# %% [markdown]
# ## Measure
#
# Guess first, in writing. A signal of size 1 goes through 20 layers of 256 units with relu. What is left
# of it with weights of deviation 0.01, with PyTorch's default (exercise 2), with Kaiming's, with
# deviation 1? (Size: the root of the mean square, as in exercise 10.) And: a layer of 1024 by 1024 needs
# some time for one row. How much longer does it need for 256 rows?

# %%
@measure
def twenty_layers():
    starts = {"N(0, 0.01)": lambda w: normal_(w, 0.0, 0.01), "PyTorch's default": lambda w: w,
              "Kaiming": lambda w: kaiming_normal_(w, nonlinearity="relu"), "N(0, 1)": normal_}
    print("Right: how many of the numbers have which size; a column is a power of ten.")
    print("       # a third of all or more   o a tenth or more   . fewer\n")
    print(f"{'start':18}layer      size   {'  1e-20':22}1{'1e+20':>20}")
    for name, start in starts.items():
        x = randn(256, 256)
        for depth in range(1, 21):
            layer = Linear(256, 256, bias=False)
            start(layer.weight)
            x = relu(layer(x))
            if depth in (1, 10, 20):
                y = x.data.astype("float64").ravel()
                counts = np.histogram(np.log10(y[y > 0]), bins=45, range=(-22.5, 22.5))[0]
                bar = [" .o#"[i] for i in np.searchsorted([0.5, len(y) / 10, len(y) / 3], counts)]
                print(f"{name:18}{depth:5}   {math.sqrt((y ** 2).mean()):7.1e}   {''.join(bar)}")


@measure
def one_row_and_many():
    layer = Linear(1024, 1024)
    one, many = [min([timed(layer, x, repeat=1) for _ in range(20)])     # the best of many: others run too
                 for x in (randn(1, 1024), randn(256, 1024))]
    print(f"1 row {one * 1e6:.0f} us, 256 rows {many * 1e6:.0f} us: {many / 256 * 1e6:.0f} us each")


# %% [markdown]
# Each layer multiplies the size by the same factor, so the logarithm moves by equal steps: to the left
# with small weights, to the right with large ones. Only Kaiming's stays about where it was, give or take
# what chance does. PyTorch's default loses a factor of √6 a layer, nearly 10⁸ in 20. Networks of that
# depth learn anyway, because later modules normalise the signal between layers (09, 13); without that,
# they need a start like Kaiming's.
#
# The second: one row reads 4 MB of weights and does two operations with each number, so the processor
# waits for the memory. 256 rows read the same 4 MB and use each number 256 times. So a row in a batch
# costs several times less than a row alone, on an idle machine. (On a busy one the threads of a product
# wait for each other: set `OPENBLAS_NUM_THREADS=1` before Python starts, and look again.) It is why
# batches exist, and why module 15 finds that a model that writes one word at a time is limited by memory.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. What happens if all weights and biases of a network with relu begin at zero?
# 2. Why does dropout scale in training, and not in use?
# 3. Would you save a model as a whole object (`pickle`), or as a dictionary of arrays?
#
# ## Where this code lives
#
# `tito export 03` writes it to `tinytorch/nn/`: `module.py` (Module, Sequential), `layers.py`,
# `kaiming.py`, and beside them what was given, among it `containers.py` (ModuleList and the like) and
# `simple_layers.py`: ReLU, Softmax and so on, three lines each, so that module 02's functions can be
# links.
#
# ```python
# from tinytorch import nn
# model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))
# print(model, sum(p.numel() for p in model.parameters()))
# ```
#
# Module 06 asks a model for its parameters, 07 for its state; every layer from 09 on is a `Module`. So who
# keeps the list of the opening? Nobody: it is found when it is wanted, and a Parameter that a module
# holds, as an attribute or in a list, is in it. (One in a dictionary is not; `ParameterDict` is for that.)
#
# In the real world: PyTorch's `nn.Module` sorts attributes into three dictionaries
# (parameters, buffers, modules) when they are assigned, and finds them again in `__getattr__`. The one
# thing it does differently: a plain list of layers stays invisible to it, and you must write
# `nn.ModuleList` (ours has that class too).
