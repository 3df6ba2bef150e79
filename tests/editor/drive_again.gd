@tool
extends "driver.gd"
## Tells whether the keys lead to the chat where it is in front when the editor starts.

const SETTLING_FRAMES: int = 60  # in its first ones the editor takes the focus back


func _drive() -> void:
	await frames(SETTLING_FRAMES)
	report["opened"] = await open_chat() != null
