"""Transformers: GPT, BERT, encoder-decoder, ViT, and what they are trained on and loaded from."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "models.transformer": """FeedForward SwiGLU TransformerBlock TransformerDecoder TransformerDecoderBlock
        TransformerEncoder create_causal_mask residual""",
    "models.gpt": "GPTDecoder filter_logits next_token",
    "models.bert": "BERTEmbedding BERTEncoder",
    "models.seq2seq": "Seq2SeqTransformer",
    "models.vit": "VisionTransformer",
    "models.generation": "beam_search",
    "models.masking": "mask_tokens",
})
