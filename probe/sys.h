/* sys.h: reading the machine, and what is not known.
 *
 * Everything that gdprobe reads of /sys, /proc and the like goes through here, by its absolute
 * path. With a sysroot the path is taken inside a captured tree, links and ".." included: nothing
 * outside of it is ever read. What cannot be read is not "off" and not zero: it is unknown, and a
 * struct why says the reason, in words for the report.
 */
#ifndef GDPROBE_SYS_H
#define GDPROBE_SYS_H

#include <stdbool.h>
#include <stddef.h>

enum { SYS_PATH = 512, SYS_NAME = 256, SYS_FILE_BYTES = 4 << 20 };

/* Why something is not known: "no such file", "needs root", ... Empty when it is known. */
struct why {
    char text[160];
};

void why_set(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Told of all that is read, so that it can be copied. Paths are absolute, inside the sysroot, with
 * no link above their last name. `seen`: something is there, and nothing more is known of it. */
struct sys_watch {
    void (*file)(void *context, const char *path, const void *data, size_t length);
    void (*link)(void *context, const char *path, const char *target);
    void (*directory)(void *context, const char *path);
    void (*seen)(void *context, const char *path);
    void *context;
};

struct sys {
    const char *root; /* "" is the machine itself; otherwise the captured tree */
    const struct sys_watch *watch;
};

/* Use `root` (NULL: the machine itself); false with a reason when it is no directory. */
bool sys_open(struct sys *sys, const char *root, struct why *ret_why);
bool sys_is_captured(const struct sys *sys);

/* The path with every link followed. The file need not exist below its last existing directory. */
bool sys_real(const struct sys *sys, const char *path, char ret_real[SYS_PATH],
              struct why *ret_why);
bool sys_exists(const struct sys *sys, const char *path);

/* At most `size` bytes from the start of a file; how many were there, or -1 with a reason. */
long sys_bytes(const struct sys *sys, const char *path, void *buffer, size_t size,
               struct why *ret_why);
/* A whole text, ended by NUL; NULL with a reason. The caller frees it. */
char *sys_text(const struct sys *sys, const char *path, struct why *ret_why);
/* The first line, without the blanks around it. Cut when it is longer than `size`. */
bool sys_line(const struct sys *sys, const char *path, char *buffer, size_t size,
              struct why *ret_why);
/* A whole number, decimal or hexadecimal with 0x, as the only text of a file. */
bool sys_number(const struct sys *sys, const char *path, long long *ret_value, struct why *ret_why);

/* The names in a directory, sorted, without "." and "..". */
struct sys_list {
    char (*names)[SYS_NAME];
    size_t count;
};
bool sys_list(const struct sys *sys, const char *path, struct sys_list *ret_list,
              struct why *ret_why);
void sys_list_free(struct sys_list *list);

#endif
