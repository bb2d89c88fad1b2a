/* Records which functions of a program run: record BINARY OFFSETS OUT COMMAND...

   Runs COMMAND, waits for its end, and writes to OUT, one a line in hexadecimal, those of OFFSETS (where functions begin, from the
   start of BINARY in memory) at which a process `BINARY run` has been. Each has a breakpoint until it is met, so that what it
   costs is paid once. For x86-64 Linux; see layout.sh. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BREAKPOINT 0xccL
#define MOST 200000

static struct function {
	unsigned long offset;
	unsigned char first_byte;
	char met;
} functions[MOST];
static size_t count;
static unsigned long base;

static void fail(const char *what) {
	perror(what);
	exit(1);
}

static int by_offset(const void *a, const void *b) {
	unsigned long left = ((const struct function *)a)->offset, right = ((const struct function *)b)->offset;
	return left < right ? -1 : left > right;
}

static void read_offsets(const char *path) {
	FILE *file = fopen(path, "r");
	if (!file)
		fail(path);
	while (count < MOST && fscanf(file, "%lx", &functions[count].offset) == 1)
		count++;
	fclose(file);
	qsort(functions, count, sizeof *functions, by_offset);
}

static long replace_byte(pid_t pid, unsigned long at, long byte) {
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
	if (errno || ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xffL) | byte))
		fail("ptrace");
	return word & 0xff;
}

/* Is this process `BINARY run`? */
static int is_site(pid_t pid, const char *binary) {
	char path[64], exe[4096], command[8192];
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	ssize_t length = readlink(path, exe, sizeof exe - 1);
	if (length < 0)
		return 0;
	exe[length] = 0;
	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	FILE *file = fopen(path, "r");
	length = file ? fread(command, 1, sizeof command - 1, file) : 0;
	command[length] = 0;
	if (file)
		fclose(file);
	return !strcmp(exe, binary) && !strcmp(command + strlen(command) + 1, "run");
}

static void set_breakpoints(pid_t pid, const char *binary) {
	char path[64], line[8192];
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	if (!maps)
		fail(path);
	while (fgets(line, sizeof line, maps))
		if (strstr(line, binary)) {
			base = strtoul(line, NULL, 16);
			break;
		}
	fclose(maps);
	for (size_t i = 0; i < count; i++)
		if (!functions[i].met)
			functions[i].first_byte = replace_byte(pid, base + functions[i].offset, BREAKPOINT);
}

/* Notes the function that a process has stopped at, and lets it begin. */
static void meet(pid_t pid) {
	struct user_regs_struct registers;
	if (ptrace(PTRACE_GETREGS, pid, 0, &registers))
		fail("registers");
	struct function key = {.offset = registers.rip - 1 - base};
	struct function *found = bsearch(&key, functions, count, sizeof *functions, by_offset);
	if (!found)
		return;
	/* another thread may have been here first */
	if (!found->met)
		replace_byte(pid, base + found->offset, found->first_byte);
	found->met = 1;
	registers.rip--;
	if (ptrace(PTRACE_SETREGS, pid, 0, &registers))
		fail("registers");
}

int main(int argc, char **argv) {
	if (argc < 5)
		return fprintf(stderr, "record BINARY OFFSETS OUT COMMAND...\n"), 2;
	read_offsets(argv[2]);
	pid_t root = fork();
	if (!root) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[4], argv + 4);
		fail(argv[4]);
	}
	int status;
	waitpid(root, &status, 0);
	ptrace(PTRACE_SETOPTIONS, root, 0,
	       PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, root, 0, 0);
	for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
		if (!WIFSTOPPED(status)) {
			if (pid == root)
				break;
			continue;
		}
		int signal = WSTOPSIG(status), event = status >> 16;
		if (event == PTRACE_EVENT_EXEC && is_site(pid, argv[1]))
			set_breakpoints(pid, argv[1]);
		else if (signal == SIGTRAP && !event)
			meet(pid);
		ptrace(PTRACE_CONT, pid, 0, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
	}
	FILE *out = fopen(argv[3], "w");
	if (!out)
		fail(argv[3]);
	for (size_t i = 0; i < count; i++)
		if (functions[i].met)
			fprintf(out, "%lx\n", functions[i].offset);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
