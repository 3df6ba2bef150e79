"""What `./llm` runs inside the engine. Each module has `main(node, args)`; see `arguments`."""
