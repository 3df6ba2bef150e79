extends SceneTree
## Tells, as JSON, how exposed RefCounted objects live and die between GDScript and Python.

const FEW: int = 2000
const MANY: int = 10000

var _report: Dictionary = {}


func _initialize() -> void:
	_make_and_drop()
	_share_with_python()
	_keep_in_engine()
	_refuse()
	_churn(FEW)
	var before: Array[float] = _in_use()
	_churn(MANY)
	var after: Array[float] = _in_use()
	_report["grown"] = [after[0] - before[0], after[1] - before[1]]
	print("REPORT " + JSON.stringify(_report))
	quit()


func _make_and_drop() -> void:
	var thing: CountedThing = CountedThing.new()
	var counts: Array[int] = [thing.get_reference_count()]
	thing.rename("dropped")
	counts.append(thing.get_reference_count())
	var same: bool = thing.itself() == thing
	var again: CountedThing = thing.itself()
	counts.append(again.get_reference_count())
	_report["counts"] = counts
	_report["same"] = same
	thing = null
	_report["before_drop"] = CountedThing.freed_names()
	again = null
	_report["after_drop"] = CountedThing.freed_names()
	var handed: HandsItselfOut = HandsItselfOut.new()
	_report["handed_out"] = handed.seen
	set_meta("handed", handed)


func _share_with_python() -> void:
	var holder: Holder = Holder.new()
	var thing: CountedThing = CountedThing.new()
	thing.rename("kept by Python")
	holder.keep(thing)
	thing = null
	_report["python_still_has"] = [CountedThing.freed_names(), holder.kept_label()]
	holder.drop()
	_report["python_dropped"] = CountedThing.freed_names()
	thing = holder.make("made by Python")
	holder.keep(thing)
	holder.drop()
	_report["script_still_has"] = [CountedThing.freed_names(), thing.label]
	thing = null
	_report["script_dropped"] = CountedThing.freed_names()
	holder.thing = holder.make("exported")
	_report["holder_has"] = [CountedThing.freed_names(), holder.thing.label]
	holder.free()
	_report["holder_freed"] = CountedThing.freed_names()


func _keep_in_engine() -> void:
	var holder: Holder = Holder.new()
	var list: Array = [holder.make("listed"), {"inner": holder.make("nested")}]
	_report["container_has"] = [CountedThing.freed_names(), list[0].label, list[1]["inner"].label]
	list.clear()
	_report["container_cleared"] = CountedThing.freed_names()
	var outer: CountedThing = holder.make("outer")
	outer.other = holder.make("inner")
	outer = null
	_report["chain_dropped"] = CountedThing.freed_names()
	holder.free()


func _refuse() -> void:
	var holder: Node = Holder.new()
	holder.set("thing", Resource.new())
	_report["refused"] = holder.get("thing") == null
	holder.free()


func _churn(count: int) -> void:
	var holder: Holder = Holder.new()
	for i: int in count:
		var thing: CountedThing = CountedThing.new() if i % 2 else holder.make("made %d" % i)
		thing.words = PackedStringArray(["a text of some length %d" % i])
		thing.other = CountedThing.new()
		holder.thing = thing
		holder.keep(thing.itself())
		holder.drop()
	holder.free()
	CountedThing.freed_names()


func _in_use() -> Array[float]:
	return [
		Performance.get_monitor(Performance.OBJECT_COUNT),
		float(OS.get_static_memory_usage()),
	]
