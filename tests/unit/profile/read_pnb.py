#!/usr/bin/env python3
"""A second reader of .pnb files, written from docs/format.md and sharing nothing with the first.

read_pnb.py FILE prints every field, one a line, as dump_sample.c prints the profile it wrote.
Sections that are compressed need the command `zstd`."""
import subprocess
import struct
import sys
import zlib

MAGIC = b"\x89PNB\r\n\x1a\n"
NAMES = {1: "meta", 2: "reasons", 3: "images", 4: "processes", 5: "frames", 6: "threads",
         7: "trees",
         9: "metrics", 10: "weights", 16: "phases", 18: "ranks", 19: "sandboxes", 20: "cpu time",
         21: "delivered", 24: "counts", 25: "blocks", 26: "edges", 32: "values", 33: "hotlists",
         34: "texts", 40: "paths",
         41: "streams", 60: "names", 61: "figures"}
HEAP = 17  # only of the trigger malloc
TIMELINE = 22  # not in the oldest files
WASTE = 42     # likewise
WASTE_PATHS = 43
PRODUCTIONS = 49  # likewise
SAMPLED = 12  # only of several triggers
RECORDINGS = 23  # only in merged files
ENTITIES = 50  # not in the oldest files
HITS = 51  # likewise
PARTS = 62  # only in files that several carriers or tools were merged into
UNDER_ENGINE = {24, 25, 26, 32, 33, 34, 40, 41}  # not in a part of samples
MASK = (1 << 64) - 1


def container(data):
    """The contents of each section, by type."""
    assert data[:8] == MAGIC, "magic"
    version, kind, count, checksum = struct.unpack_from("<4I", data, 8)
    assert (version, kind) == (1, 0), "version or kind"
    end = 24 + 40 * count
    assert zlib.crc32(data[:20] + data[24:end]) == checksum, "header checksum"
    sections = {}
    for i in range(count):
        kind, flags, offset, stored, raw, crc, zero = struct.unpack_from("<IIQQQII", data, 24 + 40 * i)
        assert offset == end and zero == 0, "section offset"
        end = offset + stored
        contents = data[offset:end]
        assert zlib.crc32(contents) == crc, "section checksum"
        if flags & 2:
            contents = subprocess.run(["zstd", "-dc"], input=contents, stdout=subprocess.PIPE,
                                      check=True).stdout
        assert len(contents) == raw, "raw size"
        if kind in NAMES or kind in (HEAP, SAMPLED, TIMELINE, RECORDINGS, ENTITIES, HITS, WASTE, WASTE_PATHS, PRODUCTIONS,
                                     PARTS):
            sections[kind] = Cursor(contents)
        else:
            assert not flags & 1, "unknown required section"
    assert end == len(data), "end of file"
    return sections


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                self.bits, self.negative = shift, byte & 0x40
                return value

    def s(self):
        value = self.u()
        return value - (1 << self.bits) if self.negative else value

    def take(self, size):
        assert self.at + size <= len(self.data), "a field runs over the section's end"
        self.at += size
        return self.data[self.at - size:self.at]

    def str(self):
        return self.take(self.u()).decode()

    def us(self, count):
        return [self.u() for _ in range(count)]

    def end(self):
        assert self.at == len(self.data), "bytes left over"


def show(what, *values):
    print(what, *values, sep="\t")


def read_meta(c, drops):
    show("command", c.str())
    for name in ("budget", "delivery", "start", "duration"):
        show(name, c.u())
    show("kernel", c.str())
    show("cpu", c.str())
    show("cpus", c.u())
    show("recovered", c.u())
    show("exit", c.s())
    show("notes", c.str().replace("\n", "|"))
    show("drops", *c.us(drops))
    c.end()


def read_metrics(c):
    """How many metrics there are, and triggers: those of one stand together."""
    count = c.u()
    triggers, last = 0, None
    for _ in range(count):
        name, trigger, unit = c.str(), c.str(), c.str()
        triggers += trigger != last
        last = trigger
        show("metric", name, trigger, unit, *c.us(2))
    c.end()
    return count, triggers


def read_weights(c, columns, nodes):
    for _ in range(columns):
        show("weights", *c.us(nodes))
    c.end()


def read_sampled(c, others, threads, drops, truncations):
    for _ in range(others * threads):
        show("sampled", *c.us(4))
        show("truncated", *c.us(truncations))
        show("drops", *c.us(drops))
    c.end()


def read_heap(c, processes):
    for _ in range(processes):
        show("heap", *c.us(2))
    c.end()


def read_images(c):
    count = c.u()
    for _ in range(count):
        path, build_id = c.str(), c.take(c.u()).hex()
        show("image", path, build_id, c.u(), c.u(), c.s(), c.u(), c.u())
    c.end()
    return count


def read_processes(c, drops):
    count = c.u()
    for _ in range(count):
        show("process", c.s(), c.s(), c.str(), c.str(), *c.us(7))
        show("drops", *c.us(drops))
        last = 0
        for _ in range(c.u()):
            image, first, final = c.us(3)
            lo = (last + c.s()) & MASK
            hi = (lo + c.s()) & MASK
            bias = (lo - c.s()) & MASK
            show("map", image, first, final, bias, lo, hi)
            last = lo
        last = 0
        for _ in range(c.u()):
            last += c.u()
            show("jit", last, c.u(), c.str())
    c.end()
    return count


def read_ranks(c):
    show("ranks", *c.us(c.u()))
    c.end()


def read_recordings(c, processes):
    start = 0
    for _ in range(c.u()):
        start += c.u()
        show("recording", start, c.u())
    show("recorded in", *c.us(processes))
    c.end()


def read_entities(c):
    ids = []
    for _ in range(c.u()):
        kind, name, scope, at, number = c.u(), c.str(), c.str(), c.u(), c.u()
        hashed = 0xcbf29ce484222325
        for byte in (kind.to_bytes(8, "little") + name.encode() + b"\0" + scope.encode() + b"\0" +
                     at.to_bytes(8, "little") + number.to_bytes(8, "little")):
            hashed = (hashed ^ byte) * 0x100000001b3 % 2**64
        ids.append(2**62 + (hashed >> 2))
        show("entity", ids[-1], kind, name, scope, at, number)
    c.end()
    return ids


def read_hits(c, ids):
    place = -1
    for _ in range(c.u()):
        place += c.u()
        show("hit", ids[place], c.u())
    c.end()


def read_frames(c):
    count = c.u()
    frames, image, offset = [], 0, 0
    images = []
    for _ in range(count):
        image += c.u()
        images.append(image)
    offsets = []
    for i in range(count):
        same = i > 0 and images[i] == images[i - 1]
        offset = c.u() + (offset if same else 0)
        offsets.append(offset)
    guessed = c.us(count)
    c.end()
    frames = list(zip(images, offsets, guessed))
    assert frames == sorted(set(frames)), "frames are sorted and distinct"
    return frames


def read_tree(columns, frames, count):
    """Prints the nodes of one tree with the index of their parent."""
    children, frame_steps, selves, calls = columns
    path = []  # of [node, children still to come, frame of the last child]
    for i in range(count):
        while path and path[-1][1] == 0:
            path.pop()
        parent, base = -1, 0
        if i > 0:
            path[-1][1] -= 1
            parent, base = path[-1][0], path[-1][2]
        frame = base + frame_steps.s()
        if i > 0:
            path[-1][2] = frame
        else:
            assert frames[frame] == (0, 0, 0), "the root"
        show("node", parent, *frames[frame], selves.u(), calls.u())
        path.append([i, children.u(), 0])
    assert all(left == 0 for _, left, _ in path), "missing children"


def read_threads(c, trees, frames, drops, truncations):
    sizes = trees.us(4)
    columns = [Cursor(trees.take(size)) for size in sizes]
    trees.end()
    count, nodes = c.u(), 0
    for _ in range(count):
        show("thread", c.u(), c.s(), c.str(), *c.us(7))
        show("truncated", *c.us(truncations))
        show("drops", *c.us(drops))
        show("cost", *c.us(2))
        read_tree(columns, frames, size := c.u())
        nodes += size
    c.end()
    for column in columns:
        column.end()
    return count, nodes


def read_phases(c, threads, processes):
    for _ in range(c.u()):
        c.take(c.u())
        show("phase", *c.us(3))
    for _ in range(threads):
        show("in phase", c.u())
    for _ in range(processes):
        show("paused", *c.us(3))
    c.end()


def read_cpu_time(c, processes):
    show("cpu time", *c.us(1 + processes))
    c.end()


def read_delivered(c, threads):
    for _ in range(threads):
        show("delivered", *c.us(3))
    c.end()


def read_timelines(c, threads):
    heads = []
    for _ in range(threads):
        count = c.u()
        heads.append([count, c.u(), c.u()] if count else [0])
    total = sum(head[0] for head in heads)
    steps, spans, nodes = c.us(total), c.us(total), [c.s() for _ in range(total)]
    moments = list(zip(steps, spans, nodes, c.us(total), c.us(total)))
    c.end()
    for head in heads:
        show("timeline", *head)
        bin_, code, last = 0, 0, None
        for step, span, node, metric, weight in (moments.pop(0) for _ in range(head[0])):
            bin_ += step
            code += node
            assert code >= 0 and span <= bin_ and weight, "moments"
            order = (bin_, metric, code - 1 if code else 1 << 32, span)
            assert last is None or last < order, "moments are sorted"
            last = order
            show("moment", bin_, span, code - 1, metric, weight)


def read_sandboxes(c, processes):
    for _ in range(processes):
        show("sandbox", *c.us(3))
    c.end()


def read_counts(c):
    show("engine", c.str(), c.str(), *c.us(4))
    c.end()


def running(steps, groups):
    """The values whose differences within each run of equal groups are the steps."""
    values = []
    for i, step in enumerate(steps):
        same = i > 0 and groups[i] == groups[i - 1]
        values.append(step + (values[-1] if same else 0))
    return values


def read_blocks(c):
    n = c.u()
    images = running(c.us(n), [0] * n)
    processes = c.us(n)
    offsets = running(c.us(n), list(zip(images, processes)))
    rows = list(zip(images, processes, offsets, c.us(n), c.us(n), c.us(n)))
    c.end()
    assert rows == sorted(rows), "blocks are sorted"
    for row in rows:
        show("block", *row)
    return n


def read_edges(c):
    n = c.u()
    places = list(zip(running(c.us(n), [0] * n), c.us(n), c.us(n)))
    origins = running(c.us(n), places)
    targets = [(origin + c.s()) & MASK for origin in origins]
    rows = [(*place, origin, target, c.u())
            for place, origin, target in zip(places, origins, targets)]
    c.end()
    assert rows == sorted(rows), "edges are sorted"
    for row in rows:
        show("edge", *row)


def read_values(c):
    show("values", c.str(), *c.us(5))
    for _ in range(c.u()):
        show("kind", c.str(), c.u(), c.u(), *[c.str() for _ in range(c.u())])
    for _ in range(c.u()):
        show("fact", c.str(), c.u())
    c.end()


def read_hotlists(c):
    n = c.u()
    images = running(c.us(n), [0] * n)
    processes = c.us(n)
    offsets = running(c.us(n), list(zip(images, processes)))
    rows = list(zip(images, processes, offsets, c.us(n), c.us(n), c.us(n)))
    streams = list(zip(c.us(n), c.us(n), c.us(n)))
    total = sum(count for _, _, count in streams)
    entries = list(zip(c.us(total), c.us(total), c.us(total)))
    c.end()
    assert rows == sorted(rows), "hotlists are sorted"
    for row, stream in zip(rows, streams):
        show("hotlist", *row, *stream)
        for _ in range(stream[2]):
            show("entry", *entries.pop(0))


def read_texts(c):
    for _ in range(c.u()):
        show("text", *c.us(3), c.str())
    c.end()


def read_paths(c, blocks):
    show("paths", *c.us(5))
    n, total = c.us(2)
    counts, lengths = c.us(n), c.us(n)
    for i in range(1, n):
        counts[i] = counts[i - 1] - counts[i]
    assert sum(lengths) == total and min(lengths) > 0, "lengths"
    first = 0
    for count, length in zip(counts, lengths):
        block, path = first, []
        for _ in range(length):
            block += c.s()
            path.append(block)
        first = path[0]
        assert all(0 <= block < blocks for block in path), "blocks exist"
        show("path", count, *path)
    c.end()


def read_streams(c):
    show("streams", c.u())
    n = c.u()
    images = running(c.us(n), [0] * n)
    processes = c.us(n)
    offsets = running(c.us(n), list(zip(images, processes)))
    columns = [images, processes, offsets] + [c.us(n) for _ in range(7)]
    for _ in range(4):
        columns.append([c.s() for _ in range(n)])
        columns.append(c.us(n))
    c.end()
    for row in zip(*columns):
        show("stream", *row)


def read_waste(c):
    show("waste", c.u(), *c.us(20))
    n, m = c.u(), c.u()
    images, processes = running(c.us(n), [0] * n), c.us(n)
    columns = [images, processes,
               running(c.us(n), list(zip(images, processes)))] + [c.us(n) for _ in range(17)]
    pairs = waste_pairs(c, m)
    c.end()
    for row in zip(*columns):
        show("access", *row)
    for row in zip(*pairs):
        show("pair", *row)


def waste_pairs(c, m):
    images, processes = running(c.us(m), [0] * m), c.us(m)
    offsets = running(c.us(m), list(zip(images, processes)))
    pairs = [images, processes, offsets, c.us(m), c.us(m), [(o + c.s()) & MASK for o in offsets]]
    return pairs + [c.us(m) for _ in range(3)]


def read_waste_paths(c):
    show("waste paths", *c.us(2))
    n, m = c.u(), c.u()
    callers = [i + 1 - back if back else 0 for i, back in enumerate(c.us(n))]
    calls = [callers] + [c.us(n) for _ in range(3)]
    paths = waste_pairs(c, m) + [c.us(m) for _ in range(3)]
    c.end()
    for row in zip(*calls):
        show("waste call", *row)
    for row in zip(*paths):
        show("waste path", *row)


def read_names(c, images):
    strings = [""] + [c.str() for _ in range(c.u())]
    n = c.u()
    functions, files, lines = c.us(n), c.us(n), c.us(n)
    starts, start = [], 0
    for _ in range(n):
        start = (start + c.s()) & MASK
        starts.append(start)
    outer = [i - back if back else None for i, back in enumerate(c.us(n))]
    for _ in range(images):
        show("names", c.u(), count := c.u())
        offsets, offset, at = [], 0, 0
        for step in c.us(count):
            offset += step
            offsets.append(offset)
        for offset in offsets:
            at += c.s()
            fields, name = [], at
            while name is not None:
                fields += [strings[functions[name]], strings[files[name]], lines[name],
                           starts[name]]
                name = outer[name]
            show("place", offset, *fields)
    c.end()


def read_productions(c):
    show("productions", *c.us(4))
    for _ in range(c.u()):
        show("group", c.str(), *c.us(5))
    for _ in range(c.u()):
        show("count", *c.us(10))
    for _ in range(c.u()):
        show("hot stream", *c.us(2), *c.us(8 * c.u()))
    c.end()


def read_figures(c):
    for _ in range(c.u()):
        show("figure", c.str(), c.str(), *c.us(2))
    c.end()


def read_parts(c):
    for _ in range(c.u()):
        show("part", c.u(), carrier := c.str(), c.str())
        sections = container(c.take(c.u()))
        assert PARTS not in sections, "a part has no parts"
        assert (carrier == "handler") != (24 in sections), "a part is what it says"
        show_profile(sections)
    c.end()


def show_engine(sections):
    read_counts(sections[24])
    blocks = read_blocks(sections[25])
    read_edges(sections[26])
    read_values(sections[32])
    read_hotlists(sections[33])
    read_texts(sections[34])
    read_paths(sections[40], blocks)
    read_streams(sections[41])
    if WASTE in sections:
        read_waste(sections[WASTE])
    if WASTE_PATHS in sections:
        read_waste_paths(sections[WASTE_PATHS])
    if PRODUCTIONS in sections:
        read_productions(sections[PRODUCTIONS])


def show_profile(sections):
    assert set(NAMES) - UNDER_ENGINE <= set(sections), "sections"
    c = sections[2]
    drop_names = [c.str() for _ in range(c.u())]
    truncation_names = [c.str() for _ in range(c.u())]
    c.end()
    show("drop reasons", *drop_names)
    show("truncation reasons", *truncation_names)
    d, t = len(drop_names), len(truncation_names)
    read_meta(sections[1], d)
    images = read_images(sections[3])
    processes = read_processes(sections[4], d)
    read_sandboxes(sections[19], processes)
    read_cpu_time(sections[20], processes)
    read_ranks(sections[18])
    if RECORDINGS in sections:
        read_recordings(sections[RECORDINGS], processes)
    if ENTITIES in sections:
        entities = read_entities(sections[ENTITIES])
        if HITS in sections:
            read_hits(sections[HITS], entities)
    metrics, triggers = read_metrics(sections[9])
    threads, nodes = read_threads(sections[6], sections[7], read_frames(sections[5]), d, t)
    read_weights(sections[10], metrics - 1, nodes)
    if SAMPLED in sections:
        read_sampled(sections[SAMPLED], triggers - 1, threads, d, t)
    if HEAP in sections:
        read_heap(sections[HEAP], processes)
    read_delivered(sections[21], threads)
    if TIMELINE in sections:
        read_timelines(sections[TIMELINE], threads)
    read_phases(sections[16], threads, processes)
    if UNDER_ENGINE & set(sections):
        show_engine(sections)
    read_names(sections[60], images)
    read_figures(sections[61])
    if PARTS in sections:
        read_parts(sections[PARTS])


def main():
    with open(sys.argv[1], "rb") as file:
        sections = container(file.read())
    assert set(NAMES) <= set(sections), "sections"
    show_profile(sections)


if __name__ == "__main__":
    main()
