/* Whether this is compiled with AddressSanitizer, which makes everything several times as slow:
 * what other builds do for long is done for less long then.
 *
 * Context: tests only. */
#ifndef PENUMBRA_TESTS_SANITIZED_H
#define PENUMBRA_TESTS_SANITIZED_H

#ifndef __has_feature /* gcc */
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
