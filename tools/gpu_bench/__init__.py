"""Measures this project against llama.cpp on a GPU, in Godot's release template.

    python3 tools/gpu_bench            everything, then the table; --help tells the steps

    shapes       the models that are measured, in the shapes of real ones
    synthetic    their files, with random weights
    template     the release template with a pack of its own, which runs a command of ours
    measure      one run of ours, one of llama.cpp
    llama_cpp    a program for a Python that has llama.cpp in a wheel
    results      what was measured, a line a run
    table        the tables, as text and as JSON
    main         the command line

Standard library only: any Python from 3.10 runs it, without a network. It makes nothing outside
its folder, build/gpu_bench.
"""
