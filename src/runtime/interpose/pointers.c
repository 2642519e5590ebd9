#include "runtime/interpose/pointers.h"

#include <asm-generic/errno-base.h>

#include "sigsafe/sys.h"

enum { PAGE = 4096, MASK_SIZE = 8, NOT_HOW = 99, NO_PAGE = 1 };

/* A call that fails in any case: the kernel reads a mask before it finds that nothing says what to
 * do with it. */
static bool page_readable_as(uint64_t page)
{
    return page &&
           sys_call6_as(SYS_rt_sigprocmask, NOT_HOW, (long)page, 0, MASK_SIZE, 0, 0) == -EINVAL;
}

/* *page: the last one that was asked for, so that neighbours cost one call. */
static bool range_readable_as(uint64_t at, uint64_t size, uint64_t *page)
{
    uint64_t end;
    if (__builtin_add_overflow(at, size, &end))
        return false;
    for (uint64_t next = at & -(uint64_t)PAGE; next < end; next += PAGE) {
        if (next == *page)
            continue;
        if (!page_readable_as(next))
            return false;
        *page = next;
    }
    return true;
}

static bool string_readable_as(const char *string, uint64_t *page)
{
    for (;; string++) {
        if (((uint64_t)string & -(uint64_t)PAGE) != *page &&
            !range_readable_as((uint64_t)string, 1, page))
            return false;
        if (!*string)
            return true;
    }
}

bool pointer_readable_as(const void *at, uint64_t size)
{
    uint64_t page = NO_PAGE;
    return range_readable_as((uint64_t)at, size, &page);
}

bool pointer_string_readable_as(const char *string)
{
    uint64_t page = NO_PAGE;
    return string_readable_as(string, &page);
}

bool pointer_list_readable_as(char *const *list)
{
    uint64_t of_list = NO_PAGE, of_strings = NO_PAGE;
    for (; list; list++) {
        if (!range_readable_as((uint64_t)list, sizeof *list, &of_list))
            return false;
        if (!*list)
            break;
        if (!string_readable_as(*list, &of_strings))
            return false;
    }
    return true;
}
