"""The site of the documents in docs/, which `./llm docs` makes in build/site.

main         the command line
class_pages  the editor's help pages of the nodes, written by the engine
reference    such a page as Markdown
hooks        what MkDocs calls: adds the reference, and what patterns in its navigation name
mkdocs.yml   MkDocs' settings, the navigation
theme/       style
"""
