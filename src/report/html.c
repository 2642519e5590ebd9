#include "report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#if PENUMBRA_HTML
#include "report/html_page.h"

/* Copies JSON while parsing it, without recursion: what closes each level is in a buffer. "<" in
 * strings becomes \u003c, so that no "</script>" or "<!--" can end the page's data block. */
struct filter {
    const char *at, *end;
    const char *run; /* bytes from here to `at` are still to be copied */
    FILE *out;
    struct buf levels; /* ']' or '}' of each that is open */
    bool failed;
};

static void flush_run(struct filter *f)
{
    fwrite(f->run, 1, (size_t)(f->at - f->run), f->out);
    f->run = f->at;
}

static void skip_blanks(struct filter *f)
{
    while (f->at < f->end && (*f->at == ' ' || *f->at == '\t' || *f->at == '\n' || *f->at == '\r'))
        f->at++;
}

static bool take(struct filter *f, char c)
{
    skip_blanks(f);
    if (f->at == f->end || *f->at != c)
        return false;
    f->at++;
    return true;
}

/* At the opening quote. */
static bool copy_string(struct filter *f)
{
    if (!take(f, '"'))
        return false;
    for (; f->at < f->end && *f->at != '"'; f->at++) {
        if ((unsigned char)*f->at < 0x20)
            return false;
        if (*f->at == '\\' && ++f->at == f->end)
            return false;
        if (*f->at == '<') {
            flush_run(f);
            fputs("\\u003c", f->out);
            f->run = f->at + 1;
        }
    }
    return take(f, '"');
}

/* A number, true, false or null: what the page's JSON.parse would refuse is refused there. */
static bool copy_plain(struct filter *f)
{
    const char *start = f->at;
    while (f->at < f->end && *f->at && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *f->at))
        f->at++;
    return f->at > start;
}

static bool copy_key(struct filter *f)
{
    skip_blanks(f);
    return copy_string(f) && take(f, ':');
}

/* Closes what ends here, then stops before the next value: true if there is one. */
static bool next_value(struct filter *f)
{
    while (f->levels.size) {
        char close = (char)f->levels.data[f->levels.size - 1];
        skip_blanks(f);
        if (f->at < f->end && *f->at == close) {
            f->at++;
            f->levels.size--;
            continue;
        }
        f->failed = f->failed || !take(f, ',') || (close == '}' && !copy_key(f));
        return !f->failed;
    }
    skip_blanks(f);
    return false;
}

/* A value's first byte is next. For a container, true also if it is empty. */
static bool copy_value(struct filter *f)
{
    bool inner = true;
    while (inner) {
        skip_blanks(f);
        if (f->at == f->end)
            return false;
        if (*f->at == '"')
            return copy_string(f);
        if (*f->at != '{' && *f->at != '[')
            return copy_plain(f);
        char close = *f->at++ == '{' ? '}' : ']';
        buf_put_u8(&f->levels, (uint8_t)close);
        if (!buf_ok(&f->levels))
            return false;
        skip_blanks(f);
        inner = f->at < f->end && *f->at != close;
        if (inner && close == '}' && !copy_key(f))
            return false;
    }
    return true;
}

static bool copy_json(const char *json, size_t size, FILE *out, struct err *e)
{
    struct filter f = {.at = json, .end = json + size, .run = json, .out = out};
    do {
        if (!copy_value(&f))
            f.failed = true;
    } while (!f.failed && next_value(&f));
    flush_run(&f);
    bool ok = !f.failed && f.at == f.end && !f.levels.size;
    buf_free(&f.levels);
    if (!ok)
        return err_set(e, ERR_INTERNAL, "writing the HTML report: its data is not JSON at byte %zu",
                       (size_t)(f.at - json));
    return true;
}

/* What is not UTF-8, or a control character, is replaced: a page that says it is UTF-8 must be. */
static void put_escaped(const char *text, FILE *out)
{
    const unsigned char *s = (const unsigned char *)text;
    for (unsigned length; *s; s += length ? length : 1) {
        uint32_t code;
        length = utf8_sequence(s, &code);
        if (!length || code < ' ' || code == 0x7f)
            fputs("\xef\xbf\xbd", out); /* U+FFFD */
        else if (code == '<')
            fputs("&lt;", out);
        else if (code == '&')
            fputs("&amp;", out);
        else
            fwrite(s, 1, length, out);
    }
}

static void put_part(const struct html_page_part *part, FILE *out)
{
    fwrite(part->bytes, 1, part->size, out);
}

bool report_html(const char *json, size_t json_size, const char *title, FILE *out, struct err *e)
{
    errno = 0;
    put_part(&html_page.head, out);
    put_escaped(title, out);
    put_part(&html_page.middle, out);
    if (!copy_json(json, json_size, out, e))
        return false;
    put_part(&html_page.tail, out);
    if (fflush(out) != 0 || ferror(out))
        return err_set_errno(e, ERR_OUTPUT, errno ? errno : EIO, "writing the HTML report");
    return true;
}

#else

bool report_html(const char *json, size_t json_size, const char *title, FILE *out, struct err *e)
{
    (void)json;
    (void)json_size;
    (void)title;
    (void)out;
    return err_set(e, ERR_USAGE, "this penumbra was built without HTML pages; build it with "
                   "-Dhtml=true, or use the text report or --json");
}

#endif
