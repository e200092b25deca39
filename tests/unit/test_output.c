/* test_output.c: a result file is whole or absent, and failures leave nothing behind. */
#include "sim/report/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG = 1 << 20 };

struct place {
    char start[4096];
    char folder[64];
};

/* Each test runs inside its own fresh folder. */
static int enter(void **state)
{
    static struct place place;
    strcpy(place.folder, "/tmp/gdsim-output-XXXXXX");
    if (!getcwd(place.start, sizeof place.start) || !mkdtemp(place.folder))
        return -1;
    *state = &place;
    return chmod(place.folder, 0755) == 0 && chdir(place.folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    const struct place *place = *state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", place->folder);
    return chdir(place->start) == 0 && system(command) == 0 ? 0 : -1;
}

static size_t count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void assert_content(const char *path, const char *expected)
{
    char buffer[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    buffer[fread(buffer, 1, sizeof buffer - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(buffer, expected);
}

static void put(const char *path, const char *string)
{
    struct error error = {0};
    assert_int_equal(output_write(path, string, strlen(string), &error), STATUS_OK);
}

static void assert_fails(const char *path, const char *message, const char *hint)
{
    struct error error = {0};
    assert_int_equal(output_write(path, "x", 1, NULL), STATUS_FAILED);
    assert_int_equal(output_write(path, "x", 1, &error), STATUS_FAILED);
    assert_int_equal(error.status, STATUS_FAILED);
    assert_string_equal(error.message, message);
    assert_string_equal(error.hint, hint);
}

static void writes_and_replaces(void **state)
{
    (void)state;
    put("a.csv", "one\n");
    assert_content("a.csv", "one\n");
    assert_int_equal(chmod("a.csv", 0640), 0);
    put("./a.csv", "two\n");
    assert_content("a.csv", "two\n");
    put("empty", "");
    assert_content("empty", "");
    assert_int_equal(count_entries("."), 2);

    struct stat info;
    assert_int_equal(stat("a.csv", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640); /* a private file stays private */

    char name[251];
    memset(name, 'n', sizeof name - 1); /* no room for a suffix within NAME_MAX */
    name[sizeof name - 1] = '\0';
    put(name, "long");
    assert_content(name, "long");
}

static void stale_temporary_is_no_obstacle(void **state)
{
    (void)state;
    char name[64];
    (void)snprintf(name, sizeof name, ".gdsim-%ld-0.tmp", (long)getpid());
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fclose(file);
    put("a", "fine");
    assert_content("a", "fine");
    assert_content(name, ""); /* not ours to use */
}

static void out_is_created_and_nothing_else(void **state)
{
    (void)state;
    put("out/a/b/c.csv", "deep");
    assert_content("out/a/b/c.csv", "deep");
    put("out/d.csv", "flat");
    assert_fails("results/c.csv", "cannot write 'results/c.csv': No such file or directory",
                 "the folder 'results/' does not exist; create it, or use out/");
    assert_fails("out/../results/c.csv",
                 "cannot write 'out/../results/c.csv': No such file or directory",
                 "the folder 'out/../results/' does not exist; create it, or use out/");
    assert_int_equal(count_entries("."), 1);
    assert_int_equal(count_entries("out"), 2);
}

static void wrong_paths_say_why(void **state)
{
    (void)state;
    put("file", "old");
    assert_int_equal(mkdir("folder", 0777), 0);
    const char *is_folder = "this is a folder; name a file in it";
    const char *is_file = "a part of the path is a file, not a folder";
    assert_fails("folder", "cannot write 'folder': Is a directory", is_folder);
    assert_fails("folder/", "cannot write 'folder/': Is a directory", is_folder);
    assert_fails("file/x", "cannot write 'file/x': Not a directory", is_file);
    put("out/file", "old");
    assert_fails("out/file/x", "cannot write 'out/file/x': Not a directory", is_file);
    struct error error = {0};
    assert_int_equal(output_write("", "x", 1, &error), STATUS_INPUT);
    assert_int_equal(count_entries("."), 3);
    assert_int_equal(count_entries("folder"), 0);
    assert_content("file", "old");
}

static void unwritable_folder_is_refused(void **state)
{
    (void)state;
    const char *hint = "choose a place that you may write to, such as out/";
    assert_int_equal(mkdir("locked", 0777), 0);
    put("locked/old", "old");
    /* Write-protected in a folder where a rename would succeed. */
    assert_int_equal(mkdir("open", 0777), 0);
    assert_int_equal(chmod("open", 0777), 0);
    put("open/kept", "old");
    assert_int_equal(chmod("open/kept", 0444), 0);
    assert_int_equal(chmod("locked/old", 0666), 0);
    assert_int_equal(chmod("locked", 0555), 0);
    uid_t user = geteuid();
    if (user == 0 && seteuid(65534) != 0) /* nothing is unwritable to root */
        skip();
    assert_fails("locked/new", "cannot write 'locked/new': Permission denied", hint);
    assert_fails("locked/old", "cannot write 'locked/old': Permission denied", hint);
    assert_fails("open/kept", "cannot write 'open/kept': Permission denied", hint);
    if (user == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(count_entries("locked"), 1);
    assert_content("locked/old", "old");
    assert_content("open/kept", "old");
    assert_int_equal(count_entries("open"), 1);
    assert_int_equal(chmod("locked", 0755), 0);
}

/* The write itself fails half way, as on a full disk: a limit on the size of files does it. */
static void failed_write_leaves_nothing(void **state)
{
    (void)state;
    put("a", "old");
    char *data = calloc(1, BIG);
    assert_non_null(data);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, handler;
    assert_int_equal(sigaction(SIGXFSZ, &ignore, &handler), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct error error = {0};
    enum status old_status = output_write("a", data, BIG, &error);
    enum status new_status = output_write("b", data, BIG, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(sigaction(SIGXFSZ, &handler, NULL), 0);
    free(data);
    assert_int_equal(old_status, STATUS_FAILED);
    assert_int_equal(new_status, STATUS_FAILED);
    assert_string_equal(error.message, "cannot write 'a': File too large");
    assert_content("a", "old");
    assert_int_equal(count_entries("."), 1);
}

static void devices_and_links_are_kept(void **state)
{
    (void)state;
    /* A pipe of our own stands for every device: were output_write wrong, a test run as root would
     * replace the machine's /dev/null. */
    struct stat info;
    char got[8] = "";
    assert_int_equal(mkfifo("pipe", 0666), 0);
    int fd = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    put("pipe", "through");
    assert_int_equal(read(fd, got, sizeof got), 7);
    close(fd);
    assert_memory_equal(got, "through", 7);
    assert_int_equal(lstat("pipe", &info), 0);
    assert_true(S_ISFIFO(info.st_mode));

    put("target", "a longer text");
    assert_int_equal(symlink("target", "link"), 0);
    put("link", "short");
    assert_content("target", "short");
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(count_entries("."), 3);
}

static void dash_is_standard_output(void **state)
{
    (void)state;
    (void)fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    int fd = open("captured", O_WRONLY | O_CREAT, 0666);
    assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    (void)printf("before ");
    enum status status = output_write("-", "after\n", 6, NULL);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    close(fd);
    assert_int_equal(status, STATUS_OK);
    assert_content("captured", "before after\n");
    assert_int_equal(count_entries("."), 1);
}

/* Reads "a" until told to stop, or until it has seen a file that is neither all 'a' nor all 'b'
 * nor of full length. */
static int watch(const char *path, char *buffer)
{
    while (access("stop", F_OK) != 0) {
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            return 1;
        size_t length = 0;
        for (ssize_t got; (got = read(fd, buffer + length, BIG + 1 - length)) > 0;)
            length += (size_t)got;
        close(fd);
        if (length != BIG || (buffer[0] != 'a' && buffer[0] != 'b'))
            return 2;
        for (size_t i = 1; i < length; i++)
            if (buffer[i] != buffer[0])
                return 3;
    }
    return 0;
}

static void reader_never_sees_half_a_file(void **state)
{
    (void)state;
    char *data = malloc(BIG), *buffer = malloc(BIG + 1);
    assert_true(data && buffer);
    memset(data, 'a', BIG);
    assert_int_equal(output_write("file", data, BIG, NULL), STATUS_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(watch("file", buffer));
    for (int i = 0; i < 60; i++) {
        memset(data, i % 2 ? 'a' : 'b', BIG);
        assert_int_equal(output_write("file", data, BIG, NULL), STATUS_OK);
    }
    put("stop", "");
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(count_entries("."), 2);
    free(data);
    free(buffer);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(writes_and_replaces),
        IN_FOLDER(stale_temporary_is_no_obstacle),
        IN_FOLDER(out_is_created_and_nothing_else),
        IN_FOLDER(wrong_paths_say_why),
        IN_FOLDER(unwritable_folder_is_refused),
        IN_FOLDER(failed_write_leaves_nothing),
        IN_FOLDER(devices_and_links_are_kept),
        IN_FOLDER(dash_is_standard_output),
        IN_FOLDER(reader_never_sees_half_a_file),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
