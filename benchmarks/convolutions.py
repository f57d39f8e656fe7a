"""Convolutions and a LeNet's epoch: TinyTorch beside PyTorch eager (see race.py).

    python benchmarks/convolutions.py --threads 1 2 [--rounds 15]
"""

from importlib import import_module

import race

CASES = {       # input, weight, stride, padding, whether the input wants a gradient, as after another layer
    "(64,1,28,28) -> 32, 3x3": ((64, 1, 28, 28), (32, 1, 3, 3), 1, 0, False),
    "(32,16,32,32) -> 32, 3x3": ((32, 16, 32, 32), (32, 16, 3, 3), 1, 1, True),
    "(4,3,224,224) -> 768, 16x16 by 16": ((4, 3, 224, 224), (768, 3, 16, 16), 16, 0, False),
}


def convolution(torch, shape, weight_shape, stride, padding, wanted):
    """A function that runs one convolution forward and backward."""
    conv2d = torch.nn.functional.conv2d
    x = torch.randn(*shape, requires_grad=wanted)
    weight = torch.randn(*weight_shape, requires_grad=True)
    bias = torch.zeros(weight_shape[0], requires_grad=True)
    gradient = torch.randn(*conv2d(x, weight, bias, stride, padding).shape)
    return lambda: conv2d(x, weight, bias, stride, padding).backward(gradient)


def lenet_epoch(torch, pictures=4000):
    """A function that trains the 1998 milestone's network for one epoch, with its loader and optimizer."""
    data = import_module(torch.__name__ + ".utils.data")
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    dataset = data.TensorDataset(torch.rand(pictures, 1, 28, 28), torch.randint(0, 10, (pictures,)))
    loader = data.DataLoader(dataset, batch_size=64, shuffle=True)

    def epoch():
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

    return epoch


def measures(torch):
    """(name, function) of each line of the table."""
    torch.manual_seed(0)
    for name, case in CASES.items():
        yield f"convolution {name}", convolution(torch, *case)
    yield "LeNet, an epoch of 4,000 pictures", lenet_epoch(torch)


if __name__ == "__main__":
    race.main(__file__, measures, "convolutions")
