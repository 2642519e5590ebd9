/* Waste in sample profiles. */
#include "sample.h"

#include <string.h>

#include "profile/table/waste_paths.h"

static void sample_waste_paths(struct profile_waste_paths *w, uint64_t *state)
{
    w->kept = true;
    w->evicted = sample_random(state, 1000);
    w->unknown = sample_random(state, 1000);
    for (uint32_t i = 0; i < 40; i++) {
        struct profile_waste_call call = {.image = (uint32_t)sample_random(state, 4),
                                          .offset = 0x2000 + sample_random(state, 6),
                                          .caller = (uint32_t)sample_random(state, i + 1)};
        if (call.image == 3) {
            call.image = PROFILE_IMAGE_NONE;
            call.process = i % 3;
        }
        waste_paths_add_call(w, &call);
    }
    for (uint32_t i = 0; i < 60; i++) {
        struct profile_waste_path path = {
            .pair = {.offset = 0x1000 + sample_random(state, 4), .image = i % 3,
                     .to_image = (uint32_t)sample_random(state, 3),
                     .to = 0x1000 + sample_random(state, 4),
                     .kind = i % WASTE_KIND_COUNT, .count = 1 + i, .bytes = 8 * i},
            .from = (uint32_t)sample_random(state, 41), .to = (uint32_t)sample_random(state, 41),
            .folded = (uint32_t)sample_random(state, 4)};
        waste_paths_add(w, &path);
    }
}

struct profile_waste *sample_waste(uint64_t *state)
{
    struct profile_waste *w = profile_waste_new();
    for (uint32_t i = 0; i < 60; i++) {
        struct profile_waste_site site = {
            .image = (uint32_t)sample_random(state, 4), .offset = 0x1000 + sample_random(state, 40),
            .bytes = 1u << i % 7, .kind = 1 + i % 3};
        struct profile_waste_pair pair = {
            .offset = 0x1000 + sample_random(state, 20), .image = (uint32_t)sample_random(state, 3),
            .to_image = (uint32_t)sample_random(state, 4), .to = 0x1000 + sample_random(state, 20),
            .kind = i % WASTE_KIND_COUNT, .count = 1 + i, .bytes = 8 * i};
        if (site.image == 3) {
            site.image = PROFILE_IMAGE_NONE;
            site.process = i % 3;
        }
        if (pair.to_image == 3) {
            pair.to_image = PROFILE_IMAGE_NONE;
            pair.to_process = i % 3;
        }
#define DRAW(name) site.figures.name = sample_random(state, UINT64_C(1) << i % 50);
        WASTE_FIGURES(DRAW)
#undef DRAW
        profile_waste_add_site(w, &site);
        profile_waste_add_pair(w, &pair);
    }
#define DRAW(name) w->sums.name = sample_random(state, UINT64_C(1) << 40);
    WASTE_SUMS(DRAW)
#undef DRAW
    w->missed = sample_random(state, 1000);
    sample_waste_paths(&w->paths, state);
    return w;
}

#define SAME(field)                                                                                \
    if (a->field != b->field)                                                                      \
    return #field

const char *sample_waste_difference(const struct profile_waste *a, const struct profile_waste *b)
{
    if (!a || !b)
        return a == b ? "" : "waste";
    SAME(site_count);
    SAME(pair_count);
    SAME(missed);
    if (memcmp(&a->sums, &b->sums, sizeof a->sums) != 0)
        return "sums";
    if (a->site_count && memcmp(a->sites, b->sites, a->site_count * sizeof *a->sites) != 0)
        return "sites";
    for (uint32_t i = 0; i < a->pair_count; i++) {
        SAME(pairs[i].image);
        SAME(pairs[i].process);
        SAME(pairs[i].offset);
        SAME(pairs[i].to_image);
        SAME(pairs[i].to_process);
        SAME(pairs[i].to);
        SAME(pairs[i].kind);
        SAME(pairs[i].count);
        SAME(pairs[i].bytes);
    }
    SAME(paths.kept);
    SAME(paths.evicted);
    SAME(paths.unknown);
    SAME(paths.call_count);
    SAME(paths.count);
    for (uint32_t i = 0; i < a->paths.call_count; i++) {
        SAME(paths.calls[i].image);
        SAME(paths.calls[i].process);
        SAME(paths.calls[i].offset);
        SAME(paths.calls[i].caller);
    }
    for (uint32_t i = 0; i < a->paths.count; i++) {
        SAME(paths.list[i].pair.image);
        SAME(paths.list[i].pair.offset);
        SAME(paths.list[i].pair.to_image);
        SAME(paths.list[i].pair.to);
        SAME(paths.list[i].pair.kind);
        SAME(paths.list[i].pair.count);
        SAME(paths.list[i].pair.bytes);
        SAME(paths.list[i].from);
        SAME(paths.list[i].to);
        SAME(paths.list[i].folded);
    }
    return "";
}
