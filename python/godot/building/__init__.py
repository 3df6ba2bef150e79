"""What scons runs to build the binding from the engine's own dumps. Never imported in the engine."""
