"""Every failure that a person can meet: one class each, with the facts as fields.

The sentences (in the person's language, with a next step) are made from these fields in
``explain.py``; nothing else turns an error into text for people.

    CloverError
    ├── DataFolderError             the folder for chats and settings cannot be used
    ├── ModelFileError              something is wrong with a GGUF file
    │   ├── ModelFileMissing
    │   ├── ModelFileUnreadable     no rights, a folder, an input/output error
    │   ├── NotAModelFile           empty, an HTML page, another format
    │   ├── ModelFileTruncated      shorter than its own header says
    │   ├── ModelFileUnsupported    sound as far as one sees, but of a form that is not read here
    │   └── ModelFileCorrupt        counts, lengths or types that cannot be true
    ├── DoesNotFitError             no plan is possible on this machine
    ├── EngineError                 the engine child
    │   ├── EngineMissing           the engine is not installed
    │   ├── EngineStartFailed       it ended or fell silent before it was ready
    │   ├── EngineDied              it ended while it worked
    │   ├── EngineUnresponsive      it did not answer and was ended
    │   ├── ModelLoadFailed         the engine refused the file; its own reason is kept
    │   ├── ModelNotLoaded
    │   ├── ContextFull             the chat does not fit into the context
    │   ├── TemplateFailed          the file's chat template raised an error
    │   └── GenerationFailed        llama_decode or sampling reported an error
    ├── FlavourError                a build of the engine for one kind of graphics card
    │   ├── FlavourRefused          it is not taken: damaged, for another machine, does not start here
    │   ├── FlavourNotPublished     no ready build for this system is to be had at the address
    │   ├── FlavourBusy             another window or terminal changes the engines just now
    │   └── FlavourStopped          stopped by the person; nothing was changed
    ├── DownloadError               a model could not be brought here
    │   ├── HubUnreachable          no connection: offline, name unknown, silent
    │   ├── HubCertificateRefused   the server's certificate is not trusted
    │   ├── ProxyFailed             the proxy refused, or is of a kind that is not supported
    │   ├── HubRefused              401 or 403: a token or a permission is missing
    │   ├── HubNotFound             no such repository, revision or file
    │   ├── HubBusy                 429: too many requests
    │   ├── HubFailed               5xx and other answers that are of no use
    │   ├── WebPageReceived         a login or proxy page came in place of the data
    │   ├── NotAModelReceived       the data that came is not GGUF
    │   ├── ModelChoiceFailed       the repository has no, or more than one, file that fits
    │   ├── ChecksumUnknown         the hub does not say what the file must be
    │   ├── RemoteFileChanged       the hub now has another file under this name
    │   ├── WrongSize               the server has fewer bytes than the hub promised
    │   ├── WrongHash               the bytes are not the published ones, also after a second try
    │   ├── NotEnoughSpace
    │   ├── DestinationNotWritable
    │   ├── DownloadInUse           another process brings the same file
    │   └── DownloadStopped         stopped by the person; the part is kept
    ├── RepairError                 a model file could not be repaired, or the repair not be undone
    │   ├── RepairImpossible        not understood, another family, keys missing, engine too old
    │   ├── RepairNeeded            it runs only after a repair, which nobody has asked for
    │   ├── RepairContradictory     the values in the file disagree; can be forced
    │   ├── RepairNotInPlace        the file belongs to another program, or has several names
    │   ├── RepairFileInUse         another process has it mapped or open
    │   ├── RepairNoSpace           a copy is needed and the disk is too full
    │   ├── RepairWriteFailed       the disk or the rights stopped it; the file is as before
    │   ├── RepairCancelled         stopped by the person; the file is as before
    │   ├── RepairUndoMissing       there is nothing to undo
    │   └── RepairDamaged           neither the original nor the repaired file: fetch it again
    ├── StorageError                models could not be moved
    │   ├── MoveTargetUnusable      the chosen folder is none that can be used
    │   ├── MoveNoSpace
    │   ├── MoveNameTaken           another file has this name in the chosen folder
    │   ├── MoveSourceInUse         a download or a repair of this file is going on
    │   ├── MoveFailed              the disk or the rights stopped it; the old files are as before
    │   └── MoveCancelled           stopped by the person
    ├── ChatStoreError              chats cannot be read or written
    ├── ChatFileError               a chat could not be written to, or read from, a file of its own
    └── AttachmentRefused           a file cannot go with a message
"""

from __future__ import annotations

from pathlib import Path


class CloverError(Exception):
    """Base of all failures that are shown to people."""


class DataFolderError(CloverError):
    """The data folder cannot be created or written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: {reason}")
        self.folder = folder
        self.reason = reason


class ModelFileError(CloverError):
    """Something is wrong with a model file; ``path`` names it, ``detail`` is technical."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{path}: {detail}" if detail else str(path))
        self.path = path
        self.detail = detail


class ModelFileMissing(ModelFileError):
    """There is no file at this path (any more)."""


class ModelFileUnreadable(ModelFileError):
    """The file exists but cannot be read: rights, a folder, a device error."""


class NotAModelFile(ModelFileError):
    """The file is not GGUF. ``looks_like`` is "empty", "html", "other" or an older "ggml" format."""

    def __init__(self, path: Path, looks_like: str, detail: str = "") -> None:
        super().__init__(path, detail)
        self.looks_like = looks_like


class ModelFileTruncated(ModelFileError):
    """The file ends before its own header says it should.

    ``present_bytes`` is the size on disk; ``expected_bytes`` the size that the header asks for,
    or None when the cut lies inside the header itself. ``where`` is "header", "keys", "tensors" or "data".
    """

    def __init__(self, path: Path, where: str, present_bytes: int, expected_bytes: int | None) -> None:
        sizes = f"{present_bytes}" if expected_bytes is None else f"{present_bytes} of {expected_bytes}"
        super().__init__(path, f"cut in {where}: {sizes} bytes")
        self.where = where
        self.present_bytes = present_bytes
        self.expected_bytes = expected_bytes


class ModelFileUnsupported(ModelFileError):
    """A GGUF file of a form that this program does not read.

    ``kind`` is "split" (one of several part files), "big-endian", "version" (of the format), "tensor-type"
    (a newer quantization) or "no-weights" (a vocabulary only).
    """

    def __init__(self, path: Path, kind: str, detail: str = "") -> None:
        super().__init__(path, detail)
        self.kind = kind


class ModelFileCorrupt(ModelFileError):
    """A count, length, type or offset in the header cannot be true."""


class DoesNotFitError(CloverError):
    """No placement of this model is possible here. Sizes in bytes.

    ``where`` is "gpu" or "ram"; ``suggestions`` are the words of planning/plan.py for what would help, and
    ``fitting_context`` and ``fitting_file_bytes`` what would fit (0: not known).
    """

    def __init__(
        self,
        needed_bytes: int,
        available_bytes: int,
        where: str = "ram",
        suggestions: tuple[str, ...] = (),
        fitting_context: int = 0,
        fitting_file_bytes: int = 0,
    ) -> None:
        super().__init__(f"needs {needed_bytes} bytes, {available_bytes} available ({where})")
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes
        self.where = where
        self.suggestions = suggestions
        self.fitting_context = fitting_context
        self.fitting_file_bytes = fitting_file_bytes


class EngineError(CloverError):
    """A failure of the engine child. ``reason`` is the engine's own word, ``log_lines`` its last lines."""

    def __init__(self, reason: str = "", log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log_lines = log_lines


class EngineMissing(EngineError):
    """llama-cpp-python is not installed or its libraries cannot be loaded."""


class EngineStartFailed(EngineError):
    """The child ended, or did not say that it is ready in time."""


class EngineDied(EngineError):
    """The child ended while it worked. ``exit_code`` as in subprocess (negative: signal number)."""

    def __init__(self, exit_code: int | None, reason: str = "", log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(reason, log_lines)
        self.exit_code = exit_code


class EngineUnresponsive(EngineError):
    """The child did not react to a request in time and was ended."""


class ModelLoadFailed(EngineError):
    """The engine could not load the file. ``kind`` is one of the LOAD_* words in engine/protocol.py."""

    def __init__(self, path: Path, kind: str, reason: str, log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(reason, log_lines)
        self.path = path
        self.kind = kind


class ModelNotLoaded(EngineError):
    """Something was asked of the engine that needs a loaded model."""


class ContextFull(EngineError):
    """The prompt (or the chat so far) does not fit. Counts in tokens."""

    def __init__(self, prompt_tokens: int, context_tokens: int) -> None:
        super().__init__(f"{prompt_tokens} tokens, context {context_tokens}")
        self.prompt_tokens = prompt_tokens
        self.context_tokens = context_tokens


class TemplateFailed(EngineError):
    """The chat template of the file cannot be read or raised an error."""


class GenerationFailed(EngineError):
    """The engine could not go on with this answer."""


class FlavourError(CloverError):
    """A build of the engine could not be installed, chosen or removed."""


class FlavourRefused(FlavourError):
    """A build of the engine is not taken; nothing of it is kept.

    ``kind``: "not-a-wheel", "damaged", "unsafe-names", "no-libraries", "other-version", "other-system",
    "other-processor" (its architecture), "system-too-old"; or how its trial ended: "missing-library",
    "missing-driver", "illegal-instruction", "does-not-start", "does-not-compute", "no-device".
    ``what`` is the file, library or version that it is about, ``needed`` what was expected in its place.
    """

    def __init__(
        self, kind: str, what: str = "", needed: str = "", log_lines: tuple[str, ...] = (), detail: str = ""
    ) -> None:
        super().__init__(" ".join(filter(None, (kind, what, needed, detail))))
        self.kind = kind
        self.what = what
        self.needed = needed
        self.log_lines = log_lines
        self.detail = detail


class FlavourNotPublished(FlavourError):
    """``host`` has no build ``name`` of the engine's ``version`` for this system; "" host: switched off."""

    def __init__(self, host: str, name: str, version: str) -> None:
        super().__init__(f"{host}: no {name} {version} for this system")
        self.host = host
        self.name = name
        self.version = version


class FlavourBusy(FlavourError):
    """Another process installs or removes an engine just now, or the engine is in use."""


class FlavourStopped(FlavourError):
    """The person stopped the installation."""


class DownloadError(CloverError):
    """A model could not be brought here. ``host`` is the server that it is about, or ""."""

    def __init__(self, detail: str = "", host: str = "") -> None:
        super().__init__(f"{host}: {detail}" if host else detail)
        self.host = host
        self.detail = detail


class HubUnreachable(DownloadError):
    """No connection. ``kind`` is "name" (not found), "refused", "silent", "broken" or "offline-mode"."""

    def __init__(self, host: str, kind: str, detail: str = "") -> None:
        super().__init__(detail or kind, host)
        self.kind = kind


class HubCertificateRefused(DownloadError):
    """The certificate of ``host`` is not trusted by this system."""


class ProxyFailed(DownloadError):
    """``host`` is the proxy. ``kind`` is "refused", "login" (407) or "unsupported" (its scheme)."""

    def __init__(self, host: str, kind: str, detail: str = "") -> None:
        super().__init__(detail or kind, host)
        self.kind = kind


class HubRefused(DownloadError):
    """401 or 403. ``gated``: the terms must be accepted first; ``token_sent``: a token was not enough."""

    def __init__(self, host: str, status: int, repository: str, gated: bool, token_sent: bool) -> None:
        super().__init__(f"HTTP {status} for {repository}", host)
        self.status = status
        self.repository = repository
        self.gated = gated
        self.token_sent = token_sent


class HubNotFound(DownloadError):
    """404. ``what`` is "repository", "revision" or "file"; ``name`` says which."""

    def __init__(self, host: str, what: str, name: str) -> None:
        super().__init__(f"no such {what}: {name}", host)
        self.what = what
        self.name = name


class HubBusy(DownloadError):
    """429. ``retry_after_s`` as the server asked, or None."""

    def __init__(self, host: str, retry_after_s: float | None) -> None:
        super().__init__("HTTP 429", host)
        self.retry_after_s = retry_after_s


class HubFailed(DownloadError):
    """An answer that is of no use; ``status`` is its HTTP status, 0 when it was not HTTP."""

    def __init__(self, host: str, status: int, detail: str = "") -> None:
        super().__init__(detail or f"HTTP {status}", host)
        self.status = status


class WebPageReceived(DownloadError):
    """A web page came in place of the data. ``title`` is the page's own, capped; may be empty."""

    def __init__(self, host: str, title: str = "") -> None:
        super().__init__(f"web page {title!r}", host)
        self.title = title


class NotAModelReceived(DownloadError):
    """The file at ``host`` does not begin as GGUF does; nothing of it was kept."""

    def __init__(self, host: str, name: str) -> None:
        super().__init__(f"{name} is not GGUF", host)
        self.name = name


class ModelChoiceFailed(DownloadError):
    """``kind`` is "none", "several" or "split" (only files in parts fit); ``names`` are the candidates."""

    def __init__(self, repository: str, pattern: str, kind: str, names: tuple[str, ...]) -> None:
        super().__init__(f"{repository}: {kind} for {pattern!r}")
        self.repository = repository
        self.pattern = pattern
        self.kind = kind
        self.names = names


class ChecksumUnknown(DownloadError):
    """The hub publishes no sha256 or size for ``name``, so that the file could not be checked."""

    def __init__(self, host: str, name: str) -> None:
        super().__init__(f"no checksum for {name}", host)
        self.name = name


class RemoteFileChanged(DownloadError):
    """The server's file is not the listed one (size or checksum differ)."""


class WrongSize(DownloadError):
    """The server ends before the size that the hub states. Sizes in bytes."""

    def __init__(self, host: str, expected_bytes: int, received_bytes: int) -> None:
        super().__init__(f"{received_bytes} of {expected_bytes} bytes", host)
        self.expected_bytes = expected_bytes
        self.received_bytes = received_bytes


class WrongHash(DownloadError):
    """The sha256 is not the published one. ``fetched_again_bytes`` were compared with a second copy."""

    def __init__(self, host: str, expected: str, actual: str, fetched_again_bytes: int) -> None:
        super().__init__(f"sha256 {actual} in place of {expected}", host)
        self.expected = expected
        self.actual = actual
        self.fetched_again_bytes = fetched_again_bytes


class NotEnoughSpace(DownloadError):
    """``folder`` has too little room. Sizes in bytes; ``missing_bytes`` must become free."""

    def __init__(self, folder: Path, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(f"{folder}: needs {needed_bytes} bytes, {free_bytes} free")
        self.folder = folder
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes

    @property
    def missing_bytes(self) -> int:
        return max(0, self.needed_bytes - self.free_bytes)


class DestinationNotWritable(DownloadError):
    """``path`` cannot be created or written; ``reason`` is the system's."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class DownloadInUse(DownloadError):
    """Another process, or another window, is bringing the same file to ``path``."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: in use")
        self.path = path


class DownloadStopped(DownloadError):
    """Stopped by the person. ``kept_bytes`` are on disk; the next start goes on from there."""

    def __init__(self, kept_bytes: int) -> None:
        super().__init__(f"stopped at {kept_bytes} bytes")
        self.kept_bytes = kept_bytes


class RepairError(CloverError):
    """A model file could not be repaired or brought back; ``path`` names it, ``detail`` is technical."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{path}: {detail}" if detail else str(path))
        self.path = path
        self.detail = detail


class RepairImpossible(RepairError):
    """Nothing can be done to this file. ``kind``:

    "not-understood" (its form is not safe to change), "not-family" (another network, and the engine does
    not know it), "engine-too-old" (the engine knows no name for this network), "incomplete" (something is
    missing that nothing can be derived from), "no-room" (a copy would be needed and was not wanted).
    """

    def __init__(self, path: Path, kind: str, detail: str = "") -> None:
        super().__init__(path, detail)
        self.kind = kind


class RepairNeeded(RepairError):
    """The file runs only after a repair, which nobody has asked for. ``target`` names its form after it."""

    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, target)
        self.target = target


class RepairContradictory(RepairError):
    """One group of values says "original form", the other "converted form". Can be tried with force."""


class RepairNotInPlace(RepairError):
    """The file must not be changed where it lies; a repaired copy can be made.

    ``owner`` is "link", "hard-link", "hub-cache" or the name of another program.
    """

    def __init__(self, path: Path, owner: str) -> None:
        super().__init__(path, owner)
        self.owner = owner


class RepairFileInUse(RepairError):
    """Another process has the file mapped or open. ``users`` are "name (process id)", perhaps none known."""

    def __init__(self, path: Path, users: tuple[str, ...] = ()) -> None:
        super().__init__(path, ", ".join(users))
        self.users = users


class RepairNoSpace(RepairError):
    """A copy is needed. Sizes in bytes."""

    def __init__(self, path: Path, needed_bytes: int, available_bytes: int) -> None:
        super().__init__(path, f"needs {needed_bytes} bytes, {available_bytes} free")
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes


class RepairWriteFailed(RepairError):
    """The system refused a write. ``restored``: the file is as before; if not, the next start sees to it."""

    def __init__(self, path: Path, detail: str, restored: bool) -> None:
        super().__init__(path, detail)
        self.restored = restored


class RepairCancelled(RepairError):
    """Stopped on request; the file is as it was."""


class RepairUndoMissing(RepairError):
    """No record of a repair lies beside the file."""


class RepairDamaged(RepairError):
    """File and record do not fit together: neither form can be made from them."""


class StorageError(CloverError):
    """The models could not be moved; they are where they were. ``path`` is the file or folder."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{path}: {detail}" if detail else str(path))
        self.path = path
        self.detail = detail


class MoveTargetUnusable(StorageError):
    """The chosen folder cannot be used. ``detail``: "same" (the models lie there) or the system's reason."""


class MoveNoSpace(StorageError):
    """Too little room on the chosen disk. Sizes in bytes."""

    def __init__(self, folder: Path, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(folder, f"needs {needed_bytes} bytes, {free_bytes} free")
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes


class MoveNameTaken(StorageError):
    """Another file has this name in the chosen folder; it is not touched."""


class MoveSourceInUse(StorageError):
    """A download or a repair of this file is going on, perhaps in another process."""


class MoveFailed(StorageError):
    """Reading or writing failed; ``detail`` is the system's reason."""


class MoveCancelled(CloverError):
    """Stopped by the person; the models are where they were."""


class ChatStoreError(CloverError):
    """The chat database cannot be opened, read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ChatFileError(CloverError):
    """A chat could not be exported or imported.

    ``kind``: "exists" and "unwritable" of writing; "unreadable", "too-big", "not-ours", "damaged" and
    "too-new" of reading.
    """

    def __init__(self, path: Path, kind: str, detail: str = "") -> None:
        super().__init__(f"{path}: {kind} {detail}".rstrip())
        self.path = path
        self.kind = kind
        self.detail = detail


class AttachmentRefused(CloverError):
    """A file cannot go with a message.

    ``kind``: "missing", "unreadable", "empty", "binary", "too-big" (``size`` and ``limit`` in bytes),
    "too-long" (in pages), "too-many-tokens" (in tokens), "encrypted", "no-text", "damaged".
    """

    def __init__(self, name: str, kind: str, detail: str = "", *, size: int = 0, limit: int = 0) -> None:
        super().__init__(f"{name}: {kind} {detail}".rstrip())
        self.name = name
        self.kind = kind
        self.detail = detail
        self.size = size
        self.limit = limit
