#include "x86/format.h"

#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

/* What the hook is told. */
struct naming {
    x86_name_address *name;
    void *arg;
    ZydisFormatterFunc bare; /* prints the address as a number */
};

/* Appends as much as has room. A ZyanString counts its final NUL. */
static void append(ZyanString *to, const char *text)
{
    size_t room = to->vector.capacity - to->vector.size, length = strlen(text);
    char *end = (char *)to->vector.data + to->vector.size - 1;
    if (length > room)
        length = room;
    memcpy(end, text, length);
    end[length] = '\0';
    to->vector.size += length;
}

static ZyanStatus print_address(const ZydisFormatter *formatter, ZydisFormatterBuffer *buffer,
    ZydisFormatterContext *context)
{
    const struct naming *naming = context->user_data;
    char text[X86_TEXT_SIZE / 2];
    ZyanU64 address;
    ZyanString *string;
    if (!naming->name ||
            !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(context->instruction, context->operand,
                context->runtime_address, &address)) ||
            !naming->name(naming->arg, address, text, sizeof text))
        return naming->bare(formatter, buffer, context);
    ZyanStatus status = ZydisFormatterBufferGetString(buffer, &string);
    if (ZYAN_SUCCESS(status))
        append(string, text);
    return status;
}

static bool init(ZydisFormatter *formatter, struct naming *naming)
{
    static const ZydisFormatterProperty unpadded[] = {
        ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING,
        ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
    };
    if (!ZYAN_SUCCESS(ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
        return false;
    for (size_t i = 0; i < sizeof unpadded / sizeof *unpadded; i++)
        ZydisFormatterSetProperty(formatter, unpadded[i], ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    /* The hook goes in as a pointer to a function, and what it replaces comes out. */
    naming->bare = print_address;
    return ZYAN_SUCCESS(ZydisFormatterSetHook(formatter, ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS,
        (const void **)&naming->bare));
}

unsigned x86_format(const uint8_t *code, size_t available, uint64_t address, x86_name_address *name,
    void *arg, char *out, size_t size)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisFormatter formatter;
    struct naming naming = {.name = name, .arg = arg};
    if (size)
        out[0] = '\0';
    if (available == 0)
        return 0;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE); /* as insn.h has it */
    if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, available, &insn, operands)) &&
            init(&formatter, &naming) &&
            ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &insn, operands,
                insn.operand_count_visible, out, size, address, &naming)))
        return insn.length;
    snprintf(out, size, ".byte 0x%02x", code[0]);
    return 1;
}
