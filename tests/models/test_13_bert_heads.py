"""The heads on BERT, with the numbers of transformers' models of the same names."""
import numpy as np
import pytest

from tinytorch.models import (
    BERTEncoder,
    BERTForMaskedLM,
    BERTForPreTraining,
    BERTForQuestionAnswering,
    BERTForSequenceClassification,
    BERTForTokenClassification,
)
from tinytorch.models.families import BERT
from tinytorch.models.pretrained import places_of
from tinytorch.nn.parameter import overwrite

from .tiny import run, same, saved, transformers

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 32, "max_position_embeddings": 12}
HEADS = {"predictions.dense": "cls.predictions.transform.dense",
         "predictions.norm": "cls.predictions.transform.LayerNorm",
         "predictions.decoder": "cls.predictions.decoder", "seq_relationship": "cls.seq_relationship",
         "classifier": "classifier", "qa_outputs": "qa_outputs"}
MODELS = {"MaskedLM": (BERTForMaskedLM, ("logits",), False, {}),
          "PreTraining": (BERTForPreTraining, ("prediction_logits", "seq_relationship_logits"), True, {}),
          "SequenceClassification": (BERTForSequenceClassification, ("logits",), True, {"num_classes": 3}),
          "TokenClassification": (BERTForTokenClassification, ("logits",), False, {"num_classes": 3}),
          "QuestionAnswering": (BERTForQuestionAnswering, ("start_logits", "end_logits"), False, {})}


@pytest.mark.parametrize("name", MODELS)
def test_a_head_gives_the_judges_scores(name, tmp_path):
    """Each of its parameters has one place in the other's names, and none is left over"""
    kind, outputs, pooler, options = MODELS[name]
    config = transformers.BertConfig(**SIZES, num_labels=options.get("num_classes", 2))
    theirs, _ = saved(getattr(transformers, f"BertFor{name}")(config), tmp_path)
    ours = kind(BERTEncoder(40, 16, 2, 4, 32, 12, pooler=pooler), **options).double().eval()
    table = {**HEADS, **{f"bert.{mine}": f"bert.{place}" for mine, place in BERT.names.items()}}
    theirs_by_name = dict(theirs.state_dict())
    used = set()
    for mine, parameter in ours.state_dict(keep_vars=True).items():
        (place, _), = places_of(mine, table)
        used.add(place)
        overwrite(parameter, theirs_by_name[place].numpy())
    assert set(theirs_by_name) - used <= {"cls.predictions.bias"}      # the decoder's, under another name
    ids = np.array([[1, 5, 6, 7, 2, 0], [1, 8, 9, 2, 0, 0]])
    given = ids, (ids != 0).astype("int64"), np.array([[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 0, 0]])
    want, got = run(theirs, *given), run(ours, *given)
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(outputs)
    for x, output in zip(got, outputs):
        same(x, want[output])
