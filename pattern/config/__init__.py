"""`pattern.toml`: one file of settings, every key optional.

- `schema`  what it may say: the keys, their types, bounds and defaults, and whose word counts for each
- `words`   a value in words and from words: what is allowed, what a variable of the environment says
- `check`   what a file says, and all that is wrong with it
- `files`   which files there are, and reading them: the only room of these that touches the disk
- `choose`  the value of each key, by environment, project, user and default, and where it comes from

A project's file is written by whoever owns the repository. So it may choose how memory is searched and shown, but not where
memory is, who one is, what is trusted or how long something is kept; and it may make scanning and redaction only stricter.

Deliberately absent: secrets, which the environment alone may hold; `.loominal-config.json` (`identity.config`); the
environment itself (`pattern.app`).
"""
