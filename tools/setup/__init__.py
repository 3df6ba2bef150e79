"""What `./llm` does before it runs a command: one small module a step, standard library only.

    paths            where everything is
    report           what is happening, on stderr
    stamp            whether a step's inputs changed since it last ran
    processes        running a program with its progress shown
    system_packages  programs that the machine's package manager installs
    python_environment  the virtual environment, and the Python that Godot embeds
    debian_archive   fetching packages of Debian sid, beside the machine's own apt
    relocation       making unpacked Debian programs run from a private folder
    engine           Godot: the user's own, or the private one
    native_host      the built library, its runtime.cfg, and the project's import
    default_model    the model of commands that name none
    vulkan, display  what the engine draws with and on
    launch, engine_process  running the engine on the project
    main             the command line

A step looks at its stamp first; when that is current it costs a few file reads. It writes to a
temporary name and renames, so that a step stopped half-way runs again and nothing else does.
"""
