/* Preloaded into a server: every sync of a file takes as many microseconds longer as the file named by N2_SYNC_US says, so that
 * the fault can be put in place and taken away while the server runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void delay(void) {
  const char *path = getenv("N2_SYNC_US");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  char text[16] = {0};
  if (fd < 0) return;
  if (read(fd, text, sizeof text - 1) > 0 && atoi(text) > 0) usleep((useconds_t)atoi(text));
  close(fd);
}

int fsync(int fd) {
  delay();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  delay();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
