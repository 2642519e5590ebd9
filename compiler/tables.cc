#include "gcc.h"
#include "tables.h"

#include "penumbra/inst.h"

struct function_row {
    std::string name, file;
    uint32_t line, checksum;
};

struct block_row {
    int function;
    int first_event, events;
    uint32_t line;
};

struct value_row {
    int function;
    value_record value;
};

struct type_row {
    type_record type;
    int first_field;
};

static std::vector<function_row> functions;
static std::vector<block_row> blocks;
static std::vector<event_record> events;
static std::vector<value_row> values;
static std::vector<type_row> types;
static int fields;
static std::map<unsigned, int> types_by_id;
static std::map<std::string, int> strings;

void tables_function(const std::string &name, const std::string &file, uint32_t line,
                     uint32_t checksum)
{
    functions.push_back({name, file, line, checksum});
}

int tables_block(const std::vector<event_record> &of_block)
{
    blocks.push_back({(int)functions.size() - 1, (int)events.size(), (int)of_block.size(),
                      of_block.empty() ? 0 : of_block[0].line});
    events.insert(events.end(), of_block.begin(), of_block.end());
    return (int)blocks.size() - 1;
}

int tables_value(const value_record &value)
{
    values.push_back({(int)functions.size() - 1, value});
    return (int)values.size() - 1;
}

int tables_type_known(unsigned id)
{
    auto known = types_by_id.find(id);
    return known == types_by_id.end() ? -1 : known->second;
}

int tables_type(unsigned id, const type_record &type)
{
    types.push_back({type, fields});
    fields += (int)type.fields.size();
    types_by_id[id] = (int)types.size() - 1;
    return (int)types.size() - 1;
}

int tables_first_field(int type)
{
    return types[type].first_field;
}

int tables_blocks()
{
    return (int)blocks.size();
}

int tables_values()
{
    return (int)values.size();
}

int tables_field_type(int field)
{
    auto after = std::upper_bound(
        types.begin(), types.end(), field,
        [](int wanted, const type_row &row) { return wanted < row.first_field; });
    return (int)(after - types.begin()) - 1;
}

uint32_t tables_field_flags(int field)
{
    const type_row &row = types[tables_field_type(field)];
    return row.type.fields[field - row.first_field].flags;
}

bool tables_are_used()
{
    return !functions.empty();
}

/* A reference to a string; 0 for "". */
static void write_string(FILE *out, const std::string &text)
{
    if (text.empty()) {
        fputs("\t.long\t0\n", out);
        return;
    }
    auto entry = strings.insert({text, (int)strings.size()}).first;
    fprintf(out, "\t.long\t.LpnbS%d-.\n", entry->second);
}

static void write_reference(FILE *out, const char *label, int number)
{
    if (number < 0)
        fputs("\t.long\t0\n", out);
    else
        fprintf(out, "\t.long\t%s%d-.\n", label, number);
}

static void open_section(FILE *out, const char *name, int align)
{
    fprintf(out, "\t.pushsection\tpenumbra%u_%s,\"a\",@progbits\n\t.balign\t%d\n",
            PENUMBRA_INST_ABI, name, align);
}

static void write_functions(FILE *out)
{
    open_section(out, "functions", 4);
    for (size_t i = 0; i < functions.size(); i++) {
        const function_row &f = functions[i];
        fprintf(out, ".LpnbF%d:\n", (int)i);
        write_string(out, f.name);
        write_string(out, f.file);
        fprintf(out, "\t.long\t%u, %u\n", f.line, f.checksum);
    }
    fputs("\t.popsection\n", out);
}

static void write_blocks(FILE *out)
{
    open_section(out, "blocks", 4);
    for (size_t i = 0; i < blocks.size(); i++) {
        const block_row &b = blocks[i];
        fprintf(out, ".LpnbB%d:\n", (int)i);
        write_reference(out, ".LpnbF", b.function);
        write_reference(out, ".LpnbE", b.events ? b.first_event : -1);
        fprintf(out, "\t.long\t%d, %u\n", b.events, b.line);
    }
    fputs("\t.popsection\n", out);
}

static void write_events(FILE *out)
{
    open_section(out, "events", 4);
    for (size_t i = 0; i < events.size(); i++) {
        const event_record &e = events[i];
        fprintf(out, ".LpnbE%d:\n", (int)i);
        if (e.field >= 0)
            write_reference(out, ".LpnbD", e.field);
        else if (!e.counter.empty())
            fprintf(out, "\t.long\t%s-.\n", e.counter.c_str());
        else
            write_string(out, e.text);
        write_string(out, e.caller);
        fprintf(out, "\t.long\t%u, %u\n\t.value\t%u\n\t.byte\t%u, %u\n", e.line, e.aux, e.source,
                e.kind, e.site);
    }
    fputs("\t.popsection\n", out);
}

static void write_values(FILE *out)
{
    open_section(out, "values", 4);
    for (size_t i = 0; i < values.size(); i++) {
        const value_record &v = values[i].value;
        fprintf(out, ".LpnbV%d:\n", (int)i);
        write_reference(out, ".LpnbF", values[i].function);
        write_string(out, v.name);
        write_reference(out, ".LpnbT", v.type);
        write_string(out, v.caller);
        fprintf(out, "\t.long\t%u\n\t.value\t%u\n\t.byte\t%u, %u, %u\n"
                     "\t.zero\t3\n\t.long\t%d\n",
                v.line, v.index, v.kind, v.bytes, v.is_signed, v.frame);
    }
    fputs("\t.popsection\n", out);
}

static void write_types(FILE *out)
{
    open_section(out, "types", 8);
    for (size_t i = 0; i < types.size(); i++) {
        const type_record &t = types[i].type;
        fprintf(out, ".LpnbT%d:\n", (int)i);
        write_string(out, t.name);
        write_string(out, t.file);
        write_reference(out, ".LpnbD", t.fields.empty() ? -1 : types[i].first_field);
        fprintf(out, "\t.long\t%d\n\t.quad\t%llu\n\t.long\t%u\n\t.value\t%u\n\t.byte\t%u, 0\n",
                (int)t.fields.size(), (unsigned long long)t.size, t.line, t.align, t.kind);
    }
    fputs("\t.popsection\n", out);
}

static void write_fields(FILE *out)
{
    open_section(out, "fields", 8);
    for (size_t i = 0; i < types.size(); i++) {
        int number = types[i].first_field;
        for (const field_record &f : types[i].type.fields) {
            fprintf(out, ".LpnbD%d:\n", number++);
            write_reference(out, ".LpnbT", (int)i);
            write_string(out, f.name);
            write_string(out, f.type_name);
            fprintf(out, "\t.long\t%u\n\t.quad\t%llu, %llu\n\t.long\t%u, %u\n", f.flags,
                    (unsigned long long)f.offset, (unsigned long long)f.size, f.align, f.line);
        }
    }
    fputs("\t.popsection\n", out);
}

static void write_strings(FILE *out)
{
    fprintf(out, "\t.pushsection\tpenumbra%u_strings,\"aMS\",@progbits,1\n", PENUMBRA_INST_ABI);
    for (const auto &entry : strings) {
        fprintf(out, ".LpnbS%d:\n\t.string\t\"", entry.second);
        for (unsigned char c : entry.first) {
            if (c == '"' || c == '\\' || c < 32 || c > 126)
                fprintf(out, "\\%03o", c);
            else
                fputc(c, out);
        }
        fputs("\"\n", out);
    }
    fputs("\t.popsection\n", out);
}

void tables_write(FILE *assembly)
{
    write_functions(assembly);
    write_blocks(assembly);
    write_events(assembly);
    write_values(assembly);
    write_types(assembly);
    write_fields(assembly);
    write_strings(assembly);
}
