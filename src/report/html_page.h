/* The page of `penumbra report --html`, as web/build.mjs made it: HTML, style, script, all but the
 * title and the profile.
 *
 *     head  | the title, escaped for HTML |  middle  | the profile, as JSON |  tail
 *
 * Context: constants only. */
#ifndef PENUMBRA_REPORT_HTML_PAGE_H
#define PENUMBRA_REPORT_HTML_PAGE_H

#include <stddef.h>

struct html_page_part {
    const unsigned char *bytes;
    size_t size;
};

struct html_page {
    struct html_page_part head, middle, tail;
};

extern const struct html_page html_page;

#endif
