#include "gcc.h"
#include "support.h"

#include "arguments.h"
#include "penumbra/inst.h"

static_assert(sizeof(penumbra_inst_block) == 1 << 4 && sizeof(penumbra_inst_value) == 1 << 5,
              "penumbra1_record shifts by these");

/* All in one group, so that the linker keeps one copy a module of all or of none. */
static const char module_text[] =
    "\t.pushsection\t.data.rel.penumbra1,\"awG\",@progbits,__penumbra1_module,comdat\n"
    "\t.balign\t8\n"
    "\t.weak\t__penumbra1_module\n"
    "\t.hidden\t__penumbra1_module\n"
    "\t.type\t__penumbra1_module, @object\n"
    "__penumbra1_module:\n"
    "\t.quad\t0\n"
    "\t.long\t1, 1f-__penumbra1_module\n"
    "\t.quad\t0, __penumbra1_counter\n"
    "\t.irp\ttable, functions, blocks, events, values, types, fields, strings\n"
    "\t.weak\t__start_penumbra1_\\table, __stop_penumbra1_\\table\n"
    "\t.hidden\t__start_penumbra1_\\table\n"
    "\t.hidden\t__stop_penumbra1_\\table\n"
    "\t.quad\t__start_penumbra1_\\table, __stop_penumbra1_\\table\n"
    "\t.endr\n"
    "\t.quad\t0, 0, 0\n"
    "\t.long\t%u, 0\n"
    "\t.weak\t__start_penumbra1_sites, __stop_penumbra1_sites\n"
    "\t.hidden\t__start_penumbra1_sites\n"
    "\t.hidden\t__stop_penumbra1_sites\n"
    "\t.quad\t__start_penumbra1_sites, __stop_penumbra1_sites\n"
    "\t.quad\t0\n"
    "\t.weak\t__start_penumbra1_places, __stop_penumbra1_places\n"
    "\t.hidden\t__start_penumbra1_places\n"
    "\t.hidden\t__stop_penumbra1_places\n"
    "\t.quad\t__start_penumbra1_places, __stop_penumbra1_places\n"
    "\t.weak\t__penumbra1_switch\n"
    "\t.hidden\t__penumbra1_switch\n"
    "\t.quad\t__penumbra1_switch\n"
    "1:\n"
    "\t.size\t__penumbra1_module, .-__penumbra1_module\n"
    "\t.popsection\n";

/* A page, and nothing else in it: another one is mapped in its place. In a group of its own: the
 * module may have objects without it. */
static const char switch_text[] =
    "\t.pushsection\t.bss.penumbra1_switch,\"awG\",@nobits,__penumbra1_switch,comdat\n"
    "\t.balign\t4096\n"
    "\t.type\t__penumbra1_switch, @object\n"
    "\t.size\t__penumbra1_switch, 4096\n"
    "__penumbra1_switch:\n"
    "\t.zero\t4096\n"
    "\t.popsection\n";

static const char thread_counter_text[] =
    "\t.pushsection\t.tbss.penumbra1,\"awTG\",@nobits,__penumbra1_module,comdat\n"
    "\t.balign\t4\n"
    "\t.weak\t__penumbra1_check\n"
    "\t.hidden\t__penumbra1_check\n"
    "\t.type\t__penumbra1_check, @tls_object\n"
    "\t.size\t__penumbra1_check, 4\n"
    "__penumbra1_check:\n"
    "\t.zero\t4\n"
    "\t.popsection\n"
    "\t.macro\tpenumbra1_counter to\n"
    "\tmovq\t__penumbra1_check@gottpoff(%rip), \\to\n"
    "\taddq\t%fs:0, \\to\n"
    "\t.endm\n";

static const char global_counter_text[] =
    "\t.pushsection\t.bss.penumbra1,\"awG\",@nobits,__penumbra1_module,comdat\n"
    "\t.balign\t64\n"
    "\t.weak\t__penumbra1_check\n"
    "\t.hidden\t__penumbra1_check\n"
    "\t.type\t__penumbra1_check, @object\n"
    "\t.size\t__penumbra1_check, 4\n"
    "__penumbra1_check:\n"
    "\t.zero\t64\n"
    "\t.popsection\n"
    "\t.macro\tpenumbra1_counter to\n"
    "\tleaq\t__penumbra1_check(%rip), \\to\n"
    "\t.endm\n";

/* The functions' frame; that of __penumbra1_sample ends with its return address:
 *
 *     32(%rbp)   the record's number in its group, of __penumbra1_value
 *     24(%rbp)   the value; of __penumbra1_event the record's number
 *     16(%rbp)   where the operation goes on
 *      8(%rbp)   where the group's thunk goes on: at its nopl
 *      0(%rbp)   the program's rbp
 *     -8 ... -72 rax, rcx, rdx, rsi, rdi, r8 to r11
 *    -80         flags
 *
 * The instructions before pushfq leave the flags alone. */
static const char functions_text[] =
    "\t.pushsection\t.text.penumbra1,\"axG\",@progbits,__penumbra1_module,comdat\n"
    "\t.macro\tpenumbra1_function name\n"
    "\t.balign\t16\n"
    "\t.weak\t\\name\n"
    "\t.hidden\t\\name\n"
    "\t.type\t\\name, @function\n"
    "\\name:\n"
    "\t.cfi_startproc\n"
    "\t.endm\n"
    "\t.macro\tpenumbra1_end name\n"
    "\t.cfi_endproc\n"
    "\t.size\t\\name, .-\\name\n"
    "\t.endm\n"
    "\t.macro\tpenumbra1_enter\n"
    "\tpushq\t%rbp\n"
    "\t.cfi_def_cfa_offset 16\n"
    "\t.cfi_offset 6, -16\n"
    "\tmovq\t%rsp, %rbp\n"
    "\t.cfi_def_cfa_register 6\n"
    "\t.irp\tregister, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11\n"
    "\tpushq\t%\\register\n"
    "\t.endr\n"
    "\tpushfq\n"
    "\tandq\t$-16, %rsp\n"
    "\tcld\n"
    "\tleaq\t__penumbra1_module(%rip), %rdi\n"
    "\tmovq\t(%rdi), %rax\n"
    "\t.endm\n"
    "\t.macro\tpenumbra1_leave\n"
    "\tleaq\t-80(%rbp), %rsp\n"
    "\tpopfq\n"
    "\t.irp\tregister, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax, rbp\n"
    "\tpopq\t%\\register\n"
    "\t.endr\n"
    "\t.cfi_def_cfa 7, 8\n"
    "\tret\n"
    "\t.endm\n"
    /* rsi: the record `number` after that which the thunk's nopl names, 0f 1f 05 rel32 */
    "\t.macro\tpenumbra1_record number, shift\n"
    "\tmovq\t8(%rbp), %rdx\n"
    "\tmovslq\t3(%rdx), %rcx\n"
    "\tleaq\t7(%rdx,%rcx), %rdx\n"
    "\tmovq\t\\number(%rbp), %rsi\n"
    "\tshlq\t$\\shift, %rsi\n"
    "\taddq\t%rdx, %rsi\n"
    "\t.endm\n"
    "\tpenumbra1_function __penumbra1_sample\n"
    "\tpenumbra1_enter\n"
    "\tpenumbra1_counter %rsi\n"
    "\ttestq\t%rax, %rax\n"
    "\tjz\t1f\n"
    "\tcall\t*(%rax)\n"
    "\tjmp\t2f\n"
    "1:\tmovl\t$0x7fffffff, (%rsi)\n"
    "2:\tpenumbra1_leave\n"
    "\tpenumbra1_end __penumbra1_sample\n"
    "\tpenumbra1_function __penumbra1_event\n"
    "\tpenumbra1_enter\n"
    "\ttestq\t%rax, %rax\n"
    "\tjz\t1f\n"
    "\tpenumbra1_record 24, 4\n"
    "\tcall\t*8(%rax)\n"
    "1:\tpenumbra1_leave\n"
    "\tpenumbra1_end __penumbra1_event\n"
    "\tpenumbra1_function __penumbra1_value\n"
    "\tpenumbra1_enter\n"
    "\ttestq\t%rax, %rax\n"
    "\tjz\t1f\n"
    "\tpenumbra1_record 32, 5\n"
    "\tmovq\t24(%rbp), %rdx\n"
    "\tcall\t*16(%rax)\n"
    "1:\tpenumbra1_leave\n"
    "\tpenumbra1_end __penumbra1_value\n"
    "\tpenumbra1_function __penumbra1_counter\n"
    "\tpenumbra1_counter %rax\n"
    "\tret\n"
    "\tpenumbra1_end __penumbra1_counter\n";

static void write_array(FILE *out, const char *array, const char *type, const char *function)
{
    fprintf(out,
            "\t.pushsection\t%s,\"awG\",@%s,__penumbra1_module,comdat\n"
            "\t.balign\t8\n"
            "\t.quad\t%s\n"
            "\t.popsection\n",
            array, type, function);
}

static void write_hook(FILE *out, const char *name, const char *runtime, const char *array,
                       const char *type)
{
    fprintf(out,
            "\t.weak\t%s\n"
            "\tpenumbra1_function %s\n"
            "\tmovq\t%s@GOTPCREL(%%rip), %%rax\n"
            "\ttestq\t%%rax, %%rax\n"
            "\tjz\t1f\n"
            "\tleaq\t__penumbra1_module(%%rip), %%rdi\n"
            "\tjmp\t*%%rax\n"
            "1:\tret\n"
            "\tpenumbra1_end %s\n",
            runtime, name, runtime, name);
    write_array(out, array, type, name);
}

/* The runtime's function whose address is in a member of the module, if there is one. */
static void write_flush(FILE *out)
{
    fprintf(out,
            "\tpenumbra1_function __penumbra1_flush\n"
            "\tleaq\t__penumbra1_module(%%rip), %%rdi\n"
            "\tmovq\t%d(%%rdi), %%rax\n"
            "\ttestq\t%%rax, %%rax\n"
            "\tjz\t1f\n"
            "\tjmp\t*%%rax\n"
            "1:\tret\n"
            "\tpenumbra1_end __penumbra1_flush\n",
            (int)offsetof(penumbra_inst_module, flush));
    write_array(out, ".fini_array.00101", "fini_array", "__penumbra1_flush");
}

static unsigned module_flags()
{
    unsigned flags = argument.how == VARIANT_EXHAUSTIVE ? PENUMBRA_INST_EXHAUSTIVE
                     : argument.how == VARIANT_NONE     ? PENUMBRA_INST_GUARDED
                                                      : PENUMBRA_INST_DUPLICATED;
    if (argument.global_counter)
        flags |= PENUMBRA_INST_GLOBAL;
    if (argument.counting)
        flags |= PENUMBRA_INST_COUNTING;
    if (argument.check == CHECK_PATCHED)
        flags |= PENUMBRA_INST_PATCHED;
    return flags;
}

void support_write(FILE *assembly)
{
    fprintf(assembly, module_text, module_flags());
    if (argument.check == CHECK_SWITCHED)
        fputs(switch_text, assembly);
    fputs(argument.global_counter ? global_counter_text : thread_counter_text, assembly);
    fputs(functions_text, assembly);
    /* Before the module's other constructors, and after its other destructors. */
    write_hook(assembly, "__penumbra1_begin", "__penumbra_inst_register", ".init_array.00001",
               "init_array");
    write_hook(assembly, "__penumbra1_end", "__penumbra_inst_unregister", ".fini_array.00001",
               "fini_array");
    /* Before gcc writes its counters, by a destructor of priority 100. */
    write_flush(assembly);
    fputs("\t.popsection\n", assembly);
}
