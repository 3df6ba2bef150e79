"""A Hugging Face folder, read as if it were a GGUF file.

json_file        JSON with limits
safetensors      one file of tensors; float8, 8-bit floats and their scales
families         what is special about the folders of each model_type
config           config.json -> metadata; sizes, its plain settings; rope, what it says of positions
names            which tensors of the folder make which of GGUF's; views, the rows of one
changes          what is done to rows and values on the way; mxfp4, blocks of 4-bit numbers
embedding        what sentence-transformers puts beside a model
tokenizer        the tokenizer's files -> metadata
tokenizer_model  the vocabulary of a SentencePiece model; tokenizer_json, of all others
splitting        the name of the pattern that cuts text before it is merged
folder           all of it, open
"""
