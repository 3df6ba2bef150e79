"""Language models inside Godot.

The package is a pipeline; a stage imports only itself and the stages before it:

    errors     what can go wrong
    files      bytes on disk -> named tensors in their block formats
    text       text <-> token ids
    gpu        a tape of operations, and the executors that run it
    models     architectures: one file each, GGUF metadata -> tape
    generate   logits -> tokens -> answers, on the worker thread
    nodes      what a Godot scene sees
    commands   what `./llm` runs inside the engine
"""

STAGES = ("errors", "files", "text", "gpu", "models", "generate", "nodes", "commands")
