"""An independent reader of Chakra execution traces, written with the standard library from the schema alone
(https://github.com/mlcommons/chakra, schema/protobuf/et_def.proto).

read_execution_trace.py FILE: prints the metadata, then a line for each node:
"id type duration_micros [dependencies] attributes: name". Fails unless ids are unique, every data dependency is
the id of an earlier node, and every collective has a type and a size as int64, which Chakra's own reader expects.
"""
import sys

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
NODE_TYPES = ["INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
              "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE", "BATCH_NODE", "CHECKPOINT_NODE"]
COLLECTIVES = ["ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL",
               "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"]
INT64_VAL, BOOL_VAL, STRING_VAL = 9, 27, 29  # of AttributeProto


def varint(data, at):
    """@returns the number at a position, and the position after it"""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def messages(data):
    """The length-delimited messages of a file."""
    at = 0
    while at < len(data):
        length, at = varint(data, at)
        assert at + length <= len(data), "the last message is cut off"
        yield data[at:at + length]
        at += length


def fields(message):
    """@returns {field number: [(wire type, value)]}"""
    found, at = {}, 0
    while at < len(message):
        tag, at = varint(message, at)
        wire_type = tag & 7
        if wire_type == VARINT:
            value, at = varint(message, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire_type)
            if wire_type == BYTES:
                size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        found.setdefault(tag >> 3, []).append((wire_type, value))
    assert at == len(message), "a field is cut off"
    return found


def single(found, number, wire_type, default):
    """A field that is there at most once; proto3 leaves out zeros."""
    entries = found.get(number, [(wire_type, default)])
    assert len(entries) == 1 and entries[0][0] == wire_type, (number, entries)
    return entries[0][1]


def attributes(found, number):
    """@returns {name: value} of the repeated field with AttributeProtos"""
    values = {}
    for wire_type, message in found.get(number, []):
        assert wire_type == BYTES
        attribute = fields(message)
        name = single(attribute, 1, BYTES, b"").decode("utf-8")
        if INT64_VAL in attribute:
            values[name] = int(single(attribute, INT64_VAL, VARINT, 0))
        elif BOOL_VAL in attribute:
            values[name] = bool(single(attribute, BOOL_VAL, VARINT, 0))
        else:
            values[name] = single(attribute, STRING_VAL, BYTES, b"").decode("utf-8")
    return values


def dependencies(found):
    """@returns data_deps, which may be packed"""
    ids = []
    for wire_type, value in found.get(5, []):
        if wire_type == VARINT:
            ids.append(value)
            continue
        assert wire_type == BYTES
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            ids.append(number)
    return ids


def main(path):
    with open(path, "rb") as file:
        first, *rest = messages(file.read())
    metadata = fields(first)
    assert set(metadata) <= {1, 2}, "GlobalMetadata has a version and attributes"
    print("version", single(metadata, 1, BYTES, b"").decode("utf-8"))
    for name, value in attributes(metadata, 2).items():
        print(f"{name}: {value}")
    seen = set()
    for message in rest:
        node = fields(message)
        number, kind = single(node, 1, VARINT, 0), NODE_TYPES[single(node, 3, VARINT, 0)]
        after, values = dependencies(node), attributes(node, 10)
        assert number not in seen and seen.issuperset(after), (number, after)
        seen.add(number)
        if kind == "COMM_COLL_NODE":
            assert type(values["comm_size"]) is int and type(values["comm_type"]) is int, values
            values["comm_type"] = COLLECTIVES[values["comm_type"]]
        shown = " ".join(f"{name}={value}" for name, value in values.items())
        print(number, kind, single(node, 7, VARINT, 0), after, f"{shown}:",
              single(node, 2, BYTES, b"").decode("utf-8"))


main(sys.argv[1])
