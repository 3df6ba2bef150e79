extends "res://tests/godot/llm_case.gd"
## The LLMMemory node: what was remembered is recalled, the nearest first, and outlives the game.

const PATH: String = "user://test.memory"
const BREAD: String = "The player stole a loaf of bread from the baker."
const DRAGON: String = "A dragon sleeps under the mountain in the north."
const KING: String = "The king pays a hundred gold coins for every wolf."


func test_the_nearest_is_recalled_first() -> void:
	var memory: Node = _make()
	check_equal(await memory.recall("anything"), [], "from an empty memory")
	check_equal(await memory.remember(BREAD, {"day": 3, "who": ["baker"]}), 1, "the first id")
	memory.remember(DRAGON)  # nobody waits for it
	check_equal(await memory.remember(KING), 3, "the third id")
	check_equal(memory.count(), 3, "texts")
	var found: Array = await memory.recall("The player took a loaf of bread.", 2)
	check_equal(found.size(), 2, "as many as were asked for")
	check_equal(found[0]["text"], BREAD, "the nearest")
	check_equal(found[0]["metadata"], {"day": 3, "who": ["baker"]}, "what belongs to it")
	check_equal(typeof(found[0]["metadata"]["day"]), TYPE_INT, "a whole number stays one")
	check(found[0]["similarity"] > found[1]["similarity"], "in order: %s" % [found])
	var itself: Array = await memory.recall(DRAGON)
	check_equal(itself.size(), 3, "three by default, if there are so many")
	check_equal(itself[0]["id"], 2, "the text itself")
	check(absf(itself[0]["similarity"] - 1.0) < 1e-5, "is like itself")


func test_forgetting() -> void:
	var memory: Node = _make()
	for text: String in [BREAD, DRAGON, KING]:
		await memory.remember(text)
	check(memory.forget(2), "there was one")
	check(not memory.forget(2), "and is no more")
	check_equal((await memory.recall(DRAGON)).size(), 2, "the others")
	check_equal(await memory.remember(DRAGON), 4, "no id is given twice")
	memory.clear()
	check_equal(memory.count(), 0, "nothing is left")


func test_a_file_keeps_it() -> void:
	var memory: Node = _make()
	await memory.remember(BREAD, {"day": 3})
	await memory.remember(KING)
	var before: Array = await memory.recall(BREAD)
	check(memory.save(PATH), "saved: " + memory.get_last_error())
	var other: Node = _make_memory(memory.embedding)
	check(other.load(PATH), "loaded: " + other.get_last_error())
	check_equal(await other.recall(BREAD), before, "the same is recalled")
	check_equal(await other.remember(DRAGON), 3, "ids go on")
	var bytes: PackedByteArray = FileAccess.get_file_as_bytes(PATH)
	bytes[bytes.size() / 2] ^= 1
	var file: FileAccess = FileAccess.open(PATH, FileAccess.WRITE)
	file.store_buffer(bytes)
	file.close()
	expect_error("test.memory: ")
	check(not other.load(PATH), "a damaged file")
	expect_error("No such file")
	check(not other.load("user://no.memory"), "no file")
	expect_error("cannot be written")
	check(not other.save("user://no/folder.memory"), "nowhere to write")
	check_equal(other.count(), 3, "nothing has changed")
	DirAccess.remove_absolute(PATH)


func test_vectors_of_another_source() -> void:
	var memory: Node = _make()
	await memory.remember(BREAD)
	memory.save(PATH)
	memory.embedding.pooling = "last"
	expect_error("mean (640 numbers); this one is of gemma-3-270m-q4_k_m.gguf, last")
	check_equal(await memory.recall(BREAD), [], "cannot be compared")
	expect_error("clear() the memory")
	check_equal(await memory.remember(KING), -1, "nor be kept")
	memory.clear()
	check_equal(await memory.remember(KING), 1, "from the start again")
	expect_error("clear() the memory")
	check(not memory.load(PATH), "a file of another source")
	check_equal(memory.count(), 1, "what was there stays")
	DirAccess.remove_absolute(PATH)


func test_what_cannot_be_remembered() -> void:
	var memory: Node = _make()
	for metadata: Dictionary in [{"bytes": PackedByteArray([1])}, {1: "a key"}, {"far": INF}]:
		expect_error("metadata may have texts")
		check_equal(await memory.remember(BREAD, metadata), -1, "with %s" % metadata)
	expect_error("the text is empty")
	check_equal(await memory.remember(" "), -1, "an empty text")
	check_equal(memory.get_last_error(), "the text is empty", "the reason")
	await memory.remember(BREAD)
	expect_error("count is 0")
	check_equal(await memory.recall(BREAD, 0), [], "none")
	var alone: Node = _make_memory(null)
	expect_error("embedding is not set")
	check_equal(await alone.remember(BREAD), -1, "without an embedding")
	expect_error("freed")
	alone.embedding = memory.embedding
	memory.embedding.free()
	check_equal(await alone.recall(BREAD), [], "whose embedding was freed")


func test_a_memory_that_is_freed_while_it_remembers() -> void:
	var memory: Node = _make()
	var embedding: Node = memory.embedding
	memory.remember(BREAD)
	memory.recall(BREAD)
	memory.free()
	var vector: PackedFloat32Array = await embedding.embed_async(BREAD)
	check_equal(vector.size(), 640, "the embedding goes on")


func test_a_scene_keeps_which_embedding_it_is() -> void:
	var root: Node = Node.new()
	var embedding: Node = ClassDB.instantiate(&"LLMEmbedding")
	var memory: Node = ClassDB.instantiate(&"LLMMemory")
	root.add_child(embedding)
	root.add_child(memory)
	embedding.owner = root
	memory.owner = root
	embedding.name = "Vectors"
	memory.embedding = embedding
	var scene: PackedScene = PackedScene.new()
	scene.pack(root)
	var made: Node = scene.instantiate()
	check_equal(made.get_child(1).embedding, made.get_node("Vectors"), "its own embedding")
	root.free()
	made.free()


func _make() -> Node:
	var embedding: Node = ClassDB.instantiate(&"LLMEmbedding")
	embedding.model_path = MODEL
	embedding.context_length = 256
	add_child(embedding)
	return _make_memory(embedding)


func _make_memory(embedding: Node) -> Node:
	var memory: Node = ClassDB.instantiate(&"LLMMemory")
	memory.embedding = embedding
	add_child(memory)
	return memory
