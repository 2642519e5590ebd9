/* GCC's headers, in the order in which they want to be included, for all files of the plugin.
 *
 * What differs between the major versions that the plugin knows belongs here, and only here. */
#ifndef PENUMBRA_COMPILER_GCC_H
#define PENUMBRA_COMPILER_GCC_H

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gcc-plugin.h"
#include "config.h"
#include "system.h"
#include "coretypes.h"
#include "backend.h"
#include "target.h"
#include "hard-reg-set.h"
#include "rtl.h"
#include "tree.h"
#include "tree-pass.h"
#include "stringpool.h"
#include "attribs.h"
#include "df.h"
#include "memmodel.h"
#include "tm_p.h"
#include "emit-rtl.h"
#include "insn-config.h"
#include "recog.h"
#include "regs.h"
#include "function-abi.h"
#include "cfgrtl.h"
#include "cfganal.h"
#include "cfgloop.h"
#include "cfgcleanup.h"
#include "rtl-iter.h"
#include "insn-constants.h"
#include "langhooks.h"
#include "cgraph.h"
#include "context.h"
#include "output.h"
#include "diagnostic-core.h"
#include "except.h"
#include "plugin-version.h"
#include "print-tree.h"

#if GCCPLUGIN_VERSION_MAJOR < 12 || GCCPLUGIN_VERSION_MAJOR > 14
#error "penumbra-gcc knows GCC 12 to 14"
#endif

#endif
