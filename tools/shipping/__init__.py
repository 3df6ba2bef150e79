"""What `scons runtime` and `scons package` make: the add-on as others get it (decision 34).

contents   what of Python's library and packages a game needs
libraries  shared libraries: which a system has, which come along
bytecode   sources -> compiled modules, in folders and archives
licences   the texts that have to come along
runtime    the folder beside the native host: all that Python needs
addon      the file that others unpack into their projects
export     the games of this project's own presets; sizes, what they weigh
"""
