"""First names, English, Polish and German, and the Polish cases of the Polish ones. Data.

Names that are words too are in `_WORDS`: they are persons only where something beside them says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

_COMMON = """
Aaron Abigail Adam Adrian Agnes Aidan Alan Albert Alex Alexa Alexander Alexandra Alfred Alice Alicia Alina Alison Allison Amanda Amelia Amir Amy Andrea Andreas Andrew
Andy Angela Angelina Anita Anja Anke Ann Anna Anne Annette Annika Anthony Anton Antonia Antonio Arjun Arthur Ashley Astrid Audrey Axel Barbara Barry Beate Beatrice Ben
Benjamin Bernard Bernd Beth Bettina Betty Birgit Bob Boris Brandon Brenda Brian Bridget Bruce Bruno Bryan Calvin Camila Camilla Carl Carla Carlos Carmen Carol Caroline Catherine
Cathy Cecilia Charles Charlie Chloe Chris Christa Christian Christina Christine Christoph Christopher Claire Clara Clarissa Claudia Clemens Colin Connor Cornelia Craig Cynthia
Daisuke Daniel Daniela Danielle Danny Dave David Deborah Denise Dennis Derek Diana Diego Dieter Dietmar Dimitri Dirk Dmitri Dominic Dominik Donald Donna Doris Dorothy Doug Douglas Dylan
Eddie Edgar Edith Edward Eileen Elaine Eleanor Elena Eli Elias Elisabeth Elizabeth Ella Ellen Emil Emilia Emily Emma Emmanuel Eric Erica Erik Erika Erin Esther Ethan Eugene Eva Evan Evelyn
Fabian Fatima Felicia Felix Fernando Fiona Francesca Francesco Francis Frances Franz Fred Frederick Friedrich Fritz Gabriel Gabriela Gareth Gary Gavin George Gerald Gerhard Gertrud Gina Giulia
Giovanni Gisela Gordon Graham Greg Gregory Greta Gudrun Guido Gustav Hannah Hanna Hannes Hans Harald Harold Harry Heather Heidi Heike Heiko Heinrich Heinz Helen Helena Helga Helmut Henrik Henry Herbert
Hermann Hilary Hiroshi Holger Horst Howard Hugo Ian Ibrahim Ida Ingo Ingrid Irene Isaac Isabel Isabella Ivan Jacob Jakob James Jamie Jan Jana Jane Janet Janine Jared Jasmin Jasmine Jason Javier
Jean Jeff Jeffrey Jen Jenna Jennifer Jenny Jens Jeremy Jerry Jesse Jessica Jill Jim Jimmy Joan Joanna Jochen Joel Johanna Johannes John Johnny Jon Jonas Jonathan Jordan Jorge Jose Josef Joseph
Josh Joshua Juan Judith Judy Julia Julian Juliane Julie Julius Jürgen Justin Jutta Karen Karim Karin Karl Karla Karolina Karsten Katarina Kate Katharina Katherine Kathrin Kathy Katie Katja Katrin
Keith Kelly Ken Kenji Kenneth Kerstin Kevin Kim Klara Klaus Konrad Kristen Kristin Kristina Kurt Kyle Lara Larry Lars Laura Lauren Lea Leah Lena Leo Leon Leonard Leonie Leslie Liam Linda Lisa
Liz Lorenz Louis Louise Luca Lucas Lucy Ludwig Luis Luisa Lukas Luke Lydia Maggie Malcolm Malte Manfred Manuel Manuela Marc Marcel Marco Marcus Margaret Maria Mariana Marianne Marie Marina Mario Marion
Marius Markus Marlene Martha Martin Martina Mary Mathias Mathilda Matt Matteo Matthew Matthias Maureen Maurice Max Maxim Maximilian Megan Mei Mel Melanie Melissa Michael Michaela Michelle Miguel Mike
Mia Mila Mohamed Mohammed Molly Monica Monika Moritz Nate Nadine Nadja Nancy Naomi Natalie Natasha Nathan Neil Nicholas Nick Nicola Nicole Niklas Nils Nina Noah Nora Norbert Norman Olaf Oleg Olga Oliver
Olivia Oscar Oskar Otto Owen Pablo Pam Pamela Patricia Patrick Paul Paula Pauline Pedro Peggy Penelope Peter Petra Phil Philip Philipp Philippa Phoebe Pierre Priya Rachel Rahul Rainer Ralf Ralph
Ramona Raphael Raj Ravi Raymond Rebecca Regina Reinhard Renate Ricardo Richard Rita Robert Roberta Roberto Robin Roger Roland Rolf Roman Ron Ronald Rosa Rosemary Ross Roxanne Roy Rudolf Rüdiger Russell Ruth Ryan
Sabine Sabrina Sally Sam Samantha Samir Samuel Sandra Sanjay Sara Sarah Saskia Scott Sean Sebastian Sergei Sergio Shannon Sharon Sheila Shirley Sibylle Silke Silvia Simon Simone Sofia Sonja Sophia Sophie
Stacy Stefan Stefanie Stella Stephan Stephanie Stephen Steve Steven Stuart Susan Susanne Suzanne Svenja Svetlana Sven Sylvia Takeshi Tanja Tara Teresa Terry Theo Theodor Theresa Thomas Thorsten Tim
Timo Timothy Tina Tobias Todd Tom Tommy Tony Torsten Tracy Trevor Tyler Udo Ulf Ulrich Ulrike Ursula Ute Uwe Valentina Valerie Vanessa Vera Veronica Veronika Victor Viktor Vincent Vivian
Vladimir Volker Walter Wanda Wayne Wendy Werner Wilhelm William Wolfgang Yasmin Yuki Yusuf Yvonne Zachary Zoe
"""
_POLISH = """
Agata Agnieszka Aleksander Aleksandra Alicja Andrzej Aneta Anna Antoni Artur Bartek Bartłomiej Barbara Bartosz Basia Beata Bogdan Bożena Błażej Cezary Damian Dariusz Darek Dawid Dorota
Elżbieta Emilia Ewa Ewelina Filip Franciszek Gosia Grażyna Grzegorz Grzesiek Halina Hanna Hubert Iga Iwona Izabela Jacek Jakub Jarosław Jadwiga Janusz Jerzy Joanna Jolanta Józef Julia Justyna
Kacper Kamil Kamila Karol Karolina Kasia Katarzyna Kazimierz Kinga Klaudia Krystyna Krzysztof Krzysiek Kuba Leszek Lidia Lucyna Łukasz Maciej Maciek Magda Magdalena Małgorzata Marcel Marcin Marek Maria
Mariola Mariusz Marta Martyna Mateusz Michał Mikołaj Mirosław Monika Natalia Nikola Norbert Ola Oliwia Patrycja Paulina Paweł Piotr Piotrek Przemysław Przemek Radosław Rafał Renata Robert Ryszard
Sebastian Sławomir Stanisław Sylwia Szymon Tadeusz Tomasz Tomek Urszula Wacław Waldemar Weronika Wiesław Wiktor Wiktoria Witold Wojciech Wojtek Zbigniew Zdzisław Zofia Zosia Zuzanna
"""
_WORDS = """
Will Mark Grace Rose Ernst Wolf Frank Art Bill Rob Hope Faith Joy Dawn Summer Autumn May April June August Chase Drew Grant Hunter Jack Jay Lee Miles Pat Penny Pearl Ray Rich Rusty Sandy Sky Sunny
Sue Ted Violet Iris Lily Olive Ivy Daisy Jasper Ruby Amber Crystal Angel Christian Dean Earl Duke Guy Gene Glen Heath Dale Clay Cliff Brook Heinz Kai Nova Chance Carter Mason Parker Taylor Bernhard
Jo Al Ed Ron Nell Mercy Destiny Melody Harmony Viola Róża Kalina Malina Jagoda Bohdan Karol Mila Ida Ola Uli Gabi Bea Ina Edda Lotte Tilo Till Falk Götz Wilder Heide Sommer Jo-Ann Max Iga Nikola Jana
"""
_SOFTENED = {
    "k": "c",
    "g": "dz",
    "r": "rz",
    "t": "ci",
    "d": "dzi",
    "ł": "l",
    "n": "ni",
    "w": "wi",
    "z": "zi",
    "s": "si",
    "b": "bi",
    "p": "pi",
    "m": "mi",
}
_ALONE = frozenset({"Grace", "Jack", "Rob", "Max", "Karol", "Kai", "Jana", "Ola", "Iga", "Nikola"})
"""Words that are names often enough to be one at the beginning of a sentence before a verb."""


@lru_cache(maxsize=1)
def first_names() -> dict[str, str]:
    """Return first names by the forms in which they are written, those that are words left out."""
    words = set(_WORDS.split()) - _ALONE
    known = {name: name for name in (*_COMMON.split(), *_POLISH.split(), *_ALONE) if name not in words}
    for name in _POLISH.split():
        if name not in words:
            for form in _cases(name):
                known.setdefault(form, name)
    return known


@lru_cache(maxsize=1)
def names_that_are_words() -> frozenset[str]:
    """Return first names that mean something else too."""
    return frozenset(_WORDS.split()) - _ALONE


def _cases(name: str) -> Iterator[str]:
    if name.endswith("a"):
        stem = name[:-1]
        yield from (stem + end for end in ("y", "i", "ę", "ą", "o", "ie", "iej"))
        if stem[-1:] in _SOFTENED:
            yield stem[:-1] + _SOFTENED[stem[-1]] + "e"
    elif name.endswith(("y", "i")):
        yield from (name[:-1] + end for end in ("ego", "emu", "ym", "im"))
        yield from (name + end for end in ("ego", "emu", "m"))
    else:
        stem = name[:-2] + name[-1] if name[-2:] in ("ek", "eł") else name
        yield from (stem + end for end in ("a", "owi", "em", "iem", "u", "ie", "e"))
        if stem[-1:] in _SOFTENED:
            yield stem[:-1] + _SOFTENED[stem[-1]] + "e"


def surname_of(written: str, *, inflected: bool) -> str:
    """Return a Polish surname as it is in the nominative, when the first name beside it stands in another case."""
    if not inflected:
        return written
    for ending, base in (
        *(("skiego", "ski"), ("skiemu", "ski"), ("skim", "ski"), ("skiej", "ska"), ("ską", "ska")),
        *(("ckiego", "cki"), ("ckiemu", "cki"), ("ckim", "cki"), ("ckiej", "cka"), ("cką", "cka")),
        *(("kiem", "k"), ("giem", "g"), ("owi", ""), ("em", "")),
    ):
        if written.endswith(ending) and len(written) > len(ending) + 2:
            return written[: -len(ending)] + base
    return written


def sometimes_words() -> frozenset[str]:
    """Return first names that are more often names than words."""
    return _ALONE
