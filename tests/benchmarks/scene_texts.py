"""What is said in the pictures of the window, in English and German."""

from __future__ import annotations

from dataclasses import dataclass

from tests.kit.scripts import END, Script, Step, thinking_first


@dataclass(frozen=True)
class Talk:
    """One question with what the model thinks and answers."""

    question: str
    answer: str
    thought: str = ""


@dataclass(frozen=True)
class SceneTexts:
    """One language. ``earlier`` are the chats at the left; ``search`` is found in several of them."""

    earlier: tuple[Talk, ...]
    prose: Talk
    code: Talk
    table: Talk
    formula: Talk
    riddle: Talk
    long_history: tuple[Talk, ...]
    rain: Talk
    count: Talk
    primes: str
    divisible: str
    looping_thought: str
    looping_answer: str
    again: str
    search: str
    notes_name: str
    notes: str
    about_files: str
    instructions: str


def steps_of(text: str, used: set[str]) -> list[Step]:
    """A text in pieces of a word or more, none of which is in ``used`` (they are added to it)."""
    steps: list[Step] = []
    piece = ""
    for word in _words(text):
        piece += word
        if piece not in used and piece.strip():
            used.add(piece)
            steps.append(piece)
            piece = ""
    if piece:
        steps[-1] = f"{steps[-1]}{piece}"
    return steps


def talk_script(talk: Talk) -> Script:
    """A model that thinks and answers exactly this."""
    used: set[str] = {"\n", "\n\n"}
    thought: list[Step] = [*steps_of(talk.thought, used), "</think>", "\n\n"]
    return Script(thinking_first(thought, [*steps_of(talk.answer, used), END]))


def long_thought_script(texts: SceneTexts) -> Script:
    """A model that goes through number after number, and answers only when its thoughts are closed."""
    used: set[str] = {"\n", "\n\n"}
    thought = [f"{_judged(texts, number)} " for number in range(1001, 14001, 2)]
    answer = [*steps_of(texts.count.answer, used), END]
    return Script((("\n\n", tuple(answer)), ("\n", tuple(thought))))


def looping_thought_script(texts: SceneTexts) -> Script:
    """Thinks the same again and again."""
    used: set[str] = {"\n", "\n\n"}
    answer = [*steps_of(texts.riddle.answer, used), END]
    thought = steps_of(texts.looping_thought, used)
    return Script((("\n\n", tuple(answer)), ("\n", tuple(thought))), loop_to=thought[0])


def looping_answer_script(texts: SceneTexts) -> Script:
    """Says the same again and again."""
    used: set[str] = {"\n", "\n\n"}
    answer = steps_of(texts.looping_answer, used)
    first = next(place for place, step in enumerate(answer) if str(step).startswith(texts.again))
    thought = [*steps_of(texts.prose.thought, used), "</think>", "\n\n"]
    return Script((("\n", tuple(thought)), ("\n\n", tuple(answer))), loop_to=answer[first])


def empty_answer_script(texts: SceneTexts) -> Script:
    """Thinks, and says nothing."""
    thought = [*steps_of(texts.riddle.thought, {"\n", "\n\n"}), END]
    return Script((("\n", tuple(thought)),))


def _words(text: str) -> list[str]:
    words: list[str] = []
    for line in text.splitlines(keepends=True):
        start = 0
        for place in range(1, len(line)):
            if line[place - 1] == " " and line[place] != " ":
                words.append(line[start:place])
                start = place
        words.append(line[start:])
    return words


def _judged(texts: SceneTexts, number: int) -> str:
    factor = next((f for f in range(3, int(number**0.5) + 1, 2) if number % f == 0), 0)
    if not factor:
        return texts.primes.format(number=number)
    return texts.divisible.format(number=number, factor=factor, other=number // factor)


CODE = '''
```python
"""Find files with the same contents below a folder."""

from __future__ import annotations

import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

BLOCK_BYTES = 1 << 20


def files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def digest(path: Path) -> str:
    checksum = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            checksum.update(block)
    return checksum.hexdigest()


def duplicates(folder: Path) -> list[list[Path]]:
    """Groups of files that are alike, the largest files first."""
    by_size: dict[int, list[Path]] = defaultdict(list)
    for path in files_below(folder):
        by_size[path.stat().st_size].append(path)
    groups: list[list[Path]] = []
    for size in sorted(by_size, reverse=True):
        if len(by_size[size]) < 2:
            continue  # nothing else has this size, so nothing can be alike
        by_digest: dict[str, list[Path]] = defaultdict(list)
        for path in by_size[size]:
            by_digest[digest(path)].append(path)
        groups += [paths for paths in by_digest.values() if len(paths) > 1]
    return groups


if __name__ == "__main__":
    for group in duplicates(Path(sys.argv[1])):
        print(*group, sep="\\n", end="\\n\\n")
```
'''

MEASUREMENTS = "day,lamp_hours,ships\n" + "".join(
    f"2026-10-{day:02},{14 - day % 3},{20 + day * 7 % 11}\n" for day in range(1, 32)
)

ENGLISH = SceneTexts(
    earlier=(
        Talk(
            "What makes sourdough rise?",
            "Wild yeast gives off carbon dioxide, and the gluten of the dough holds it.",
        ),
        Talk(
            "Which stars can be seen in spring?",
            "Arcturus, Spica and Regulus stand high; the light of Sirius sinks in the west.",
        ),
        Talk(
            "Translate the letter to the landlord",
            "Dear Ms. Albers, thank you for your letter of 3 March.",
        ),
        Talk(
            "Ideas for a rainy weekend with children",
            "Build a lighthouse from tins, bake bread, or read aloud by candle light.",
        ),
        Talk("Explain recursion with an example", "A function that calls itself on a smaller task."),
    ),
    prose=Talk(
        "How can a lighthouse be seen from so far away with just one lamp?",
        "A lamp sends its light in **all directions**, and most of it would be lost in the sky or on the"
        " ground. A lighthouse therefore gathers it:\n\n"
        "1. **The Fresnel lens.** Rings of glass around the lamp bend the light into one flat beam. One thick"
        " lens of the same strength would weigh several tonnes; the rings need a fraction of that glass.\n"
        "2. **The height.** From a tower of 40 m the horizon is about 23 km away, so the curve of the Earth"
        " hides the lamp later.\n"
        "3. **The rotation.** The lens turns and sweeps its beams over the sea. Whoever stands in one sees a"
        " flash that is far brighter than a steady lamp could be.\n\n"
        "## Why each one flashes differently\n\n"
        "Every lighthouse has its own rhythm, its *character*. A note on the chart such as `Fl(2) 10s` means:"
        " two flashes every ten seconds. So a helmsman at night can tell not only *that* there is a light,"
        " but *which* one it is.\n\n"
        "> The lens of Augustin Fresnel was first lit in 1823, in the tower of Cordouan at the mouth of the"
        " Gironde.\n\n"
        "Today a lamp of less than 250 watts often does what once took five wicks and a keeper who carried"
        " oil up the stairs all night.",
        "The person asks about optics, not about power. I should explain:\n\n"
        "- the lens that gathers the light\n- the height above the water\n- the rotation\n\n"
        "A short remark on the rhythm would be useful too, because it is the reason why lighthouses can be"
        " told apart. I keep it to one screen.",
    ),
    code=Talk(
        "Write a Python script that finds duplicate files in a folder. It should be quick on large files.",
        "Comparing sizes first is what makes it quick: only files of equal size are read at all.\n"
        + CODE
        + "\nCall it with a folder: `python duplicates.py ~/Pictures`. Links are left alone.",
        "Size first, then a checksum. No third-party packages.",
    ),
    table=Talk(
        "Give me the planets in a table: diameter, length of a day, length of a year.",
        "All values are rounded; a *day* is one rotation against the stars.\n\n"
        "| Planet | Diameter | Day | Year |\n|:---|---:|---:|---:|\n"
        "| Mercury | 4,879 km | 58.6 days | 88 days |\n| Venus | 12,104 km | 243 days | 225 days |\n"
        "| **Earth** | 12,756 km | 23.9 hours | 365.25 days |\n| Mars | 6,792 km | 24.6 hours | 687 days |\n"
        "| Jupiter | 142,984 km | 9.9 hours | 11.9 years |\n"
        "| Saturn | 120,536 km | 10.7 hours | 29.5 years |\n"
        "| Uranus | 51,118 km | 17.2 hours | 84 years |\n| Neptune | 49,528 km | 16.1 hours | 165 years |\n\n"
        "What stands out:\n\n- On **Venus** a day is longer than a year.\n"
        "- The largest planets turn the fastest.\n",
        "Eight rows, four columns. Round the values.",
    ),
    formula=Talk(
        "Why does the period of a pendulum not depend on its mass?",
        "Because the mass stands on both sides of the equation of motion and cancels out. For a pendulum of"
        " length $l$ at the angle $\\varphi$:\n\n"
        "$$m\\,l\\,\\frac{d^2\\varphi}{dt^2} = -m\\,g\\,\\sin\\varphi$$\n\n"
        "Divided by $m$, and with $\\sin\\varphi \\approx \\varphi$ for small angles, this is an oscillation"
        " with the period\n\n$$T = 2\\pi\\sqrt{\\frac{l}{g}}$$\n\n"
        "There is no mass left in it. **An example:** for $l = 1\\ \\mathrm{m}$ and"
        " $g = 9.81\\ \\mathrm{m/s^2}$ one gets $T \\approx 2.01\\ \\mathrm{s}$, whether a cork or a"
        " cannonball hangs on the string.",
        "Derive it from the equation of motion and show where m cancels.",
    ),
    riddle=Talk(
        "A farmer has a wolf, a goat and a cabbage, and a boat that carries him and one of them. How does he"
        " get them across?",
        "Take the **goat** over, come back alone. Take the **wolf** over and bring the goat *back*. Take the"
        " **cabbage** over, come back alone. Last, fetch the **goat**: seven crossings.",
        "Let me look at what must never be left alone:\n\n"
        "- wolf and goat\n- goat and cabbage\n\n"
        "So the goat is the problem, and wolf and cabbage can stay together.\n\n"
        "1. First trip: the goat must go, everything else leaves a bad pair behind.\n"
        "2. The farmer comes back with an empty boat.\n"
        "3. Now the wolf or the cabbage. Say the wolf. On the far bank are then wolf and goat, so **the goat"
        " must come back with him**.\n"
        "4. He leaves the goat here and takes the cabbage over. Over there are wolf and cabbage: fine.\n"
        "5. He comes back alone and fetches the goat.\n\n"
        "Let me count the crossings: goat over, empty back, wolf over, goat back, cabbage over, empty back,"
        " goat over. That makes seven. Is there a shorter way? Each crossing moves at most one of three"
        " things, and the last one ends on the far side, so the number is odd. With five crossings there are"
        " three ways over and two ways back. Then nothing may ever be brought back, but after the second"
        " load a bad pair would stand on the far bank alone. So five are too few and seven are the least.",
    ),
    long_history=(
        Talk(
            "What should I take along for three days of hiking in the Harz?",
            "Rain clothes, good boots that are walked in, two litres of water for each day, bread and cheese,"
            " a map on paper, plasters, and a torch with fresh batteries. In October it is dark at six.",
        ),
        Talk(
            "And how far can we go in a day?",
            "With children 10 to 14 kilometres. Count four kilometres an hour on the flat and half an hour"
            " more for every 150 metres that you climb. From Torfhaus to the Brocken and back it is 16.",
        ),
        Talk(
            "Which way up the Brocken is the quietest?",
            "The one from Ilsenburg along the Ilse. It takes four hours, goes through the old wood and has"
            " few people on it before ten in the morning. Take the narrow gauge railway back.",
        ),
        Talk(
            "Is there a place to stay overnight on the way?",
            "In Schierke there are several small hotels and a youth hostel. Book in autumn: the weekends are"
            " full from the middle of September on, and many houses take no single nights then.",
        ),
    ),
    rain=Talk(
        "And if it rains all three days?",
        "Then stay low: the **Ilse valley** and the caves at Rübeland are worth it in any weather, and the"
        " railway up the Brocken has a roof. Take a second pair of shoes.",
        "Paths below the trees, something under a roof.",
    ),
    count=Talk(
        "How many prime numbers are there between 1,000 and 14,000?",
        "There are **1,484** of them: 1,652 primes up to 14,000, less the 168 up to 1,000.",
    ),
    primes="{number} is prime.",
    divisible="{number} = {factor} × {other}.",
    looping_thought="Wait, the wolf could go first. Then the goat eats the cabbage. So let me start again.\n",
    looping_answer="Heat the oven to 230 °C. Fold the dough four times, then let it rest for an hour. ",
    again="Fold",
    search="light",
    notes_name="Ideas for the museum.md",
    notes="# Ideas for the museum\n\n- a lens to walk around\n- the keeper's log of 1903\n" * 9,
    about_files="What do these notes and the figures have in common?",
    instructions="You are a patient teacher. Explain in short sentences, and give one example each time.",
)

GERMAN = SceneTexts(
    earlier=(
        Talk(
            "Warum geht Sauerteig auf?",
            "Wilde Hefen geben Kohlendioxid ab, und der Kleber des Teigs hält es fest.",
        ),
        Talk(
            "Welche Sterne sieht man im Frühling?",
            "Arktur, Spica und Regulus stehen hoch; das Licht des Sirius sinkt im Westen.",
        ),
        Talk(
            "Den Brief an die Vermieterin übersetzen",
            "Sehr geehrte Frau Albers, vielen Dank für Ihr Schreiben vom 3. März.",
        ),
        Talk(
            "Ideen für ein verregnetes Wochenende mit Kindern",
            "Einen Leuchtturm aus Dosen bauen, Brot backen oder bei Kerzen-Licht vorlesen.",
        ),
        Talk("Rekursion an einem Beispiel erklären", "Eine Funktion, die sich für weniger selbst aufruft."),
    ),
    prose=Talk(
        "Wie kann man einen Leuchtturm mit nur einer Lampe so weit sehen?",
        "Eine Lampe schickt ihr Licht in **alle Richtungen**, und das meiste ginge am Himmel oder am Boden"
        " verloren. Ein Leuchtturm sammelt es deshalb:\n\n"
        "1. **Die Fresnel-Linse.** Ringe aus Glas um die Lampe lenken das Licht in einen flachen Strahl. Eine"
        " dicke Linse derselben Stärke wöge mehrere Tonnen; die Ringe brauchen nur einen Bruchteil davon.\n"
        "2. **Die Höhe.** Von einem 40 m hohen Turm ist der Horizont etwa 23 km entfernt, die Krümmung der"
        " Erde verdeckt die Lampe also später.\n"
        "3. **Die Drehung.** Die Linse dreht sich und führt ihre Strahlen über das Meer. Wer in einem steht,"
        " sieht einen Blitz, der viel heller ist, als eine ruhige Lampe es sein könnte.\n\n"
        "## Warum jeder anders blinkt\n\n"
        "Jeder Leuchtturm hat seinen eigenen Takt, seine *Kennung*. Steht auf der Karte `Blz(2) 10s`, so"
        " heißt das: zwei Blitze alle zehn Sekunden. So weiß man nachts nicht nur, *dass* dort ein Licht ist,"
        " sondern auch *welches*.\n\n"
        "> Die Linse von Augustin Fresnel leuchtete zuerst 1823 auf dem Turm von Cordouan an der Mündung der"
        " Gironde.\n\n"
        "Heute schafft eine Lampe mit weniger als 250 Watt oft, wofür man früher fünf Dochte brauchte und"
        " einen Wärter, der die ganze Nacht Öl die Treppe hinauftrug.",
        "Es geht um Optik, nicht um Leistung. Ich erkläre:\n\n"
        "- die Linse, die das Licht sammelt\n- die Höhe über dem Wasser\n- die Drehung\n\n"
        "Ein Wort zur Kennung hilft auch, denn an ihr erkennt man die Türme. Alles auf eine Seite.",
    ),
    code=Talk(
        "Schreib ein Python-Skript, das doppelte Dateien in einem Ordner findet. Es soll bei großen Dateien"
        " schnell sein.",
        "Schnell wird es, weil zuerst die Größen verglichen werden: Nur gleich große Dateien werden"
        " überhaupt gelesen.\n"
        + CODE
        + "\nDer Aufruf mit einem Ordner: `python duplicates.py ~/Bilder`. Verweise bleiben unberührt.",
        "Erst die Größe, dann eine Prüfsumme. Keine fremden Pakete.",
    ),
    table=Talk(
        "Stell mir die Planeten in einer Tabelle zusammen: Durchmesser, Tag und Jahr.",
        "Alle Werte sind gerundet; ein *Tag* ist eine Drehung gegenüber den Sternen.\n\n"
        "| Planet | Durchmesser | Tag | Jahr |\n|:---|---:|---:|---:|\n"
        "| Merkur | 4.879 km | 58,6 Tage | 88 Tage |\n| Venus | 12.104 km | 243 Tage | 225 Tage |\n"
        "| **Erde** | 12.756 km | 23,9 Stunden | 365,25 Tage |\n"
        "| Mars | 6.792 km | 24,6 Stunden | 687 Tage |\n"
        "| Jupiter | 142.984 km | 9,9 Stunden | 11,9 Jahre |\n"
        "| Saturn | 120.536 km | 10,7 Stunden | 29,5 Jahre |\n"
        "| Uranus | 51.118 km | 17,2 Stunden | 84 Jahre |\n"
        "| Neptun | 49.528 km | 16,1 Stunden | 165 Jahre |\n\n"
        "Was auffällt:\n\n- Auf der **Venus** ist ein Tag länger als ein Jahr.\n"
        "- Die größten Planeten drehen sich am schnellsten.\n",
        "Acht Zeilen, vier Spalten. Die Werte runden.",
    ),
    formula=Talk(
        "Warum hängt die Schwingungsdauer eines Pendels nicht von seiner Masse ab?",
        "Weil die Masse auf beiden Seiten der Bewegungsgleichung steht und sich kürzt. Für ein Pendel der"
        " Länge $l$ beim Winkel $\\varphi$ gilt:\n\n"
        "$$m\\,l\\,\\frac{d^2\\varphi}{dt^2} = -m\\,g\\,\\sin\\varphi$$\n\n"
        "Durch $m$ geteilt und mit $\\sin\\varphi \\approx \\varphi$ für kleine Winkel ist das eine"
        " Schwingung mit der Dauer\n\n$$T = 2\\pi\\sqrt{\\frac{l}{g}}$$\n\n"
        "Darin kommt keine Masse mehr vor. **Ein Beispiel:** Für $l = 1\\ \\mathrm{m}$ und"
        " $g = 9{,}81\\ \\mathrm{m/s^2}$ ergibt sich $T \\approx 2{,}01\\ \\mathrm{s}$, ob nun ein Korken"
        " oder eine Kanonenkugel am Faden hängt.",
        "Aus der Bewegungsgleichung herleiten und zeigen, wo sich m kürzt.",
    ),
    riddle=Talk(
        "Ein Bauer hat einen Wolf, eine Ziege und einen Kohlkopf und ein Boot für sich und eines davon. Wie"
        " kommen alle hinüber?",
        "Die **Ziege** hinüber, leer zurück. Den **Wolf** hinüber, die Ziege *wieder mit zurück*. Den"
        " **Kohlkopf** hinüber, leer zurück. Zuletzt die **Ziege**: sieben Fahrten.",
        "Was darf nie allein bleiben?\n\n"
        "- Wolf und Ziege\n- Ziege und Kohlkopf\n\n"
        "Die Ziege ist also das Problem; Wolf und Kohlkopf vertragen sich.\n\n"
        "1. Zuerst muss die Ziege fahren, sonst bleibt ein schlechtes Paar zurück.\n"
        "2. Der Bauer kommt mit leerem Boot zurück.\n"
        "3. Jetzt der Wolf oder der Kohlkopf. Nehmen wir den Wolf. Drüben stehen dann Wolf und Ziege, also"
        " **muss die Ziege wieder mit**.\n"
        "4. Er lässt die Ziege hier und fährt den Kohlkopf hinüber. Drüben sind Wolf und Kohlkopf: gut.\n"
        "5. Er kommt allein zurück und holt die Ziege.\n\n"
        "Wie viele Fahrten sind das? Ziege hin, leer zurück, Wolf hin, Ziege zurück, Kohlkopf hin, leer"
        " zurück, Ziege hin. Das sind sieben. Geht es kürzer? Jede Fahrt bringt höchstens eines von dreien"
        " hinüber, und die letzte endet drüben, die Zahl ist also ungerade. Bei fünf Fahrten gäbe es drei"
        " hin und zwei zurück. Dann dürfte nie etwas zurückkommen, aber nach der zweiten Ladung stünde"
        " drüben ein schlechtes Paar allein. Fünf sind also zu wenig, sieben das Mindeste.",
    ),
    long_history=(
        Talk(
            "Was soll ich für drei Tage Wandern im Harz mitnehmen?",
            "Regenkleidung, eingelaufene Stiefel, zwei Liter Wasser am Tag, Brot und Käse, eine Karte auf"
            " Papier, Pflaster und eine Lampe mit frischen Batterien. Im Oktober wird es um sechs dunkel.",
        ),
        Talk(
            "Und wie weit kommen wir an einem Tag?",
            "Mit Kindern 10 bis 14 Kilometer. Rechne vier Kilometer in der Stunde in der Ebene und eine halbe"
            " Stunde mehr für je 150 Meter Anstieg. Von Torfhaus auf den Brocken und zurück sind es 16.",
        ),
        Talk(
            "Welcher Weg auf den Brocken ist der ruhigste?",
            "Der von Ilsenburg an der Ilse entlang. Er dauert vier Stunden, führt durch alten Wald, und vor"
            " zehn Uhr ist kaum jemand dort. Zurück geht es mit der Schmalspurbahn.",
        ),
        Talk(
            "Kann man unterwegs übernachten?",
            "In Schierke gibt es mehrere kleine Hotels und eine Jugendherberge. Im Herbst besser buchen: Die"
            " Wochenenden sind ab Mitte September voll, und viele Häuser geben dann keine einzelnen Nächte.",
        ),
    ),
    rain=Talk(
        "Und wenn es alle drei Tage regnet?",
        "Dann bleibt unten: Das **Ilsetal** und die Höhlen in Rübeland lohnen sich bei jedem Wetter, und die"
        " Bahn auf den Brocken hat ein Dach. Nehmt ein zweites Paar Schuhe mit.",
        "Wege unter Bäumen, etwas mit Dach.",
    ),
    count=Talk(
        "Wie viele Primzahlen gibt es zwischen 1.000 und 14.000?",
        "Es sind **1.484**: 1.652 Primzahlen bis 14.000, weniger die 168 bis 1.000.",
    ),
    primes="{number} ist prim.",
    divisible="{number} = {factor} × {other}.",
    looping_thought="Moment, der Wolf könnte zuerst. Dann frisst die Ziege den Kohl. Also noch einmal.\n",
    looping_answer="Den Ofen auf 230 °C heizen. Falte den Teig viermal, dann lass ihn eine Stunde ruhen. ",
    again="Falte",
    search="Licht",
    notes_name="Ideen für das Museum.md",
    notes="# Ideen für das Museum\n\n- eine Linse zum Herumgehen\n- das Logbuch von 1903\n" * 9,
    about_files="Was haben diese Notizen und die Zahlen gemeinsam?",
    instructions="Du bist ein geduldiger Lehrer. Erkläre in kurzen Sätzen und gib jedes Mal ein Beispiel.",
)

LANGUAGES = {"en": ENGLISH, "de": GERMAN}
