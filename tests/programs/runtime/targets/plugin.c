/* Loaded and unloaded in a loop by loader.c. */
#include "spin.h"

unsigned long plugin_work(unsigned long n);
unsigned long plugin_work(unsigned long n)
{
    return spin(n) + 1;
}
