class_name Talk
extends RefCounted
## Who hears what: the people answer in rounds, all of a round at once, and then it is quiet.

## A round began, or it is quiet again.
signal changed

## How often anybody answers before it is quiet, if nobody says anything new to them.
const ROUNDS: int = 3
const PLAYER: String = "Traveller"

## Counts from 1 while they talk; 0 when it is quiet.
var round_number: int = 0

var _people: Array[Npc]
var _unheard: Dictionary[Npc, PackedStringArray] = {}
var _speaking: Array[Npc] = []  # those of this round that have not ended


func _init(people: Array[Npc]) -> void:
	_people = people
	for npc: Npc in people:
		_unheard[npc] = PackedStringArray()
		npc.said.connect(_on_said)


## The player says [param line] to [param addressed], whose answers begin; the others hear it, too.
## What is being said ends.
func begin(line: String, addressed: Array[Npc]) -> void:
	stop()
	_tell(PLAYER, line, null)
	_begin_round(addressed)


## Everybody ends at once.
func stop() -> void:
	round_number = 0
	_speaking.clear()
	for npc: Npc in _people:
		npc.hush()
		_unheard[npc] = PackedStringArray()
	changed.emit()


func _begin_round(speakers: Array[Npc]) -> void:
	round_number += 1
	_speaking = speakers.duplicate()
	for npc: Npc in speakers:
		npc.hear(_unheard[npc])
		_unheard[npc] = PackedStringArray()
	changed.emit()


func _on_said(npc: Npc, line: String) -> void:
	if not npc in _speaking:
		return
	_speaking.erase(npc)
	if not line.is_empty():
		_tell(npc.name, line, npc)
	if not _speaking.is_empty():
		return
	var listeners: Array[Npc] = _people.filter(
		func(each: Npc) -> bool: return not _unheard[each].is_empty()
	)
	if round_number == ROUNDS or listeners.is_empty():
		round_number = 0
		changed.emit()
	else:
		_begin_round(listeners)


func _tell(speaker: String, line: String, except: Npc) -> void:
	for npc: Npc in _people:
		if npc != except:
			_unheard[npc].append("%s: %s" % [speaker, line])
