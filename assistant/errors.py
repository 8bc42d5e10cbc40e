"""Every error a user can meet. `str(error)` is the sentence shown, with what to do next.

AssistantError
├── ConfigError                 a setting is wrong or can't be read
├── SessionError
│   ├── SessionNotFound         no session has that id, prefix or title
│   ├── SessionAmbiguous        several have: the candidates are named
│   ├── SessionInUse            another process holds it
│   ├── SessionReadOnly         opened for reading only, so nothing can be added
│   ├── SessionChanged          the file grew or shrank under us
│   └── SessionUnreadable       the file can't be opened or is no session
├── CommandError
│   ├── UnknownCommand          no such slash command: the nearest is named
│   └── UsageError              a command was called the wrong way
├── MessageTooBig               one message is larger than all the room there is
├── CompactionError             no summary was made: everything is as it was
│   └── CompactionStopped       because the user, or another summary, came first
├── MemoryIndexError
│   ├── IndexLocked             another process holds the index
│   ├── IndexBroken             what is on the disk can't be used: it is made anew from the logs
│   ├── IndexUnavailable        no server, no disk, no permission: it may work again later
│   └── IndexMismatch           a vector of another dimension than the index holds
├── EntryError                  an event, memo or fact: nothing was changed
│   ├── NoSuchEntry             none has that id
│   ├── WrongEntry              a field can't be taken: which one, and what is expected
│   ├── EntryChanged            it was changed since, so taking back would undo that, too
│   ├── NotSaved                the disk refused
│   └── EntriesUnreadable       the file can't be read
├── EraseError
│   ├── NothingToErase          no such turn, date or word: nothing was done
│   ├── EraseBusy               another process is erasing: nothing was done
│   └── EraseStopped            a store can't be written: what is left is done later
├── EmbedderError
│   ├── EmbedderUnavailable     not installed, not reachable, refused, or too slow
│   └── BadVectors              another dimension, not finite, or fewer than asked
└── ChatModelError              the model gave no reply
    ├── NotConfigured           no key, no address, no embedded model
    ├── AuthenticationFailed    the key was refused
    ├── UnknownModel            the endpoint has no such model
    ├── Unreachable             no such host, or nothing listens there
    ├── TimedOut                no answer in time
    ├── RateLimited             too many requests, or the quota is used up
    ├── ContextTooLong          more tokens than the model takes; carries the true limit
    ├── RequestRejected         the endpoint will never take this request
    ├── ServerFailed            the endpoint broke, or answered something else than a reply
    └── StreamBroken            the reply stopped in the middle
"""


class AssistantError(Exception):
    """The root. Its text is written for the person at the terminal."""


class ConfigError(AssistantError):
    pass


class SessionError(AssistantError):
    pass


class SessionNotFound(SessionError):
    pass


class SessionAmbiguous(SessionError):
    pass


class SessionInUse(SessionError):
    """Carries the session's id, so that reading along or a fork can be offered."""

    def __init__(self, message: str, session_id: str) -> None:
        super().__init__(message)
        self.session_id = session_id


class SessionReadOnly(SessionError):
    pass


class SessionChanged(SessionError):
    pass


class SessionUnreadable(SessionError):
    pass


class CommandError(AssistantError):
    pass


class UnknownCommand(CommandError):
    pass


class UsageError(CommandError):
    pass


class MessageTooBig(AssistantError):
    """One message alone is larger than the room there is for it.

    `tokens` is what it takes and `room` what there is, both as counted by us.
    """

    def __init__(self, message: str, *, tokens: int, room: int) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.room = room


class ChatModelError(AssistantError):
    pass


class NotConfigured(ChatModelError):
    pass


class AuthenticationFailed(ChatModelError):
    pass


class UnknownModel(ChatModelError):
    pass


class Unreachable(ChatModelError):
    pass


class TimedOut(ChatModelError):
    pass


class RateLimited(ChatModelError):
    pass


class ContextTooLong(ChatModelError):
    """`limit` is the model's window in its own tokens, where the endpoint named it."""

    def __init__(self, message: str, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class RequestRejected(ChatModelError):
    pass


class ServerFailed(ChatModelError):
    pass


class StreamBroken(ChatModelError):
    pass


class CompactionError(AssistantError):
    pass


#: What a user should know whenever no summary came of it.
ALL_KEPT = "Nothing was changed: all messages are kept, and are sent as far as they fit."


class CompactionStopped(CompactionError):
    pass


class MemoryIndexError(AssistantError):
    pass


class IndexLocked(MemoryIndexError):
    pass


class IndexBroken(MemoryIndexError):
    pass


class IndexUnavailable(MemoryIndexError):
    pass


class IndexMismatch(MemoryIndexError):
    pass


class EntryError(AssistantError):
    pass


class NoSuchEntry(EntryError):
    pass


class WrongEntry(EntryError):
    """`field` is the one that can't be taken, as a tool or a command names it."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class EntryChanged(EntryError):
    pass


class NotSaved(EntryError):
    pass


class EntriesUnreadable(EntryError):
    pass


class EraseError(AssistantError):
    pass


class NothingToErase(EraseError):
    pass


class EraseBusy(EraseError):
    pass


class EraseStopped(EraseError):
    pass


class EmbedderError(AssistantError):
    pass


class EmbedderUnavailable(EmbedderError):
    pass


class BadVectors(EmbedderError):
    pass
