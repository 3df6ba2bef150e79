"""What of Python's library and of its packages a game needs."""

# Top-level names of the standard library that a game does without: tools for people who write
# Python, windows and servers of its own, and what stands on a compiled module that stays away.
STANDARD_LIBRARY_LEFT_OUT = frozenset(
    {
        *("__phello__", "__pycache__", "ensurepip", "lib-dynload", "site-packages", "venv"),
        *("test", "unittest", "idlelib", "lib2to3", "pydoc", "pydoc_data", "distutils"),
        *("tkinter", "turtle", "turtledemo", "curses", "dbm", "sqlite3"),
        *("asyncio", "multiprocessing", "xmlrpc", "wsgiref"),
    }
)

# Compiled modules for Python's own tests.
TEST_MODULES = ("_test*", "_ctypes_test*", "_xx*", "xx*")

# Packages of requirements.txt that run in the engine and what these import, by the names of their
# folders or files, each with the distribution that it belongs to.
PACKAGES = {
    "numpy": "numpy",
    "numpy.libs": "numpy",
    "gguf": "gguf",
    "yaml": "pyyaml",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "sentencepiece": "sentencepiece",
    "sentencepiece.libs": "sentencepiece",
    "llguidance": "llguidance",
    "_cffi_backend.*": "cffi",
}

# Parts of them that a game never imports, as patterns of paths below site-packages.
PACKAGE_PARTS_LEFT_OUT = (
    "*/tests/*",
    "numpy/_core/_*_tests.*.so",
    "numpy/_core/_simd.*.so",
    "numpy/_pyinstaller/*",
    "numpy/conftest.py",
    "numpy/distutils/*",
    "numpy/f2py/*",
    "gguf/scripts/*",
    "yaml/_yaml.*.so",
)
