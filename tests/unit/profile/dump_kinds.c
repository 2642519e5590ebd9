/* dump_kinds: the tables that files are made by: of sections, a line each, and of figures. */
#include <stdio.h>

#include "profile/kind/kind.h"

int main(void)
{
    static const char *const how[FIGURE_HOWS] = {
        [FIGURE_SUM] = "sum", [FIGURE_GREATEST] = "greatest"};
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        printf("section\t%u\t%s\t%s\n", (*k)->type.number, (*k)->type.name, (*k)->about);
    printf("section\t%u\t%s\t%s\n", section_live.number, section_live.name,
           "only in files of kind 1");
    for (const struct figure_family *const *f = figure_families; *f; f++)
        for (uint32_t i = 0; i < (*f)->count; i++) {
            const struct figure_row *row = &(*f)->rows[i];
            printf("figure\t%s%s\t%s\t%s\t%s\n", row->name,
                   !row->count    ? ""
                   : row->name_of ? ".NAME"
                                  : ".N",
                   row->unit, how[row->how], row->what);
        }
    return 0;
}
