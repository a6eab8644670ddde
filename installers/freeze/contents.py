"""What goes into the frozen program and what stays out. Pure rules over names, for all three systems.

PyInstaller finds what is imported and everything that those files link to. That is too much in three ways:
Qt modules and plugins that a program of widgets never loads, libraries that belong to the system, and the
engine's libraries, which the wheel holds under several names each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

EXCLUDED_MODULES = (
    # Nothing of the running program imports these; they come in through packages that could use them.
    "IPython", "PIL", "gguf", "matplotlib", "numpy", "pandas", "tensorflow", "torch",
    # Of the engine's binding only the C functions are used.
    "diskcache", "llama_cpp.llama", "llama_cpp.llama_cache", "llama_cpp.llama_chat_format",
    "llama_cpp.llama_grammar", "llama_cpp.llama_speculative", "llama_cpp.llama_tokenizer",
    "llama_cpp.mtmd_cpp", "llama_cpp.server",
    # The hub's own transfer, command line and servers: here it only answers what a repository holds.
    "charset_normalizer", "click", "fastapi", "gradio", "hf_xet", "huggingface_hub._tensorboard_logger",
    "huggingface_hub._webhooks_server", "huggingface_hub.cli", "huggingface_hub.inference._mcp", "requests",
    "rich", "shellingham", "typer", "urllib3", "uvicorn",
    # Tools and tests of the language.
    "_pytest", "doctest", "ensurepip", "idlelib", "lib2to3", "pip", "pydoc", "pydoc_data", "pytest",
    "setuptools", "test", "tkinter", "turtle", "turtledemo", "unittest", "venv", "wheel", "_tkinter",
    "pkg_resources",
    # Qt modules that a program of widgets never loads.
    *(f"PySide6.Qt{name}" for name in (
        "Concurrent", "Designer", "Help", "OpenGL", "OpenGLWidgets", "PrintSupport", "Qml", "Quick",
        "QuickControls2", "QuickTest", "QuickWidgets", "Sql", "Test", "UiTools", "Xml",
    )),
)  # fmt: skip
"""Modules that PyInstaller shall not follow."""

QT_PLUGINS = {
    # xcb, wayland, offscreen (tests, pictures) and what the other systems call theirs
    "platforms": r"q?(xcb|wayland[\w-]*|offscreen|windows|cocoa)",
    # the program's icons and pictures in chats
    "imageformats": r"q?(svg|jpeg|gif|webp|ico|icns)",
    "iconengines": r"q?svgicon",
    "platforminputcontexts": r"(q?)(compose|ibus)[\w-]*",
    # the file dialog and colours of the desktop
    "platformthemes": r"q?(gtk3|xdgdesktopportal)",
    "styles": r"q?(macstyle|modernwindowsstyle|windowsvistastyle)",
    "wayland-shell-integration": r"(xdg-shell|qt-shell|fullscreen-shell-v1)",
    "wayland-decoration-client": r"(bradient|adwaita)",
}
"""Folders below Qt's plugins that are kept, each with what is kept of it. Every other folder is left out,
among them those for OpenGL: widgets are painted by the processor."""

QT_TRANSLATIONS = r"qtbase_(de|en)\.qm"
"""Qt's own buttons in the languages of ``i18n.LANGUAGES``."""

_QT_LIBRARY = re.compile(
    r"(?:lib)?Qt6?(?:Concurrent|Designer\w*|EglF\w+|Help|Labs\w*|Lottie\w*|OpenGL\w*|Pdf\w*|PrintSupport|Qml\w*|Quick\w*|"
    r"ShaderTools|Sql|Test|UiTools|VirtualKeyboard\w*|WaylandCompositor|WaylandEglCompositor\w*|Xml|3D\w*)\b",
)

# Parts of the system: graphics, window system, desktop, C and C++. They fit the machine's drivers and its
# settings, which copies from another machine would not; system_libraries.py says which ones are needed.
_SYSTEM_LIBRARY = re.compile(
    r"lib(?:stdc\+\+|gcc_s|gomp|E?GL\w*|OpenGL|drm|gbm|X[\w-]*|xcb[\w-]*|xkbcommon[\w-]*|wayland-[\w-]+|SM|ICE|"
    r"fontconfig|freetype|harfbuzz[\w-]*|png16|jpeg|graphite2|glib-2\.0|gobject-2\.0|gio-2\.0|gmodule-2\.0|"
    r"gthread-2\.0|pcre2-8|dbus-1|systemd|cap|gcrypt|gpg-error|lz4|zstd|z|brotli\w+|gssapi_krb5|krb5\w*|"
    r"k5crypto|com_err|keyutils|resolv|selinux|blkid|mount|gtk-3|gdk-3|gdk_pixbuf-2\.0|atk-1\.0|"
    r"atk-bridge-2\.0|atspi|pango[\w-]*-1\.0|cairo[\w-]*|epoxy|fribidi|thai|datrie|pixman-1|bsd|md)"
    r"\.so(?:\.\d+)*",
)

ENGINE_FOLDER = "llama_cpp/lib"
"""Where the engine's libraries lie below ``_internal``: where the binding looks for them by itself."""

PACKAGES_WITH_METADATA = ("PySide6-Essentials", "llama-cpp-python", "markdown-it-py", "psutil", "qasync")
"""Packages whose versions the running program asks for."""

_LEFT_OVER = re.compile(
    r"(?:^|/)(?:tests?|examples|include|cmake|pkgconfig)/|\.(?:pyi|h|a|lib|cmake|pc|prl|qml|cpp|pdb)$|/RECORD$|/INSTALLER$|"
    r"/REQUESTED$|/direct_url\.json$|/entry_points\.txt$|/top_level\.txt$",
)


def is_kept(destination: str) -> bool:
    """Whether a file of the frozen folder stays, by its place below ``_internal``."""
    place = destination.replace("\\", "/")
    name = place.rpartition("/")[2]
    if place.startswith(ENGINE_FOLDER + "/"):
        return False  # brought by the specification itself, once each
    if _LEFT_OVER.search(place):
        return False
    if place.startswith("PySide6/"):
        return _is_kept_of_qt(place, name)
    return not (_QT_LIBRARY.match(name) or _SYSTEM_LIBRARY.fullmatch(name))


def _is_kept_of_qt(place: str, name: str) -> bool:
    if "/translations/" in place:
        return re.fullmatch(QT_TRANSLATIONS, name) is not None
    if "/plugins/" in place:
        folder, _, plugin = place.rpartition("/plugins/")[2].partition("/")
        stem = plugin.partition(".")[0].removeprefix("lib")
        return folder in QT_PLUGINS and re.fullmatch(QT_PLUGINS[folder], stem) is not None
    if "/qml/" in place or "/metatypes/" in place or "/typesystems/" in place or "/glue/" in place:
        return False
    if _SYSTEM_LIBRARY.fullmatch(name):
        return False
    # opengl32sw.dll: Mesa for Windows without a driver, 20 MB; widgets are painted without OpenGL.
    return not _QT_LIBRARY.match(name) and not name.lower().startswith(("opengl32sw", "d3dcompiler_"))


def engine_libraries(names: Iterable[str]) -> tuple[str, ...]:
    """Which files of the wheel's ``lib`` folder are packed, each library once.

    On Linux the wheel holds each library as ``libX.so``, ``libX.so.0`` and ``libX.so.0.25.3``, whole each
    time. The libraries ask for each other by the middle name, and the binding opens ``libllama.so``. macOS
    does the same with ``libX.0.dylib``; on Windows there is one name each.
    """
    present = sorted(names)
    numbered = re.compile(r"(lib[\w-]+)(?:\.so\.\d+|\.\d+\.dylib)")
    asked_for = {found[1]: name for name in present if (found := numbered.fullmatch(name))}
    kept = [name for stem, name in asked_for.items() if stem != "libllama"]
    for name in present:
        plain = re.fullmatch(r"([\w-]+)\.(?:so|dylib|dll)", name)
        # Those without a number: llama's own, all of Windows, the engine's plugins for kinds of processors.
        if plain and (plain[1] == "libllama" or plain[1] not in asked_for):
            kept.append(name)
    return tuple(sorted(kept))
