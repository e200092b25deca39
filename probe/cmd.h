/* cmd.h: the commands of gdprobe, one file each, and what they share. Only these print and pick
 * exit codes; what they call returns a result or a struct why. */
#ifndef GDPROBE_CMD_H
#define GDPROBE_CMD_H

/* EXIT_FOUND: the command did its work and what it looked for does not hold. */
enum { EXIT_FINE = 0, EXIT_FOUND = 1, EXIT_BAD_INPUT = 2 };

/* argv[0] is "gdprobe COMMAND". */
int cmd_facts(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_capture(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_watch(int argc, char **argv);

#endif
