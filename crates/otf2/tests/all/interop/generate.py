#!/usr/bin/env python3
"""Makes the C side of the interoperation tests from the headers of libotf2.

    generate.py writer|reader INCLUDE_DIRECTORY > program.c

The tables of crate `otf2` are what is under test, so they must not say what the C program does.
The prototypes in the installed headers do: this script takes from them the records, their fields
and the C types of the fields, and nothing else is written by hand. `writer` makes a function for
each record that draws values, calls libotf2 and prints the record; `reader` makes a callback for
each record that prints what libotf2 delivers. The frames around them are `write_main.c` and
`read_main.c`, and `support.c` draws and prints values.

A record is one line: a head, its name, its fields sorted by name as `name=value`, and for records
with times the attributes. Names are those of the C arguments in snake case. Three rules make one
field of several arguments:

* arrays behind their count become `a+b=[x:y,x:y]`, without the count;
* an attribute value takes in the type before it: `value=type:value`;
* a mapping table is `id_map=dense[global,...]` or `id_map=sparse[local>global,...]`.
"""

import re
import sys

# (header stem, prefix of the C functions, prefix in generated names, leading arguments to drop)
WRITERS = [
    ("OTF2_EvtWriter", "OTF2_EvtWriter_", "evt", 3),
    ("OTF2_SnapWriter", "OTF2_SnapWriter_", "snap", 3),
    ("OTF2_GlobalDefWriter", "OTF2_GlobalDefWriter_Write", "global_def", 1),
    ("OTF2_DefWriter", "OTF2_DefWriter_Write", "local_def", 1),
    ("OTF2_MarkerWriter", "OTF2_MarkerWriter_Write", "marker", 1),
]
# (header stem, prefix of the callback types, prefix in generated names, leading arguments to drop)
READERS = [
    ("OTF2_EvtReaderCallbacks", "OTF2_EvtReaderCallback_", "evt", 5),
    ("OTF2_SnapReaderCallbacks", "OTF2_SnapReaderCallback_", "snap", 4),
    ("OTF2_GlobalDefReaderCallbacks", "OTF2_GlobalDefReaderCallback_", "global_def", 1),
    ("OTF2_DefReaderCallbacks", "OTF2_DefReaderCallback_", "local_def", 1),
    ("OTF2_MarkerReaderCallbacks", "OTF2_MarkerReaderCallback_", "marker", 1),
]
# Functions of the writers that write no record.
NO_RECORDS = {
    "GetLocationID", "SetLocationID", "GetUserData", "SetUserData", "GetNumberOfEvents",
    "StoreRewindPoint", "Rewind", "ClearRewindPoint",
}


def source(include, stem):
    """Text of a header without comments and preprocessor lines."""
    with open(f"{include}/otf2/{stem}.h", encoding="utf-8") as header:
        text = header.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def arguments(text):
    """`"const X* a, Y b"` as `[("const X*", "a"), ("Y", "b")]`."""
    found = []
    for part in " ".join(text.split()).split(","):
        kind, name = re.fullmatch(r"(.*?)(\w+)", part.strip()).groups()
        found.append((kind.strip(), name))
    return found


def writer_records(include, stem, prefix, drop):
    """`(name, handle type, fields)` of each record that a writer can write."""
    pattern = rf"\b{prefix}(\w+)\s*\(([^;{{]*?)\)\s*(?:__otf2_deprecated__)?\s*;"
    for name, args in re.findall(pattern, source(include, stem)):
        if name not in NO_RECORDS:
            args = arguments(args)
            yield name, args[0][0], args[drop:]


def reader_records(include, stem, prefix, drop):
    """`(name, all arguments, fields)` of each callback."""
    pattern = rf"\(\s*\*\s*{prefix}(\w+)\s*\)\s*\(([^;{{]*?)\)\s*;"
    for name, args in re.findall(pattern, source(include, stem)):
        args = arguments(args)
        yield name, args, args[drop:]


def snake(name):
    name = name.replace("IDs", "Ids").replace("ID", "Id")
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


class Field:
    """One printed field, made of one or more C arguments."""

    def __init__(self, args, count=None):
        self.args = args
        self.count = count  # The argument that counts the elements, for arrays.
        shown = [name for kind, name in args]
        if count is None:
            shown = shown[-1:]  # A value with its type goes by the name of the value.
        self.name = "+".join(map(snake, shown))

    def is_array(self):
        return self.count is not None


def element(kind):
    """Type of the elements of a pointer."""
    return kind.replace("const", "").replace("*", "").strip()


def fields(args):
    """Groups C arguments into fields."""
    made, rest = [], list(args)
    while rest:
        kind, name = rest.pop(0)
        if "*" in kind and element(kind) not in ("char", "OTF2_IdMap"):
            raise SystemExit(f"array without a count: {name}")
        if name.startswith("numberOf") and rest and "*" in rest[0][0]:
            arrays = []
            while rest and "*" in rest[0][0]:
                arrays.append(rest.pop(0))
            made.append(Field(arrays, (kind, name)))
        elif kind == "OTF2_Type" and rest and rest[0][0] == "OTF2_AttributeValue":
            made.append(Field([(kind, name), rest.pop(0)]))
        else:
            made.append(Field([(kind, name)]))
    return made


def show(kinds_and_places):
    """Statements that print values, joined by colons; a type before a value rules its form."""
    lines, last_type = [], None
    for at, (kind, place) in enumerate(kinds_and_places):
        if at:
            lines.append("put_char( ':' );")
        if kind == "OTF2_AttributeValue":
            lines.append(f"put_typed( {last_type}, {place} );")
        elif kind == "OTF2_MetricValue":
            lines.append(f"put_u64( {place}.unsigned_int );")
        elif kind == "double":
            lines.append(f"put_double( {place} );")
        elif element(kind) == "char":
            lines.append(f"put_text( {place} );")
        elif element(kind) == "OTF2_IdMap":
            lines.append(f"put_map( {place} );")
        else:
            lines.append(f"PUT( {kind}, {place} );")
        if kind == "OTF2_Type":
            last_type = place
    return lines


def print_fields(made):
    """Statements that print all fields, by name."""
    for field in sorted(made, key=lambda field: field.name):
        yield f'put_name( "{field.name}" );'
        if not field.is_array():
            yield from show(field.args)
            continue
        places = [(element(kind), f"{name}[ i ]") for kind, name in field.args]
        yield "put_char( '[' );"
        yield f"for ( uint32_t i = 0; i < {field.count[1]}; i++ )"
        yield "{"
        yield "    if ( i ) put_char( ',' );"
        yield from ("    " + line for line in show(places))
        yield "}"
        yield "put_char( ']' );"


def draw(kind, name, last_type):
    """Expression that draws a value."""
    if kind == "OTF2_AttributeValue":
        return f"pick_value( {last_type} )"
    if kind == "OTF2_MetricValue":
        return "( OTF2_MetricValue ){ .unsigned_int = pick_number( 8 ) }"
    if kind == "double":
        return "pick_double()"
    if element(kind) == "char":
        return "pick_text()"
    if element(kind) == "OTF2_IdMap":
        return "pick_map()"
    if kind == "OTF2_MappingType":
        return "pick_mapping_type()"
    if kind == "OTF2_TimeStamp" and name == "stopTime":
        return "pick_stop_time( time )"
    if kind == "OTF2_TimeStamp" and name == "time":
        return "pick_offset_time()"
    return f"PICK( {kind} )"


def draw_fields(made, estimated):
    """Statements that draw all values. `estimated` says that libotf2 estimates lengths."""
    for field in made:
        typed = len(field.args) > 1 and field.args[-1][0] in (
            "OTF2_AttributeValue", "const OTF2_AttributeValue*")
        if not field.is_array():
            last_type = field.args[0][1]
            for kind, name in field.args:
                value = "pick_type()" if typed and kind == "OTF2_Type" else draw(kind, name, last_type)
                yield f"{kind} {name} = {value};"
            continue
        kind, count = field.count
        sizes = " + ".join(f"sizeof( {element(kind)} ) + 1" for kind, name in field.args)
        # What libotf2 estimates above 254 bytes it gives a long length, needed or not.
        bound = sizes if estimated or typed else "0"
        yield f"{kind} {count} = pick_count( sizeof( {kind} ), {bound} );"
        for kind, name in field.args:
            yield f"static {element(kind)} {name}[ MOST_ELEMENTS ];"
        yield f"for ( uint32_t i = 0; i < {count}; i++ )"
        yield "{"
        last_type = None
        for kind, name in field.args:
            kind = element(kind)
            value = "pick_type()" if typed and kind == "OTF2_Type" else draw(kind, name, last_type)
            yield f"    {name}[ i ] = {value};"
            if kind == "OTF2_Type":
                last_type = f"{name}[ i ]"
        yield "}"


def indent(lines):
    return "\n".join("    " + line for line in lines)


HEADS = {
    "evt": 'put_event( "E", location, number, time, "{name}" );',
    "snap": 'put_snap( "S", location, time, "{name}" );',
    "global_def": 'put_word( "D {name}" );',
    "local_def": 'put_local( "L", owner, "{name}" );',
    "marker": 'put_word( "M {name}" );',
}


def emit_writer(include):
    print('#include "support.c"\n')
    # What `write_main.c` makes up itself, because it depends on more than the type.
    print(
        "static uint64_t pick_stop_time( uint64_t time );\n"
        "static uint64_t pick_offset_time( void );\n"
        "static OTF2_MappingType pick_mapping_type( void );\n"
        "static const OTF2_IdMap* pick_map( void );\n"
        "static OTF2_AttributeList* shown_list;\n"
    )
    for stem, prefix, family, drop in WRITERS:
        names = []
        timed = family in ("evt", "snap")
        for name, handle, args in writer_records(include, stem, prefix, drop):
            made = fields(args)
            call = ["writer"] + (["list", "time"] if timed else []) + [arg[1] for arg in args]
            body = list(draw_fields(made, timed or family == "marker"))
            body.append(f"check( {prefix}{name}( {', '.join(call)} ), \"{name}\" );")
            body.append(HEADS[family].format(name=name))
            body.extend(print_fields(made))
            if timed:
                body.append("put_attributes( shown_list );")  # Writing empties the list.
            body.append("put_char( '\\n' );")
            names.append(name)
            context = {
                "evt": ", uint64_t location, uint64_t number, OTF2_AttributeList* list, uint64_t time",
                "snap": ", uint64_t location, OTF2_AttributeList* list, uint64_t time",
                "local_def": ", uint64_t owner",
            }.get(family, "")
            print(f"static void\nwrite_{family}_{name}( {handle} writer{context} )\n{{\n{indent(body)}\n}}\n")
            signature = f"( {handle} writer{context} )"
        print(f"static void ( * const {family}_writers[] ){signature} =\n{{")
        print(indent(f"write_{family}_{name}," for name in names) + "\n};\n")
    print('#include "write_main.c"')


def emit_reader(include):
    print('#include "support.c"\n')
    for stem, prefix, family, drop in READERS:
        names = []
        for name, args, shown in reader_records(include, stem, prefix, drop):
            made = fields(shown)
            body = []
            if family == "evt":
                body.append("uint64_t number = eventPosition;")
            if family == "snap":
                body.append("uint64_t time = snapTime;")
            if family == "local_def":
                body.append("uint64_t owner = *( uint64_t* )userData;")
            body.append(HEADS[family].format(name=name))
            body.extend(print_fields(made))
            if family in ("evt", "snap"):
                body.append("put_attributes( attributeList );")
            body.append("put_char( '\\n' );")
            body.append("return OTF2_CALLBACK_SUCCESS;")
            names.append(name)
            signature = ", ".join(f"{kind} {arg}" for kind, arg in args)
            print(f"static OTF2_CallbackCode\nread_{family}_{name}( {signature} )\n{{\n{indent(body)}\n}}\n")
        kind = stem
        print(f"static {kind}*\n{family}_callbacks( void )\n{{\n    {kind}* made = {kind}_New();")
        for name in names:
            print(f'    check( {kind}_Set{name}Callback( made, read_{family}_{name} ), "{name}" );')
        print("    return made;\n}\n")
    print('#include "read_main.c"')


def main():
    what, include = sys.argv[1:]
    {"writer": emit_writer, "reader": emit_reader}[what](include)


main()
