#include <inttypes.h>
#include <string.h>

#include "report/annotate.h"
#include "report/table/view.h"
#include "report/text.h"

static const char *const units[] = {[ANNOTATION_SAMPLES] = "samples",
                                    [ANNOTATION_EXECUTIONS] = "executions",
                                    [ANNOTATION_CYCLES] = "cycles"};

enum { COUNT = 15, CODE = 48, CODE_MIN = 24, SOURCE_MIN = 20 };

static uint64_t greatest(const struct annotation *a)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < a->line_count; i++)
        most = a->lines[i].count > most ? a->lines[i].count : most;
    return most;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool new_source(const struct annotation *a, uint32_t i)
{
    const struct annotation_line *l = &a->lines[i], *before = i ? l - 1 : NULL;
    return l->file[0] && (!before || before->line != l->line || strcmp(before->file, l->file) != 0);
}

static void write_source(FILE *out, const struct annotation_line *l,
                         const struct report_style *style, size_t columns)
{
    char number[16];
    const char *text = l->source + strspn(l->source, " \t");
    text_colour(out, style, TEXT_DIM);
    size_t used = text_name(out, base_name(l->file), columns);
    snprintf(number, sizeof number, ":%u ", l->line);
    fputs(number, out);
    text_colour(out, style, TEXT_PLAIN);
    used += strlen(number);
    if (!columns || used < columns)
        text_name(out, text, columns ? columns - used : 0);
}

static void write_count(FILE *out, const struct annotation_line *l, uint64_t all,
                        const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    double share = text_share(l->count, all);
    if (!l->count) {
        fprintf(out, "%*s  %7s  ", COUNT, "", "");
        return;
    }
    text_colour_share(out, style, share);
    fprintf(out, "%*s  %6.2f%%  ", COUNT, text_count(number, l->count), share);
    text_colour(out, style, TEXT_PLAIN);
}

static void write_line(FILE *out, const struct annotation *a, uint32_t i, uint64_t all,
                       const struct report_style *style, size_t source)
{
    const struct annotation_line *l = &a->lines[i];
    char text[512];
    write_count(out, l, all, style);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8" PRIx64 "  ", l->address);
    text_colour(out, style, TEXT_PLAIN);
    int n = snprintf(text, sizeof text - 32, "%s", l->text);
    n = n < 0 ? 0 : n >= (int)sizeof text - 32 ? (int)sizeof text - 33 : n;
    if (l->is_branch && l->left)
        snprintf(text + n, 32, "  [%.1f%% taken]", text_share(l->taken, l->left));
    if (l->kernel)
        snprintf(text + n, 32, "  [kernel]");
    size_t used = text_name(out, text, style->width ? CODE : 0);
    if (new_source(a, i) && (!style->width || source)) {
        fprintf(out, "%*s  ", used < CODE ? (int)(CODE - used) : 0, "");
        write_source(out, l, style, source);
    }
    fputc('\n', out);
    const int indent = COUNT + 2 + 7 + 2 + 8 + 4;
    if (a->values)
        value_lines(out, a->values, a->image_index, l->place, indent);
    tables_at(out, a->view, a->image_index, l->place, indent);
}

void report_annotation(FILE *out, const struct annotation *a, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    /* Executions are shown relative to the most executed instruction, samples to all of them. */
    bool executions = a->unit == ANNOTATION_EXECUTIONS;
    uint64_t all = executions ? greatest(a) : a->total;
    const int others = COUNT + 2 + 7 + 2 + 8 + 2 + CODE + 2;
    size_t source = style->width > others + SOURCE_MIN ? (size_t)(style->width - others) : 0;
    text_colour(out, style, TEXT_BOLD);
    text_name(out, a->function, 0);
    text_colour(out, style, TEXT_PLAIN);
    fputs(", ", out);
    text_name(out, a->image, 0);
    fprintf(out, " 0x%" PRIx64 " to 0x%" PRIx64 ": %s %s\n", a->start, a->end,
            text_count(number, a->total),
            executions                       ? "instructions executed"
            : a->unit == ANNOTATION_CYCLES ? "cycles"
            : a->total == 1                ? "sample"
                                           : "samples");
    if (a->others) {
        fputs("not shown: ", out);
        text_name(out, a->others, 0);
        fputc('\n', out);
    }
    if (a->image_index != PROFILE_IMAGE_NONE)
        tables_over(out, a->view, a->image_index, a->start, a->end);
    if (a->cut)
        fprintf(out, "only the first %u bytes are shown\n", ANNOTATION_BYTES_MAX);
    fputc('\n', out);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s  %7s  %8s  %-*s  %s", COUNT, units[a->unit],
            executions ? "of most" : "share", "address", CODE, "instruction", "source");
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
    for (uint32_t i = 0; i < a->line_count; i++)
        write_line(out, a, i, all, style, source);
    if (a->any_kernel)
        fputs("\n[kernel]: a sample at the instruction behind a system call is of time in the "
              "kernel, not of the instruction\n",
              out);
    if (a->unread)
        fputs("\n?: the kernel's code could not be read when this was recorded, neither by a BPF "
              "program (root, or CAP_BPF\nand CAP_PERFMON) nor from /proc/kcore (root): record "
              "as root\n",
              out);
}

void annotation_json(struct json *j, const struct annotation *a)
{
    json_open(j, '{');
    json_key_string(j, "function", a->function);
    json_key_string(j, "image", a->image);
    json_key_address(j, "start", a->start);
    json_key_address(j, "end", a->end);
    json_key_string(j, "unit", units[a->unit]);
    json_key_u64(j, "total", a->total);
    if (a->image_index != PROFILE_IMAGE_NONE)
        tables_json_over(j, a->view, a->image_index, a->start, a->end);
    json_key(j, "cut");
    json_bool(j, a->cut);
    json_key(j, "instructions");
    json_open(j, '[');
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct annotation_line *l = &a->lines[i];
        json_open(j, '{');
        json_key_address(j, "offset", l->address);
        json_key_u64(j, "bytes", l->bytes);
        json_key_string(j, "text", l->text);
        json_key_u64(j, "count", l->count);
        if (l->kernel) {
            json_key(j, "kernel");
            json_bool(j, true);
        }
        if (l->file[0]) {
            json_key_string(j, "file", l->file);
            json_key_u64(j, "line", l->line);
            json_key_string(j, "source", l->source);
        }
        if (l->is_branch) {
            json_key_u64(j, "left", l->left);
            json_key_u64(j, "taken", l->taken);
        }
        if (a->values) {
            json_key(j, "values");
            value_json_at(j, a->values, a->image_index, l->place);
        }
        tables_json_at(j, a->view, a->image_index, l->place);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}
