"""TinyTorch: a tensor, autograd, and what is built on them, with PyTorch's names.

The files below `core`, `nn`, ... that start with "Generated from" are written by `tito export` from the
lessons in `modules/`. This file and the other faces hand on their names.
"""

import warnings
from importlib import import_module
from math import e, inf, nan, pi  # noqa: F401

from tinytorch._faces import face

__version__ = "0.1.0"

# log(0) is -inf and 0/0 is nan without further noise, as in PyTorch; detect_anomaly() finds the op
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tinytorch\.")

# Loaded at once: every op must know its rule before it first runs
for _name in ("rules", "ops_rules"):
    import_module(f"tinytorch.core.{_name}")

__getattr__, __dir__ = face(__name__, {
    "core.backend": "device Generator manual_seed default_generator",
    "core.dtypes": """float16 float32 float64 int8 int32 int64 uint8 half=float16 float=float32
        double=float64 int=int32 long=int64 bool=bool_ promote_types result_type""",
    "core.tensor": "Tensor",
    "core.creation": """arange as_tensor asarray bernoulli empty empty_like eye from_dlpack from_numpy full
        full_like is_tensor linspace logspace multinomial normal ones ones_like rand rand_like randint
        randint_like randn randn_like randperm tensor tril_indices triu_indices zeros zeros_like""",
    "core.ops": """add eq gather ge gt le lt masked_fill matmul mean multiply mul=multiply ne negative
        neg=negative pow reshape subtract sub=subtract transpose var""",
    "core.math": """abs absolute acos acosh addcdiv addcmul all allclose amax amin any arccos arccosh
        arcsin arcsinh arctan arctan2 arctanh argmax argmin asin asinh atan atan2 atanh bitwise_and
        bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip cos cosh count_nonzero
        cumprod cumsum dist div divide=div equal erf exp exp2 expm1 fix floor floor_divide fmax fmin fmod
        frac greater greater_equal hypot isclose isfinite isinf isnan lerp less less_equal log log10
        log1p log2 logaddexp logical_and logical_not logical_or logical_xor logsumexp max maximum
        median min minimum nan_to_num norm not_equal prod reciprocal remainder round rsqrt sign sin sinh
        sqrt square std std_mean sum tan true_divide trunc var_mean where xlogy""",
    "core.products": """addbmm addmm addmv addr baddbmm bmm dot einsum inner kron mm mv outer tensordot
        trace""",
    "core.shape": """broadcast_shapes broadcast_tensors broadcast_to cat chunk clone column_stack concat
        concatenate diagonal dstack flatten flip fliplr flipud hstack meshgrid moveaxis movedim narrow
        permute ravel repeat_interleave roll rot90 row_stack select split squeeze stack swapaxes
        swapdims t tensor_split tile unbind unflatten unsqueeze vstack""",
    "core.indexing": """argsort argwhere bincount bucketize diag diag_embed index_add index_copy
        index_fill index_select kthvalue masked_select nonzero scatter scatter_add searchsorted sort
        take take_along_dim topk tril triu unique""",
    "core.autograd": "no_grad",
    "core.higher": "enable_grad inference_mode is_grad_enabled set_grad_enabled",
    "nn.activations": "relu sigmoid tanh softmax log_softmax",
}, parts=("autograd", "cuda", "func", "linalg", "nn", "optim", "utils", "viz"))
