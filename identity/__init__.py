"""Who calls, and what each may see.

    errors       the one error tree
    ports        what the rules ask of the outside world; changes and events as values
    agent        ids, their derivation, the caller
    keys         the key grammar: the only speller of bucket names and keys
    visibility   the one table of who reads and who writes what
    registry     loads the caller from the project's identity bucket, and enrols it
    config       configuration files of a project and of its user
    remote       which git remote a folder belongs to

Deliberately absent: the environment, any broker library, any knowledge of what a memory is. `agent`, `keys` and
`visibility` are pure; only `config` and `remote` read files, only `registry` waits.
"""
