/* Which members an access is to that ivopts has made into a pointer of its own: it says no member
 * any more, but stands where it stood in the source.
 *
 *     before ivopts (accesses_note)         after it (accesses_find)        instructions
 *     ─────────────────────────────         ────────────────────────        ────────────
 *     x = p[i].count;  at 12:9              x = MEM[ivtmp + 8];  at 12:9    mem, whose expression is
 *     12:9 reads node.count          ──>    MEM[ivtmp + 8]: node.count ──>  that tree: node.count
 *
 * Context: the compiler's passes. */
#ifndef PENUMBRA_COMPILER_ACCESSES_H
#define PENUMBRA_COMPILER_ACCESSES_H

#include <vector>

void accesses_note(function *in);
void accesses_find(function *in);
/* The member, and those that contain it, from the inside to the outside. Empty: not known. */
std::vector<int> accesses_members(const_tree expr);

#endif
