# Generated from modules/07_training/training_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0e6bb021ce37f05d8de46d39a3d0307c2a38f3d46c1f8aac71214c222618fa79  body sha256 e5c44ac0942d0e351a8c8c129aa1230c68f205a62f49d22faa19714d0785ed86  # noqa: E501
"""training.metrics: built in module 07_training."""

__all__ = ["accuracy"]


def accuracy(output, target, ignore_index=-100):
    """The share of targets whose score is the largest of its row: a tensor with one number.

    output: scores (N, C, ...). target: classes (N, ...); those equal to ignore_index do not count, and if
    none counts it is nan. Raises ValueError if the shapes do not fit.

    >>> accuracy(Tensor([[0.1, 2., -1.], [3., 0., 2.9]]), Tensor([1, 2])).item()
    0.5
    """
    if output.ndim < 2 or (output.shape[0], *output.shape[2:]) != target.shape:
        raise ValueError(f"accuracy of scores {output.shape} and targets {target.shape}: they must be "
                         "(N, C, ...) and (N, ...).")
    counted = target != ignore_index
    right = (output.argmax(1) == target) & counted
    return right.sum() / counted.sum()
