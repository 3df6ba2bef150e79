"""How the folders of each `model_type` differ from files of their architecture.

family     what is said of one
registry   all of them
others     one module for those that need more than a line
"""
