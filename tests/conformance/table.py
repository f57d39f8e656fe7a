"""What is compared, and how an operation is called where its name alone does not say it."""

# Every one of these must be there. What else PyTorch's database knows and the library has a name
# for is compared as well, without being listed.
EXPECTED = """
    add sub mul div true_divide floor_divide remainder fmod pow neg abs sign
    exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal
    sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 erf sigmoid
    floor ceil round trunc frac maximum minimum clamp
    eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite
    where masked_fill sum mean prod var std var_mean std_mean amax amin max min argmax argmin
    all any cumsum cumprod logsumexp
    matmul mm bmm mv dot outer einsum addmm addcmul addcdiv lerp
    reshape view permute transpose t swapaxes movedim flatten unflatten squeeze unsqueeze
    expand expand_as broadcast_to broadcast_tensors repeat tile flip roll
    split chunk unbind cat stack hstack vstack
    gather scatter scatter_add index_select index_add take_along_dim masked_select nonzero
    tril triu diagonal diag trace sort argsort topk meshgrid
    clone contiguous to float double half int long bool byte char
    __getitem__ __radd__ __rsub__ __rmul__ __rdiv__ __rpow__ __rmatmul__
    zeros ones full eye arange linspace zeros_like ones_like full_like
    softmax log_softmax
    nn.functional.relu nn.functional.leaky_relu nn.functional.elu nn.functional.relu6
    nn.functional.hardswish nn.functional.hardtanh nn.functional.sigmoid
    nn.functional.logsigmoid nn.functional.softplus nn.functional.tanh nn.functional.gelu
    nn.functional.silu nn.functional.softmax nn.functional.log_softmax nn.functional.linear
    nn.functional.mse_loss nn.functional.l1_loss nn.functional.smooth_l1_loss
    nn.functional.huber_loss nn.functional.binary_cross_entropy
    nn.functional.binary_cross_entropy_with_logits nn.functional.cross_entropy
    nn.functional.nll_loss nn.functional.kl_div
    nn.functional.conv1d nn.functional.conv2d
    nn.functional.conv_transpose1d nn.functional.conv_transpose2d
    nn.functional.max_pool1d nn.functional.max_pool2d
    nn.functional.avg_pool1d nn.functional.avg_pool2d
    nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d
    nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d
    nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.unfold
    nn.functional.batch_norm nn.functional.group_norm nn.functional.instance_norm
    nn.functional.layer_norm nn.functional.rms_norm
    nn.functional.interpolate nn.functional.pad
    nn.functional.pixel_shuffle nn.functional.pixel_unshuffle nn.functional.dropout2d
    nn.functional.scaled_dot_product_attention
    nn.functional.embedding
""".split()

# Operations with many samples that differ in little: at most so many are run, evenly chosen.
LIMIT = 300

# Random or uninitialised results: shape and dtype are compared, numbers are not.
NO_VALUES = {"empty_like", "empty", "new_empty", "rand_like", "randn_like", "randn", "randint_like",
             "randint", "multinomial", "normal", "bernoulli", "nn.functional.dropout",
             "nn.functional.dropout2d", "nn.functional.dropout3d",
             "cauchy", "exponential", "geometric", "log_normal", "uniform"}

# Which of several equal elements comes first is not defined, unless stable=True asks for it: for
# these an index is right if it leads to the right element. name -> position of the dimension.
TIES = {"sort": 0, "argsort": 0, "median": 0, "topk": 1, "kthvalue": 1}

# Wider float32 tolerances than assert_close's (1.3e-6, 1e-5), and why.
# Sums of products: terms reach 81 and nearly cancel, and no two libraries add in the same order.
TOLERANCES = dict.fromkeys(
    "matmul __rmatmul__ mm bmm mv addmm addmv addbmm baddbmm einsum nn.functional.linear "
    "nn.functional.conv1d nn.functional.conv2d nn.functional.conv_transpose1d "
    "nn.functional.conv_transpose2d".split(),
    {"rtol": 1.3e-6, "atol": 5e-5})
# Its samples' scores reach 200, and e to the power of a score is as wrong as the score's last digit.
TOLERANCES["nn.functional.scaled_dot_product_attention"] = {"rtol": 1e-5, "atol": 2e-4}
# One number is its own mean, but not in PyTorch's last digit, and 1/sqrt(eps) makes 316 of 1.
TOLERANCES["nn.functional.layer_norm"] = {"rtol": 1.3e-6, "atol": 1e-4}
# The gradient of y ** x is a product of a power and a logarithm, each rounded to float32.
TOLERANCES |= dict.fromkeys("pow __rpow__ float_power".split(), {"rtol": 5e-6, "atol": 1e-5})

CALLS = {}


def calls(name, needs=None):
    """The next function says how samples of the OpInfo `name` are called, if `needs` is there."""
    def register(function):
        function.needs = needs or name
        CALLS[name] = function
        return function
    return register


@calls("where")
def _(torch, x, condition, other): return torch.where(condition, x, other)


@calls("einsum")
def _(torch, tensors, equation): return torch.einsum(equation, *tensors)


@calls("T", needs="Tensor.T")
def _(torch, x): return x.T


@calls("mT", needs="Tensor.mT")
def _(torch, x): return x.mT


@calls("__rdiv__", needs="Tensor.__rtruediv__")
def _(torch, x, other): return x.__rtruediv__(other)


@calls("nn.functional.embedding")
def _(torch, weight, indices, **kwargs):
    return torch.nn.functional.embedding(indices, weight, **kwargs)


def _cast(name):
    @calls(name, needs=f"Tensor.{name}")
    def _(torch, x): return getattr(x, name)()


for _name in ("bool", "byte", "char", "double", "float", "half", "int", "long"):
    _cast(_name)


def _as_it_is(name):
    """PyTorch's database wraps random functions to seed them; the call is the plain one."""
    @calls(name)
    def _(torch, *args, **kwargs):
        for part in name.split("."):
            torch = getattr(torch, part)
        return torch(*args, **kwargs)


for _name in ("randn", "randn_like", "rand_like", "randint", "randint_like", "multinomial",
              "bernoulli", "nn.functional.dropout", "nn.functional.dropout2d",
              "nn.functional.dropout3d", "nn.functional.scaled_dot_product_attention"):
    _as_it_is(_name)
