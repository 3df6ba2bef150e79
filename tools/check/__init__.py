"""What `./llm test` runs: its groups, each a program whose closing line is counted.

main    the command line, the order, the summary
groups  what each group needs and runs
counts  reading closing lines
lint    formatters, linters and type checkers, and the project's own rules
rules   those rules; runs by itself, too
"""
