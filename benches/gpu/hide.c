/* LD_AUDIT: the loader finds no cuDNN in the system's own folders. So a machine with a system-wide cuDNN serves as one
 * without, and nothing on it is changed. */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

unsigned la_version(unsigned version) { return version; }

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag) {
    (void)cookie, (void)flag;
    int system = !strncmp(name, "/lib", 4) || !strncmp(name, "/usr/lib", 8);
    return system && strstr(name, "/libcudnn") ? NULL : (char *)name;
}
