"""The heads on BERT, with the numbers of transformers' models of the same names."""
import numpy as np
import pytest

from tinytorch import tensor
from tinytorch.models import (
    BERTEncoder,
    BERTForMaskedLM,
    BERTForPreTraining,
    BERTForQuestionAnswering,
    BERTForSequenceClassification,
    BERTForTokenClassification,
    pretraining_loss,
    span_loss,
    token_loss,
)
from tinytorch.models.families import BERT
from tinytorch.models.pretrained import places_of
from tinytorch.nn.functional import cross_entropy
from tinytorch.nn.parameter import overwrite

from .tiny import run, same, saved, transformers

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 32, "max_position_embeddings": 12}
HEADS = {"predictions.dense": "cls.predictions.transform.dense",
         "predictions.norm": "cls.predictions.transform.LayerNorm",
         "predictions.decoder": "cls.predictions.decoder", "seq_relationship": "cls.seq_relationship",
         "classifier": "classifier", "qa_outputs": "qa_outputs"}
IDS = np.array([[1, 5, 6, 7, 2, 0], [1, 8, 9, 2, 0, 0]])
TYPES = np.array([[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 0, 0]])
WORDS = np.where(IDS > 6, IDS, -100)
TAGS, CLASSES = np.where(IDS > 2, IDS % 3, -100), np.array([2, 0])
MODELS = {                         # kind, its outputs' names there, has it a pooler, labels, loss
    "MaskedLM": (BERTForMaskedLM, ("logits",), False, {"labels": WORDS}, token_loss),
    "PreTraining": (BERTForPreTraining, ("prediction_logits", "seq_relationship_logits"), True,
                    {"labels": WORDS, "next_sentence_label": np.array([1, 0])}, pretraining_loss),
    "SequenceClassification": (BERTForSequenceClassification, ("logits",), True, {"labels": CLASSES},
                               cross_entropy),
    "TokenClassification": (BERTForTokenClassification, ("logits",), False, {"labels": TAGS}, token_loss),
    "QuestionAnswering": (
        BERTForQuestionAnswering, ("start_logits", "end_logits"), False,
        {"start_positions": np.array([1, 2]), "end_positions": np.array([3, 2])}, span_loss)}


@pytest.mark.parametrize("name", MODELS)
def test_a_head_gives_the_judges_scores_and_loss(name, tmp_path):
    """Each of its parameters has one place in the other's names, and none is left over"""
    kind, outputs, pooler, labels, loss = MODELS[name]
    options = {"num_classes": 3} if name.endswith("Classification") else {}
    config = transformers.BertConfig(**SIZES, num_labels=options.get("num_classes", 2))
    theirs, _ = saved(getattr(transformers, f"BertFor{name}")(config), tmp_path)
    ours = kind(BERTEncoder(40, 16, 2, 4, 32, 12, pooler=pooler), **options).double().eval()
    table = {**HEADS, **{f"bert.{mine}": f"bert.{place}" for mine, place in BERT.names.items()}}
    numbers, used = theirs.state_dict(), set()
    for mine, parameter in ours.state_dict(keep_vars=True).items():
        (place, _), = places_of(mine, table)
        used.add(place)
        overwrite(parameter, numbers[place].numpy())
    assert set(numbers) - used <= {"cls.predictions.bias"}     # the decoder's, under another name
    given = IDS, (IDS != 0).astype("int64"), TYPES
    want, got = run(theirs, *given, **labels), run(ours, *given)
    for x, output in zip([got] if len(outputs) == 1 else got, outputs, strict=True):
        same(x, want[output])
    wanted = [tensor(x) for x in labels.values()]
    same(loss(got, wanted if len(wanted) > 1 else wanted[0]), want.loss)
