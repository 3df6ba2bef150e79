@tool
extends VBoxContainer
## The facts of one model file, in the inspector.

var _path: String
var _table: ModelFactsTable = ModelFactsTable.new()
var _files: LLMModelFiles = LLMModelFiles.new()


func _init(path: String) -> void:
	_path = path
	add_child(_table)
	add_child(_files)
	_files.described.connect(
		func(_of_path: String, facts: Dictionary) -> void: _table.show_facts(facts)
	)


func _ready() -> void:
	_files.describe(_path)
