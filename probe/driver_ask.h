/* driver_ask.h: the questions behind driver.h. */
#ifndef GDPROBE_DRIVER_ASK_H
#define GDPROBE_DRIVER_ASK_H

#include "probe/sys.h"

/* The answers as lines (driver.h); never NULL but without memory. Each question has timeout_s; when
 * one hangs or dies, what came before it is returned and *ret_why says so, else it stays empty. The
 * caller frees the text. */
char *driver_ask(double timeout_s, struct why *ret_why);

#endif
