/* What mnemonics are. The first row that matches counts; patterns are fnmatch(3)'s. */
#include <fnmatch.h>

#include "crack/crack.h"

#define PLAIN(pattern, class) {pattern, CRACK_PLAIN, UOP_##class, 1}
#define TIMES(pattern, class, count) {pattern, CRACK_PLAIN, UOP_##class, count}
#define MOVE(pattern, class) {pattern, CRACK_MOVE, UOP_##class, 1}
#define NONE(pattern) {pattern, CRACK_NONE, UOP_NONE, 1}

static const struct crack_row general[] = {
    /* moves */
    MOVE("mov", ALU), MOVE("movzx", ALU), MOVE("movsx", ALU), MOVE("movsxd", ALU),
    MOVE("movnti", ALU), PLAIN("movbe", ALU), MOVE("push", ALU), MOVE("pop", ALU),
    MOVE("leave", ALU), MOVE("mova[pd]*", VEC_ALU), MOVE("movup[sd]", VEC_ALU),
    MOVE("movdq[au]*", VEC_ALU), MOVE("lddqu", VEC_ALU), MOVE("movnt*", VEC_ALU),
    MOVE("movs[sdh]", VEC_SHUFFLE), MOVE("mov[dqw]", VEC_ALU), MOVE("movq2dq", CROSS),
    MOVE("movdq2q", CROSS), PLAIN("movdir*", COMPLEX),
    /* strings: movsd is a vector's move, too, which is a move all the same */
    MOVE("movs[bwq]", ALU), MOVE("stos[bwdq]", ALU), MOVE("lods[bwdq]", ALU),
    PLAIN("cmps[bwq]", ALU), PLAIN("scas[bwdq]", ALU),
    /* general registers */
    PLAIN("add", ALU), PLAIN("sub", ALU), PLAIN("and", ALU), PLAIN("or", ALU), PLAIN("xor", ALU),
    PLAIN("cmp", ALU), PLAIN("test", ALU), PLAIN("inc", ALU), PLAIN("dec", ALU), PLAIN("neg", ALU),
    PLAIN("not", ALU), PLAIN("ad[co]x", ALU), PLAIN("adc", ALU), PLAIN("sbb", ALU),
    TIMES("xchg", ALU, 2), TIMES("xadd", ALU, 2), TIMES("cmpxchg*", ALU, 4), PLAIN("cmov*", ALU),
    PLAIN("set[a-z]*", ALU), PLAIN("cbw", ALU), PLAIN("cwde", ALU), PLAIN("cdqe", ALU),
    PLAIN("cwd", ALU), PLAIN("cdq", ALU), PLAIN("cqo", ALU), PLAIN("clc", ALU), PLAIN("stc", ALU),
    PLAIN("cmc", ALU), PLAIN("cld", ALU), PLAIN("std", ALU), PLAIN("lahf", ALU), PLAIN("sahf", ALU),
    PLAIN("bswap", ALU), PLAIN("bt", ALU), PLAIN("bt[crs]", ALU), PLAIN("andn", ALU),
    PLAIN("bls*", ALU), PLAIN("blc*", ALU), PLAIN("t1mskc", ALU), PLAIN("tzmsk", ALU),
    PLAIN("lea", ALU), PLAIN("xlat", ALU),
    PLAIN("shl", SHIFT), PLAIN("shr", SHIFT), PLAIN("sar", SHIFT), PLAIN("ro[lr]", SHIFT),
    TIMES("rc[lr]", SHIFT, 3), PLAIN("sh[lr]d", MUL), PLAIN("s[ah][lr]x", SHIFT),
    PLAIN("rorx", SHIFT), TIMES("bextr", SHIFT, 2), PLAIN("bzhi", SHIFT),
    PLAIN("imul", MUL), PLAIN("mul", MUL), PLAIN("mulx", MUL), PLAIN("popcnt", MUL),
    PLAIN("lzcnt", MUL), PLAIN("tzcnt", MUL), PLAIN("bs[fr]", MUL), PLAIN("crc32", MUL),
    PLAIN("pdep", MUL), PLAIN("pext", MUL), PLAIN("div", DIV64), PLAIN("idiv", DIV64),
    /* transfers */
    PLAIN("jmp", BRANCH), PLAIN("j[a-z]*", BRANCH), PLAIN("call", BRANCH), PLAIN("ret", BRANCH),
    TIMES("loop*", BRANCH, 2), PLAIN("xbegin", BRANCH),
    /* nothing */
    NONE("nop"), NONE("endbr*"), NONE("zeroupper"), NONE("zeroall"), NONE("emms"), NONE("pause"),
    NONE("sfence"), NONE("cldemote"), NONE("ud[012]"), NONE("int3"), NONE("rdssp*"),
    MOVE("prefetch*", ALU),
    /* microcode */
    {"cpuid", CRACK_SERIAL, UOP_COMPLEX, 1}, {"serialize", CRACK_SERIAL, UOP_COMPLEX, 1},
    {"syscall", CRACK_SERIAL, UOP_COMPLEX, 1}, {"lfence", CRACK_SERIAL, UOP_NONE, 1},
    {"mfence", CRACK_FENCE, UOP_COMPLEX, 1},
    PLAIN("rdtsc*", COMPLEX), PLAIN("rdpmc", COMPLEX), PLAIN("rdrand", COMPLEX),
    PLAIN("rdseed", COMPLEX), PLAIN("rdpid", COMPLEX), PLAIN("rd[fg]sbase", COMPLEX),
    PLAIN("wr[fg]sbase", COMPLEX), PLAIN("rdpkru", COMPLEX), PLAIN("wrpkru", COMPLEX),
    PLAIN("x[sg]et*", COMPLEX), PLAIN("xgetbv", COMPLEX), PLAIN("xsave*", COMPLEX),
    PLAIN("xrstor*", COMPLEX), PLAIN("fxsave*", COMPLEX), PLAIN("fxrstor*", COMPLEX),
    PLAIN("xtest", COMPLEX), PLAIN("xend", COMPLEX), PLAIN("clflush*", COMPLEX),
    PLAIN("clwb", COMPLEX), PLAIN("pushf*", COMPLEX), PLAIN("popf*", COMPLEX),
    PLAIN("enter", COMPLEX), PLAIN("xabort", COMPLEX),
    PLAIN("x*ldtrk", COMPLEX), PLAIN("rdpru", COMPLEX), PLAIN("umonitor", COMPLEX),
    PLAIN("umwait", COMPLEX), PLAIN("tpause", COMPLEX), PLAIN("monitorx", COMPLEX),
    PLAIN("mwaitx", COMPLEX), PLAIN("ptwrite", COMPLEX), PLAIN("*ssp*", COMPLEX),
    PLAIN("wrss[dq]", COMPLEX), PLAIN("enqcmd", COMPLEX), PLAIN("*ui", COMPLEX),
    PLAIN("senduipi", COMPLEX), PLAIN("uiret", COMPLEX), PLAIN("lar", COMPLEX),
    PLAIN("lsl", COMPLEX), PLAIN("ver[rw]", COMPLEX), PLAIN("s[gil]dt", COMPLEX),
    PLAIN("smsw", COMPLEX), PLAIN("str", COMPLEX), PLAIN("lwp*", COMPLEX),
    PLAIN("?lwpcb", COMPLEX), PLAIN("tdp*", COMPLEX), PLAIN("tile*", COMPLEX),
    PLAIN("?dtilecfg", COMPLEX), PLAIN("sttilecfg", COMPLEX), PLAIN("encodekey*", COMPLEX),
    PLAIN("ldmxcsr", COMPLEX), PLAIN("stmxcsr", COMPLEX),
    /* floating point vectors */
    PLAIN("fm*[sd12]", FP_FMA), PLAIN("fnm*[sd12]", FP_FMA), PLAIN("f*ph", FP_FMA),
    PLAIN("f*sh", FP_FMA), PLAIN("div[ps][sh]", FP_DIV32), PLAIN("sqrt[ps][sh]", FP_DIV32),
    PLAIN("div[ps]d", FP_DIV64), PLAIN("sqrt[ps]d", FP_DIV64), PLAIN("rcp*", FP_MUL),
    PLAIN("rsqrt*", FP_MUL), PLAIN("mul[ps][sdh]", FP_MUL), PLAIN("scalef*", FP_MUL),
    TIMES("dpp[sd]", FP_FMA, 3), TIMES("hadd*", FP_ADD, 3), TIMES("hsub*", FP_ADD, 3),
    PLAIN("addsub*", FP_ADD), PLAIN("add[ps][sdh]", FP_ADD), PLAIN("sub[ps][sdh]", FP_ADD),
    PLAIN("min[ps][sdh]", FP_ADD), PLAIN("max[ps][sdh]", FP_ADD), PLAIN("cmp[ps][sdh]", FP_ADD),
    PLAIN("comis[sdh]", FP_ADD), PLAIN("ucomis[sdh]", FP_ADD), PLAIN("range*", FP_ADD),
    PLAIN("getexp*", FP_ADD), PLAIN("getmant*", FP_ADD), PLAIN("fixupimm*", FP_ADD),
    PLAIN("fpclass*", FP_ADD), PLAIN("cvt*", FP_CONVERT), PLAIN("round[ps][sd]", FP_CONVERT),
    PLAIN("rndscale*", FP_CONVERT), PLAIN("reduce*", FP_CONVERT),
    /* cryptography, and strings of SSE4.2 */
    PLAIN("aes*", CRYPTO), PLAIN("pclmulqdq", CRYPTO), PLAIN("sha[125]*", CRYPTO),
    TIMES("pcmp[ei]str*", CRYPTO, 3), PLAIN("gf2p8*", CRYPTO),
    /* integer vectors */
    TIMES("pmulld", VEC_MUL, 2), TIMES("pmullq", VEC_MUL, 3), PLAIN("pmul*", VEC_MUL),
    PLAIN("pmadd*", VEC_MUL), PLAIN("pdp*", VEC_MUL), PLAIN("dpbf16ps", FP_FMA),
    PLAIN("psadbw", VEC_MUL), TIMES("mpsadbw", VEC_MUL, 2), PLAIN("dbpsadbw", VEC_MUL),
    PLAIN("phminposuw", VEC_MUL),
    PLAIN("ps[lr]ldq", VEC_SHUFFLE), PLAIN("psll*", VEC_SHIFT), PLAIN("psrl*", VEC_SHIFT),
    PLAIN("psra*", VEC_SHIFT), PLAIN("pro[lr]*", VEC_SHIFT), PLAIN("psh[lr]d*", VEC_SHIFT),
    PLAIN("pmultishiftqb", VEC_SHIFT),
    PLAIN("pshuf*", VEC_SHUFFLE), PLAIN("shufp[sd]", VEC_SHUFFLE), PLAIN("unpck*", VEC_SHUFFLE),
    PLAIN("punpck*", VEC_SHUFFLE), PLAIN("pack*", VEC_SHUFFLE), PLAIN("palignr", VEC_SHUFFLE),
    PLAIN("pinsr*", VEC_SHUFFLE), PLAIN("pextr*", VEC_SHUFFLE), PLAIN("insertps", VEC_SHUFFLE),
    PLAIN("extractps", VEC_SHUFFLE), PLAIN("permilp*", VEC_SHUFFLE), PLAIN("pswapd", VEC_SHUFFLE),
    MOVE("movddup", VEC_SHUFFLE), MOVE("movs[hl]dup", VEC_SHUFFLE), PLAIN("mov[hl]*", VEC_SHUFFLE),
    PLAIN("movmsk*", CROSS), PLAIN("pmovmskb", CROSS), PLAIN("maskmov*", VEC_ALU),
    PLAIN("pmaskmov*", VEC_ALU), PLAIN("pmov[bwdq]2m", MASK), PLAIN("pmovm2[bwdq]", MASK),
    PLAIN("pmov*", VEC_CROSSING), MOVE("broadcast*", VEC_CROSSING),
    MOVE("pbroadcast*", VEC_CROSSING), PLAIN("insert[fi]*", VEC_CROSSING),
    MOVE("extract[fi]*", VEC_CROSSING), PLAIN("perm*", VEC_CROSSING),
    PLAIN("pperm*", VEC_SHUFFLE), PLAIN("shuf[fi]*", VEC_CROSSING),
    PLAIN("align[dq]", VEC_CROSSING),
    TIMES("compress*", VEC_CROSSING, 2), TIMES("expand*", VEC_CROSSING, 2),
    TIMES("pcompress*", VEC_CROSSING, 2), TIMES("pexpand*", VEC_CROSSING, 2),
    TIMES("pconflict*", VEC_CROSSING, 8), PLAIN("p2intersect*", VEC_MUL),
    TIMES("phadd*", VEC_SHUFFLE, 3), TIMES("phsub*", VEC_SHUFFLE, 3),
    PLAIN("padd*", VEC_ALU), PLAIN("psub*", VEC_ALU), PLAIN("pand*", VEC_ALU),
    PLAIN("por*", VEC_ALU), PLAIN("pxor*", VEC_ALU), PLAIN("and[pn]*", VEC_ALU),
    PLAIN("orp[sd]", VEC_ALU), PLAIN("xorp[sd]", VEC_ALU), PLAIN("pcmp*", VEC_ALU),
    PLAIN("pmin*", VEC_ALU), PLAIN("pmax*", VEC_ALU), PLAIN("pabs*", VEC_ALU),
    PLAIN("psign*", VEC_ALU), PLAIN("pavg*", VEC_ALU), PLAIN("pternlog*", VEC_ALU),
    PLAIN("ptest*", VEC_ALU), PLAIN("testp[sd]", VEC_ALU), PLAIN("blend*", VEC_ALU),
    PLAIN("pblend*", VEC_ALU), PLAIN("plzcnt*", VEC_ALU), PLAIN("popcnt[bwdq]", VEC_ALU),
    PLAIN("ppopcnt*", VEC_ALU), PLAIN("pgather*", VEC_ALU), PLAIN("gather*", VEC_ALU),
    PLAIN("pscatter*", VEC_ALU), PLAIN("scatter*", VEC_ALU), PLAIN("pcmov", VEC_ALU),
    PLAIN("pcom*", VEC_ALU), PLAIN("pmac*", VEC_MUL), PLAIN("pmadc*", VEC_MUL),
    PLAIN("extrq", VEC_SHUFFLE), PLAIN("insertq", VEC_SHUFFLE), PLAIN("psha*", VEC_SHIFT),
    PLAIN("pshl*", VEC_SHIFT), PLAIN("prot*", VEC_SHIFT), PLAIN("frcz*", FP_ADD),
    /* masks */
    PLAIN("k[a-z]*", MASK),
};

static const struct crack_row x87[] = {
    MOVE("fld", VEC_ALU), MOVE("fst", VEC_ALU), MOVE("fstp", VEC_ALU), MOVE("fxch", VEC_ALU),
    PLAIN("fld[1lpz]*", VEC_ALU), PLAIN("fild", FP_CONVERT), PLAIN("fist*", FP_CONVERT),
    TIMES("fb*", X87, 2), PLAIN("fi*add", FP_ADD), PLAIN("fadd*", FP_ADD), PLAIN("fsub*", FP_ADD),
    PLAIN("fisub*", FP_ADD), PLAIN("fcom*", FP_ADD), PLAIN("fucom*", FP_ADD),
    PLAIN("ficom*", FP_ADD), PLAIN("ftst", FP_ADD), PLAIN("fxam", FP_ADD), PLAIN("fmul*", FP_MUL),
    PLAIN("fimul", FP_MUL), PLAIN("fdiv*", FP_DIV64), PLAIN("fidiv*", FP_DIV64),
    PLAIN("fsqrt", FP_DIV64), PLAIN("fabs", VEC_ALU), PLAIN("fchs", VEC_ALU),
    PLAIN("fcmov*", VEC_ALU), PLAIN("fldcw", FP_ADD), PLAIN("fnstcw", FP_ADD),
    PLAIN("fnstsw", FP_ADD), NONE("fnop"), NONE("fwait"), NONE("f*cstp"), NONE("ffree*"),
    PLAIN("fninit", COMPLEX), PLAIN("fnclex", COMPLEX), PLAIN("fldenv", COMPLEX),
    PLAIN("fnstenv", COMPLEX), PLAIN("fnsave", COMPLEX), PLAIN("frstor", COMPLEX),
    PLAIN("femms", COMPLEX), PLAIN("fsin*", X87), PLAIN("fcos", X87), PLAIN("fptan", X87),
    PLAIN("fpatan", X87), PLAIN("f2xm1", X87), PLAIN("fyl2x*", X87), PLAIN("fprem*", X87),
    PLAIN("fscale", X87), PLAIN("frndint", X87), PLAIN("fxtract", X87),
};

static const struct crack_row *find(const struct crack_row *rows, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (fnmatch(rows[i].pattern, name, 0) == 0)
            return &rows[i];
    return NULL;
}

const struct crack_row *crack_row_of(const char *mnemonic, bool is_x87)
{
    return is_x87 ? find(x87, sizeof x87 / sizeof *x87, mnemonic)
                  : find(general, sizeof general / sizeof *general, mnemonic);
}
