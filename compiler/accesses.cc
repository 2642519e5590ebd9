#include "gcc.h"
#include "accesses.h"

#include "gimple.h"
#include "gimple-iterator.h"
#include "types.h"

struct noted_access {
    bool is_write;
    HOST_WIDE_INT bytes;
    std::vector<int> members;
};

/* Of the current function. */
static std::map<location_t, std::vector<noted_access>> noted;
static std::map<const_tree, std::vector<int>> found;

static HOST_WIDE_INT bytes_of(tree expr)
{
    return int_size_in_bytes(TREE_TYPE(expr));
}

static std::vector<int> members_of(tree expr)
{
    std::vector<int> members;
    for (; expr && handled_component_p(expr); expr = TREE_OPERAND(expr, 0)) {
        int field = TREE_CODE(expr) == COMPONENT_REF ? types_field(TREE_OPERAND(expr, 1)) : -1;
        if (field >= 0)
            members.push_back(field);
    }
    return members;
}

static void note(tree expr, bool is_write, location_t where)
{
    std::vector<int> members = members_of(expr);
    if (members.empty())
        return;
    std::vector<noted_access> &here = noted[where];
    for (const noted_access &other : here)
        if (other.is_write == is_write && other.members == members)
            return;
    here.push_back({is_write, bytes_of(expr), members});
}

static bool is_bare(tree expr)
{
    return expr && (TREE_CODE(expr) == MEM_REF || TREE_CODE(expr) == TARGET_MEM_REF);
}

/* Where there are several of that size, it is not known which. */
static void find(tree expr, bool is_write, location_t where)
{
    const noted_access *only = NULL;
    auto here = noted.find(where);
    if (!is_bare(expr) || here == noted.end())
        return;
    for (const noted_access &access : here->second) {
        if (access.is_write != is_write || access.bytes != bytes_of(expr))
            continue;
        if (only)
            return;
        only = &access;
    }
    if (only)
        found[expr] = only->members;
}

/* Calls visit with what each assignment reads and writes. */
static void visit_all(function *in, void (*visit)(tree expr, bool is_write, location_t where))
{
    basic_block block;
    FOR_EACH_BB_FN(block, in)
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            gimple *statement = gsi_stmt(i);
            location_t where = LOCATION_LOCUS(gimple_location(statement));
            if (!is_gimple_assign(statement) || where == UNKNOWN_LOCATION)
                continue;
            visit(gimple_assign_lhs(statement), true, where);
            visit(gimple_assign_rhs1(statement), false, where);
        }
}

void accesses_note(function *in)
{
    noted.clear();
    visit_all(in, note);
}

void accesses_find(function *in)
{
    found.clear();
    visit_all(in, find);
    noted.clear(); /* the next function may have no loops, and is not noted then */
}

std::vector<int> accesses_members(const_tree expr)
{
    auto known = found.find(expr);
    return known == found.end() ? std::vector<int>() : known->second;
}
