"""Who and what memories speak of, and how that is related, as pure values and rules.

    names         when two spellings are one name; which name is a part of another
    kinds         what an entity may be, and which relations there are
    contribution  what one memory says of entities, aliases and relations, as its bucket holds it (kind `g`)
    ruling        that two names are one, or are not, by somebody's explicit word
    joining       which names are one entity, and which cannot be told
    dictionary    `entities.toml`: names that somebody wrote down beforehand
    recognise     names that stand in a text (`lexicon`, `marks`, `people`), offline
    relating      relations that stand in a text

The rule of all: what is known of an entity is known from a memory, and only for as long as that memory is there. Text that
merely looks alike proves nothing.
Deliberately absent: which memories there are (`loomem.views.graph`), models (`loomem.llm`), files.
"""
