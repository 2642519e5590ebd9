"""The OpenTelemetry export of sample profiles, decoded by protoc with the public schema (otlp/, written from
opentelemetry-proto), and compared with the truth (the tree itself).

usage: check_otlp.py WRITE_SAMPLE PENUMBRA WRITE_LARGE

Exits with 77 (skipped) without protoc."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from check_exports import IN_PHASE, PERIOD, SAMPLES, Sample, cut_sample, need, parse_text, run, scalar

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "otlp")
PROFILES = "opentelemetry/proto/profiles/v1development/profiles.proto"
TABLES = "mapping", "location", "function", "link", "string", "attribute", "stack"


def value_of(pair):
    value = pair["value"][0]
    return value["string_value"][0] if value["string_value"] else scalar(value, "int_value")


class Decoded:
    """The message, and what its dictionary says."""

    def __init__(self, data):
        text = run("protoc", f"--proto_path={SCHEMA}", "--decode=opentelemetry.proto.profiles.v1development.ProfilesData",
                   PROFILES, input=data)
        assert not re.search(rb"^\s*\d+[:{ ]", text, re.M), "a field that the schema does not have"
        self.data = parse_text(iter(text.decode("latin1").splitlines()))
        dictionary = self.data["dictionary"][0]
        self.tables = {name: dictionary[f"{name}_table"] for name in TABLES}
        for name, table in self.tables.items():
            assert not table[0], f"entry 0 of {name}: {table[0]}"
            entries = [json.dumps(entry, default=repr, sort_keys=True) for entry in table]
            # code of two processes in no file may have one address
            assert len(set(entries)) == len(entries) or name in ("mapping", "location"), f"{name} has an entry twice"

    def at(self, table, message, key):
        index = scalar(message, key)
        assert 0 <= index < len(self.tables[table]), f"{key}: {index} of {len(self.tables[table])}"
        return self.tables[table][index]

    def attributes(self, message):
        out = {}
        for index in message["attribute_indices"]:
            entry = self.tables["attribute"][index]
            assert index > 0
            out[self.at("string", entry, "key_strindex").decode()] = value_of(entry)
        return out

    def frames(self, sample):
        """Leaf first."""
        names = []
        for index in self.at("stack", sample, "stack_index")["location_indices"]:
            location = self.tables["location"][index]
            assert index > 0 and location["lines"], "a location without a function"
            if scalar(location, "mapping_index"):
                mapping = self.at("mapping", location, "mapping_index")
                assert scalar(mapping, "memory_start") <= scalar(location, "address") < scalar(mapping, "memory_limit")
            names += [self.at("string", self.at("function", line, "function_index"), "name_strindex")
                      for line in location["lines"]]
        return tuple(names)

    def type_of(self, profile, key="sample_type"):
        return tuple(self.at("string", profile[key][0], f"{part}_strindex").decode() for part in ("type", "unit"))

    def profiles(self):
        """(attributes of the resource, profile) of each."""
        for resource in self.data["resource_profiles"]:
            about = {a["key"][0].decode(): value_of(a) for a in resource["resource"][0]["attributes"]}
            for scope in resource["scope_profiles"]:
                assert scope["scope"][0]["name"] == [b"penumbra"]
                for profile in scope["profiles"]:
                    assert len(profile["profile_id"][0]) == 16 and profile["samples"]
                    yield about, profile


def check(sample):
    with open(sample.path("otlp.pb"), "rb") as f:
        decoded = Decoded(f.read())
    want = collections.Counter()
    for tid, thread, frames, samples in sample.stacks:
        frames = [f.replace(b"\xff", b"?") for f in cut_sample(sample, frames)]
        want[(tid, thread, tuple(reversed(frames)))] += samples
    got, phases, ranks, ids = collections.Counter(), collections.Counter(), collections.Counter(), []
    time = sample.which != "events"
    for about, profile in decoded.profiles():
        assert decoded.type_of(profile) == (("cpu", "nanoseconds") if time else ("page-faults", "count"))
        assert decoded.type_of(profile, "period_type") == decoded.type_of(profile)
        assert scalar(profile, "period") == PERIOD
        assert 1700000000000000000 <= scalar(profile, "time_unix_nano") < 1700000009000000000
        assert 0 < scalar(profile, "duration_nano") <= 9000000000
        ids.append(profile["profile_id"][0])
        seen = set()
        for s in profile["samples"]:
            amount, = s["values"]
            labels = decoded.attributes(s)
            samples = amount // PERIOD
            assert samples * PERIOD == amount and samples
            tid = labels["thread.id"]
            assert about["process.pid"] == (100 if tid in (100, 150) else 101)
            got[(tid, labels["thread.name"], decoded.frames(s))] += samples
            once = tid, labels.get("penumbra.phase"), s["stack_index"][0]
            assert once not in seen or sample.which == "random", f"twice: {once}"
            seen.add(once)
            if "penumbra.phase" in labels:
                phases[labels["penumbra.phase"], about["process.pid"]] += samples
            if "penumbra.rank" in labels:
                ranks[labels["penumbra.rank"], about["process.pid"]] += samples
    assert len(set(ids)) == len(ids), "one id for two profiles"
    second = sum(samples for tid, _, _, samples in sample.stacks if tid in (101, 151))
    assert phases == ({(b"load", 100): IN_PHASE} if sample.which == "timeline" else {}), phases
    assert ranks == ({(3, 101): second} if sample.which == "timeline" else {}), ranks
    assert got == want, (got - want, want - got)
    files = {decoded.at("string", m, "filename_strindex"): decoded.attributes(m) for m in decoded.tables["mapping"][1:]}
    assert files[b"/usr/bin/demo"] == {"process.executable.build_id.gnu": b"dead01"}, files


def check_command(penumbra, write_large):
    """All metrics, with the totals of the report; to a terminal nothing is written."""
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([write_large, "large.pnb", "2", "2", "300"], cwd=d, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([penumbra, "export", "-f", "otlp", "large.pnb"], cwd=d, check=True, stdout=subprocess.PIPE)
        decoded, got = Decoded(done.stdout), collections.Counter()
        for _, profile in decoded.profiles():
            got[decoded.type_of(profile)[0]] += sum(s["values"][0] for s in profile["samples"])
        want = {}
        for name in ("time", "faults", "allocated", "live", "peak"):
            done = subprocess.run([penumbra, "report", "--json", "--metric", name, "large.pnb"], cwd=d, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            report = json.loads(done.stdout)
            period = next(m["period"] for m in report["metrics"] if m["name"] == name)
            want[{"time": "cpu"}.get(name, name)] = report["tree"]["total"] * period
        assert got == want, (got, want)


def main():
    program, penumbra, write_large = map(os.path.abspath, sys.argv[1:])
    need("protoc")
    for name in SAMPLES:
        with tempfile.TemporaryDirectory() as directory:
            check(Sample(program, name, directory))
        print(f"{name}: ok")
    check_command(penumbra, write_large)


main()
