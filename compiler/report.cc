#include "gcc.h"
#include "report.h"

#include "instrument.h"
#include "arguments.h"

static std::string lines;
static unsigned instrumented, left;

static void say(const std::string &what)
{
    expanded_location at = expand_location(DECL_SOURCE_LOCATION(current_function_decl));
    lines += std::string(at.file ? at.file : "?") + ":" + std::to_string(at.line) + ": " +
             instrument_name(current_function_decl) + ": " + what + "\n";
}

void report_left(const char *reason)
{
    say(std::string("left as it is: ") + reason);
    left++;
}

void report_without_paths(const char *reason)
{
    say(std::string("without paths: ") + reason);
}

void report_instrumented()
{
    instrumented++;
}

void report_write()
{
    if (argument.report.empty() || instrumented + left == 0)
        return;
    lines += std::string(main_input_filename ? main_input_filename : "?") + ": " +
             std::to_string(instrumented) + " functions instrumented, " + std::to_string(left) +
             " left as they are\n";
    int file = open(argument.report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool written = file >= 0 && write(file, lines.data(), lines.size()) == (ssize_t)lines.size();
    if (file >= 0 && close(file) != 0)
        written = false;
    if (!written)
        warning(0, "penumbra-gcc: cannot write %qs: %m", argument.report.c_str());
}
