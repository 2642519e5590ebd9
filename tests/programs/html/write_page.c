/* write_page TITLE < JSON > HTML: the page of penumbra report --html. */
#include <stdio.h>

#include "base/buf.h"
#include "report/html.h"

int main(int argc, char **argv)
{
    struct buf json = {0};
    struct err e = {0};
    if (argc != 2)
        return 2;
    for (size_t n = 1; n > 0;) {
        uint8_t *at = buf_reserve(&json, 1 << 16);
        n = at ? fread(at, 1, 1 << 16, stdin) : 0;
        json.size += n;
    }
    bool ok = report_html((const char *)json.data, json.size, argv[1], stdout, &e);
    if (!ok)
        fprintf(stderr, "write_page: %s\n", e.message);
    buf_free(&json);
    return ok ? 0 : 1;
}
