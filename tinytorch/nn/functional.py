"""Functions of layers and losses without weights of their own, `torch.nn.functional`'s names."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "nn.activations": "gelu log_softmax sigmoid softmax softplus tanh",
    "nn.more_activations": """celu elu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid
        mish prelu relu relu6 selu silu softmin softshrink softsign tanhshrink threshold""",
    "nn.layers": "linear",
    "nn.simple_layers": "dropout",
    "nn.more_losses": """binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div
        l1_loss mse_loss nll_loss smooth_l1_loss""",
    "core.indexing": "one_hot",
    "nn.spatial": "conv2d",
    "nn.pooling": "adaptive_avg_pool2d avg_pool2d max_pool2d",
    "nn.batch_norm": "batch_norm",
    "nn.more_spatial": "conv1d conv_transpose1d conv_transpose2d fold unfold",
    "nn.more_pooling": """adaptive_avg_pool1d adaptive_max_pool1d adaptive_max_pool2d avg_pool1d lp_pool1d
        lp_pool2d max_pool1d max_unpool1d max_unpool2d""",
    "nn.normalizing": "group_norm instance_norm",
    "nn.norm_functions": "layer_norm rms_norm",
    "nn.padding": "pad",
    "nn.resize": "interpolate pixel_shuffle pixel_unshuffle",
    "nn.embedding_layers": "embedding",
    "nn.spatial_layers": "dropout1d dropout2d dropout3d",
    "nn.attention": "scaled_dot_product_attention",
    "nn.multihead": "multi_head_attention_forward",
})
