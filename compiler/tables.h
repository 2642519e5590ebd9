/* The records of include/penumbra/inst.h: collected while functions are compiled, written as
 * assembly at the end of the unit.
 *
 * Context: the compiler's one thread. Ownership: records are copied; trees are not kept. */
#ifndef PENUMBRA_COMPILER_TABLES_H
#define PENUMBRA_COMPILER_TABLES_H

#include <stdio.h>

#include <cstdint>
#include <string>
#include <vector>

struct event_record {
    uint8_t kind = 0;
    std::string text;     /* CALL, INLINED: a function's name */
    int field = -1;       /* READ, WRITE: from tables_field */
    std::string counter;  /* COUNTER: its place, as the assembler names it */
    std::string caller;   /* "" : the function itself */
    uint32_t line = 0, aux = 0;
    uint16_t source = 0;
    uint8_t site = 0;
};

struct value_record {
    uint8_t kind = 0, bytes = 8, is_signed = 0;
    uint16_t index = 0;
    std::string name, caller;
    int type = -1;        /* from tables_type */
    int frame = 0;        /* PATH */
    uint32_t line = 0;
};

struct field_record {
    std::string name, type_name;
    uint32_t flags = 0, align = 0, line = 0;
    uint64_t offset = 0, size = 0; /* bits */
};

struct type_record {
    std::string name, file;
    uint64_t size = 0;
    uint32_t line = 0;
    uint16_t align = 0;
    uint8_t kind = 0;
    std::vector<field_record> fields;
};

/* Begins a function; blocks and values that follow are its. */
void tables_function(const std::string &name, const std::string &file, uint32_t line,
                     uint32_t checksum);

/* Their numbers in the unit, from 0. A block's assembler label is .LpnbB and the number, a value's
 * .LpnbV. */
int tables_block(const std::vector<event_record> &events);
int tables_value(const value_record &value);

/* `id` names the type within the unit. tables_type_known: its number, or -1. A field's number is
 * that of its type's first field, and its place. */
int tables_type_known(unsigned id);
int tables_type(unsigned id, const type_record &type);
int tables_first_field(int type);
/* The type that a field is a member of, and enum penumbra_inst_field_flags. */
int tables_field_type(int field);
uint32_t tables_field_flags(int field);

/* How many there are. */
int tables_blocks();
int tables_values();

/* Whether there is a function. */
bool tables_are_used();

/* Writes them; sections are pushed and popped. */
void tables_write(FILE *assembly);

#endif
