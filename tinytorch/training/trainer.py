# Generated from modules/07_training/training_dev.py by tito export. Edit the lesson, not this file.
# source sha256 0e6bb021ce37f05d8de46d39a3d0307c2a38f3d46c1f8aac71214c222618fa79  body sha256 3273a8bf9af0fb14930dcae2f23ba58217c2884c9bc4a1bf10ca7884c863fdd0  # noqa: E501
"""training.trainer: built in module 07_training."""

from tinytorch.core.autograd import no_grad
from tinytorch.training.clipping import clip_grad_norm_
from tinytorch.training.gradients import clip_grad_value_
from tinytorch.training.trainer_base import TrainerBase

__all__ = ["Trainer"]


class Trainer(TrainerBase):
    """Trains a model, looks at other data, stops, saves, and goes on to the same bits.

    loss_fn(output, target): the mean over a batch's examples. A batch is (*inputs, target), or a dictionary
    with "target"; arrays are taken as tensors.

    scheduler, schedule: takes its step after each "epoch" or after each "batch" (step of the optimizer).
    metrics: {name: function(output, target)}, means over examples, for `evaluate`.
    clip_norm, clip_value: the longest gradient, the largest element of one.
    accumulate: how many batches make one step. callbacks: told in this order.
    step: a function (trainer, batches) in the place of `train_step`; returns the loss.
    count: a function (batch) that says how many examples are in it; by default the rows of the target, or, if
    that holds classes (integers), all that are not -100.
    device: where batches are moved to; None leaves them. seed: where a run's random numbers start.
    progress: a bar, if stderr is a terminal.
    """
    def train_step(self, batches):
        """One step of the optimizer, by the mean loss over all examples of `batches`; returns that mean.

        batches: a list; they need not be of one size. The mean is a tensor with one number and without
        history. Gradients from before are forgotten, and clipped if asked for. Raises RuntimeError, and
        takes no step, if a loss is nan or inf.
        """
        sizes = [self.size_of(batch) for batch in batches]
        self.optimizer.zero_grad()
        mean = 0.0
        for batch, size in zip(batches, sizes):
            loss = self.checked(self.loss_fn(*self.output_of(batch)))
            share = loss * (size / sum(sizes))
            share.backward()
            mean = mean + share.detach()
        self.clip_gradients()
        self.optimizer.step()
        return mean

    def clip_gradients(self):
        """Clip all gradients of the model, by norm, then by value, as the trainer was told."""
        if self.clip_norm is not None:
            clip_grad_norm_(self.model.parameters(), self.clip_norm)
        if self.clip_value is not None:
            clip_grad_value_(self.model.parameters(), self.clip_value)

    def evaluate(self, batches):
        """{"loss": ..., and each metric by its name}: means over all examples, plain floats.

        The model is in evaluation mode meanwhile, and nothing is recorded. Afterwards, also after an error,
        each module has the mode that it had. Raises ValueError if there is no batch.
        """
        modes = [(module, module.training) for module in self.model.modules()]
        sums, examples = dict.fromkeys(["loss", *self.metrics], 0.0), 0
        try:
            self.model.eval()
            with no_grad():
                for batch in batches:
                    output, target = self.output_of(batch)
                    size = self.size_of(batch)
                    examples += size
                    for name, function in {"loss": self.loss_fn, **self.metrics}.items():
                        sums[name] += float(function(output, target)) * size
        finally:
            for module, mode in modes:
                module.training = mode
        if not examples:
            raise ValueError("evaluate: there was no batch. Was an iterator read before?")
        return {name: total / examples for name, total in sums.items()}

    def fit(self, batches, epochs, validation=None, checkpoint=None, save_every=None):
        """Train until `epochs` epochs are over, those before included, or a callback stops; the history.

        batches, validation: iterables that can be read once an epoch. checkpoint: a path, written after each
        epoch, after every `save_every` steps, and at Ctrl-C, which takes effect after the step that runs.
        A row of the history: "epoch" (from 1); "lr", the rate after the epoch's last step and before a
        schedule by epochs; "loss", the mean over the epoch's examples; with validation "val_loss" and "val_"
        for each metric.
        """
        with self.running(batches, epochs, validation, checkpoint, save_every):
            self.tell("on_fit_start")
            while self.epoch < epochs and not self.stopped:
                self.begin_epoch()
                for group in self.groups(batches):
                    self.note(self.one_step(group), group)
                row = {"epoch": self.epoch + 1, "lr": self.lr(), "loss": self.mean_loss()}
                if validation is not None:
                    row.update({f"val_{name}": x for name, x in self.evaluate(validation).items()})
                self.step_schedule(row)
                self.end_epoch(row)
            self.tell("on_fit_end")
        return self.history

    def save_checkpoint(self, path):
        """Write all that the rest of the run depends on; between two steps."""
        save(self.state_dict(), path)

    def resume(self, path):
        """Take over what `save_checkpoint` wrote: the next `fit` goes on as if nothing had happened.

        The trainer must be made as that one was. Raises RuntimeError that lists the names if the model is
        another one, ValueError if the file is no checkpoint of such a trainer; then nothing has changed.
        """
        saved = load(path)
        self.check_saved(saved, path)
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(saved["scheduler"])
        for callback, state in zip(self.callbacks, saved["callbacks"]):
            callback.load_state_dict(state)
        self.history[:] = saved["history"]
        self.go_on_at(saved["position"])
        self.restore_random(saved["random"])


from tinytorch.training.saving import load, save  # at the end: the two files need each other  # noqa: E402
