#include "gcc.h"
#include "bitfields.h"

#include "gimple.h"
#include "gimple-iterator.h"
#include "penumbra/inst.h"
#include "tables.h"
#include "types.h"

/* Of the current function, by where they are in the source. */
static std::map<location_t, std::vector<int>> reads, writes;

static void add(tree expr, location_t where, std::map<location_t, std::vector<int>> *to)
{
    for (; expr && handled_component_p(expr); expr = TREE_OPERAND(expr, 0)) {
        if (TREE_CODE(expr) != COMPONENT_REF || !DECL_BIT_FIELD_TYPE(TREE_OPERAND(expr, 1)))
            continue;
        int field = types_field(TREE_OPERAND(expr, 1));
        if (field >= 0)
            (*to)[where].push_back(field);
    }
}

void bitfields_find(function *in)
{
    reads.clear();
    writes.clear();
    basic_block block;
    FOR_EACH_BB_FN(block, in) {
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            gimple *statement = gsi_stmt(i);
            location_t where = LOCATION_LOCUS(gimple_location(statement));
            if (!is_gimple_assign(statement))
                continue;
            add(gimple_assign_lhs(statement), where, &writes);
            add(gimple_assign_rhs1(statement), where, &reads);
        }
    }
}

static std::vector<int> of_type(const std::map<location_t, std::vector<int>> &from,
                                location_t where, int field)
{
    std::vector<int> found;
    auto here = from.find(where);
    if (here == from.end())
        return found;
    for (int other : here->second)
        if (tables_field_type(other) == tables_field_type(field) &&
            std::find(found.begin(), found.end(), other) == found.end())
            found.push_back(other);
    return found;
}

std::vector<int> bitfields_meant(location_t where, int field, bool is_write)
{
    std::vector<int> found;
    if (tables_field_flags(field) & PENUMBRA_INST_BITFIELD) {
        where = LOCATION_LOCUS(where);
        found = of_type(is_write ? writes : reads, where, field);
        if (found.empty() && !is_write) /* the word is read to write a part of it */
            found = of_type(writes, where, field);
    }
    if (found.empty())
        found.push_back(field);
    return found;
}

int bitfields_only(location_t where, bool is_write)
{
    const std::map<location_t, std::vector<int>> &from = is_write ? writes : reads;
    auto here = from.find(LOCATION_LOCUS(where));
    if (here == from.end())
        return -1;
    int first = here->second.front();
    for (int field : here->second)
        if (field != first)
            return -1;
    return first;
}
