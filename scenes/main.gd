class_name Main
extends Control
## The project's first scene: the chat, or a note on what is missing when the add-on did not start.

const CHAT: String = "res://scenes/chat/chat.tscn"

@onready var _missing: Control = %Missing


func _ready() -> void:
	# The chat's scripts name the add-on's class, so that they do not even load without it.
	if not ClassDB.class_exists(&"LLM"):
		_missing.show()
		return
	_missing.queue_free()
	add_child((load(CHAT) as PackedScene).instantiate())
