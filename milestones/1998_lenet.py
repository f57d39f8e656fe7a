"""1998, LeNet: one small window, everywhere.

Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied to document recognition",
Proc. IEEE 86. A network of this kind, with ReLU and max pooling, on 5,000 digits of MNIST and on 12,000
pictures of clothes (if the digits are not there, the script says how to get them).

    python milestones/1998_lenet.py        about 15 seconds
"""

import tinytorch as torch
import tinytorch.nn as nn
from tinytorch.data import DataLoader, FashionMNIST, TensorDataset, fashion_mnist, mnist
from tinytorch.training import Trainer, accuracy, confusion_matrix
from tinytorch.viz.curves import draw_confusion
from tinytorch.viz.spatial import draw_filters


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Dropout(0.3), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def train(name, dataset, epochs, needed):
    """Train a LeNet, print and check its accuracy on pictures it has never seen; returns it and them."""
    torch.manual_seed(0)
    model, (x, y) = lenet(), dataset(train=False)
    batches = DataLoader(TensorDataset(*dataset(train=True)), batch_size=64, shuffle=True)
    held_out = DataLoader(TensorDataset(x, y), batch_size=250)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    steps = epochs * len(batches)
    trainer = Trainer(model, optimizer, nn.CrossEntropyLoss(), metrics={"accuracy": accuracy},
                      scheduler=torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, steps), schedule="batch")
    trainer.fit(batches, epochs)
    reached = trainer.evaluate(held_out)["accuracy"]
    print(f"{name}: {reached:.1%} of {len(x):,} pictures it has never seen")
    if reached < needed:
        raise SystemExit(f"missed: {needed:.0%}")
    return model, x, y


model, _, _ = train("MNIST, 5,000 digits", mnist, 15, 0.97)
draw_filters(model[0].weight, across=6)[0, 0].figure.savefig("1998_filters.png")
model, x, y = train("Fashion-MNIST, 12,000 pictures", fashion_mnist, 12, 0.85)
with torch.no_grad():
    counts = confusion_matrix(model.eval()(x), y)
draw_confusion(counts, FashionMNIST.classes).figure.savefig("1998_clothes.png")
print("pictures: 1998_filters.png, 1998_clothes.png")
