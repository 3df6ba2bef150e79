"""A server of model files that drops, stalls and lies: what it does is the name of the file.

    python tests/support/model_server.py FILE

writes to FILE the ports of two servers, which are two hosts to who asks, with a blank between, and
serves until its standard input ends. `/log` is what was asked, a line each.
"""

import hashlib
import os
import random
import ssl
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CONTENT = b"GGUF" + random.Random(0).randbytes(700_001)
OTHER = b"GGUF" + random.Random(1).randbytes(600_003)
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()

ports: list[int] = []
asked: list[str] = []
times: Counter[str] = Counter()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        del arguments

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].removeprefix("/")
        times[name] += 1
        wanted = self.headers.get("Range", "")
        allowed = self.headers.get("Authorization", "")
        if name != "log":
            asked.append(f"{name} {wanted} {allowed}".strip())
        try:
            getattr(self, name.removesuffix(".gguf").replace("-", "_"))(times[name])
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    # What well-behaved servers do

    def log(self, _time: int) -> None:
        self.answer(200, "\n".join(asked).encode())

    def whole(self, _time: int) -> None:
        self.serve()

    def slow(self, _time: int) -> None:
        self.serve(pause=0.02)

    def dated(self, time: int) -> None:
        self.serve(etag="", end=HALF if time == 1 else None, date="Tue, 01 Dec 2026 00:00:00 GMT")

    def chunked(self, _time: int) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(CONTENT), 100_000):
            piece = CONTENT[start : start + 100_000]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def unnamed_length(self, _time: int) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(CONTENT)
        self.close_connection = True

    def named(self, _time: int) -> None:
        self.serve(disposition='attachment; filename="../../..\\\\evil/na:me.gguf"')

    def linked(self, _time: int) -> None:
        self.lead_on(self.elsewhere("whole.gguf"), linked=SHA256)

    def linked_wrong(self, _time: int) -> None:
        self.lead_on(self.elsewhere("whole.gguf"), linked="0" * 64)

    def relative(self, _time: int) -> None:
        self.lead_on("whole.gguf?after=relative")

    def secret(self, _time: int) -> None:
        if self.headers.get("Authorization") != "Bearer token":
            self.answer(401, b"who are you?")
        else:
            self.lead_on(self.elsewhere("whole.gguf"))

    # What others do

    def cut(self, time: int) -> None:
        self.serve(end=HALF if time == 1 else None)

    def cut_often(self, _time: int) -> None:
        self.serve(most=150_000)

    def cut_always(self, _time: int) -> None:
        self.serve(end=HALF)

    def cut_weak(self, time: int) -> None:
        self.serve(etag='W/"weak"', end=HALF if time == 1 else None)

    def stall(self, time: int) -> None:
        self.serve(end=HALF if time == 1 else None, stalls=True)

    def silent(self, _time: int) -> None:
        time.sleep(30)

    def too_long(self, _time: int) -> None:
        self.serve(claimed=len(CONTENT) + 1000)

    def no_range(self, time: int) -> None:
        self.serve(end=HALF if time == 1 else None, takes_ranges=False)

    def no_range_cut(self, _time: int) -> None:
        self.serve(end=HALF, takes_ranges=False)

    def changed(self, time: int) -> None:
        if time == 1:
            self.serve(end=HALF)
        else:
            self.serve(OTHER, etag='"two"')

    def changed_unsaid(self, time: int) -> None:
        """Another file under the same ETag's range: only the new ETag tells."""
        if time == 1:
            self.serve(end=HALF)
        else:
            self.serve(OTHER, etag='"two"', keeps_ranges=True)

    def shrunk(self, time: int) -> None:
        if time == 1:
            self.serve(end=HALF)
        else:
            self.serve(CONTENT[:1000], keeps_ranges=True)

    def wrong_range(self, time: int) -> None:
        if time == 2:
            self.answer(206, CONTENT, {"Content-Range": f"bytes 0-{len(CONTENT) - 1}/*"})
        else:
            self.serve(end=HALF if time == 1 else None)

    def page(self, _time: int) -> None:
        self.answer(200, b"<!DOCTYPE html>", {"Content-Type": "text/html; charset=utf-8"})

    def hidden_page(self, _time: int) -> None:
        self.answer(200, b"<!DOCTYPE html><html>Please sign in</html>")

    def empty(self, _time: int) -> None:
        self.answer(200, b"")

    def huge(self, _time: int) -> None:
        self.serve(claimed=10**15)

    def missing(self, _time: int) -> None:
        self.answer(404, b"no")

    def forbidden(self, _time: int) -> None:
        self.answer(403, b"no")

    def broken(self, _time: int) -> None:
        self.answer(500, b"oh")

    def broken_once(self, time: int) -> None:
        if time == 1:
            self.answer(503, b"oh")
        else:
            self.serve()

    def loop(self, _time: int) -> None:
        self.lead_on("/loop.gguf")

    def away(self, _time: int) -> None:
        self.lead_on("ftp://127.0.0.1/whole.gguf")

    def elsewhere(self, name: str) -> str:
        other = ports[1] if self.server.server_address[1] == ports[0] else ports[0]
        return f"http://127.0.0.1:{other}/{name}"

    def lead_on(self, location: str, linked: str = "") -> None:
        headers = {"Location": location}
        if linked:
            headers |= {"X-Linked-ETag": f'"{linked}"', "X-Repo-Commit": "0"}
        self.answer(302, b"", headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(
        self,
        content: bytes = CONTENT,
        *,
        etag: str = '"one"',
        date: str = "",
        end: int | None = None,
        most: int | None = None,
        claimed: int | None = None,
        stalls: bool = False,
        takes_ranges: bool = True,
        keeps_ranges: bool = False,
        disposition: str = "",
        pause: float = 0.0,
    ) -> None:
        """A file or the rest of it, up to `end`, or `most` bytes; then the connection is cut, or
        `stalls`."""
        size = claimed or len(content)
        wanted = self.headers.get("Range", "")
        is_same = keeps_ranges or self.headers.get("If-Range", etag or date) == (etag or date)
        start = int(wanted[6:-1]) if wanted and is_same and takes_ranges else 0
        if start >= len(content):
            self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
            return
        self.send_response(206 if start else 200)
        for name, value in (("ETag", etag), ("Last-Modified", date)):
            if value:
                self.send_header(name, value)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if disposition:
            self.send_header("Content-Disposition", disposition)
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        stop = len(content) if end is None else end
        stop = stop if most is None else min(start + most, stop)
        step = 20_000 if pause else len(content)
        for first in range(start, stop, step):
            self.wfile.write(content[first : min(first + step, stop)])
            time.sleep(pause)
        if stalls and end is not None:
            time.sleep(30)
        if stop < size:
            self.close_connection = True


def main() -> None:
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    if len(sys.argv) > 2:  # a certificate and its key: the first host is one of https
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        servers[0].socket = context.wrap_socket(servers[0].socket, server_side=True)
    ports.extend(server.server_address[1] for server in servers)
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    partial = Path(sys.argv[1] + ".partial")
    partial.write_text(f"{ports[0]} {ports[1]}")
    os.replace(partial, sys.argv[1])
    sys.stdin.read()


if __name__ == "__main__":
    main()
