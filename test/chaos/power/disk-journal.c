/*
 * Records every change and sync below one folder, for the power-cut campaign. Linux with glibc only.
 *
 * Preloaded into svc-server or svc-agent, it wraps the libc calls that SQLite and Node.js use. Each call that succeeds
 * appends one record to the journal. The lock around the call and its record keeps both in the same order. A sync has
 * two records: it covers the changes recorded before its first record, and holds from its second record on. fsync
 * returns after the second record, so whatever the program answers because of the sync comes later in the journal.
 *
 * POWER_ROOT     folder to watch: an absolute path without links
 * POWER_JOURNAL  file to append to
 * POWER_SYNC_US  delay of each sync in microseconds, like that of a disk
 *
 * After SIGUSR2 the process kills itself at its next recorded write. A SIGKILL from outside could come between a write
 * and its record.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* journal.ts reads these numbers. */
enum { CREATE = 1, WRITE, TRUNCATE, EXTEND, RENAME, LINK, UNLINK, MKDIR, RMDIR, SYNC_BEGIN, SYNC_END, MAP };

struct header {
  uint32_t size; /* of the whole record */
  uint16_t op;
  uint16_t path; /* bytes of the path that follows; the rest is data */
  uint64_t file; /* inode */
  uint64_t offset;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static size_t root_length;
static int journal = -1;
static useconds_t sync_delay;
static uint64_t syncs;
static volatile sig_atomic_t dying;

static void die_soon(int signal) { (void)signal; dying = 1; }

__attribute__((constructor)) static void start(void) {
  const char *folder = getenv("POWER_ROOT"), *file = getenv("POWER_JOURNAL"), *delay = getenv("POWER_SYNC_US");
  if (folder == NULL || file == NULL) return;
  snprintf(root, sizeof root, "%s", folder);
  root_length = strlen(root);
  if (delay != NULL) sync_delay = (useconds_t)atoi(delay);
  syncs = (uint64_t)getpid() << 32;
  journal = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (journal < 0) abort();
}

#define REAL(name) static __typeof__(name) *real; if (real == NULL) real = dlsym(RTLD_NEXT, #name)

static void append(uint16_t op, uint64_t file, uint64_t offset, const char *path, const void *data, size_t size) {
  static int ready;
  if (!ready) {
    /* Not in the constructor: Node.js resets every signal when it starts. */
    struct sigaction action = {.sa_handler = die_soon, .sa_flags = SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
    ready = 1;
  }
  size_t length = strlen(path);
  struct header header = {(uint32_t)(sizeof header + length + size), op, (uint16_t)length, file, offset};
  struct iovec parts[3] = {{&header, sizeof header}, {(void *)path, length}, {(void *)data, size}};
  if (syscall(SYS_writev, journal, parts, 3) != (long)header.size) abort();
  if (dying && op == WRITE) kill(getpid(), SIGKILL);
}

/* The path below the root, or NULL for a path elsewhere. */
static const char *below(const char *path) {
  if (journal < 0 || strncmp(path, root, root_length) != 0) return NULL;
  if (path[root_length] == '\0') return path + root_length;
  return path[root_length] == '/' ? path + root_length + 1 : NULL;
}

static const char *named(int folder, const char *path, char *buffer) {
  if (journal < 0 || path == NULL) return NULL;
  if (path[0] == '/') return below(path);
  char base[PATH_MAX];
  if (folder == AT_FDCWD) {
    if (getcwd(base, sizeof base) == NULL) return NULL;
  } else {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return NULL;
    base[length] = '\0';
  }
  snprintf(buffer, 2 * PATH_MAX, "%s/%s", base, path);
  return below(buffer);
}

/* The path of an open file or folder below the root, or NULL. */
static const char *opened(int fd, char *buffer, struct stat *status) {
  if (journal < 0 || fstat(fd, status) != 0) return NULL;
  if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode)) return NULL;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, buffer, PATH_MAX - 1);
  if (length < 0) return NULL;
  buffer[length] = '\0';
  return below(buffer);
}

#define LOCKED int saved; pthread_mutex_lock(&lock)
#define UNLOCKED saved = errno; pthread_mutex_unlock(&lock); errno = saved

static int open_recorded(int folder, const char *path, int flags, mode_t mode) {
  char buffer[2 * PATH_MAX];
  const char *name = (flags & (O_CREAT | O_TRUNC)) != 0 ? named(folder, path, buffer) : NULL;
  if (name == NULL) return (int)syscall(SYS_openat, folder, path, flags, mode);
  LOCKED;
  struct stat before, after;
  int existed = fstatat(folder, path, &before, 0) == 0;
  int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (fd >= 0 && fstat(fd, &after) == 0 && S_ISREG(after.st_mode)) {
    if (!existed) append(CREATE, after.st_ino, 0, name, NULL, 0);
    else if ((flags & O_TRUNC) != 0 && before.st_size > 0) append(TRUNCATE, after.st_ino, 0, name, NULL, 0);
  }
  UNLOCKED;
  return fd;
}

#define MODE(flags, last) \
  mode_t mode = 0; \
  if (((flags) & O_CREAT) != 0) { va_list list; va_start(list, last); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE(flags, flags); return open_recorded(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, flags); return open_recorded(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags, flags); return open_recorded(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags, flags); return open_recorded(folder, path, flags, mode); }
int creat(const char *path, mode_t mode) { return open_recorded(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open_recorded(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* Performs `call`, and records the `done` bytes that it wrote at `offset`; a negative one stands for the file position. */
#define RECORDED_WRITE(call, parts, count, position) \
  char buffer[PATH_MAX]; \
  struct stat status; \
  const char *name = opened(fd, buffer, &status); \
  if (name == NULL) return call; \
  LOCKED; \
  ssize_t done = call; \
  if (done > 0) record_write(fd, &status, name, parts, count, position, (size_t)done); \
  UNLOCKED; \
  return done

static void record_write(int fd, struct stat *status, const char *name, const struct iovec *parts, int count, off_t position, size_t done) {
  if (position < 0) position = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) - (off_t)done;
  for (int i = 0; i < count && done > 0; i++) {
    size_t size = parts[i].iov_len < done ? parts[i].iov_len : done;
    append(WRITE, status->st_ino, (uint64_t)position, name, parts[i].iov_base, size);
    position += (off_t)size;
    done -= size;
  }
}

ssize_t write(int fd, const void *data, size_t size) {
  struct iovec part = {(void *)data, size};
  RECORDED_WRITE(syscall(SYS_write, fd, data, size), &part, 1, -1);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  RECORDED_WRITE(syscall(SYS_writev, fd, parts, count), parts, count, -1);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  struct iovec part = {(void *)data, size};
  RECORDED_WRITE(syscall(SYS_pwrite64, fd, data, size, offset), &part, 1, offset);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  REAL(pwritev64);
  RECORDED_WRITE(real(fd, parts, count, offset), parts, count, offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return pwritev64(fd, parts, count, offset); }

static int resized(int fd, int result, uint16_t op, off_t size) {
  char buffer[PATH_MAX];
  struct stat status;
  const char *name = result == 0 ? opened(fd, buffer, &status) : NULL;
  if (name != NULL) append(op, status.st_ino, (uint64_t)size, name, NULL, 0);
  return result;
}
int ftruncate64(int fd, off64_t size) {
  LOCKED;
  int result = resized(fd, (int)syscall(SYS_ftruncate, fd, size), TRUNCATE, size);
  UNLOCKED;
  return result;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  LOCKED;
  int result = (int)syscall(SYS_fallocate, fd, mode, offset, size);
  /* Other modes punch holes, which nothing here does. */
  if (mode == 0) resized(fd, result, EXTEND, offset + size);
  UNLOCKED;
  return result;
}
int fallocate(int fd, int mode, off_t offset, off_t size) { return fallocate64(fd, mode, offset, size); }
int posix_fallocate64(int fd, off64_t offset, off64_t size) { return fallocate64(fd, 0, offset, size) == 0 ? 0 : errno; }
int posix_fallocate(int fd, off_t offset, off_t size) { return posix_fallocate64(fd, offset, size); }

static int named_call(uint16_t op, const char *name, const char *data, int result) {
  if (result == 0 && name != NULL) append(op, 0, 0, name, data, data == NULL ? 0 : strlen(data));
  return result;
}

/* For a rename into or out of the folder the campaign would need the other side: record it as it is, journal.ts refuses. */
static int move(uint16_t op, int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  char first[2 * PATH_MAX], second[2 * PATH_MAX];
  const char *old = named(from_folder, from, first), *new = named(to_folder, to, second);
  LOCKED;
  int result = (int)(op == LINK ? syscall(SYS_linkat, from_folder, from, to_folder, to, flags)
                                : syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
  if (old != NULL || new != NULL) named_call(op, old == NULL ? "" : old, new == NULL ? "" : new, result);
  UNLOCKED;
  return result;
}
int rename(const char *from, const char *to) { return move(RENAME, AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return move(RENAME, a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return move(RENAME, a, from, b, to, flags); }
int link(const char *from, const char *to) { return move(LINK, AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return move(LINK, a, from, b, to, (unsigned)flags); }

#define NAMED(op, folder, path, call) \
  char buffer[2 * PATH_MAX]; \
  const char *name = named(folder, path, buffer); \
  LOCKED; \
  int result = named_call(op, name, NULL, (int)(call)); \
  UNLOCKED; \
  return result

int unlink(const char *path) { NAMED(UNLINK, AT_FDCWD, path, syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }
int unlinkat(int folder, const char *path, int flags) {
  NAMED((flags & AT_REMOVEDIR) != 0 ? RMDIR : UNLINK, folder, path, syscall(SYS_unlinkat, folder, path, flags));
}
int mkdir(const char *path, mode_t mode) { NAMED(MKDIR, AT_FDCWD, path, syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }
int mkdirat(int folder, const char *path, mode_t mode) { NAMED(MKDIR, folder, path, syscall(SYS_mkdirat, folder, path, mode)); }
int rmdir(const char *path) { NAMED(RMDIR, AT_FDCWD, path, syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)); }

#define SYNCED(call) \
  char buffer[PATH_MAX]; \
  struct stat status; \
  const char *name = opened(fd, buffer, &status); \
  if (name == NULL) return (int)(call); \
  int saved; \
  pthread_mutex_lock(&lock); \
  uint64_t id = ++syncs; \
  append(SYNC_BEGIN, status.st_ino, id, name, NULL, 0); \
  pthread_mutex_unlock(&lock); \
  if (sync_delay > 0) usleep(sync_delay); \
  int result = (int)(call); \
  saved = errno; \
  pthread_mutex_lock(&lock); \
  if (result == 0) append(SYNC_END, status.st_ino, id, name, NULL, 0); \
  pthread_mutex_unlock(&lock); \
  errno = saved; \
  return result

int fsync(int fd) { SYNCED(syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { SYNCED(syscall(SYS_fdatasync, fd)); }
/* Gives no durability by itself, and nothing here calls it: sync_file_range is left alone and counts as no sync. */

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
  void *mapped = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
  if (mapped == MAP_FAILED || fd < 0 || (flags & MAP_SHARED) == 0 || (protection & PROT_WRITE) == 0) return mapped;
  char buffer[PATH_MAX];
  struct stat status;
  const char *name = opened(fd, buffer, &status);
  if (name == NULL) return mapped;
  LOCKED;
  append(MAP, status.st_ino, (uint64_t)offset, name, NULL, 0);
  UNLOCKED;
  return mapped;
}
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap64(address, size, protection, flags, fd, offset);
}
