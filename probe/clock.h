/* clock.h: the one clock of gdprobe: seconds since some moment, never set back. */
#ifndef GDPROBE_CLOCK_H
#define GDPROBE_CLOCK_H

double clock_s(void);

#endif
