"""The reader of generated answers: it finds what a text says for or against each option, and weighs it.

To add a language, add its lines to cues.toml. `reader` is the entry. `options` prepares a question's options,
`spans` finds where a text names them, `context` looks at the words around, `restated` compares them with the
question, `decide` weighs the evidence, and `open` reads answers to open questions.
"""
