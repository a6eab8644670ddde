"""The door to llama.cpp: models, contexts, tokens. The only importer of ``llama_cpp``.

Thin typed helpers over the C interface of the binding. Its Python half (class ``Llama``) is left out: it
loads numpy and more, and neither expert placement nor abort nor checkpoints can be reached through it.
Runs in the engine child only; knows nothing of the protocol, of templates and of chats.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import re
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_gui.engine.libraries import BINDING_MISSING, ENGINE_VERSION

# The ctypes module llama_cpp.llama_cpp; it carries no types.
Binding = Any
# A C function or handle.
Native = Any

# The structs below are filled by hand: another version may have other layouts.
SUPPORTED_VERSIONS = (ENGINE_VERSION,)
STRUCT_SIZES = {
    "llama_model_params": 80,
    "llama_context_params": 160,
    "llama_batch": 56,
    "llama_perf_context_data": 48,
    "llama_model_kv_override": 264,
}
# Fields near the ends of the two parameter structs, with the library's own defaults: a library of another
# version (LLAMA_CPP_LIB_PATH) would put other values there.
DEFAULTS = {
    "llama_model_default_params": {
        "n_gpu_layers": -1,
        "split_mode": 1,
        "vocab_only": 0,
        "use_extra_bufts": 1,
    },
    "llama_context_default_params": {
        "n_ctx": 512,
        "n_batch": 2048,
        "n_ubatch": 512,
        "flash_attn_type": -1,
        "type_k": 1,
        "type_v": 1,
        "offload_kqv": 1,
        "n_samplers": 0,
    },
}
KV_TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2}
_LOAD_MODE_READ, _LOAD_MODE_MMAP = 0, 1
_FLASH_AUTO = -1
# Bytes that never occur, overlong forms of two characters' ranges, and NUL.
_MALFORMED = re.compile(rb"[\x00\xc0\xc1\xf5-\xff]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]")
_PARTIAL_ONLY = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: the recurrent part of the state


class LibraryMissing(Exception):
    """The binding or its shared libraries cannot be loaded."""


class LibraryUnsupported(Exception):
    """The binding or its library has another version than this program was made for."""


class LlamaError(Exception):
    """llama.cpp returned no object; the reason stands in its log."""


def import_binding() -> Binding:
    """The ctypes module ``llama_cpp.llama_cpp``, without running the package's own ``__init__``.

    Raises:
        LibraryMissing: not installed, or a shared library cannot be loaded.
        LibraryUnsupported: installed in a version whose structs are not known here.
    """
    try:
        if "llama_cpp" not in sys.modules:
            spec = importlib.util.find_spec("llama_cpp")
            if spec is None or spec.submodule_search_locations is None:
                raise LibraryMissing(BINDING_MISSING)
            package = types.ModuleType("llama_cpp")
            package.__path__ = list(spec.submodule_search_locations)
            package.__spec__ = spec
            sys.modules["llama_cpp"] = package
        from llama_cpp import llama_cpp as binding
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise LibraryMissing(f"{type(error).__name__}: {error}") from error
    _check(binding)
    return binding


def binding_version() -> str:
    """Version of llama-cpp-python, "" when it cannot be told."""
    try:
        return importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        pass
    # A frozen program may carry the package without its metadata.
    spec = importlib.util.find_spec("llama_cpp")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        init = Path(folder) / "__init__.py"
        found = re.search(r'__version__ = "([^"]+)"', init.read_text("utf-8")) if init.is_file() else None
        if found:
            return found[1]
    return ""


def _check(binding: Binding) -> None:
    version = binding_version()
    if version and version not in SUPPORTED_VERSIONS:
        raise LibraryUnsupported(
            f"llama-cpp-python {version} is installed, this program needs {SUPPORTED_VERSIONS[-1]}"
        )
    for name, size in STRUCT_SIZES.items():
        found = ctypes.sizeof(getattr(binding, name))
        if found != size:
            raise LibraryUnsupported(f"{name} has {found} bytes, {size} expected")
    for function, fields in DEFAULTS.items():
        values = getattr(binding, function)()
        for field, expected in fields.items():
            if getattr(values, field) != expected:
                raise LibraryUnsupported(f"{function}: {field} is {getattr(values, field)}, not {expected}")


@dataclass(frozen=True, slots=True)
class Token:
    """Facts of one special token."""

    id: int
    text: str
    is_control: bool


class Model:
    """One loaded model. ``close`` frees it; contexts must be closed before."""

    def __init__(
        self,
        binding: Binding,
        path: Path,
        *,
        gpu_layers: int = 0,
        use_mmap: bool = True,
        vocabulary_only: bool = False,
        dry: bool = False,
        overrides: ctypes.Array[Any] | None = None,
        devices: ctypes.Array[Any] | None = None,
        tensor_split: ctypes.Array[Any] | None = None,
        progress: Callable[[float], bool] | None = None,
    ) -> None:
        """``dry`` reads the header and simulates the allocations. ``overrides``, ``devices`` and
        ``tensor_split``: see placement.py; None for the engine's own choice.

        ``progress`` gets 0..1 and cancels by returning False.

        Raises:
            LlamaError: the reason stands in the log.
        """
        self.c = binding
        params = binding.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.vocab_only = vocabulary_only
        params.no_alloc = dry
        params.load_mode = _LOAD_MODE_READ if dry or not use_mmap else _LOAD_MODE_MMAP
        # Repacked copies of the weights would stand beside the mapped file: twice the memory, no gain.
        params.use_extra_bufts = False
        if overrides is not None:
            params.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
        if devices is not None:
            params.devices = ctypes.cast(devices, ctypes.c_void_p)
        if tensor_split is not None:
            params.tensor_split = ctypes.cast(tensor_split, ctypes.POINTER(ctypes.c_float))
        if progress is not None:
            report = progress
            params.progress_callback = binding.llama_progress_callback(lambda value, _: report(value))
        # The model keeps pointers into the parameters.
        self._keep = (params, overrides, devices, tensor_split)
        self.handle = binding.llama_model_load_from_file(_file_name(path), params)
        if not self.handle:
            raise LlamaError(f"llama_model_load_from_file: {path.name}")
        self.vocabulary = binding.llama_model_get_vocab(self.handle)
        self._pieces: dict[int, bytes] = {}
        self._malformed: frozenset[int] | None = None

    def close(self) -> None:
        if self.handle:
            self.c.llama_model_free(self.handle)
            self.handle = None

    @property
    def description(self) -> str:
        buffer = ctypes.create_string_buffer(256)
        self.c.llama_model_desc(self.handle, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    @property
    def is_recurrent(self) -> bool:
        """Has a state that cannot be cut back (recurrent or hybrid)."""
        return bool(self.c.llama_model_is_recurrent(self.handle) or self.c.llama_model_is_hybrid(self.handle))

    @property
    def trained_context(self) -> int:
        """Tokens that the model was trained for, 0 where the file does not say."""
        return max(0, int(self.c.llama_model_n_ctx_train(self.handle)))

    @property
    def vocabulary_size(self) -> int:
        return int(self.c.llama_vocab_n_tokens(self.vocabulary))

    @property
    def chat_template(self) -> str | None:
        text = self.c.llama_model_chat_template(self.handle, None)
        return None if text is None else text.decode("utf-8", "replace")

    def token(self, id: int) -> Token | None:
        """The token's text and kind; None for a number outside the vocabulary."""
        if not 0 <= id < self.vocabulary_size:
            return None
        text = self.c.llama_vocab_get_text(self.vocabulary, id) or b""
        return Token(
            id, text.decode("utf-8", "replace"), bool(self.c.llama_vocab_is_control(self.vocabulary, id))
        )

    def begin_token(self) -> Token | None:
        """The token that starts a text. None where the file names none (llama.cpp then reports a word)."""
        token = self.token(self.c.llama_vocab_bos(self.vocabulary))
        return token if token and token.is_control else None

    def end_token(self) -> Token | None:
        return self.token(self.c.llama_vocab_eos(self.vocabulary))

    @property
    def adds_begin(self) -> bool:
        """Texts of this vocabulary start with ``begin_token``."""
        return bool(self.c.llama_vocab_get_add_bos(self.vocabulary)) and self.begin_token() is not None

    def special_texts(self) -> tuple[list[str], list[str]]:
        """Texts of the control tokens and of the user-defined ones."""
        control: list[str] = []
        user_defined: list[str] = []
        c, vocabulary = self.c, self.vocabulary
        wanted = c.LLAMA_TOKEN_ATTR_CONTROL | c.LLAMA_TOKEN_ATTR_USER_DEFINED
        for id in range(self.vocabulary_size):
            attributes = c.llama_vocab_get_attr(vocabulary, id)
            if attributes & wanted:
                text = (c.llama_vocab_get_text(vocabulary, id) or b"").decode("utf-8", "replace")
                (control if attributes & c.LLAMA_TOKEN_ATTR_CONTROL else user_defined).append(text)
        return control, user_defined

    def tokenize(self, text: str) -> list[int]:
        """Tokens of ``text``; special tokens are recognised, none is added."""
        data = text.encode("utf-8", "replace")
        if not data:
            return []
        room = len(data) + 8
        tokens = (ctypes.c_int32 * room)()
        count = self.c.llama_tokenize(self.vocabulary, data, len(data), tokens, room, False, True)
        if count < 0:
            tokens = (ctypes.c_int32 * -count)()
            count = self.c.llama_tokenize(self.vocabulary, data, len(data), tokens, -count, False, True)
        return tokens[: max(count, 0)]

    def piece(self, token: int) -> bytes:
        """The bytes that a token writes; control tokens write nothing."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._piece(token)
        return piece

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        count = self.c.llama_token_to_piece(self.vocabulary, token, buffer, len(buffer), 0, False)
        if count < 0:
            buffer = ctypes.create_string_buffer(-count)
            count = self.c.llama_token_to_piece(self.vocabulary, token, buffer, len(buffer), 0, False)
        return buffer.raw[: max(count, 0)]

    def malformed_tokens(self) -> frozenset[int]:
        """Tokens with bytes that no UTF-8 text has. Looks at the whole vocabulary once."""
        if self._malformed is None:
            tokens = range(self.vocabulary_size)
            self._malformed = frozenset(token for token in tokens if _MALFORMED.search(self._piece(token)))
        return self._malformed

    def ends_answer(self, token: int) -> bool:
        return bool(self.c.llama_vocab_is_eog(self.vocabulary, token))

    def ending_tokens(self) -> list[int]:
        """The tokens with which answers usually end."""
        c, vocabulary = self.c, self.vocabulary
        found = {int(c.llama_vocab_eos(vocabulary)), int(c.llama_vocab_eot(vocabulary))}
        return sorted(token for token in found if token >= 0 and self.ends_answer(token))


class Context:
    """The working memory of one sequence over a model."""

    def __init__(self, model: Model, *, tokens: int, batch: int, threads: int, kv_type: str = "f16") -> None:
        """Raises:
        LlamaError: memory or parameters do not allow it; the reason stands in the log.
        """
        self.c = model.c
        params = self.c.llama_context_default_params()
        params.n_ctx = tokens
        params.n_batch = params.n_ubatch = batch
        params.n_threads = params.n_threads_batch = threads
        params.n_outputs_max = 1
        params.flash_attn_type = _FLASH_AUTO
        params.type_k = params.type_v = KV_TYPES[kv_type]
        params.no_perf = False
        self.handle = self.c.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise LlamaError("llama_init_from_model")
        self.memory = self.c.llama_get_memory(self.handle)
        self.size = int(self.c.llama_n_ctx(self.handle))
        self.batch = int(self.c.llama_n_batch(self.handle))
        self._one = (ctypes.c_int32 * 1)()
        self._abort: tuple[Any, ...] = ()

    def close(self) -> None:
        if self.handle:
            self.c.llama_free(self.handle)
            self.handle = None

    def abort_on(self, flag: ctypes.Array[ctypes.c_char]) -> None:
        """A running decode ends (result 2) soon after ``flag[0]`` became non-zero; ``flag[1]`` stays zero."""
        callback = _strlen_as_callback(self.c)
        if callback is None:
            callback = self.c.ggml_abort_callback(lambda _: flag.raw[0] != 0)
        self._abort = (callback, flag)
        self.c.llama_set_abort_callback(self.handle, callback, ctypes.cast(flag, ctypes.c_void_p))

    def decode(self, tokens: Sequence[int]) -> int:
        """Continue the sequence by at most ``batch`` tokens; 0 fine, 1 no room, 2 aborted, < 0 error."""
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        return int(self.c.llama_decode(self.handle, self.c.llama_batch_get_one(array, len(tokens))))

    def decode_one(self, token: int) -> int:
        """As ``decode`` for one token."""
        self._one[0] = token
        return int(self.c.llama_decode(self.handle, self.c.llama_batch_get_one(self._one, 1)))

    def wait(self) -> None:
        """Return when a device has really finished what was asked of it."""
        self.c.llama_synchronize(self.handle)

    def clear(self) -> None:
        self.c.llama_memory_clear(self.memory, True)

    def cut(self, length: int) -> bool:
        """Forget all tokens from position ``length`` on; False where the memory cannot."""
        return bool(self.c.llama_memory_seq_rm(self.memory, 0, length, -1))

    def save_recurrent(self, buffer: ctypes.Array[Any] | None = None) -> ctypes.Array[Any] | None:
        """Copy of the recurrent state; ``buffer`` is used again if it has the right size."""
        size = self.c.llama_state_seq_get_size_ext(self.handle, 0, _PARTIAL_ONLY)
        if buffer is None or len(buffer) != size:
            buffer = (ctypes.c_uint8 * size)()
        done = self.c.llama_state_seq_get_data_ext(self.handle, buffer, size, 0, _PARTIAL_ONLY)
        return buffer if done == size else None

    def restore_recurrent(self, buffer: ctypes.Array[Any]) -> bool:
        return bool(self.c.llama_state_seq_set_data_ext(self.handle, buffer, len(buffer), 0, _PARTIAL_ONLY))

    def state_bytes(self) -> int:
        """What ``save`` would take now."""
        return int(self.c.llama_state_seq_get_size(self.handle, 0))

    def save(self) -> ctypes.Array[Any] | None:
        """Copy of the whole state: attention and, where there is one, the recurrent part."""
        size = self.state_bytes()
        buffer = (ctypes.c_uint8 * size)()
        done = self.c.llama_state_seq_get_data(self.handle, buffer, size, 0)
        return buffer if done == size else None

    def restore(self, buffer: ctypes.Array[Any]) -> bool:
        """Bring a saved state back into an empty memory. After a failure the memory is to be cleared."""
        return bool(self.c.llama_state_seq_set_data(self.handle, buffer, len(buffer), 0))

    def logits_in_place(self) -> Native:
        """The engine's own values of the last token (float pointer); changing them changes the choice."""
        return self.c.llama_get_logits_ith(self.handle, -1)

    def logits(self) -> list[float]:
        """Of the last token, for checks."""
        model = self.c.llama_get_model(self.handle)
        count = self.c.llama_vocab_n_tokens(self.c.llama_model_get_vocab(model))
        values: list[float] = self.logits_in_place()[:count]
        return values


def _file_name(path: Path) -> bytes:
    # llama.cpp takes UTF-8 on every system; elsewhere undecodable names keep their bytes.
    return str(path).encode("utf-8", "strict" if sys.platform == "win32" else "surrogateescape")


def _strlen_as_callback(binding: Binding) -> Native | None:
    """C's strlen used as the abort callback: an empty string is false, and no interpreter lock is needed."""
    try:
        library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
        return ctypes.cast(library.strlen, binding.ggml_abort_callback)
    except (AttributeError, OSError, TypeError):
        return None
