"""Find similar notes for daily notes with a common template, with the real model.

python -m tests.stress.templates [--folder FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import Embedder
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.index.run import indexer
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.notes.similar import find_similar
from datasette_bear_search.sources.base import SourceConfig

# Topic → the text of a day about it, and the topic's own note, which uses other words.
TOPICS = {
    "Skiing": ("We went skiing above the village; the snow was wet and the lift stood still twice.",
        "Wax for wet snow, edges sharpened before the season, season ticket for the lifts."),
    "Mortgage": ("The bank offers 3.1 percent for ten years if we put down a fifth of the price.",
        "Compare interest rates, fees of the notary, and what early repayment of the loan costs."),
    "Tomatoes": ("Sowed six tomato seeds on the windowsill and labeled the pots.",
        "San Marzano grows well under glass; pinch out side shoots and water at the roots."),
    "Piano": ("Practised Chopin on the piano for half an hour, the left hand slowly.",
        "Pieces to practise: Chopin nocturnes; pedal only where the harmony changes."),
    "Dentist": ("The molar hurt again, the dentist says it needs a crown.",
        "Teeth: fillings, X-rays and cleaning appointments, what the insurance pays."),
    "Sourdough": ("The sourdough doubled overnight, so I baked a loaf of rye bread.",
        "Feed the starter, fold the dough every hour, bake the bread in the iron pot."),
    "Bicycle": ("Repaired my bike: the chain fell off at the bridge, and the brakes squeak.",
        "Bike maintenance: chain, brake pads, tyre pressure, grease for the bearings."),
    "Beekeeping": ("Inspected the hive, saw the queen bee on the third frame.",
        "Hive inspections, varroa treatment in August, honey harvest in July."),
    "Marathon": ("Ran eighteen kilometers along the canal for the marathon, knees fine.",
        "Training plan: a long run on Sunday, intervals on Wednesday."),
    "Telescope": ("Saw the rings of Saturn in the telescope from the balcony.",
        "Observing list: planets, Orion nebula, eyepieces and how to align the finder."),
}  # fmt: skip
CLOSING = (
    "Remember: drink enough water, stretch for ten minutes, and be kind to whoever is tired.\n"
    "Before going to bed, put the phone away and write down three things that went well."
)
# Typical templates of daily notes: headings, one paragraph, a list, front matter.
TEMPLATES = {
    "headings": "## Mood\n- \n\n## What happened today\n{}\n\n## Adjustment for tomorrow\n- \n\n"
    "## Things to be grateful for\n- \n\n" + CLOSING,
    "plain": "Slept seven hours, weather as forecast.\n\n{}\n\n" + CLOSING,
    "one paragraph": "Another day in the life of this household.\n{}\n" + CLOSING,
    "list": "- [ ] Take the vitamins and the fish oil\n- [ ] Empty the dishwasher\n- {}\n- [ ] Plan"
    " the meals for tomorrow\n- [ ] Lock the door and turn off the heating",
    "front matter": "---\ntype: daily\nmood: good\n---\n### Morning pages for today\n\n{}\n\n"
    "### Evening review of the day\n\nWhat went well today? What did not go so well?\n\n" + CLOSING,
}


def write_notes(folder: Path, template: str) -> None:
    """Write notes for thirty days, three per topic, and the topics' own notes."""
    folder.mkdir()
    for number, (topic, (day, note)) in enumerate([*TOPICS.items()] * 3):
        text = template.format(day if number < len(TOPICS) else f"{day} {topic} again.")
        date = f"2026-{number // 28 + 1:02}-{number % 28 + 1:02}"
        (folder / f"{date}.md").write_text(f"# {date}\n\n{text}\n")
        (folder / f"{topic}.md").write_text(f"# {topic}\n\n{note}\n")


def places(folder: Path, embedder: Embedder) -> list[int]:
    """Return for each day the rank of its topic's note among the similar notes; 99 if missing."""
    path = folder.with_suffix(".db")
    indexer.update(path, [SourceConfig("notes", "", str(folder))], embedder)
    found = []
    with open_sidecar(path) as connection:
        days = connection.execute("select id, body from notes where title like '2026-%'")
        for note_id, body in days.fetchall():
            [topic] = [topic for topic, (day, _) in TOPICS.items() if day in body]
            similar = find_similar(connection, note_id, size=50)
            titles = [note.title for note in similar.notes] if similar else []
            found.append(titles.index(topic) + 1 if topic in titles else 99)
    return found


def main() -> None:
    embedder = registry.get_embedder(BUNDLED)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, template in TEMPLATES.items():
            notes = Path(folder) / name.replace(" ", "-")
            write_notes(notes, template)
            found = places(notes, embedder)
            late = sum(place > 3 for place in found)
            print(f"{name}: {late} of {len(found)} topics not among the first three, {found}")
            missed += late
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
