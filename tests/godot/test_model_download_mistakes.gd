extends "res://tests/godot/download_case.gd"
## What is wrong is not kept, and it is told what happened.


func test_checksums() -> void:
	_make("whole.gguf")
	_download.sha256 = "ab".repeat(32)
	_download.start()
	await _ended()
	_failed("the SHA-256 is %s and should be abab" % SHA256)
	check_equal(_files().size(), 0, "what is wrong is not kept")
	await _fetch("linked.gguf")
	_came("linked.gguf", SIZE)
	await _fetch("linked-wrong.gguf")
	_failed("should be 00000")


func test_what_is_no_model_is_told_early() -> void:
	await _fetch("page.gguf")
	_failed("there is a web page at that address")
	await _fetch("hidden-page.gguf")
	_failed("begins with '<!DO' and not with GGUF")
	await _fetch("empty.gguf")
	_failed("0 bytes")
	check_equal(_files().size(), 0, "files")


func test_refusals() -> void:
	await _fetch("missing.gguf")
	_failed("127.0.0.1 answered 404: there is no such file")
	await _fetch("forbidden.gguf")
	_failed("accept the model's licence")
	await _fetch("broken.gguf")
	_failed("answered 500: try later")
	await _fetch("broken-once.gguf")
	_came("broken-once.gguf", SIZE)


func test_redirects() -> void:
	await _fetch("relative.gguf")
	_came("relative.gguf", SIZE)
	await _fetch("loop.gguf")
	_failed("leads on more than 10 times")
	await _fetch("away.gguf")
	_failed("'ftp://127.0.0.1/whole.gguf', which is no web address")


func test_a_token_stays_with_its_host() -> void:
	_make("secret.gguf")
	_download.headers = ["Authorization: Bearer token"]
	_download.start()
	await _ended()
	_came("secret.gguf", SIZE)
	var asked: PackedStringArray = _log()
	check(asked[-2].ends_with("Bearer token"), "the first host: " + asked[-2])
	check_equal(asked[-1], "whole.gguf", "the other host")


func test_silence() -> void:
	_make("silent.gguf")
	_download.patience = 0.1
	_download.start()
	await _ended()
	_failed("127.0.0.1 does not answer")
	_download.url = "http://127.0.0.1:1/a.gguf"
	_download.start()
	await _ended()
	_failed("takes no connections at port 1")


func test_lengths_that_lie_or_lack() -> void:
	await _fetch("too-long.gguf")
	_failed("the server has %d of %d bytes and no more" % [SIZE, SIZE + 1000])
	await _fetch("chunked.gguf")
	_came("chunked.gguf", SIZE)
	await _fetch("unnamed-length.gguf")
	_came("unnamed-length.gguf", SIZE)


func test_too_little_room() -> void:
	await _fetch("huge.gguf")
	_failed("make room")
	check(_errors[-1].contains("more are needed, but"), _errors[-1])


func test_names_lead_nowhere_else() -> void:
	await _fetch("named.gguf")
	_came("na_me.gguf", SIZE)
	check_equal(_files(), PackedStringArray(["na_me.gguf"]), "files")


func test_a_file_that_is_there_stays() -> void:
	FileAccess.open(_folder.path_join("whole.gguf"), FileAccess.WRITE).store_string("mine")
	await _fetch("whole.gguf")
	_failed("is there already")
	var found: String = FileAccess.get_file_as_string(_folder.path_join("whole.gguf"))
	check_equal(found, "mine", "the file")


func test_the_page_of_a_file_means_the_file() -> void:
	var wanted: Dictionary[String, String] = {
		" https://a.org/b/c-GGUF/blob/main/q4/d.gguf\n":
		"a.org:443/b/c-GGUF/resolve/main/q4/d.gguf",
		"https://A.org/b/c/blob/main/d.gguf?show=d.gguf#L1": "a.org:443/b/c/resolve/main/d.gguf",
		"https://a.org/b/c/resolve/main/d.gguf?download=true": "a.org:443/b/c/resolve/main/d.gguf",
		"https://github.com/b/c/blob/main/d.gguf": "github.com:443/b/c/raw/main/d.gguf",
		"https://a.org:8080/blob/main/d.gguf?x=1": "a.org:8080/blob/main/d.gguf?x=1",
	}
	for url: String in wanted:
		check_equal(ModelAddress.parse(url).url(), "https://" + wanted[url], url)


func test_names_of_addresses() -> void:
	var names: Dictionary[String, String] = {
		"https://a.org/b/c%20d.gguf?x=/e.gguf": "c d.gguf",
		"https://a.org": "model.gguf",
		"https://a.org/download?id=5": "download.gguf",
		"https://a.org/..%2F..%2Fevil.gguf": "evil.gguf",
		"https://a.org/..%5C.hidden": "hidden.gguf",
	}
	for url: String in names:
		check_equal(ModelAddress.parse(url).file_name(), names[url], url)


func test_no_address() -> void:
	for url: String in ["", "file:///etc/passwd", "models/a.gguf", "https://"] as Array[String]:
		_make("")
		_download.url = url
		_download.start()
		await _ended()
		_failed("is no address of a file")


func test_a_folder_that_cannot_be() -> void:
	FileAccess.open(_folder.path_join("a"), FileAccess.WRITE).store_string("a file")
	expect_error("Could not create directory")
	_make("whole.gguf")
	_download.folder = _folder.path_join("a/b")
	_download.start()
	await _ended()
	_failed("cannot be made")


func test_https_wants_a_certificate() -> void:
	var crypto: Crypto = Crypto.new()
	var key: CryptoKey = crypto.generate_rsa(2048)
	var certificate: X509Certificate = crypto.generate_self_signed_certificate(
		key, "CN=127.0.0.1,O=A test,C=DE"
	)
	var paths: Array[String] = [_folder + "/certificate.crt", _folder + "/key.key"]
	certificate.save(paths[0])
	key.save(paths[1])
	var server: RefCounted = Server.new(paths[0], paths[1])
	expect_error("TLS handshake error")
	_make("")
	_download.url = server.call("address", "whole.gguf")
	_download.start()
	await _ended()
	_failed("127.0.0.1 has no certificate that this system trusts")
	_download.tls = TLSOptions.client(certificate, "127.0.0.1")
	_download.start()
	await _ended()
	_came("whole.gguf", SIZE)
