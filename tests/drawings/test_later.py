"""Scripts that a page loads when they are first needed, and a server that is away just then."""

import re
from pathlib import Path

from tests.drawings.modules import Modules

SCRIPTS = sorted((Path(__file__).parents[2] / "static" / "queueviz" / "js").glob("*.js"))
LOADED = re.compile(r"(?<![:{] )(?<!\{)\bimport\(\"")  # no type of a comment
ASKED = re.compile(r"\b(later|once|needed)\(\(\) => (Promise\.all\(\[)?import\(")
AWAY = "() => { asked.push('asked'); return away-- > 0 ? Promise.reject(new TypeError('Failed to fetch')) : it; }"


def test_a_failed_load_is_said_and_the_next_press_tries_again(modules: Modules) -> None:
    script = f"""async ({{ later }}, it) => {{
        let away = 1;
        const asked = [], said = [], load = {AWAY};
        const failed = () => said.push("failed");
        return [await later(load, failed), await later(load, failed), said];
    }}"""
    assert modules("later", script, {"name": "module"}) == [None, {"name": "module"}, ["failed"]]


def test_a_fault_of_the_module_itself_stays_an_error(modules: Modules) -> None:
    script = """({ later }) => later(() => Promise.reject(new SyntaxError("ours"))).catch((error) => error.message)"""
    assert modules("later", script) == "ours"


def test_what_begins_once_begins_with_the_first_event_that_gets_its_script(modules: Modules) -> None:
    script = f"""async ({{ once }}, it) => {{
        let away = 2;
        const asked = [], begun = [], load = {AWAY};
        const begin = once(load, (module, event) => begun.push([module, event]));
        for (const event of ["hover", "focus", "click", "key"]) await begin(event);
        return [asked.length, begun];
    }}"""
    assert modules("later", script, "module") == [3, [["module", "click"]]]


def test_what_a_page_cannot_do_without_waits_for_the_readers_next_click(modules: Modules) -> None:
    script = f"""async ({{ needed }}, it) => {{
        let away = 2;
        const asked = [], said = [], load = {AWAY};
        globalThis.document.addEventListener = (kind, done) => said.push(kind) && done();
        return [await needed(load, () => said.push("failed")), said];
    }}"""
    assert modules("later", script, "module") == ["module", ["failed", "click", "failed", "click"]]


def test_no_page_loads_a_script_in_another_way() -> None:
    bare = [
        f"{path.name}:{number}"
        for path in SCRIPTS
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if LOADED.search(line) and not ASKED.search(line)
    ]
    assert bare == [], "a failed load would be an error of the page: later.js has the ways to load a script"
