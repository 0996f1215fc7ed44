"""How much markup of a note is read before the rest of it is shown as plain text.

The parser's work grows with the square of some inputs: for each of a thousand brackets that nothing closes it looks through the
rest of the paragraph, and a table of a thousand columns has as many cells in a row of one letter. No person writes such notes,
but logs and broken exports are pasted. What is spent is counted, not timed, so that the same note always looks the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# What one note may cost, about two seconds. Of the longest that is shown, 200,000 characters, prose costs a fourth of that and
# code nothing; a list of 13,000 to-dos of two words, or a table of 20,000 cells, costs nearly all of it.
UNITS = 1_500_000

# What the steps cost, as measured: a unit is about a microsecond.
MARK = 8  # looking at one place in a line for whatever may begin there
LOOK_AHEAD = 1  # passing a place that was looked at before
BLOCK = 60
CELL = 25

# Characters that a rule of the parser passes in the time of a unit where it looks for an end.
CHARACTERS = 10


class Budget:
    """What is left to spend on a note."""

    def __init__(self, units: int) -> None:
        self.units = units

    @property
    def is_spent(self) -> bool:
        return self.units < 0

    def spend(self, units: int) -> bool:
        """Whether there was as much left."""
        self.units -= units
        return self.units >= 0


def limit(markdown: MarkdownIt, budget: Budget) -> None:
    """Let a parser, for one text, spend no more than that; what it then has not read stays as it is written.

    Its tokens have the types "plain", within a line, and "plain_block".
    """
    skip = markdown.inline.skipToken

    def skip_token(state: StateInline) -> None:
        if budget.spend(LOOK_AHEAD):
            skip(state)
        else:
            state.pos = state.posMax

    def inline(state: StateInline, silent: bool) -> bool:
        if budget.spend(_cost_of_mark(state)):
            return False
        if not silent:
            state.push("plain", "", 0).content = state.src[state.pos : state.posMax]
        state.pos = state.posMax
        return True

    def block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if budget.spend(BLOCK):
            return False
        if not silent:
            token = state.push("plain_block", "", 0)
            token.content = state.getLines(start, end, state.blkIndent, False).strip("\n")
            token.map = [start, end]
            state.line = end
        return True

    markdown.inline.skipToken = skip_token  # type: ignore[method-assign]
    markdown.inline.ruler.before("text", "budget", inline)
    markdown.block.ruler.before("table", "budget", block)


def table_cost(state: StateBlock, start: int, end: int) -> int:
    """What the table that begins on a line may cost; rows with too few cells are filled up."""
    columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
    last = start + 2
    while last < end and not state.isEmpty(last):
        last += 1
    return columns * (last - start) * CELL


def _cost_of_mark(state: StateInline) -> int:
    if not state.src.startswith("[^", state.pos):
        return MARK
    # A footnote's name is looked for up to its end, each time.
    end = state.src.find("]", state.pos, state.posMax)
    return MARK + ((end if end >= 0 else state.posMax) - state.pos) // CHARACTERS
