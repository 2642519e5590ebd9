/* The host's records in the spool, and what else of the spool it may write. */
#include <string.h>
#include <sys/mman.h>

#include "modules/host_internal.h"

enum { ARENA_SIZE = 1 << 16 };

void host_allow(struct penumbra_host *host, const void *at, size_t size)
{
    uintptr_t from = (uintptr_t)at & ~(uintptr_t)(SPOOL_PAGE - 1);
    uintptr_t to = ((uintptr_t)at + size + SPOOL_PAGE - 1) & ~(uintptr_t)(SPOOL_PAGE - 1);
    if (host->protected)
        mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
}

void host_protect(struct penumbra_host *host)
{
    const struct spool *s = host->spool;
    if (host->options.productions) /* their records are threads', among others' */
        return;
    mprotect(s->base, s->mapped, PROT_READ);
    host->protected = true;
    host_allow(host, s->base, SPOOL_HEADER_SIZE);
    host_allow(host, host->values, sizeof *host->values);
    host_allow(host, host->arena, host->arena_left);
}

/* In pages that nobody else's records are in. */
void *host_alloc(struct penumbra_host *host, size_t size)
{
    size_t wanted = (size + SPOOL_UNIT - 1) / SPOOL_UNIT * SPOOL_UNIT;
    if (wanted > host->arena_left) {
        size_t more = wanted > ARENA_SIZE ? wanted : ARENA_SIZE;
        uint8_t *arena = spool_alloc_pages_as(host->spool, more);
        if (!arena)
            return NULL;
        host_allow(host, arena, more);
        host->arena = arena;
        host->arena_left = more;
    }
    void *at = host->arena;
    host->arena += wanted;
    host->arena_left -= wanted;
    return at;
}

spool_ref host_string(struct penumbra_host *host, const char *text)
{
    size_t length = strlen(text);
    struct spool_string *s = host_alloc(host, sizeof *s + length);
    if (!s)
        return 0;
    s->length = (uint32_t)length;
    memcpy(s->bytes, text, length);
    return spool_ref_of(host->spool, s);
}
