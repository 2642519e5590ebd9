#include "cli/database_json.h"

#include <math.h>

enum { STEPS_MOST = 400, MS_NS = 1000000 };

void database_service_json(struct json *j, const struct store_service *s)
{
    json_open(j, '{');
    json_key_string(j, "host", s->host);
    json_key_string(j, "service", s->service);
    json_key_string(j, "program", s->program);
    json_key_u64(j, "samples", s->samples);
    json_key_double(j, "seconds", (double)s->weight_ns / 1e9);
    json_close(j, '}');
}

static void put(void *context, const struct store_service *s)
{
    database_service_json(context, s);
}

bool database_services_json(struct json *j, struct source *s, const struct store_query *q,
                            struct store_range *range, struct err *e)
{
    json_open(j, '[');
    bool ok = source_services(s, q, put, j, range, e);
    json_close(j, ']');
    return ok;
}

bool database_load_json(struct json *j, struct source *s, const struct store_query *q,
                        struct err *e)
{
    struct store_load load;
    bool ok = source_load(s, q, STEPS_MOST, &load, e);
    json_open(j, '{');
    json_key(j, "from");
    json_i64(j, load.begin_ns / MS_NS);
    json_key(j, "step");
    json_i64(j, load.step_ns / MS_NS);
    json_key(j, "cpus");
    json_open(j, '[');
    for (uint32_t i = 0; ok && i < load.count; i++)
        json_double(j, load.covered_ns[i] > 0 ? load.weight_ns[i] / load.covered_ns[i] : NAN);
    json_close(j, ']');
    json_close(j, '}');
    store_load_fini(&load);
    return ok;
}
