#!/usr/bin/env python3
"""--schema and --print-config, seen from outside: an independent validator reads the schema, accepts what ships, and
refuses with the daemon what is damaged."""
import copy
import json
import pathlib
import sys
import tempfile
import unittest

import daemon

try:
    import jsonschema
except ImportError:
    sys.exit(77)

SHIPPED = [daemon.TOP / "config" / name for name in ("arena.json", "serpent.json")]


def schema():
    return json.loads(daemon.run("--schema").stdout)


def load(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    document["match"]["map"] = str(path.parent / document["match"]["map"])
    return document


def places(value, path=()):
    """Path of every member, parents first."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in pairs:
        yield (*path, key)
        if isinstance(child, (dict, list)):
            yield from places(child, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def rule(document, path):
    """The schema's rule for that place."""
    for key in path:
        document = document["items"] if isinstance(key, int) else document["properties"][key]
    return document


def text(path):
    """As the daemon writes it: match.seed, arena.weapons[1].damage."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)[1:]


def wrong_values(there):
    """Values that this rule forbids."""
    kind = there.get("type")
    if kind in ("integer", "number"):
        return [there["minimum"] - 1, there["maximum"] + 1, "1", None, True, {}]
    if kind == "string":
        return [7, None, "x" * (there.get("maxLength", 40) + 1)]
    if kind == "array":
        return [{}, [{}] * (there["maxItems"] + 1)]
    return [[], 7.5, "x"]


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = schema()
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_it_is_a_schema_of_the_2020_draft(self):
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_every_object_is_closed_and_every_option_described(self):
        def visit(node):
            if node.get("type") == "object":
                self.assertIs(node["additionalProperties"], False)
            for name, child in node.get("properties", {}).items():
                if child.get("type") != "object":
                    self.assertGreater(len(child["description"]), 10, name)
                    self.assertIn("default", child, name)
                visit(child)
            if "items" in node:
                visit(node["items"])
        visit(self.schema)

    def test_shipped_configurations_are_valid_and_complete(self):
        for path in SHIPPED:
            document = json.loads(path.read_text(encoding="utf-8"))
            self.validator.validate(document)
            for section, there in self.schema["properties"].items():
                if section in document:
                    self.assertEqual(set(document[section]), set(there["properties"]), section)
            others = {"arena", "serpent"} - {document["match"]["mode"]}
            self.assertEqual(set(self.schema["properties"]) - set(document), others)

    def test_the_printed_configuration_is_valid_and_prints_the_same_again(self):
        for path in SHIPPED:
            first = daemon.run("--config", path, "--print-config")
            self.assertEqual(first.returncode, 0, first.stderr)
            self.validator.validate(json.loads(first.stdout))
            with tempfile.TemporaryDirectory() as folder:
                copied = pathlib.Path(folder) / "c.json"
                copied.write_text(first.stdout, encoding="utf-8")
                (copied.parent / "maps").symlink_to(path.parent / "maps")
                second = daemon.run("--config", copied, "--print-config")
            self.assertEqual(second.stdout, first.stdout)

    def test_environment_and_set_are_in_what_is_printed(self):
        done = daemon.run("--config", SHIPPED[0], "--print-config", "--set", "match.seed=" + str(2**64 - 1),
                          environment={"ARBITER_NET_PORT": "1234", "ARBITER_SERVICE_HOST": "x"})
        printed = json.loads(done.stdout)
        self.assertEqual(printed["net"]["port"], 1234)
        self.assertEqual(printed["match"]["seed"], str(2**64 - 1))
        self.assertIn("ARBITER_SERVICE_HOST", done.stderr)

    def refuse(self, file, document, path):
        """Both validators say no, ours at the right path."""
        self.assertFalse(self.validator.is_valid(document), text(path))
        file.write_text(json.dumps(document), encoding="utf-8")
        done = daemon.run("--config", file, "--check-config")
        self.assertEqual(done.returncode, 78, text(path))
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^\S+:\d+:\d+: .*\n$")
        self.assertEqual(done.stderr.split(": ")[1], text(path), done.stderr)

    def test_validator_and_daemon_refuse_the_same(self):
        for path in SHIPPED:
            document = load(path)
            with tempfile.NamedTemporaryFile(suffix=".json") as keeper:
                file = pathlib.Path(keeper.name)
                for number, place in enumerate(places(document)):
                    damaged = copy.deepcopy(document)
                    owner = at(damaged, place[:-1])
                    if not isinstance(place[-1], int):
                        renamed = str(place[-1]) + "x"
                        owner[renamed] = owner.pop(place[-1])
                        self.refuse(file, damaged, (*place[:-1], renamed))
                    values = wrong_values(rule(self.schema, place))
                    damaged = copy.deepcopy(document)
                    # All in turn, spread over the keys: each alone is in the unit test already.
                    at(damaged, place[:-1])[place[-1]] = values[number % len(values)]
                    self.refuse(file, damaged, place)


if __name__ == "__main__":
    unittest.main()
