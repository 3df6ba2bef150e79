class_name TourStep
extends Resource
## A stop of the tour: what is said, and what of the [XRayPanel] is shown meanwhile.

## What happens when one comes there.
enum Action { NONE, GO_ON, LET_WRITE }

@export var title: String = ""
## With names in braces, which stand for what the model says of itself.
@export_multiline var text: String = ""
@export var parts: Array[StringName] = []
## Whether each token's number is shown with it.
@export var numbers: bool = false
@export var look: XRayPanel.Look = XRayPanel.Look.PIECES
## Samplers that are shown, from the first; 0: all.
@export var stages: int = 0
@export var action: Action = Action.NONE
