#include "gcc.h"
#include "checks.h"

#include "arguments.h"
#include "penumbra/inst.h"

/* How many blocks or values share a thunk: what a push of a byte can tell apart. */
enum { GROUP = 256 };

static rtx asm_text(const std::string &text, rtvec inputs, rtvec constraints, rtvec labels)
{
    location_t where = DECL_SOURCE_LOCATION(current_function_decl);
    rtx operands = gen_rtx_ASM_OPERANDS(VOIDmode, ggc_strdup(text.c_str()), "", 0, inputs,
                                        constraints, labels, where);
    MEM_VOLATILE_P(operands) = 1;
    return operands;
}

static rtx asm_plain(const std::string &text)
{
    return asm_text(text, rtvec_alloc(0), rtvec_alloc(0), rtvec_alloc(0));
}

static rtx clobber(int regno, machine_mode mode)
{
    return gen_rtx_CLOBBER(VOIDmode, gen_rtx_REG(mode, regno));
}

static void set_location(rtx_insn *insn)
{
    INSN_LOCATION(insn) = prologue_location;
}

/* Whether the call frame is known to be addressed by the stack pointer throughout. Where it may be
 * by another register, a moved stack pointer is not told to unwinders: only those that interrupt
 * the operation itself would want to know. */
static bool frame_is_by_stack_pointer()
{
    return flag_dwarf2_cfi_asm && !frame_pointer_needed && !crtl->drap_reg &&
           (flag_asynchronous_unwind_tables || flag_unwind_tables || flag_exceptions);
}

static std::string stack_moved(int down)
{
    return frame_is_by_stack_pointer() ? ".cfi_adjust_cfa_offset " + std::to_string(down) + "\n\t"
                                       : "";
}

static std::string move_stack(int bytes)
{
    return "leaq\t" + std::to_string(bytes) + "(%%rsp), %%rsp\n\t" + stack_moved(-bytes);
}

static std::string name_of(int regno)
{
    std::string name = reg_names[regno];
    return "%%" + (name[0] == 'r' ? name : "r" + name);
}

/* Of its 32 low bits. */
static std::string low_name_of(int regno)
{
    std::string name = reg_names[regno];
    return "%%" + (name[0] == 'r' ? name + "d" : "e" + name);
}

/* The counter in memory, and, of a library's thread, what brings its place into a register. */
static std::string counter_at(int address, std::string *before)
{
    *before = "";
    if (argument.global_counter)
        return "__penumbra1_check(%%rip)";
    if (!flag_shlib)
        return "%%fs:__penumbra1_check@tpoff";
    *before = "movq\t__penumbra1_check@gottpoff(%%rip), " + name_of(address) + "\n\t";
    return "%%fs:(" + name_of(address) + ")";
}

/* dec counter, and what it takes to address it. */
static std::string count_down(int scratch)
{
    std::string before, at = counter_at(scratch >= 0 ? scratch : AX_REG, &before);
    std::string count = before + "decl\t" + at + "\n\t";
    if (scratch >= 0 || before.empty())
        return count;
    return move_stack(-136) + "movq\t%%rax, (%%rsp)\n\t" + count + "movq\t(%%rsp), %%rax\n\t" +
           move_stack(136);
}

static rtx label_reference(rtx_code_label *label)
{
    LABEL_NUSES(label)++;
    return gen_rtx_LABEL_REF(Pmode, label);
}

/* A jump with an asm for an instruction, at the block's end; the labels are its %l0, %l1. */
static void emit_jump(basic_block block, const std::string &text, rtvec clobbers,
                      rtx_code_label *label, rtx_code_label *other = NULL)
{
    rtvec labels = other ? gen_rtvec(2, label_reference(label), label_reference(other))
                         : gen_rtvec(1, label_reference(label));
    rtx jump = asm_text(text, rtvec_alloc(0), rtvec_alloc(0), labels);
    int n = GET_NUM_ELEM(clobbers);
    if (n > 0) {
        rtvec all = rtvec_alloc(1 + n);
        RTVEC_ELT(all, 0) = jump;
        for (int i = 0; i < n; i++)
            RTVEC_ELT(all, i + 1) = RTVEC_ELT(clobbers, i);
        jump = gen_rtx_PARALLEL(VOIDmode, all);
    }
    rtx_insn *insn = emit_jump_insn_after_noloc(jump, BB_END(block));
    set_location(insn);
    JUMP_LABEL(insn) = label;
    if (other)
        add_reg_note(insn, REG_LABEL_TARGET, other);
}

/* A site's record is of the section group that the code is of, if it is of one. */
static std::string site(const char *instruction, const char *check)
{
    return std::string(".Lpnbsite%=:\t") + instruction + "\n\t"
           ".pushsection penumbra1_sites,\"a?\",@progbits\n\t"
           ".balign 4\n\t"
           ".long .Lpnbsite%=-.\n\t"
           ".long " + check + "-.\n\t"
           ".popsection";
}

void check_emit_site(basic_block block, rtx_code_label *label)
{
    emit_jump(block, site(".byte 0x0f, 0x1f, 0x44, 0, 0", "%l0"), rtvec_alloc(0), label);
}

void check_emit_jump_site(basic_block block, rtx_code_label *to, rtx_code_label *check)
{
    emit_jump(block, site("%{disp32%} jmp\t%l0", "%l1"), rtvec_alloc(0), to, check);
}

void check_make_site(rtx_insn *jump, rtx_code_label *to)
{
    rtx condition = XEXP(SET_SRC(pc_set(jump)), 0), check = JUMP_LABEL(jump);
    rtx any = gen_rtx_ASM_INPUT_loc(VOIDmode, "X", DECL_SOURCE_LOCATION(current_function_decl));
    rtvec labels = gen_rtvec(2, label_reference(to), gen_rtx_LABEL_REF(Pmode, check));
    PATTERN(jump) = asm_text(site("%{disp32%} j%C0\t%l1", "%l2"), gen_rtvec(1, condition),
                             gen_rtvec(1, any), labels);
    INSN_CODE(jump) = -1;
    JUMP_LABEL(jump) = to;
    add_reg_note(jump, REG_LABEL_TARGET, check);
    df_insn_rescan(jump);
}

bool check_is_ours(const rtx_insn *insn)
{
    rtx operands = extract_asm_operands(PATTERN(insn));
    return operands && strstr(ASM_OPERANDS_TEMPLATE(operands), "pnb") &&
           !(JUMP_P(insn) && ASM_OPERANDS_INPUT_LENGTH(operands) > 0);
}

void check_emit_switch(basic_block block, rtx_code_label *label, bool jumps_if_on)
{
    std::string text = "cmpl\t$0, __penumbra1_switch(%%rip)\n\t";
    emit_jump(block, text + (jumps_if_on ? "jne\t%l0" : "je\t%l0"),
              gen_rtvec(1, clobber(FLAGS_REG, CCmode)), label);
}

void check_emit(basic_block block, rtx_code_label *label, bool jumps_if_due, int scratch,
                const held &where)
{
    bool is_held = where.counter >= 0;
    bool uses_scratch = scratch >= 0 && flag_shlib && !argument.global_counter;
    std::string count = is_held ? "decl\t" + low_name_of(where.counter) + "\n\t"
                                : count_down(scratch);
    int changed = is_held ? where.counter : uses_scratch ? scratch : -1;
    rtx flags = clobber(FLAGS_REG, CCmode);
    emit_jump(block, count + (jumps_if_due ? "js\t%l0" : "jns\t%l0"),
              changed >= 0 ? gen_rtvec(2, flags, clobber(changed, DImode)) : gen_rtvec(1, flags),
              label);
}

/* movq or movd, between a vector register and another place. */
static std::string vector_move(const char *move, const std::string &from, const std::string &to)
{
    return std::string(TARGET_AVX ? "v" : "") + move + "\t" + from + ", " + to + "\n\t";
}

static std::string vector_name(int regno)
{
    return std::string("%%") + reg_names[regno];
}

static void emit_move(basic_block block, const std::string &text, const held &where)
{
    std::vector<rtx> parts = {asm_plain(text), clobber(where.counter, DImode)};
    for (int regno : {where.kept, where.scratch})
        if (regno >= 0)
            parts.push_back(clobber(regno, V4SImode));
    rtx pattern = gen_rtx_PARALLEL(VOIDmode, gen_rtvec_v((int)parts.size(), parts.data()));
    set_location(emit_insn_after_noloc(pattern, BB_END(block), block));
}

void check_emit_load(basic_block block, const held &where)
{
    std::string before, at = counter_at(where.counter, &before), keep;
    if (where.kept >= 0)
        keep = vector_move("movq", name_of(where.counter), vector_name(where.kept));
    emit_move(block, keep + before + "movl\t" + at + ", " + low_name_of(where.counter), where);
}

void check_emit_store(basic_block block, const held &where)
{
    std::string before, at = counter_at(where.counter, &before), count = low_name_of(where.counter);
    std::string text = "movl\t" + count + ", " + at + "\n\t";
    if (where.scratch >= 0)
        text = vector_move("movd", count, vector_name(where.scratch)) + before +
               vector_move("movd", vector_name(where.scratch), at);
    if (where.kept >= 0)
        text += vector_move("movq", vector_name(where.kept), name_of(where.counter));
    emit_move(block, text, where);
}

static std::string call_sample()
{
    return "call\t__penumbra1_sample\n\t";
}

/* The text, with the stack pointer below the red zone. */
static std::string below_red_zone(const std::string &text, int red_zone)
{
    return red_zone ? move_stack(-red_zone) + text + "\n\t" + move_stack(red_zone) : text;
}

void check_emit_sample(basic_block block, int red_zone)
{
    rtx operation = asm_plain(below_red_zone(call_sample(), red_zone));
    rtx_insn *insn = emit_insn_after_noloc(operation, BB_END(block), block);
    set_location(insn);
}

static std::string flags_saved(bool live)
{
    return live ? move_stack(-136) + "pushfq\n\tpopq\t(%%rsp)\n\t" : "";
}

static std::string flags_restored(bool live)
{
    return live ? "pushq\t(%%rsp)\n\tpopfq\n\t" + move_stack(136) : "";
}

/* An operation behind a check of its own, all in one instruction of the compiler's. */
static std::string guarded(const std::string &operation, bool flags)
{
    if (argument.how != VARIANT_NONE)
        return operation;
    return flags_saved(flags) + count_down(-1) + "jns\t9f\n\t" + call_sample() + operation +
           "\n9:\t" + flags_restored(flags);
}

static void emit_operation(const std::string &text, rtx operand, const place &at)
{
    rtx pattern;
    if (operand) {
        rtx input = gen_rtx_ASM_INPUT_loc(GET_MODE(operand), "rm",
                                          DECL_SOURCE_LOCATION(current_function_decl));
        pattern = asm_text(text, gen_rtvec(1, operand), gen_rtvec(1, input), rtvec_alloc(0));
    } else {
        pattern = asm_plain(text);
    }
    if (argument.how == VARIANT_NONE && !at.flags)
        pattern = gen_rtx_PARALLEL(VOIDmode, gen_rtvec(2, pattern, clobber(FLAGS_REG, CCmode)));
    set_location(emit_insn_before_noloc(pattern, at.insn, BLOCK_FOR_INSN(at.insn)));
}

/* The stack pointer is below the red zone all the while: a guard's call is safe, too. */
static std::string in_place(const std::string &operation, const place &at)
{
    return below_red_zone(guarded(operation, at.flags), at.red_zone);
}

static std::string push_number(int number)
{
    return "pushq\t$" + std::to_string(number % GROUP - GROUP / 2) + "\n\t" + stack_moved(8);
}

static std::string call_group(const char *label, int number)
{
    return "call\t" + std::string(label) + std::to_string(number / GROUP) + "\n\t";
}

void operation_emit_event(int block, const place &at)
{
    std::string call = push_number(block) + call_group(".LpnbGB", block) + stack_moved(-8);
    emit_operation(in_place(call, at), NULL_RTX, at);
}

/* Of an operand that the stack pointer addresses, what is to be written where the stack pointer is
 * `bytes` lower. */
static rtx operand_lower(rtx operand, int bytes)
{
    if (!MEM_P(operand) || bytes == 0)
        return operand;
    return simplify_replace_rtx(operand, stack_pointer_rtx,
                                plus_constant(Pmode, stack_pointer_rtx, bytes));
}

/* Pushes the operand's value; the stack pointer is 8 lower then.
 *
 *     register, memory of 8 bytes   push it
 *     memory that is narrower       a push would read beyond it: by way of rax
 *     a product                     of rdi and rsi, before a call: flags are dead */
static std::string push_operand(const_rtx operand)
{
    static const char through_rax[] = "pushq\t%%rax\n\t";
    static const char into_slot[] = "movq\t%%rax, 8(%%rsp)\n\tpopq\t%%rax\n\t";
    if (GET_CODE(operand) == MULT)
        return move_stack(-8) + through_rax + "movq\t%%rdi, %%rax\n\timulq\t%%rsi, %%rax\n\t" +
               into_slot;
    if (MEM_P(operand) && GET_MODE_SIZE(GET_MODE(operand)).to_constant() < 8) {
        const char *load = GET_MODE(operand) == SImode   ? "movl\t%0, %%eax\n\t"
                           : GET_MODE(operand) == HImode ? "movzwl\t%0, %%eax\n\t"
                                                         : "movzbl\t%0, %%eax\n\t";
        return move_stack(-8) + through_rax + load + into_slot;
    }
    return "pushq\t%q0\n\t" + stack_moved(8);
}

/* push addresses its operand before it moves the stack pointer, push_operand's loads after 16. */
static int lower_at_load(const_rtx operand)
{
    return MEM_P(operand) && GET_MODE_SIZE(GET_MODE(operand)).to_constant() < 8 ? 16 : 0;
}

void operation_emit_value(int value, rtx operand, const place &at)
{
    int lower = 8 + lower_at_load(operand) + at.red_zone;
    if (argument.how == VARIANT_NONE && at.flags)
        lower += 136;
    std::string call = push_number(value) + push_operand(operand) + call_group(".LpnbGV", value) +
                       stack_moved(-16);
    bool is_product = GET_CODE(operand) == MULT;
    emit_operation(in_place(call, at), is_product ? NULL_RTX : operand_lower(operand, lower), at);
}

void operation_emit_frame(int value, bool by_frame_pointer, const place &at)
{
    std::string push = by_frame_pointer ? "pushq\t%%rbp\n\t" : "pushq\t%%rsp\n\t";
    std::string text = push_number(value) + push + stack_moved(8) + call_group(".LpnbGV", value) +
                       stack_moved(-16);
    emit_operation(below_red_zone(text, at.red_zone), NULL_RTX, at);
}

/* The record is of the section group that the code is of, if it is of one. */
rtx_insn *place_emit(int piece, int value, rtx_insn *before)
{
    std::string at = std::to_string(piece);
    std::string text = ".LpnbP" + at + ":\n\t"
                       ".pushsection penumbra1_places,\"a?\",@progbits\n\t"
                       ".balign 4\n\t"
                       ".long .LpnbP" + at + "-., .LpnbV" + std::to_string(value) + "-.\n\t"
                       ".long .LpnbQ" + at + "-.LpnbP" + at + ", .LpnbN" + at + "\n\t"
                       ".popsection";
    rtx_insn *mark = emit_insn_before_noloc(asm_plain(text), before, BLOCK_FOR_INSN(before));
    set_location(mark);
    return mark;
}

/* An operation pushes its number less its group's middle, then the value if it has one, and calls
 * its group's thunk, which says where the middle's record is and pops what was pushed. */
static void write_group(FILE *assembly, const char *label, const char *function,
                        const char *record, int group, size_t size, int pushed)
{
    fprintf(assembly,
            "%s%d:\n"
            "\t.cfi_startproc\n"
            "\tcall\t%s\n"
            "\tnopl\t%s%d+%d(%%rip)\n"
            "\tret\t$%d\n"
            "\t.cfi_endproc\n",
            label, group, function, record, group * GROUP, (int)size * GROUP / 2, pushed);
}

void operations_write(FILE *assembly, int blocks, int values)
{
    fputs("\t.pushsection\t.text,\"ax\",@progbits\n", assembly);
    for (int group = 0; group * GROUP < blocks; group++)
        write_group(assembly, ".LpnbGB", "__penumbra1_event", ".LpnbB", group,
                    sizeof(penumbra_inst_block), 8);
    for (int group = 0; group * GROUP < values; group++)
        write_group(assembly, ".LpnbGV", "__penumbra1_value", ".LpnbV", group,
                    sizeof(penumbra_inst_value), 16);
    fputs("\t.popsection\n", assembly);
}

static void count_at(basic_block block, size_t offset)
{
    std::string text = "addq\t$1, __penumbra1_module+" + std::to_string(offset) + "(%%rip)";
    rtvec parts = gen_rtvec(2, asm_plain(text), clobber(FLAGS_REG, CCmode));
    set_location(emit_insn_after_noloc(gen_rtx_PARALLEL(VOIDmode, parts), BB_END(block), block));
}

void count_emit(basic_block block, bool check, bool entry, bool back)
{
    if (check)
        count_at(block, offsetof(penumbra_inst_module, checks));
    if (entry)
        count_at(block, offsetof(penumbra_inst_module, entries));
    if (back)
        count_at(block, offsetof(penumbra_inst_module, back_edges));
}
