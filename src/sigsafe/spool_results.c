#include "sigsafe/spool_results.h"

enum { GAP_MOST = 4096 }; /* drawn at once: some microseconds */

static void draw(struct spool_result *row, struct hotlist_random *r)
{
    row->gap = (uint32_t)hotlist_draw_gap(&row->list, r, GAP_MOST);
    row->open = row->gap == GAP_MOST;
}

void result_draw_as(struct spool_result *row, uint64_t value, struct hotlist_random *r)
{
    struct hotlist *list = &row->list;
    if (row->open) {
        draw(row, r);
        if (row->gap) {
            row->gap--;
            return;
        }
    }
    struct hotlist_value v = {.bits = value};
    hotlist_add_kept(list, v, r);
    struct hotlist_entry *entry = hotlist_find(list, v), *first = &list->entries[0];
    if (entry && entry->count > first->count) {
        struct hotlist_entry other = *first;
        *first = *entry;
        *entry = other;
    }
    draw(row, r);
}
