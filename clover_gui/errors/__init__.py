"""Every failure that a person can meet: one class each, with the facts as fields.

The sentences (in the person's language, with a next step) are made from these fields in
``explain/``; nothing else turns an error into text for people.

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
    │   ├── NetworkSettingWrong     the mirror or the proxy in the settings is no address
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
    │   └── MoveFailed              the disk or the rights stopped it; the old files are as before
    ├── MoveCancelled               stopped by the person; the models are where they were
    ├── ChatStoreError              chats cannot be read or written
    ├── ChatFileError               a chat could not be written to, or read from, a file of its own
    └── AttachmentRefused           a file cannot go with a message
"""

from __future__ import annotations

from clover_gui.errors.base import (
    CloverError,
    DataFolderError,
)
from clover_gui.errors.chat import (
    AttachmentRefused,
    ChatFileError,
    ChatStoreError,
)
from clover_gui.errors.download import (
    ChecksumUnknown,
    DestinationNotWritable,
    DownloadError,
    DownloadInUse,
    DownloadStopped,
    HubBusy,
    HubCertificateRefused,
    HubFailed,
    HubNotFound,
    HubRefused,
    HubUnreachable,
    ModelChoiceFailed,
    NetworkSettingWrong,
    NotAModelReceived,
    NotEnoughSpace,
    ProxyFailed,
    RemoteFileChanged,
    WebPageReceived,
    WrongHash,
    WrongSize,
)
from clover_gui.errors.engine import (
    ContextFull,
    EngineDied,
    EngineError,
    EngineMissing,
    EngineStartFailed,
    EngineUnresponsive,
    GenerationFailed,
    ModelLoadFailed,
    ModelNotLoaded,
    TemplateFailed,
)
from clover_gui.errors.flavours import (
    FlavourBusy,
    FlavourError,
    FlavourNotPublished,
    FlavourRefused,
    FlavourStopped,
)
from clover_gui.errors.model_file import (
    DoesNotFitError,
    ModelFileCorrupt,
    ModelFileError,
    ModelFileMissing,
    ModelFileTruncated,
    ModelFileUnreadable,
    ModelFileUnsupported,
    NotAModelFile,
)
from clover_gui.errors.repair import (
    RepairCancelled,
    RepairContradictory,
    RepairDamaged,
    RepairError,
    RepairFileInUse,
    RepairImpossible,
    RepairNeeded,
    RepairNoSpace,
    RepairNotInPlace,
    RepairUndoMissing,
    RepairWriteFailed,
)
from clover_gui.errors.storage import (
    MoveCancelled,
    MoveFailed,
    MoveNameTaken,
    MoveNoSpace,
    MoveSourceInUse,
    MoveTargetUnusable,
    StorageError,
)

__all__ = [
    "AttachmentRefused",
    "ChatFileError",
    "ChatStoreError",
    "ChecksumUnknown",
    "CloverError",
    "ContextFull",
    "DataFolderError",
    "DestinationNotWritable",
    "DoesNotFitError",
    "DownloadError",
    "DownloadInUse",
    "DownloadStopped",
    "EngineDied",
    "EngineError",
    "EngineMissing",
    "EngineStartFailed",
    "EngineUnresponsive",
    "FlavourBusy",
    "FlavourError",
    "FlavourNotPublished",
    "FlavourRefused",
    "FlavourStopped",
    "GenerationFailed",
    "HubBusy",
    "HubCertificateRefused",
    "HubFailed",
    "HubNotFound",
    "HubRefused",
    "HubUnreachable",
    "ModelChoiceFailed",
    "ModelFileCorrupt",
    "ModelFileError",
    "ModelFileMissing",
    "ModelFileTruncated",
    "ModelFileUnreadable",
    "ModelFileUnsupported",
    "ModelLoadFailed",
    "ModelNotLoaded",
    "MoveCancelled",
    "MoveFailed",
    "MoveNameTaken",
    "MoveNoSpace",
    "MoveSourceInUse",
    "MoveTargetUnusable",
    "NetworkSettingWrong",
    "NotAModelFile",
    "NotAModelReceived",
    "NotEnoughSpace",
    "ProxyFailed",
    "RemoteFileChanged",
    "RepairCancelled",
    "RepairContradictory",
    "RepairDamaged",
    "RepairError",
    "RepairFileInUse",
    "RepairImpossible",
    "RepairNeeded",
    "RepairNoSpace",
    "RepairNotInPlace",
    "RepairUndoMissing",
    "RepairWriteFailed",
    "StorageError",
    "TemplateFailed",
    "WebPageReceived",
    "WrongHash",
    "WrongSize",
]
