#include "inst/inst.h"

#include <stdint.h>
#include <sys/mman.h>

#include "sigsafe/bytes.h"
#include "sigsafe/sys.h"

/* The pages of all sites of a module. They are in its code, in one segment. */
struct pages {
    uintptr_t first, end;
};

/*      0f 1f 44 00 00   nopl 0(%rax,%rax,1)     e9 rel32      jmp check
 *      e9 rel32         jmp on                  e9 rel32      jmp check
 *      0f 8x rel32      jcc on                  0f 8x rel32   jcc check     */
static bool is_conditional(const uint8_t *site)
{
    return site[0] == 0x0f && (site[1] & 0xf0) == 0x80;
}

static struct pages pages_of(const struct penumbra_inst_module *m)
{
    enum { PAGE = 4096 };
    struct pages p = {UINTPTR_MAX, 0};
    for (const struct penumbra_inst_site *s = m->sites; s < m->sites_end; s++) {
        uintptr_t at = (uintptr_t)penumbra_inst_at(&s->at);
        p.first = at < p.first ? at : p.first;
        uintptr_t end = at + (is_conditional((const uint8_t *)at) ? 6 : 5);
        p.end = end > p.end ? end : p.end;
    }
    p.first &= ~(uintptr_t)(PAGE - 1);
    p.end = (p.end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return p;
}

static bool protect(struct pages p, int protection)
{
    return !sys_failed(sys_call3_as(SYS_mprotect, (long)p.first, (long)(p.end - p.first),
                                    protection));
}

static void site_arm(const struct penumbra_inst_site *s)
{
    uint8_t *at = (uint8_t *)(uintptr_t)penumbra_inst_at(&s->at);
    bool conditional = is_conditional(at);
    uint8_t *distance_at = at + (conditional ? 2 : 1);
    int32_t distance = (int32_t)((intptr_t)penumbra_inst_at(&s->check) -
                                 (intptr_t)(distance_at + sizeof distance));
    if (!conditional)
        at[0] = 0xe9;
    bytes_copy_as(distance_at, &distance, sizeof distance);
}

bool inst_sites_arm(const struct penumbra_inst_module *m)
{
    if (!(m->flags & PENUMBRA_INST_PATCHED) || m->sites == m->sites_end)
        return true;
    struct pages p = pages_of(m);
    if (!protect(p, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    for (const struct penumbra_inst_site *s = m->sites; s < m->sites_end; s++)
        site_arm(s);
    return protect(p, PROT_READ | PROT_EXEC);
}

/* An old size of 0 maps shared memory a second time. The page is unmapped with the module. Where
 * that is refused the switch stays on: checks that find nothing to do are rare, but executed. */
bool inst_switch_share(const struct penumbra_inst_module *m)
{
    if (m->bytes < sizeof *m || !m->armed)
        return false;
    const void *page = spool_at(&guest.spool, inst.settings->page, SPOOL_PAGE);
    bool whole = page && (uintptr_t)page % SPOOL_PAGE == 0;
    bool shared = whole && !sys_failed(sys_call6_as(SYS_mremap, (long)page, 0, SPOOL_PAGE,
                                                    MREMAP_MAYMOVE | MREMAP_FIXED,
                                                    (long)m->armed, 0));
    if (!shared)
        __atomic_store_n(m->armed, 1, __ATOMIC_RELAXED);
    return shared;
}
