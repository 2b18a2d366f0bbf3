"""The lesson book: a site of lessons, questions, guides, glossary and sources, made with MkDocs."""
