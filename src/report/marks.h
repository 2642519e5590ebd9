/* Moments of a recording: processes that began, ended or executed another program.
 *
 * Context: ordinary code.
 * Ownership: marks_free releases the list. */
#ifndef PENUMBRA_REPORT_MARKS_H
#define PENUMBRA_REPORT_MARKS_H

#include "report/json.h"
#include "profile/profile.h"

enum mark_kind { MARK_FORK, MARK_EXEC, MARK_EXIT, MARK_KILLED, MARK_KINDS };

struct mark {
    uint64_t ns;
    enum mark_kind kind;
    uint32_t process; /* index in profile.processes */
};

struct marks {
    struct mark *list; /* by time */
    uint32_t count;
};

/* "fork", "exec", "exit", "killed". */
const char *mark_name(enum mark_kind kind);
/* False without memory. */
bool marks_make(struct marks *m, const struct profile *p);
void marks_free(struct marks *m);
/* "prog 18 began, of 17". */
void mark_text(const struct mark *mark, const struct profile *p, struct buf *out);

/* Member "marks": the first MARKS_MOST, each {"ns", "kind", "text"}, and "marks_left_out". False
 * without memory. */
enum { MARKS_MOST = 10000 };
bool marks_json(struct json *j, const struct profile *p);

#endif
