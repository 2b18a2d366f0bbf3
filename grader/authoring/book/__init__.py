"""Make the lesson book: a MkDocs site of lessons, questions, guides, glossary and sources."""
