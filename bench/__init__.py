"""Benchmarks with one command: `./dev bench`, or `python -m bench [NAME ...] [--sizes 1000,10000] [--json FILE]`.

    report    rows, budgets, the table and the JSON file
    world     a NATS server for the run, servers over stdio, buckets filled with memories
    writes    an acknowledged write against a bare publish; bulk against single calls
    reads     recall with filters at several sizes; written here, visible there
    text      the view of words alone: load, questions, memory
    knowledge what of conversations is read as facts without a model; facts beside the conversation in search
    processes start to `tools/list` against a minimal server of the same SDK; views ready; memory

A figure is a ratio to a peer or a floor measured in the same run wherever there is one: milliseconds do not travel between machines.
Deliberately absent: assertions in tests. A slow machine is no failure; a missed budget is shown as such, and `--strict` makes it the exit code.
"""
