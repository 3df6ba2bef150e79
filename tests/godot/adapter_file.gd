extends RefCounted
## Writes a LoRA adapter of rank 1 for Gemma 3 270M, of numbers that are random but fixed.

const ROWS: int = 640  # of the matrix that each layer's attention ends with
const COLUMNS: int = 1024
const LAYERS: int = 18
const STRING: int = 8  # types of values in a GGUF file
const FLOAT32: int = 6


static func write(path: String, architecture: String = "gemma3") -> void:
	var file: FileAccess = FileAccess.open(path, FileAccess.WRITE)
	file.store_buffer("GGUF".to_ascii_buffer())
	file.store_32(3)
	file.store_64(2 * LAYERS)
	file.store_64(4)
	var texts: Dictionary[String, String] = {
		"general.architecture": architecture, "general.type": "adapter", "adapter.type": "lora"
	}
	for key: String in texts:
		_store_text(file, key)
		file.store_32(STRING)
		_store_text(file, texts[key])
	_store_text(file, "adapter.lora.alpha")
	file.store_32(FLOAT32)
	file.store_float(1.0)
	var at: int = 0
	for layer: int in LAYERS:
		_store_record(file, "blk.%d.attn_output.weight.lora_a" % layer, COLUMNS, 1, at)
		_store_record(file, "blk.%d.attn_output.weight.lora_b" % layer, 1, ROWS, at + COLUMNS * 4)
		at += (COLUMNS + ROWS) * 4
	while file.get_position() % 32:
		file.store_8(0)
	var numbers: RandomNumberGenerator = RandomNumberGenerator.new()
	numbers.seed = 7
	for _number: int in LAYERS * (COLUMNS + ROWS):
		file.store_float(numbers.randfn(0.0, 0.3))
	file.close()


static func _store_text(file: FileAccess, text: String) -> void:
	file.store_64(text.length())
	file.store_buffer(text.to_ascii_buffer())


## Of float32 numbers, which begin at byte [param at] of all numbers.
static func _store_record(file: FileAccess, name: String, columns: int, rows: int, at: int) -> void:
	_store_text(file, name)
	file.store_32(2)
	file.store_64(columns)
	file.store_64(rows)
	file.store_32(0)
	file.store_64(at)
