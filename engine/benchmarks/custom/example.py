"""The example that ``evalbench new-benchmark`` writes: it runs as it is."""

from __future__ import annotations

FILE = '''\
# A benchmark of your own: this file, and a table of questions beside it.
# Try it:    evalbench run {name}.toml
# All of it: docs/custom-benchmarks.md

[benchmark]
title = "{name}"
data = "{name}.csv"        # or .jsonl, .parquet; --data FILE takes another one
group = "topic"            # a column: results are shown for each of its values

[prompt]
# {{{{ names }}}} are columns of the table (Jinja). {{{{ choices }}}} is the list of options.
template = """
{{{{ question }}}}

A) {{{{ a }}}}
B) {{{{ b }}}}
C) {{{{ c }}}}

Reply with the letter of the right option only."""
# system = "You are a careful assistant."
max_tokens = 64
temperature = 0
# stop = ["\\n\\n"]
# images = ["picture"]     # columns with paths of images, relative to the table

[answer]
target = "answer"          # the column with the right answer
# How a reply is scored:
#   choice    one of the options; the target is its text, letter or number from 0
#   exact     a word or phrase; case, articles and full stops do not count
#   contains  the target occurs in the reply
#   numeric   a number; tolerance = 0.01 allows one percent
#   regex     what the first group of pattern = 'Answer: (.+)' finds
#   judge     a model grades by a rubric; needs --judge and [judge] below
scorer = "choice"
choices = ["a", "b", "c"]  # columns of the options, or one column with a list

# [judge]
# rubric = """
# Question: {{{{ question }}}}
# Answer: {{{{ reply }}}}
# Is the answer correct, complete and polite?"""
# low = 1
# high = 10
'''

TABLE = """\
question,a,b,c,answer,topic
Which planet is closest to the Sun?,Venus,Mercury,Mars,Mercury,space
How many legs does a spider have?,8,6,10,8,animals
What is frozen water called?,steam,ice,sand,ice,everyday
Which animal says moo?,the cat,the cow,the owl,the cow,animals
What do bees make?,honey,milk,bread,honey,animals
Which is the largest ocean?,Atlantic,Arctic,Pacific,Pacific,space
"""
