#include "cli/style.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TERMINAL_WIDTH_MIN = 60 };

static bool locale_is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale)
        return false;
    bool utf8 = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
    freelocale(locale);
    return utf8;
}

struct report_style style_of_stream(FILE *out, bool ascii)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool terminal = isatty(fileno(out)) == 1;
    struct winsize size;
    struct report_style style = {
        .colour = terminal && !(no_colour && no_colour[0]) && !(term && !strcmp(term, "dumb")),
        .unicode = !ascii && locale_is_utf8(),
    };
    if (terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0
        && size.ws_col >= TERMINAL_WIDTH_MIN)
        style.width = size.ws_col;
    return style;
}
