"""The grammar (GBNF) of one JSON object or array, as RFC 8259 has it. Bounded white space between the parts:
a model that has said all would otherwise write line ends for ever.

A NUL is allowed in strings: tokens whose bytes join to an overlong form of it pass the engine's check of a
token, and where the grammar then refused it the engine would end the process. Nobody ever sees one.
"""

JSON_GRAMMAR = r"""
root ::= gap (object | array)
object ::= "{" gap (member ("," gap member)*)? "}" gap
member ::= string gap ":" gap value
array ::= "[" gap (value ("," gap value)*)? "]" gap
value ::= (object | array | string gap | number gap | ("true" | "false" | "null") gap)
string ::= "\"" character* "\""
character ::= [^"\\\x01-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]{0,30}) ("." [0-9]{1,30})? ([eE] [-+]? [0-9]{1,4})?
gap ::= [ \t\n\r]{0,40}
"""
