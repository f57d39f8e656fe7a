"""Transformers: GPT, BERT, encoder-decoder, ViT, and what they are trained on and loaded from."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "models.block_parts": "SwiGLU create_causal_mask",
    "models.transformer": "FeedForward TransformerBlock TransformerDecoderBlock TransformerEncoder residual",
    "models.gpt": "GPTDecoder filter_logits next_token",
    "models.bert": "BERTEmbedding BERTEncoder",
    "models.seq2seq": "Seq2SeqTransformer TransformerDecoder",
    "models.vit": "VisionTransformer",
    "models.generation": "beam_search",
    "models.masking": "mask_tokens",
    "models.objectives": """next_sentence_pairs next_token_pairs span_corruption text_to_text token_loss""",
    "models.bert_heads": """BERTForMaskedLM BERTForPreTraining BERTForQuestionAnswering
        BERTForSequenceClassification BERTForTokenClassification best_span pretraining_loss span_loss""",
    "models.scaling": """PowerLaw activation_bytes bert_parameters block_parameters chinchilla_optimal_tokens
        compute_optimal count_parameters fit_power_law flops_per_token gpt_parameters memory
        seq2seq_parameters vit_parameters""",
    "models.pretrained": "from_pretrained",
})
