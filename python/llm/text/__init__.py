"""Text in, token ids out, and back again: vocabulary, tokenizer, streaming, chat prompts.

Knows nothing of tensors, devices or sampling. Import the module you need: `tokenizer` loads
numpy, and sentencepiece for files that need it; `stream` and `chat_format` load nothing heavy by
themselves.
"""
