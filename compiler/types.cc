#include "gcc.h"
#include "types.h"

#include "instrument.h"
#include "penumbra/inst.h"

static bool is_record(tree type)
{
    return TREE_CODE(type) == RECORD_TYPE || TREE_CODE(type) == UNION_TYPE;
}

/* The typedef that names a type which has no name of its own; the first one. */
static tree typedef_of(tree type)
{
    tree first = NULL_TREE;
    for (tree v = TYPE_MAIN_VARIANT(type); v; v = TYPE_NEXT_VARIANT(v)) {
        tree name = TYPE_NAME(v);
        if (name && TREE_CODE(name) == TYPE_DECL && DECL_NAME(name) && DECL_ORIGINAL_TYPE(name))
            first = name;
    }
    return first;
}

/* A declared type's name with what it is in; "" for none. */
static std::string declared_name(tree type)
{
    tree name = TYPE_NAME(type);
    if (!name && is_record(type))
        name = typedef_of(type);
    if (!name)
        return "";
    if (TREE_CODE(name) == IDENTIFIER_NODE)
        return IDENTIFIER_POINTER(name);
    if (!DECL_NAME(name))
        return "";
    const char *printed = lang_hooks.decl_printable_name(name, 2);
    std::string text = printed ? printed : IDENTIFIER_POINTER(DECL_NAME(name));
    /* how C++ names the type of an anonymous struct */
    return text.find("<unnamed") == std::string::npos && text.find("._anon") == std::string::npos
               ? text
               : "";
}

static std::string type_name(tree type);

static std::string pointer_name(tree type)
{
    tree to = TREE_TYPE(type);
    if (TREE_CODE(to) == FUNCTION_TYPE || TREE_CODE(to) == METHOD_TYPE)
        return type_name(TREE_TYPE(to)) + " (*)()";
    return type_name(to) + (TREE_CODE(type) == REFERENCE_TYPE ? " &" : " *");
}

static std::string array_name(tree type)
{
    tree domain = TYPE_DOMAIN(type);
    std::string length;
    if (domain && TYPE_MAX_VALUE(domain) && tree_fits_shwi_p(TYPE_MAX_VALUE(domain)))
        length = std::to_string(tree_to_shwi(TYPE_MAX_VALUE(domain)) + 1);
    return type_name(TREE_TYPE(type)) + "[" + length + "]";
}

static std::string type_name(tree type)
{
    std::string name = declared_name(type);
    if (name.empty()) {
        if (POINTER_TYPE_P(type))
            name = pointer_name(type);
        else if (TREE_CODE(type) == ARRAY_TYPE)
            name = array_name(type);
        else
            name = TREE_CODE(type) == UNION_TYPE      ? "union {...}"
                   : is_record(type)                  ? "struct {...}"
                   : TREE_CODE(type) == ENUMERAL_TYPE ? "enum {...}"
                                                      : "?";
    } else if (is_record(type) && (!TYPE_NAME(type) || TREE_CODE(TYPE_NAME(type)) != TYPE_DECL)) {
        name = (TREE_CODE(type) == UNION_TYPE ? "union " : "struct ") + name;
    }
    return TYPE_READONLY(type) && !POINTER_TYPE_P(type) ? "const " + name : name;
}

static bool is_nested(tree type)
{
    while (TREE_CODE(type) == ARRAY_TYPE)
        type = TREE_TYPE(type);
    return is_record(type);
}

static uint32_t field_flags(tree field)
{
    tree type = TREE_TYPE(field);
    uint32_t flags = 0;
    if (DECL_BIT_FIELD_TYPE(field))
        flags |= PENUMBRA_INST_BITFIELD;
    if (DECL_ARTIFICIAL(field) && is_record(type))
        flags |= PENUMBRA_INST_BASE;
    if (DECL_VIRTUAL_P(field))
        flags |= PENUMBRA_INST_VPTR;
    if (TREE_CODE(type) == ARRAY_TYPE)
        flags |= PENUMBRA_INST_ARRAY;
    if (is_nested(type))
        flags |= PENUMBRA_INST_NESTED;
    return flags;
}

static uint64_t constant(tree size)
{
    return size && tree_fits_uhwi_p(size) ? tree_to_uhwi(size) : 0;
}

static field_record record_of_field(tree field)
{
    field_record r;
    tree declared = DECL_BIT_FIELD_TYPE(field) ? DECL_BIT_FIELD_TYPE(field) : TREE_TYPE(field);
    if (DECL_NAME(field))
        r.name = IDENTIFIER_POINTER(DECL_NAME(field));
    r.type_name = type_name(declared);
    r.flags = field_flags(field);
    r.align = DECL_BIT_FIELD_TYPE(field) ? (uint32_t)TYPE_ALIGN_UNIT(declared)
                                         : (uint32_t)DECL_ALIGN_UNIT(field);
    r.line = (uint32_t)LOCATION_LINE(DECL_SOURCE_LOCATION(field));
    r.offset = constant(DECL_FIELD_OFFSET(field)) * 8 + constant(DECL_FIELD_BIT_OFFSET(field));
    r.size = constant(DECL_SIZE(field));
    return r;
}

static location_t type_location(tree type)
{
    tree name = TYPE_NAME(type);
    if (TYPE_STUB_DECL(type))
        return DECL_SOURCE_LOCATION(TYPE_STUB_DECL(type));
    if (name && TREE_CODE(name) == TYPE_DECL)
        return DECL_SOURCE_LOCATION(name);
    for (tree field = TYPE_FIELDS(type); field; field = DECL_CHAIN(field))
        if (TREE_CODE(field) == FIELD_DECL)
            return DECL_SOURCE_LOCATION(field);
    return UNKNOWN_LOCATION;
}

static type_record record_of_type(tree type)
{
    type_record r;
    expanded_location at = expand_location(type_location(type));
    r.file = at.file ? at.file : "";
    r.line = (uint32_t)at.line;
    r.name = declared_name(type);
    if (r.name.empty())
        r.name = "<anonymous " + r.file + ":" + std::to_string(r.line) + ">";
    r.size = constant(TYPE_SIZE_UNIT(type));
    r.align = (uint16_t)TYPE_ALIGN_UNIT(type);
    r.kind = TREE_CODE(type) == UNION_TYPE ? PENUMBRA_INST_UNION : PENUMBRA_INST_STRUCT;
    for (tree field = TYPE_FIELDS(type); field; field = DECL_CHAIN(field))
        if (TREE_CODE(field) == FIELD_DECL)
            r.fields.push_back(record_of_field(field));
    return r;
}

int types_record(tree type)
{
    type = TYPE_MAIN_VARIANT(type);
    if (!is_record(type) || !COMPLETE_TYPE_P(type))
        return -1;
    int known = tables_type_known(TYPE_UID(type));
    return known >= 0 ? known : tables_type(TYPE_UID(type), record_of_type(type));
}

/* The place of a field in its type: bit fields are also accessed by the word that holds several of
 * them, which stands for the first. */
static int place_of(tree type, tree wanted)
{
    int place = 0;
    for (tree field = TYPE_FIELDS(type); field; field = DECL_CHAIN(field)) {
        if (TREE_CODE(field) != FIELD_DECL)
            continue;
        if (field == wanted ||
            (DECL_BIT_FIELD_TYPE(field) && DECL_BIT_FIELD_REPRESENTATIVE(field) == wanted))
            return place;
        place++;
    }
    return -1;
}

int types_field(tree field)
{
    tree type = TYPE_MAIN_VARIANT(DECL_CONTEXT(field));
    int record = types_record(type);
    if (record < 0)
        return -1;
    int place = place_of(type, field);
    return place < 0 ? -1 : tables_first_field(record) + place;
}

std::vector<int> types_fields_between(tree type, int64_t from, int64_t to)
{
    std::vector<int> found;
    type = TYPE_MAIN_VARIANT(type);
    int record = types_record(type), place = 0;
    bool bit_field_found = false;
    if (record < 0 || (from == 0 && (uint64_t)to >= constant(TYPE_SIZE(type))))
        return found;
    for (tree field = TYPE_FIELDS(type); field; field = DECL_CHAIN(field)) {
        if (TREE_CODE(field) != FIELD_DECL)
            continue;
        int64_t offset = (int64_t)(constant(DECL_FIELD_OFFSET(field)) * 8 +
                                   constant(DECL_FIELD_BIT_OFFSET(field)));
        int64_t end = offset + (int64_t)constant(DECL_SIZE(field));
        bool bit_field = DECL_BIT_FIELD_TYPE(field) != NULL_TREE;
        if (offset < to && end > from && !(bit_field && bit_field_found)) {
            found.push_back(tables_first_field(record) + place);
            bit_field_found |= bit_field;
        }
        place++;
    }
    return found;
}
