@tool
extends EditorExportPlugin
## Puts beside an exported game what its [LLM] nodes need: the runtime, which is Python with
## everything of this add-on, and the models.
##
## Models are found by their paths, "res://….gguf", in the scenes, resources and scripts that are
## exported; others are listed in the preset. In the game, such a path means the file of that name
## in the folder [code]models[/code] beside the program, else the file in the pack, else what
## [MissingModels] downloaded.

enum Placement { BESIDE, IN_PACK, LEFT_OUT }

const DownloadList = preload("../models/download_list.gd")
const ModelNames = preload("../models/model_names.gd")

const ADDON: String = "res://addons/llm/"
const EXTENSION: String = "res://addons/llm/llm.gdextension"
## Beside the library of each target of the extension.
const RUNTIME: String = "res://addons/llm/bin/llm.%s"
const NOWHERE: String = "res://addons/llm/export/nowhere"
## Folder beside the program; python/llm/nodes/model_places.py looks there.
const MODELS: String = "models"
## Of the add-on's files, those of the editor; the extension is placed by itself.
const NO_GAMES: PackedStringArray = [
	"llm.gdextension", "plugin.gd", "run.gd", "dock/*", "export/*", "*/editor/*"
]
const SCANNED: PackedStringArray = ["tscn", "tres", "gd"]

const PLACEMENT: StringName = &"llm/models/placement"
const MORE_MODELS: StringName = &"llm/models/also"
const DOWNLOADS: StringName = &"llm/models/downloads"

var _downloads: DownloadList
var _placed: Dictionary[String, String] = {}  # file name -> path


## Plugins take turns in the order of their names, and GDScript's leaves scripts to none behind it.
func _get_name() -> String:
	return "Add-on LLM"


## All: where a game cannot run yet, its export fails and says so.
func _supports_platform(_platform: EditorExportPlatform) -> bool:
	return true


func _get_export_options(_platform: EditorExportPlatform) -> Array[Dictionary]:
	return [
		{
			"option":
			{
				"name": PLACEMENT,
				"type": TYPE_INT,
				"hint": PROPERTY_HINT_ENUM,
				"hint_string": "Beside the Program,In the Pack,Left Out",
			},
			"default_value": Placement.BESIDE,
		},
		{
			"option":
			{
				"name": MORE_MODELS,
				"type": TYPE_PACKED_STRING_ARRAY,
				"hint": PROPERTY_HINT_TYPE_STRING,
				"hint_string": "%d/%d:*.gguf" % [TYPE_STRING, PROPERTY_HINT_FILE],
			},
			"default_value": PackedStringArray(),
		},
		{
			"option":
			{
				"name": DOWNLOADS,
				"type": TYPE_DICTIONARY,
				"hint": PROPERTY_HINT_DICTIONARY_TYPE,
				"hint_string": "%d:;%d:" % [TYPE_STRING, TYPE_STRING],
			},
			"default_value": {},
		},
	]


func _export_begin(
	features: PackedStringArray, _is_debug: bool, _path: String, _flags: int
) -> void:
	_placed.clear()
	_place_runtime(features)
	_place_downloads()
	for path: String in get_option(MORE_MODELS):
		_place_model(path, "the preset")


func _export_file(path: String, _type: String, _features: PackedStringArray) -> void:
	if path.begins_with(ADDON):
		if _is_no_games(path.trim_prefix(ADDON)):
			skip()
	elif path.get_extension() == "gguf":
		_export_model(path)
	elif path.get_extension() in SCANNED:
		for name: String in ModelNames.find(FileAccess.get_file_as_string(path)):
			_place_model(name, path)


## The engine would have in the pack what a filter of the preset names, and where the editor shows
## models (models/editor), all others too.
func _export_model(path: String) -> void:
	var is_wanted: bool = _is_included(path)
	if get_option(PLACEMENT) != Placement.LEFT_OUT or not is_wanted:
		skip()
	if is_wanted:
		_place_model(path, "the preset")


func _is_included(path: String) -> bool:
	var patterns: PackedStringArray = get_export_preset().get_include_filter().split(",", false)
	return Array(patterns).any(
		func(pattern: String) -> bool:
			var trimmed: String = pattern.strip_edges()
			return path.matchn(trimmed) or path.trim_prefix("res://").matchn(trimmed)
	)


## The extension itself too: a preset that exports selected scenes alone would leave it out.
func _place_runtime(features: PackedStringArray) -> void:
	var description: ConfigFile = ConfigFile.new()
	description.load(EXTENSION)
	for target: String in description.get_section_keys("libraries"):
		if Array(target.split(".")).all(func(tag: String) -> bool: return tag in features):
			var runtime: String = RUNTIME % target
			var library: String = description.get_value("libraries", target)
			add_file(EXTENSION, FileAccess.get_file_as_bytes(EXTENSION), false)
			add_shared_object(ADDON.path_join(library), PackedStringArray(), "")
			if DirAccess.dir_exists_absolute(runtime):
				add_shared_object(runtime, PackedStringArray(), "")
			else:
				_fail("there is no %s: %s." % [runtime, _remedy()])
			return
	_fail("%s has no library for %s." % [EXTENSION, get_export_platform().get_os_name()])


## A Dictionary of addresses, each with its SHA-256.
func _place_downloads() -> void:
	_downloads = DownloadList.new()
	var wanted: Dictionary = get_option(DOWNLOADS)
	for url: String in wanted:
		var problem: String = _downloads.add(url, str(wanted[url]).strip_edges())
		if not problem.is_empty():
			_fail("the preset: %s." % problem)
	if not wanted.is_empty():
		add_file(DownloadList.PATH, _downloads.as_text().to_utf8_buffer(), false)


func _remedy() -> String:
	if get_export_platform().get_os_name() == OS.get_name():
		return "install the add-on again; in a checkout run scons runtime"
	return "docs/platforms.md of the add-on's sources says what belongs there"


func _place_model(path: String, named_in: String) -> void:
	if get_option(PLACEMENT) == Placement.LEFT_OUT:
		return
	if not path.begins_with("res://"):
		_say(
			EditorExportPlatform.EXPORT_MESSAGE_WARNING,
			"%s names the model %s, which players do not have there." % [named_in, path]
		)
		return
	var parts: PackedStringArray = ModelNames.parts(path)
	var here: Array = Array(parts).filter(
		func(part: String) -> bool: return part.get_file() not in _downloads.names()
	)
	if here.size() not in [0, parts.size()]:
		_fail("the preset has addresses of some parts of %s and none of %s." % [path, here[0]])
	for part: String in parts:
		if part in here:
			_place_part(part, named_in)
		elif FileAccess.file_exists(part):
			_check_download(part)


## A wrong checksum would keep the model from every player.
func _check_download(path: String) -> void:
	var found: String = FileAccess.get_sha256(path)
	var given: String = _downloads.sha256(path.get_file())
	if found != given:
		_fail("the SHA-256 of %s is %s, and the preset has %s." % [path, found, given])


func _place_part(path: String, named_in: String) -> void:
	var name: String = path.get_file()
	if _placed.get(name, path) != path:
		_fail("%s and %s have the same name; rename one." % [_placed[name], path])
	if name in _placed:
		return
	_placed[name] = path
	if not FileAccess.file_exists(path) and not DirAccess.dir_exists_absolute(path):
		_fail("%s names the model %s, which is not there." % [named_in, path])
	elif get_option(PLACEMENT) == Placement.BESIDE:
		add_shared_object(path, PackedStringArray(), MODELS)
	elif DirAccess.dir_exists_absolute(path):
		_fail("%s is a folder, which cannot be in the pack; place it beside." % path)
	elif get_export_preset().get_encrypt_pck():
		_fail("%s cannot be read from an encrypted pack; place it beside." % path)
	else:
		_pack(path)


func _pack(path: String) -> void:
	var bytes: PackedByteArray = FileAccess.get_file_as_bytes(path)
	if bytes.is_empty():
		_fail("%s cannot be read: %s." % [path, error_string(FileAccess.get_open_error())])
	add_file(path, bytes, false)


func _is_no_games(name: String) -> bool:
	return Array(NO_GAMES).any(func(pattern: String) -> bool: return name.match(pattern))


## Says why, and has the engine copy what is not there: a message alone lets an export from the
## command line end well. For macOS it forgets which libraries it could not copy, but not plugins.
func _fail(reason: String) -> void:
	_say(EditorExportPlatform.EXPORT_MESSAGE_ERROR, reason)
	add_shared_object(NOWHERE, PackedStringArray(), "")
	add_macos_plugin_file(NOWHERE)


func _say(type: EditorExportPlatform.ExportMessageType, text: String) -> void:
	get_export_platform().add_message(type, "LLM", text)
