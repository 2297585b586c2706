/*
 * Stands in for NVIDIA's driver where there is no GPU: the checkpoint calls of libcuda.so.1, with -DSMI nvidia-smi, and
 * with -DPROGRAM cuda-checkpoint.
 * Compiled by stand-in.ts with -DFOLDER="…", the folder that all of its processes share, on the host and in containers:
 *
 *   driver     version of the driver, as nvidia-smi prints it: "580.95"
 *   cards      a line a card: UUID MIB NAME
 *   reserved   MiB of each card that the driver keeps for itself: neither used nor free. Absent: none
 *   speed      milliseconds per GiB of a checkpoint, of a restore, and of a restore of any size: "0 0 0"
 *   fault.CALL "CODE MS SKIP": a call of this kind (lock, checkpoint, restore, unlock, state) takes MS longer and returns
 *              CODE, after SKIP calls went well. Used once.
 *   log        a line a call that its process has answered: CALL PID CODE
 *   p.NS.PID   a process that holds GPU memory: "START STATE BROKEN", then a line a card: UUID BYTES. NS is its pid
 *              namespace, PID its id in it, START its start time. What is left of a dead process counts as nothing.
 *   s.NS.PID   socket on which a thread of that process answers the driver's calls. A stopped process answers none, so a
 *              call to it hangs for ever, as with the real driver.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, OPERATING_SYSTEM = 304, NOT_READY = 600, NOT_SUPPORTED = 801, ILLEGAL_STATE = 401 };
enum { RUNNING = 0, LOCKED = 1, CHECKPOINTED = 2, FAILED = 3 };
enum { CARDS_MAX = 16 };
#define MIB (1024LL * 1024)
/* Memory that a restore without room leaves taken. */
#define LEFT_TAKEN (996 * MIB)

typedef struct {
  long long start;
  int state, broken, cards;
  struct { char uuid[64]; long long bytes; } held[CARDS_MAX];
} Process;

static int lock_all(void) {
  int file = open(FOLDER "/lock", O_RDWR | O_CREAT, 0666);
  flock(file, LOCK_EX);
  return file;
}

static void unlock_all(int file) { close(file); }

static long long start_of(const char *pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file) return -1;
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = 0;
  char *at = strrchr(text, ')');
  if (!at || at[2] == 'Z' || at[2] == 'X') return -1;
  long long start = -1;
  at += 2;
  for (int field = 3; field < 22 && at; field++) at = strchr(at + 1, ' ');
  if (at) sscanf(at, "%lld", &start);
  return start;
}

/* Name of a process of this /proc by its namespace and its id in it: NS.PID. Empty if it is gone. */
static void name_of(const char *pid, char *name, size_t size) {
  char path[64], ns[64] = "", line[256];
  name[0] = 0;
  snprintf(path, sizeof path, "/proc/%s/ns/pid", pid);
  if (readlink(path, ns, sizeof ns - 1) < 0) return;
  snprintf(path, sizeof path, "/proc/%s/status", pid);
  FILE *file = fopen(path, "r");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "NSpid:", 6)) continue;
    char *last = strrchr(line, '\t');
    snprintf(name, size, "%llu.%d", strtoull(strchr(ns, '[') + 1, NULL, 10), atoi(last + 1));
  }
  fclose(file);
}

static int read_process(const char *name, Process *process) {
  char path[300];
  memset(process, 0, sizeof *process);
  snprintf(path, sizeof path, FOLDER "/p.%s", name);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  int ok = fscanf(file, "%lld %d %d", &process->start, &process->state, &process->broken) == 3;
  while (ok && process->cards < CARDS_MAX && fscanf(file, "%63s %lld", process->held[process->cards].uuid, &process->held[process->cards].bytes) == 2) process->cards++;
  fclose(file);
  return ok;
}

static void write_process(const char *name, const Process *process) {
  char path[300], fresh[310];
  snprintf(path, sizeof path, FOLDER "/p.%s", name);
  snprintf(fresh, sizeof fresh, "%s.new", path);
  FILE *file = fopen(fresh, "w");
  if (!file) return;
  fprintf(file, "%lld %d %d\n", process->start, process->state, process->broken);
  for (int i = 0; i < process->cards; i++) fprintf(file, "%s %lld\n", process->held[i].uuid, process->held[i].bytes);
  fclose(file);
  chmod(fresh, 0666);
  rename(fresh, path);
}

/* What a process holds of a card now. */
static long long taken_by(const Process *process, const char *uuid) {
  if (process->state == CHECKPOINTED) return process->broken && process->cards > 0 && !strcmp(process->held[0].uuid, uuid) ? LEFT_TAKEN : 0;
  long long bytes = 0;
  for (int i = 0; i < process->cards; i++) if (!strcmp(process->held[i].uuid, uuid)) bytes += process->held[i].bytes;
  return bytes;
}

/* Calls back for each living process that the driver knows, with its id in this /proc. */
static void each_process(void (*call)(const char *pid, const char *name, const Process *process, void *to), void *to) {
  DIR *folder = opendir("/proc");
  struct dirent *entry;
  while (folder && (entry = readdir(folder))) {
    char name[128];
    Process process;
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    name_of(entry->d_name, name, sizeof name);
    if (!name[0] || !read_process(name, &process)) continue;
    if (process.start == start_of(entry->d_name)) call(entry->d_name, name, &process, to);
  }
  if (folder) closedir(folder);
}

/* Opens a connection to the thread of a process. Returns -1 if the process is gone. */
static int connect_to(const char *name) {
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  snprintf(address.sun_path, sizeof address.sun_path, FOLDER "/s.%s", name);
  int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(end, (struct sockaddr *)&address, sizeof address) == 0) return end;
  close(end);
  return -1;
}

/* In a container, /proc lacks the processes outside. Their sockets show which live; a stopped one has a full queue. */
static int lives(const char *name) {
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  snprintf(address.sun_path, sizeof address.sun_path, FOLDER "/s.%s", name);
  int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int yes = connect(end, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
  close(end);
  return yes;
}

/* Memory of a card that is taken by all processes but one. */
static long long taken(const char *uuid, const char *except) {
  long long bytes = 0;
  DIR *folder = opendir(FOLDER);
  struct dirent *entry;
  while (folder && (entry = readdir(folder))) {
    Process process;
    if (strncmp(entry->d_name, "p.", 2) || strstr(entry->d_name, ".new")) continue;
    const char *name = entry->d_name + 2;
    if ((except && !strcmp(name, except)) || !read_process(name, &process)) continue;
    if (lives(name)) bytes += taken_by(&process, uuid);
  }
  if (folder) closedir(folder);
  return bytes;
}

/* What programs can have of a card. */
static long long card_bytes(const char *uuid) {
  char line[256], each[64];
  long long mib = 0, found = 0;
  FILE *file = fopen(FOLDER "/cards", "r");
  while (file && fgets(line, sizeof line, file)) if (sscanf(line, "%63s %lld", each, &mib) == 2 && !strcmp(each, uuid)) found = mib * MIB;
  if (file) fclose(file);
  file = fopen(FOLDER "/reserved", "r");
  if (file) { if (fscanf(file, "%lld", &mib) == 1) found -= mib * MIB; fclose(file); }
  return found;
}

static double driver_version(void) {
  double version = 0;
  FILE *file = fopen(FOLDER "/driver", "r");
  if (file) { if (fscanf(file, "%lf", &version) != 1) version = 0; fclose(file); }
  return version;
}

#ifndef SMI
static char own[128];

/* The planned outcome of a call; SUCCESS if none is planned. */
static int fault_of(const char *call) {
  char path[300];
  int code = 0, ms = 0, skip = 0;
  int file = lock_all();
  snprintf(path, sizeof path, FOLDER "/fault.%s", call);
  FILE *plan = fopen(path, "r");
  if (plan) {
    if (fscanf(plan, "%d %d %d", &code, &ms, &skip) < 2) code = ms = 0;
    fclose(plan);
    if (skip > 0) {
      plan = fopen(path, "w");
      fprintf(plan, "%d %d %d\n", code, ms, skip - 1);
      fclose(plan);
      code = ms = 0;
    } else unlink(path);
  }
  unlock_all(file);
  usleep(ms * 1000);
  return code;
}

static void pace(const Process *process, int is_restore) {
  double out = 0, back = 0, least = 0, bytes = 0;
  FILE *file = fopen(FOLDER "/speed", "r");
  if (file) { if (fscanf(file, "%lf %lf %lf", &out, &back, &least) < 3) out = back = least = 0; fclose(file); }
  for (int i = 0; i < process->cards; i++) bytes += process->held[i].bytes;
  double ms = bytes / (1024.0 * MIB) * (is_restore ? back : out) + (is_restore ? least : 0);
  usleep((useconds_t)(ms * 1000));
}

/* Runs one call on this process. */
static int answer(const char *call) {
  Process process;
  int planned = fault_of(call);
  if (planned) return planned;
  read_process(own, &process);
  if (!strcmp(call, "checkpoint") && process.state == LOCKED) pace(&process, 0);
  if (!strcmp(call, "restore") && process.state == CHECKPOINTED && !process.broken) pace(&process, 1);
  int file = lock_all();
  int code = SUCCESS;
  read_process(own, &process);
  if (!strcmp(call, "lock")) {
    if (process.state != RUNNING) code = ILLEGAL_STATE; else process.state = LOCKED;
  } else if (!strcmp(call, "checkpoint")) {
    if (process.state != LOCKED) code = ILLEGAL_STATE; else process.state = CHECKPOINTED;
  } else if (!strcmp(call, "restore")) {
    if (process.state != CHECKPOINTED) code = ILLEGAL_STATE;
    else if (process.broken) code = OPERATING_SYSTEM;
    for (int i = 0; code == SUCCESS && i < process.cards; i++) {
      const char *uuid = process.held[i].uuid;
      if (taken(uuid, own) + process.held[i].bytes > card_bytes(uuid)) { code = OUT_OF_MEMORY; process.broken = 1; }
    }
    if (code == SUCCESS) process.state = LOCKED;
  } else if (!strcmp(call, "unlock")) {
    if (process.state != LOCKED) code = ILLEGAL_STATE; else process.state = RUNNING;
  }
  write_process(own, &process);
  unlock_all(file);
  return !strcmp(call, "state") ? -1 - process.state : code;
}

static void *serve(void *listening) {
  for (;;) {
    char call[32] = "";
    int end = accept((int)(long)listening, NULL, NULL);
    if (end < 0) continue;
    if (read(end, call, sizeof call - 1) > 0) {
      int code = answer(call);
      FILE *log = fopen(FOLDER "/log", "a");
      if (log) { fprintf(log, "%s %s %d\n", call, strchr(own, '.') + 1, code); fclose(log); }
      if (write(end, &code, sizeof code) < 0) {}
    }
    close(end);
  }
  return NULL;
}

static void begin(void) {
  if (own[0]) return;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", getpid());
  name_of(pid, own, sizeof own);
  Process process = { .start = start_of(pid) };
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  snprintf(address.sun_path, sizeof address.sun_path, FOLDER "/s.%s", own);
  unlink(address.sun_path);
  int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bind(end, (struct sockaddr *)&address, sizeof address);
  chmod(address.sun_path, 0777);
  listen(end, 64);
  write_process(own, &process);
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_create(&thread, NULL, serve, (void *)(long)end);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Blocks while the process is locked or checkpointed, as every call to the driver does then. */
static int when_running(Process *process) {
  for (;;) {
    int file = lock_all();
    read_process(own, process);
    if (process->state == RUNNING) return file;
    unlock_all(file);
    usleep(2000);
  }
}

/* For programs that play a CUDA process: takes memory of a card. */
int fake_alloc(const char *uuid, long long bytes) {
  Process process;
  begin();
  int file = when_running(&process);
  int code = process.cards >= CARDS_MAX || taken(uuid, own) + taken_by(&process, uuid) + bytes > card_bytes(uuid) ? OUT_OF_MEMORY : SUCCESS;
  if (code == SUCCESS) {
    snprintf(process.held[process.cards].uuid, sizeof process.held[0].uuid, "%s", uuid);
    process.held[process.cards++].bytes = bytes;
    write_process(own, &process);
  }
  unlock_all(file);
  return code;
}

/* For programs that play a CUDA process: a kernel. Returns the bytes that the process holds on its cards. */
long long fake_use(void) {
  Process process;
  long long bytes = 0;
  begin();
  unlock_all(when_running(&process));
  for (int i = 0; i < process.cards; i++) bytes += process.held[i].bytes;
  return bytes;
}

static int call_target(const char *call, int pid) {
  char text[16], name[128];
  Process process;
  int code = OPERATING_SYSTEM;
  if (driver_version() < 570) return NOT_SUPPORTED;
  snprintf(text, sizeof text, "%d", pid);
  name_of(text, name, sizeof name);
  if (!name[0] || !read_process(name, &process) || process.start != start_of(text)) return INVALID_VALUE;
  int end = connect_to(name);
  if (end < 0) return OPERATING_SYSTEM;
  if (write(end, call, strlen(call) + 1) < 0 || read(end, &code, sizeof code) != sizeof code) code = OPERATING_SYSTEM;
  close(end);
  return code;
}

/* A library may write to the output of its program. */
int cuInit(unsigned flags) {
  printf("the driver's stand-in starts\n");
  fflush(stdout);
  return flags == 0 ? SUCCESS : INVALID_VALUE;
}

int cuDriverGetVersion(int *version) {
  *version = driver_version() < 570 ? 12040 : 12080;
  return SUCCESS;
}

int cuGetErrorName(int code, const char **name) {
  *name = code == SUCCESS ? "CUDA_SUCCESS" : code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : code == OPERATING_SYSTEM ? "CUDA_ERROR_OPERATING_SYSTEM"
    : code == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : code == NOT_READY ? "CUDA_ERROR_NOT_READY" : code == ILLEGAL_STATE ? "CUDA_ERROR_ILLEGAL_STATE" : "CUDA_ERROR_INVALID_VALUE";
  return SUCCESS;
}

int cuCheckpointProcessGetState(int pid, int *state) {
  int code = call_target("state", pid);
  if (code >= 0) return code;
  *state = -1 - code;
  return SUCCESS;
}

int cuCheckpointProcessLock(int pid, void *args) { (void)args; return call_target("lock", pid); }
int cuCheckpointProcessCheckpoint(int pid, void *args) { (void)args; return call_target("checkpoint", pid); }
int cuCheckpointProcessRestore(int pid, void *args) { (void)args; return call_target("restore", pid); }
int cuCheckpointProcessUnlock(int pid, void *args) { (void)args; return call_target("unlock", pid); }

#ifdef PROGRAM
int main(int count, char **words) {
  const char *action = "", *name;
  const char *states[] = { "running", "locked", "checkpointed", "failed" };
  int pid = 0, state = 0, asks = 0;
  for (int i = 1; i < count; i++) {
    if (!strcmp(words[i], "--help")) { printf("--get-state --action lock|checkpoint|restore|unlock --pid PID --timeout MS\n"); return 0; }
    if (!strcmp(words[i], "--get-state")) asks = 1;
    if (!strcmp(words[i], "--action") && i + 1 < count) action = words[++i];
    else if (!strcmp(words[i], "--pid") && i + 1 < count) pid = atoi(words[++i]);
  }
  int code = asks ? cuCheckpointProcessGetState(pid, &state) : call_target(action, pid);
  if (code == SUCCESS && asks) printf("%s\n", states[state]);
  if (code == SUCCESS) return 0;
  cuGetErrorName(code, &name);
  fprintf(stderr, "Could not %s process %d: %s\n", asks ? "read" : action, pid, name);
  return 1;
}
#endif

#else

static void print_app(const char *pid, const char *name, const Process *process, void *to) {
  (void)name; (void)to;
  for (int i = 0; i < process->cards; i++) {
    int first = 1;
    for (int j = 0; j < i; j++) first = first && strcmp(process->held[i].uuid, process->held[j].uuid);
    long long bytes = taken_by(process, process->held[i].uuid);
    if (first && bytes > 0) printf("%s, %s, %lld\n", process->held[i].uuid, pid, bytes / MIB);
  }
}

static void print_field(const char *field, const char *uuid, long long mib, const char *name, const char *unit) {
  if (!strcmp(field, "uuid")) printf("%s", uuid);
  else if (!strcmp(field, "name")) printf("%s", name);
  else if (!strcmp(field, "memory.total")) printf("%lld%s", mib, unit);
  else if (!strcmp(field, "memory.used")) printf("%lld%s", taken(uuid, NULL) / MIB, unit);
  else if (!strcmp(field, "memory.free")) printf("%lld%s", (card_bytes(uuid) - taken(uuid, NULL)) / MIB, unit);
  else if (!strcmp(field, "mig.mode.current")) printf("Disabled");
  else if (!strcmp(field, "driver_version")) printf("%.2f", driver_version());
  else if (!strcmp(field, "utilization.gpu")) printf("0 %%");
  else if (!strcmp(field, "remapped_rows.failure")) printf("No");
  else printf("[N/A]");
}

int main(int count, char **words) {
  const char *query = NULL;
  int list = 0, header = 1;
  const char *unit = " MiB";
  for (int i = 1; i < count; i++) {
    if (!strncmp(words[i], "--query-compute-apps=", 21)) { each_process(print_app, NULL); return 0; }
    if (!strncmp(words[i], "--query-gpu=", 12)) query = words[i] + 12;
    if (!strcmp(words[i], "-L")) list = 1;
    if (strstr(words[i], "noheader")) header = 0;
    if (strstr(words[i], "nounits")) unit = "";
  }
  if (!query && !list) { printf("| NVIDIA-SMI %.2f   Driver Version: %.2f   CUDA Version: 12.8 |\n|   GPU  Name |\n", driver_version(), driver_version()); return 0; }
  if (query && header) printf("%s\n", query);
  char line[256], uuid[64], name[128];
  long long mib;
  int number = 0;
  FILE *file = fopen(FOLDER "/cards", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "%63s %lld %127[^\n]", uuid, &mib, name) != 3) continue;
    if (list) { printf("GPU %d: %s (UUID: %s)\n", number++, name, uuid); continue; }
    char fields[512], *rest = fields, *field;
    snprintf(fields, sizeof fields, "%s", query);
    for (int first = 1; (field = strsep(&rest, ",")); first = 0) { if (!first) printf(", "); print_field(field, uuid, mib, name, unit); }
    printf("\n");
  }
  return 0;
}
#endif
