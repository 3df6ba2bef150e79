extends "res://tests/godot/llm_case.gd"
## The LLMEmbedding node: vectors of texts, each told to the one who asked.

const SWORD: String = "A sword of steel"
const BLADE: String = "A blade made of steel"
const INN: String = "Where is the nearest inn?"

var _finished: Dictionary = {}
var _batches: Dictionary = {}
var _failed: Dictionary = {}
var _awaited: Array = []


func test_texts_become_vectors() -> void:
	var embedding: Node = _make()
	var vector: PackedFloat32Array = await embedding.embed_async(SWORD)
	check_equal(vector.size(), 640, "numbers of a vector")
	check(absf(_dot(vector, vector) - 1.0) < 1e-5, "its length is 1")
	check_equal(embedding.get_vector_source(), "gemma-3-270m-q4_k_m.gguf, mean", "the source")
	var vectors: Array = await embedding.embed_batch_async(PackedStringArray([BLADE, INN, SWORD]))
	check_equal(vectors.size(), 3, "vectors of the batch")
	check_equal(vectors[2], vector, "the same text alone and in a batch")
	var near: float = embedding.cosine_similarity(vector, vectors[0])
	var far: float = embedding.cosine_similarity(vector, vectors[1])
	check(near > far + 0.05, "the blade is nearer than the inn: %f, %f" % [near, far])
	check(absf(near - _dot(vector, vectors[0])) < 1e-5, "the cosine by definition")
	check_equal(await embedding.embed_batch_async([]), [], "no texts")


func test_the_same_text_quickly_many_times() -> void:
	var embedding: Node = _make()
	var texts: PackedStringArray = [SWORD, INN, SWORD, BLADE, SWORD, INN]
	var ids: PackedInt64Array = []
	for text: String in texts:
		ids.append(embedding.embed(text))
	var batch: int = embedding.embed_batch(texts)
	await until(func() -> bool: return _batches.has(batch), "the batch, which is the last")
	check_equal(_finished.size(), ids.size(), "one end each")
	check_equal(_finished.keys(), Array(ids), "in their order")
	for number: int in ids.size():
		check_equal(_finished[ids[number]], _batches[batch][number], "vector %d" % number)
	check_equal(_finished[ids[0]], _finished[ids[4]], "the same text")
	check(_finished[ids[0]] != _finished[ids[1]], "another text")
	check(_failed.is_empty(), "no failure")


func test_a_model_that_answers_meanwhile() -> void:
	var embedding: Node = _make()
	var llm: Node = make_llm({"max_tokens": 12})
	var recorder: RefCounted = record(llm)
	var id: int = llm.complete(FOX)
	var long: int = embedding.embed(FOX.repeat(40))
	await ended(recorder, id)
	check(recorder.text(id).begins_with(" the lazy dog."), "the answer: " + recorder.text(id))
	await until(func() -> bool: return _finished.has(long), "the vector")
	check_equal(recorder.reasons(id), PackedStringArray(["length"]), "its end")


func test_pooling() -> void:
	var embedding: Node = _make()
	var vectors: Dictionary = {}
	for pooling: String in ["auto", "mean", "first", "last"]:
		embedding.pooling = pooling
		vectors[pooling] = await embedding.embed_async(SWORD)
	check_equal(vectors["auto"], vectors["mean"], "the file says nothing")
	check(vectors["first"] != vectors["mean"] and vectors["last"] != vectors["mean"], "others")
	check_equal(embedding.get_vector_source(), "gemma-3-270m-q4_k_m.gguf, last", "the source")
	embedding.pooling = "first"
	var inn: PackedFloat32Array = await embedding.embed_async(INN)
	check(_dot(inn, vectors["first"]) > 1.0 - 1e-5, "BOS is the first of all")
	expect_error("pooling is 'max'")
	embedding.pooling = "max"
	check_equal(await embedding.embed_async(INN), PackedFloat32Array(), "no vector")


func test_requests_that_fail() -> void:
	var embedding: Node = _make()
	expect_error("text 1 is empty")
	check_equal(await embedding.embed_batch_async(["a", " "]), [], "an empty text")
	expect_error("tokens and context_length is 256")
	check_equal(await embedding.embed_async("word ".repeat(300)), PackedFloat32Array(), "too long")
	check("302 tokens" in embedding.get_last_error(), embedding.get_last_error())
	var sword: PackedFloat32Array = await embedding.embed_async(SWORD)
	check_equal(sword.size(), 640, "the next one comes")
	expect_error("does not exist")
	embedding.model_path = "user://nothing.gguf"
	var ids: Array[int] = [embedding.embed(SWORD), embedding.embed_batch([SWORD, INN])]
	await until(func() -> bool: return _failed.has(ids[1]), "both failures")
	check(_failed.has(ids[0]) and "does not exist" in _failed[ids[0]], "the reason: %s" % _failed)
	embedding.model_path = MODEL
	check_equal(await embedding.embed_async(SWORD), sword, "with the model again")


func test_outside_the_tree_and_leaving_it() -> void:
	var embedding: Node = _new()
	expect_error("not inside the tree")
	check_equal(await embedding.embed_async(SWORD), PackedFloat32Array(), "outside the tree")
	add_child(embedding)
	var ids: Array[int] = [embedding.embed(SWORD), embedding.embed_batch([INN, SWORD])]
	_await_vectors(embedding)
	await frames(2)
	remove_child(embedding)
	check(_failed.has(ids[0]) and _failed.has(ids[1]), "each has ended: %s" % _failed)
	check_equal(_awaited, [[]], "who awaits goes on")
	await frames(5)
	check_equal(_finished.size() + _batches.size(), 0, "and once only")
	add_child(embedding)
	var vector: PackedFloat32Array = await embedding.embed_async(SWORD)
	check_equal(vector.size(), 640, "back in the tree")
	_await_vectors(embedding)
	embedding.free()
	check_equal(_awaited.size(), 2, "freed while somebody awaits")


func test_a_request_made_while_it_leaves() -> void:
	var embedding: Node = _make()
	embedding.embed(SWORD)
	expect_error("not inside the tree")
	embedding.connect(
		&"embedding_failed", func(_id: int, _error: String) -> void: _await_vectors(embedding), 4
	)
	remove_child(embedding)
	await frames(3)
	check_equal(_awaited, [[]], "is refused, and comes back")
	add_child(embedding)
	check_equal((await embedding.embed_async(SWORD)).size(), 640, "back in the tree")


func test_the_start_is_told() -> void:
	var embedding: Node = _make()
	var fractions: PackedFloat32Array = []
	embedding.connect(&"load_progress", func(part: float) -> void: fractions.append(part))
	embedding.start_worker()
	await embedding.worker_started
	check_equal(fractions[-1], 1.0, "the last fraction")
	embedding.start_worker()
	await embedding.worker_started


func test_similarity_of_vectors_without_a_direction() -> void:
	var embedding: Node = _make()
	var x: PackedFloat32Array = [1.0, 0.0]
	check_equal(embedding.cosine_similarity(x, PackedFloat32Array([-3.0, 0.0])), -1.0, "opposite")
	check_equal(embedding.cosine_similarity(x, PackedFloat32Array([0.0, 5.0])), 0.0, "right angle")
	for other: PackedFloat32Array in [[1.0], [], [0.0, 0.0], [NAN, 1.0], [INF, 1.0]]:
		expect_error("cannot be compared")
		check_equal(embedding.cosine_similarity(x, other), 0.0, "with %s" % other)
	check_equal(
		ClassDB.class_call_static(&"LLMEmbedding", &"cosine_similarity", x, x), 1.0, "static"
	)


func _new() -> Node:
	var embedding: Node = ClassDB.instantiate(&"LLMEmbedding")
	embedding.model_path = MODEL
	embedding.context_length = 256
	embedding.connect(&"embedding_finished", _note.bind(_finished))
	embedding.connect(&"batch_finished", _note.bind(_batches))
	embedding.connect(&"embedding_failed", _note.bind(_failed))
	return embedding


func _make() -> Node:
	var embedding: Node = _new()
	add_child(embedding)
	return embedding


func _note(id: int, result: Variant, ends: Dictionary) -> void:
	check(not ends.has(id), "request %d ends once" % id)
	ends[id] = result


func _await_vectors(embedding: Node) -> void:
	var vectors: Array = await embedding.embed_batch_async([SWORD, INN])
	_awaited.append(vectors)


func _dot(a: PackedFloat32Array, b: PackedFloat32Array) -> float:
	var sum: float = 0.0
	for i: int in a.size():
		sum += a[i] * b[i]
	return sum
